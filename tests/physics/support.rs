//! Initial states and runs shared by the cases.

use std::f64::consts::PI;
#[cfg(feature = "gpu")]
use std::sync::OnceLock;

use carom::{Backend, Bounds, Options, Side, Simulation, Sphere, System};
use glam::DVec3;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

/// Options for a backend. All simulations of a test share one device: opening a device and compiling for it takes
/// seconds on a software adapter.
pub fn options(backend: Backend) -> Options {
    #[cfg(feature = "gpu")]
    let context = (backend == Backend::Gpu).then(|| {
        static CONTEXT: OnceLock<carom::gpu::Context> = OnceLock::new();
        CONTEXT.get_or_init(|| carom::gpu::Context::open(None).expect("an adapter")).clone()
    });
    Options {
        backend,
        #[cfg(feature = "gpu")]
        context,
        ..Options::default()
    }
}

/// Starts a simulation that records its impacts.
pub fn simulate(system: &System, backend: Backend) -> Simulation {
    Simulation::new(system.clone(), Options { record_impacts: true, ..options(backend) }).unwrap()
}

/// Starts a simulation that records no impacts.
pub fn simulate_silently(system: &System, backend: Backend) -> Simulation {
    Simulation::new(system.clone(), options(backend)).unwrap()
}

/// `4 cells^3` spheres of diameter and mass 1 in a periodic box on a face-centred cubic lattice. Total momentum is zero
/// and the temperature exactly 1: kinetic energy 1.5 per sphere.
pub fn gas(cells: usize, volume_fraction: f64, seed: u64) -> System {
    let count = 4 * cells.pow(3);
    let length = (count as f64 * PI / 6.0 / volume_fraction).cbrt();
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let mut velocities: Vec<_> = (0..count).map(|_| DVec3::new(normal(), normal(), normal())).collect();
    let mean = velocities.iter().sum::<DVec3>() / count as f64;
    velocities.iter_mut().for_each(|v| *v -= mean);
    let temperature = velocities.iter().map(|v| v.length_squared()).sum::<f64>() / (3 * count) as f64;
    let bounds = Bounds { max: DVec3::splat(length), sides: [Side::Periodic; 3], ..Bounds::default() };
    let mut system = System { bounds, ..System::default() };
    for (k, velocity) in velocities.into_iter().enumerate() {
        let cell = DVec3::new(
            (k / 4 % cells) as f64,
            (k / 4 / cells % cells) as f64,
            (k / 4 / cells / cells) as f64,
        );
        let site = [[0.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]][k % 4];
        system.spheres.push(Sphere {
            id: k as u32,
            position: (cell + DVec3::from_array(site) + 0.25) * length / cells as f64,
            velocity: velocity / temperature.sqrt(),
            ..Sphere::default()
        });
    }
    system
}

/// The molecular-dynamics fit of the compressibility of hard spheres (Bannerman, Lue & Woodcock 2010).
pub fn compressibility(volume_fraction: f64) -> f64 {
    let x = volume_fraction / (1.0 - volume_fraction);
    let terms = [
        (0, 1.0),
        (1, 4.0),
        (2, 6.0),
        (3, 2.3647684),
        (4, -0.8698551),
        (5, 1.1062803),
        (6, -1.1014221),
        (7, 0.66605866),
        (8, -0.03633431),
        (10, -0.20965164),
        (14, 0.10555569),
        (22, -0.00872380),
    ];
    terms.iter().map(|&(power, factor)| factor * x.powi(power)).sum()
}

/// Collisions per sphere and time in a gas of temperature 1, each counted for both partners.
pub fn collision_rate(volume_fraction: f64) -> f64 {
    6.0 / PI.sqrt() * (compressibility(volume_fraction) - 1.0)
}

/// A gas without memory of its lattice, after 40 collisions per sphere; its step is so long that each sphere collides
/// `collisions` times.
pub fn melted_gas(
    cells: usize,
    volume_fraction: f64,
    collisions: f64,
    seed: u64,
    backend: Backend,
) -> System {
    let mut system = gas(cells, volume_fraction, seed);
    system.dt = 0.5 / collision_rate(volume_fraction);
    let mut simulation = simulate_silently(&system, backend);
    for _ in 0..80 {
        simulation.step().unwrap();
    }
    System { spheres: simulation.spheres(), dt: collisions / collision_rate(volume_fraction), ..system }
}

#[test]
fn the_fit_has_the_values_of_its_table() {
    for (volume_fraction, z, rate) in
        [(0.1, 1.52165, 1.7658), (0.2, 2.40940, 4.7710), (0.3, 3.98398, 10.101), (0.4, 6.94546, 20.126)]
    {
        assert!((compressibility(volume_fraction) - z).abs() < 1e-5);
        assert!((collision_rate(volume_fraction) / rate - 1.0).abs() < 1e-4);
    }
}
