//! No sphere tunnels at any speed.

use carom::{Backend, Bounds, Side, Simulation, Sphere, System};
use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::support::simulate_silently;

on_each_backend!(
    bullets_head_on_do_not_pass_a_wall_of_fixed_spheres (gpu: long "a minute"),
    bullets_aslant_do_not_pass_a_wall_of_fixed_spheres,
    bullets_of_mixed_sizes_do_not_pass_a_wall_of_heavy_spheres (cpu: long "60 s", gpu: long "a minute"),
    ten_thousand_bullets_do_not_pass_either_wall (cpu: long "about 5 min", exact: long "about a minute", gpu: campaign "about an hour"),
);

// Initial distance between bullets in each direction.
const SPACING: f64 = 3.0;

// Speed of the bullets: 50 diameters of the target spheres per step.
const SPEED: f64 = 50.0;

// Three close-packed layers of spheres of diameter 1 across the box, the top layer at z = 0. A sphere larger than the
// window between three touching spheres, radius 0.077, cannot pass on any path. Movable spheres have 2% of clearance,
// which enlarges the window to 0.089.
fn wall(system: &mut System, across: u32, mass: f64) {
    let spacing = if mass.is_finite() { 1.02 } else { 1.0 };
    let rows = 2 * (f64::from(across) / 3f64.sqrt()).round() as u32;
    let row_width = 0.75f64.sqrt();
    let layer_height = (2.0 / 3.0f64).sqrt();
    system.bounds = Bounds {
        max: DVec3::new(f64::from(across), f64::from(rows) * row_width, 0.0) * spacing,
        sides: [Side::Periodic, Side::Periodic, Side::Open],
        ..Bounds::default()
    };
    for layer in 0..3 {
        for row in 0..rows {
            for k in 0..across {
                let x = f64::from(k) + 0.5 * f64::from(row % 2) + 0.5 * f64::from(layer);
                let y = (f64::from(row) + f64::from(layer) / 3.0) * row_width;
                system.spheres.push(Sphere {
                    id: system.spheres.len() as u32,
                    position: DVec3::new(x, y, -layer_height * f64::from(layer)) * spacing,
                    fixed: mass.is_infinite(),
                    mass: if mass.is_finite() { mass } else { 1.0 },
                    ..Sphere::default()
                });
            }
        }
    }
}

// `count` bullets above the layers, on a jittered lattice, with their speeds.
fn bullets(system: &mut System, count: usize, radii: (f64, f64), direction: DVec3, rng: &mut Pcg64) {
    let size = system.bounds.max;
    let (nx, ny) = ((size.x / SPACING) as usize, (size.y / SPACING) as usize);
    for k in 0..count {
        let radius = rng.random_range(radii.0..=radii.1);
        let column = DVec3::new((k % nx) as f64 / nx as f64, (k / nx % ny) as f64 / ny as f64, 0.0) * size;
        let room = SPACING - 2.0 * radius;
        let jitter = DVec3::new(rng.random(), rng.random(), rng.random()) * room;
        let height = 1.5 + SPACING * (k / nx / ny) as f64;
        system.spheres.push(Sphere {
            id: system.spheres.len() as u32,
            position: column + jitter + radius + DVec3::Z * height,
            velocity: direction.normalize() * SPEED * rng.random_range(0.8..1.0),
            radius,
            mass: 8.0 * radius.powi(3),
            ..Sphere::default()
        });
    }
}

const ALL: (usize, u32) = (10_000, 60);

// Fewer for the serial engine and for a software adapter.
fn size(backend: Backend) -> (usize, u32) {
    match backend {
        Backend::Cpu => ALL,
        Backend::Exact => (1000, 20),
        #[cfg(feature = "gpu")]
        Backend::Gpu => (1000, 20),
    }
}

