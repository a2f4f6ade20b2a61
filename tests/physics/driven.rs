//! Lossy grains without gravity that are driven repeatedly or compressed: every run completes.

use carom::{
    Backend, Side, Simulation, Sphere, StepReport, Surface, System,
    scene::{Fill, Scene},
};
use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::support::simulate_silently;

// Grains of diameter and mass 1 in a box without gravity, with this `friction` and e = .5.
fn grains(count: u64, extent: DVec3, friction: f64, temperature: f64) -> System {
    let surface = Surface { restitution: 0.5, friction, ..Surface::default() };
    Scene::new(0.02)
        .bounds(DVec3::ZERO, extent)
        .sides([Side::Wall; 3])
        .surface("default", surface, 6.0 / std::f64::consts::PI)
        .fill(Fill::random(count).region(DVec3::ZERO, extent).temperature(temperature))
        .build()
        .unwrap()
}

/// Result of a run.
#[derive(Debug, Default)]
struct SpeedMoments {
    impacts: u64,
    softened: u64,
    rounds: u32,
    redone: u64,
    deepest: f64,
    seconds: f64,
}

impl SpeedMoments {
    fn add(&mut self, report: &StepReport) {
        assert_eq!((report.stopped, report.unresolved, report.nonfinite), (0, 0, 0), "{report:?}");
        self.impacts += report.pair_impacts + report.wall_impacts;
        self.softened += report.contact_time_impacts;
        self.rounds = self.rounds.max(report.rounds);
        self.redone += report.redone;
        self.deepest = self.deepest.max(report.deepest_overlap);
        self.seconds += report.wall_seconds;
    }
}

fn all_inside(simulation: &Simulation, extent: DVec3) {
    for sphere in simulation.spheres() {
        let depth = (sphere.position - sphere.radius).min_element();
        let over = (sphere.position + sphere.radius - extent).max_element();
        assert!(depth >= -1e-3 && over <= 1e-3, "{sphere:?}");
    }
}

// Grains at the walls leave at the speed of a shaken wall; all other grains dissipate their energy.
#[test]
fn a_box_of_lossy_grains_shaken_without_gravity_keeps_moving() {
    for friction in [0.0, 0.5] {
        let extent = DVec3::splat(12.0);
        let mut simulation = simulate_silently(&grains(600, extent, friction, 1.0), Backend::Cpu);
        let (mut moments, mut rng) = (SpeedMoments::default(), Pcg64::seed_from_u64(7));
        for step in 0..1500 {
            moments.add(simulation.step().unwrap());
            if step % 10 == 9 {
                simulation
                    .edit(|system| {
                        for sphere in &mut system.spheres {
                            for axis in 0..3 {
                                let speed = 3.0 * rng.random::<f64>();
                                if sphere.position[axis] < 1.0 {
                                    sphere.velocity[axis] = speed;
                                } else if sphere.position[axis] > extent[axis] - 1.0 {
                                    sphere.velocity[axis] = -speed;
                                }
                            }
                        }
                    })
                    .unwrap();
            }
        }
        println!(
            "friction {friction}: {moments:?}, kinetic energy {:.2}",
            simulation.report().kinetic_energy
        );
        assert!(moments.impacts > 10_000 && simulation.report().kinetic_energy > 1.0);
        all_inside(&simulation, extent);
    }
}

// A few fast grains hit grains that have almost stopped.
#[test]
fn kicks_wake_a_gas_that_has_cooled_down() {
    let extent = DVec3::splat(10.0);
    let mut simulation = simulate_silently(&grains(500, extent, 0.3, 1.0), Backend::Cpu);
    let (mut moments, mut rng) = (SpeedMoments::default(), Pcg64::seed_from_u64(8));
    for _ in 0..10 {
        for _ in 0..100 {
            moments.add(simulation.step().unwrap());
        }
        let cold = simulation.report().kinetic_energy;
        for _ in 0..5 {
            let way = DVec3::new(rng.random(), rng.random(), rng.random()) - 0.5;
            simulation.apply_impulse(rng.random_range(0..500), 40.0 * way).unwrap();
        }
        moments.add(simulation.step().unwrap());
        assert!(simulation.report().kinetic_energy > cold);
    }
    println!("{moments:?}");
    assert!(moments.impacts > 3000);
    all_inside(&simulation, extent);
}

// A layer of heavy spheres presses the spheres in front of it against the far wall.
fn drive(mass: f64, friction: f64) {
    let extent = DVec3::new(8.0, 8.0, 24.0);
    let mut system = grains(600, extent - DVec3::Z * 2.0, friction, 0.01);
    system.bounds.max = extent;
    for k in 0..64 {
        system.spheres.push(Sphere {
            id: 1000 + k,
            position: DVec3::new(f64::from(k % 8) + 0.5, f64::from(k / 8) + 0.5, 23.0),
            velocity: -4.0 * DVec3::Z,
            radius: 0.4999,
            mass,
            ..Sphere::default()
        });
    }
    let mut simulation = simulate_silently(&system, Backend::Cpu);
    let mut moments = SpeedMoments::default();
    let mut lowest = f64::INFINITY;
    for _ in 0..400 {
        moments.add(simulation.step().unwrap());
        let spheres = simulation.spheres();
        let piston = spheres[600..].iter().map(|s| s.position.z).sum::<f64>() / 64.0;
        lowest = lowest.min(piston);
    }
    println!(
        "mass {mass}, friction {friction}: {moments:?}, the piston came down to {lowest:.2}, kinetic energy {:.1}",
        simulation.report().kinetic_energy
    );
    // 600 spheres of volume pi/6 on an area of 64: no denser than 0.74.
    assert!(lowest > 600.0 * std::f64::consts::FRAC_PI_6 / 64.0 / 0.74, "pressed to {lowest}");
    all_inside(&simulation, extent);
}

#[test]
fn a_piston_driven_into_lossy_grains_is_stopped_by_them() {
    drive(100.0, 0.0);
    drive(10.0, 0.5);
}

tier!(long "about 2 min": a_heavy_piston_driven_into_rough_grains_is_stopped_by_them);
fn a_heavy_piston_driven_into_rough_grains_is_stopped_by_them() {
    drive(1.0, 0.0);
    drive(1000.0, 0.5);
}
