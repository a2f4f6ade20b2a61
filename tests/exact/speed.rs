use carom::{Backend, Bounds, Options, Side, Simulation, Sphere, System};
use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

#[test]
#[ignore = "speed"]
fn speed() {
    let n = 32usize;
    let phi = 0.2;
    let count = n * n * n;
    let length = (count as f64 * std::f64::consts::PI / 6.0 / phi).cbrt();
    let mut system = System::default();
    system.bounds = Bounds { max: DVec3::splat(length), sides: [Side::Periodic; 3], ..Bounds::default() };
    let mut rng = rand_pcg::Pcg64::seed_from_u64(1);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    for i in 0..count {
        let p = DVec3::new((i % n) as f64, (i / n % n) as f64, (i / n / n) as f64) + 0.5;
        system.spheres.push(Sphere {
            id: i as u32,
            position: p * length / n as f64,
            velocity: DVec3::new(normal(), normal(), normal()) * 3f64.sqrt(),
            ..Sphere::default()
        });
    }
    let start = std::time::Instant::now();
    let mut simulation =
        Simulation::new(system, Options { backend: Backend::Exact, ..Options::default() }).unwrap();
    println!("setup {:?}, {} B/sphere", start.elapsed(), simulation.memory_bytes() / count);
    for round in 0..5 {
        let before = simulation.summary().clone();
        for _ in 0..40 {
            simulation.step().unwrap();
        }
        let after = simulation.summary();
        println!(
            "{round}: {:.0} collisions/s, {} impacts, Z {:?} E {:?} p {:?} overlap {:e} rate {}",
            (after.pair_impacts - before.pair_impacts) as f64 / (after.wall_seconds - before.wall_seconds),
            after.pair_impacts,
            after.compressibility,
            after.energy_error,
            after.momentum_error,
            after.deepest_overlap,
            after.collision_rate / 3f64.sqrt()
        );
    }
}