// Asserts after every step that no bullet is below the lowest centre of the top layer or inside a sphere of that layer.
fn fly(mut simulation: Simulation, wall_count: usize, steps: usize, tolerance: f64) {
    for step in 0..steps {
        let report = simulation.step().unwrap().clone();
        let spheres = simulation.spheres();
        let system = simulation.system();
        let (wall, bullets) = spheres.split_at(wall_count);
        let floor = wall[..wall_count / 3].iter().map(|s| s.position.z).fold(f64::INFINITY, f64::min);
        let passed: Vec<_> =
            bullets.iter().filter(|s| s.position.z <= floor || s.position.z.is_nan()).collect();
        assert!(passed.is_empty(), "step {step}: {} passed, {:?}", passed.len(), passed[0]);
        // Compares with every sphere of the top layer nearby, independently of the engine.
        let mut deepest = 0.0f64;
        for bullet in bullets.iter().filter(|s| s.position.z < 1.2) {
            for stone in &wall[..wall_count / 3] {
                let distance = system.separation(bullet.position, stone.position).length();
                deepest = deepest.max(1.0 - distance / (bullet.radius + stone.radius));
            }
        }
        assert!(deepest <= tolerance, "step {step}: inside the wall by {deepest:e}, {report:?}");
        assert_eq!((report.stopped, report.unresolved), (0, 0), "step {step}: {report:?}");
        println!(
            "step {step}: {:.2} s, {} substeps, {} fast, {} impacts, late {}",
            report.wall_seconds, report.substeps, report.fast, report.pair_impacts, report.late
        );
    }
    let summary = simulation.summary();
    println!(
        "{:?}: {} spheres, {} impacts, late {}, overlap {:e}, substeps {}, rounds {}, energy {:?}, {:.1} s",
        simulation.backend(),
        summary.sphere_count,
        summary.pair_impacts,
        summary.late,
        summary.deepest_overlap,
        summary.substeps,
        summary.rounds_max,
        summary.energy_error,
        summary.wall_seconds,
    );
    assert!(summary.energy_error.unwrap().abs() <= 5e-6);
    assert!(
        summary.deepest_overlap <= 1e-3,
        "bullets pass through each other: {:e}",
        summary.deepest_overlap
    );
}

fn shoot(
    backend: Backend,
    (count, across): (usize, u32),
    mass: f64,
    radii: (f64, f64),
    direction: DVec3,
    seed: u64,
) {
    println!("seed {seed}");
    let mut system = System { dt: 1.0, ..System::default() };
    wall(&mut system, across, mass);
    let wall_count = system.spheres.len();
    bullets(&mut system, count, radii, direction, &mut Pcg64::seed_from_u64(seed));
    fly(simulate_silently(&system, backend), wall_count, 4, 1e-5);
}

fn bullets_head_on_do_not_pass_a_wall_of_fixed_spheres(backend: Backend) {
    shoot(backend, size(backend), f64::INFINITY, (0.5, 0.5), -DVec3::Z, 21);
}

fn bullets_aslant_do_not_pass_a_wall_of_fixed_spheres(backend: Backend) {
    // In the plane of a row of contacts, where the layers have their widest gaps.
    shoot(backend, size(backend), f64::INFINITY, (0.1, 0.5), DVec3::new(1.0, 0.3, -0.6), 22);
}

fn bullets_of_mixed_sizes_do_not_pass_a_wall_of_heavy_spheres(backend: Backend) {
    shoot(backend, size(backend), 1e6, (0.1, 0.5), DVec3::new(0.2, -0.1, -1.0), 23);
}

fn ten_thousand_bullets_do_not_pass_either_wall(backend: Backend) {
    shoot(backend, ALL, f64::INFINITY, (0.5, 0.5), -DVec3::Z, 21);
    shoot(backend, ALL, f64::INFINITY, (0.1, 0.5), DVec3::new(1.0, 0.3, -0.6), 22);
    shoot(backend, ALL, 1e6, (0.1, 0.5), DVec3::new(0.2, -0.1, -1.0), 23);
}
