//! Poured grains: packing density and coordination number.

use carom::{
    Backend, Contact, Partner, Side, Simulation, Sphere, Surface, System,
    scene::{Fill, Scene},
};
use glam::DVec3;

use crate::support::simulate_silently;

on_each_engine!(large_grains_do_not_sink_into_the_small_ones_they_fall_on (gpu: long "about 5 min"));

/// Height (diameters) that the floor orders, and the same depth below the surface.
const MARGIN: f64 = 4.0;

/// Time (sqrt(d/g)) after which grains that fall from up to 60 d are at rest.
const SETTLED: f64 = 70.0;

// A loose rain of spheres of three sizes, mean diameter 1, in a box with periodic sides; mass and gravity 1.
fn rain(count: u64, width: f64, friction: f64, seed: u64) -> System {
    const LOOSE: f64 = 0.2;
    let surface = Surface {
        restitution: 0.3,
        friction,
        rolling_friction: 0.01 * f64::from(friction > 0.0),
        twisting_friction: 0.01 * f64::from(friction > 0.0),
        ..Surface::default()
    };
    let height = count as f64 * std::f64::consts::FRAC_PI_6 / (LOOSE * width * width);
    let sizes = [0.9, 1.0, 1.1].map(|diameter| (diameter, 1.0 / 3.0));
    Scene::new(0.05)
        .gravity(-DVec3::Z)
        .seed(seed)
        .bounds(DVec3::ZERO, DVec3::new(width, width, height))
        .sides([Side::Periodic, Side::Periodic, Side::Wall])
        .surface("default", surface, 6.0 / std::f64::consts::PI)
        .fill(Fill::random(count).diameters(sizes))
        .build()
        .unwrap()
}

// Volume of the part of a sphere below a height.
fn volume_below(sphere: &Sphere, height: f64) -> f64 {
    let r = sphere.radius;
    let t = (height - sphere.position.z).clamp(-r, r);
    std::f64::consts::PI * (r * r * t - t.powi(3) / 3.0 + 2.0 / 3.0 * r.powi(3))
}

/// Measured properties of a packing, away from the floor and the surface.
struct Packing {
    fraction: f64,
    coordination: f64,
}

impl Packing {
    fn of(system: &System, spheres: &[Sphere], contacts: &[Contact]) -> Self {
        let top = spheres.iter().map(|s| s.position.z).fold(0.0, f64::max);
        let (low, high) = (MARGIN, top - MARGIN);
        assert!(high > low + 2.0, "too few spheres: they lie {top} high");
        let volume: f64 = spheres.iter().map(|s| volume_below(s, high) - volume_below(s, low)).sum();
        let extent = system.bounds.max - system.bounds.min;
        let mut touching = vec![0u32; spheres.len()];
        for contact in contacts {
            touching[contact.sphere as usize] += 1;
            if let Partner::Sphere(id) = contact.partner {
                touching[id as usize] += 1;
            }
        }
        let inside = || spheres.iter().filter(|s| s.position.z > low && s.position.z < high);
        let touched: u32 = inside().map(|s| touching[s.id as usize]).sum();
        Self {
            fraction: volume / (extent.x * extent.y * (high - low)),
            coordination: f64::from(touched) / inside().count() as f64,
        }
    }
}

fn settle(system: &System) -> (Simulation, Packing) {
    let mut simulation = simulate_silently(system, Backend::Cpu);
    let steps = (SETTLED / system.dt) as u64;
    simulation.run(steps, |_| std::ops::ControlFlow::Continue(())).unwrap();
    let packing = Packing::of(system, &simulation.spheres(), &simulation.contacts().unwrap());
    let summary = simulation.summary();
    println!(
        "{} spheres: packing {:.4}, coordination {:.3}; kinetic energy {:.1e}, deepest overlap {:.4}, stopped {}, late {}, {:.1} s",
        system.spheres.len(),
        packing.fraction,
        packing.coordination,
        summary.kinetic_energy / system.spheres.len() as f64,
        summary.deepest_overlap,
        summary.stopped,
        summary.late,
        summary.wall_seconds
    );
    assert_eq!((summary.stopped, summary.unresolved), (0, 0));
    (simulation, packing)
}

// Mean and its standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

// Means over three seeds.
fn packs(friction: f64, fraction: [f64; 2], coordination: [f64; 2]) {
    let packings: Vec<Packing> = (1..=3).map(|seed| settle(&rain(2000, 10.0, friction, seed)).1).collect();
    let of = |value: fn(&Packing) -> f64| mean(&packings.iter().map(value).collect::<Vec<_>>());
    let ((phi, phi_error), (z, z_error)) = (of(|p| p.fraction), of(|p| p.coordination));
    println!("friction {friction}: packing {phi:.4} +- {phi_error:.4}, coordination {z:.3} +- {z_error:.3}");
    assert!((fraction[0]..=fraction[1]).contains(&phi), "packing {phi} +- {phi_error}");
    assert!((coordination[0]..=coordination[1]).contains(&z), "coordination {z} +- {z_error}");
}

tier!(long "about 2 min": rough_grains_pack_as_loosely_as_poured_ones_do);
fn rough_grains_pack_as_loosely_as_poured_ones_do() {
    packs(0.5, [0.58, 0.62], [4.0, 5.0]);
}

tier!(long "about 2 min": smooth_grains_pack_as_densely_as_spheres_at_random_can);
fn smooth_grains_pack_as_densely_as_spheres_at_random_can() {
    // Six contacts per sphere hold a pile of frictionless spheres. The figure holds to one digit, because spheres that
    // overlap by a thousandth touch a few more.
    packs(0.0, [0.62, 0.645], [5.5, 6.5]);
}

#[test]
fn rough_grains_come_to_rest_in_a_loose_packing() {
    let (_, packing) = settle(&rain(700, 6.5, 0.5, 4));
    // The figures of the long tests, with the scatter of so few spheres.
    assert!((0.57..=0.63).contains(&packing.fraction), "{}", packing.fraction);
    assert!((3.9..=5.1).contains(&packing.coordination), "{}", packing.coordination);
}

// Equal volume of each size. With three batches of four iterations each the result is .037 in the second pour.
fn large_grains_do_not_sink_into_the_small_ones_they_fall_on(backend: Backend) {
    const RATIO: f64 = 4.0;
    let grain = Surface {
        restitution: 0.3,
        friction: 0.5,
        rolling_friction: 0.05,
        twisting_friction: 0.05,
        ..Surface::default()
    };
    let large = 1.0 / (1.0 + RATIO.powi(3));
    for seed in 1..=3 {
        let system = Scene::new(0.05)
            .gravity(-DVec3::Z)
            .seed(seed)
            .bounds(DVec3::ZERO, DVec3::new(10.5, 10.5, 30.0))
            .sides([Side::Periodic, Side::Periodic, Side::Wall])
            .surface("default", grain, 6.0 / std::f64::consts::PI)
            .fill(Fill::random(800).diameters([(1.0, 1.0 - large), (RATIO, large)]))
            .build()
            .unwrap();
        let mut simulation = simulate_silently(&system, backend);
        let mut deepest = 0.0f64;
        for _ in 0..160 {
            let report = simulation.step().unwrap();
            assert_eq!((report.stopped, report.unresolved), (0, 0), "{report:?}");
            deepest = deepest.max(report.deepest_overlap);
        }
        let report = simulation.report();
        println!("seed {seed}: overlap {deepest:.4} while they fall, then {:.4}", report.deepest_overlap);
        assert!(deepest <= 0.025, "overlap {deepest} while they fall");
        assert!(report.deepest_overlap <= 0.005, "overlap {} in the end", report.deepest_overlap);
    }
}
