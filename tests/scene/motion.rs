//! Initial velocities.

use carom::{
    Dimensions, System,
    scene::{Fill, Placed, Scene},
};
use glam::DVec3;

fn momentum(system: &System) -> DVec3 {
    system.spheres.iter().map(|s| s.mass * s.velocity).sum()
}

fn kinetic(system: &System) -> f64 {
    system.spheres.iter().map(|s| 0.5 * s.mass * s.velocity.length_squared()).sum()
}

fn lattice(dimensions: Dimensions, count: u64) -> Scene {
    let scene = Scene::new(0.01);
    match dimensions {
        Dimensions::Two => scene.flat().fill(Fill::lattice([count, count, 1], 2.0).temperature(3.0)),
        Dimensions::Three => scene.fill(Fill::lattice([count, count, count], 2.0).temperature(3.0)),
    }
}

#[test]
fn temperature_is_exact_and_has_no_momentum() {
    for dimensions in [Dimensions::Two, Dimensions::Three] {
        let system = lattice(dimensions, 10).build().unwrap();
        let count = system.spheres.len() as f64;
        let expected = 0.5 * dimensions.count() as f64 * count * 3.0;
        assert!((kinetic(&system) / expected - 1.0).abs() < 1e-12);
        assert!(momentum(&system).length() < 1e-10);
    }
}

#[test]
fn temperature_is_maxwells_in_every_component() {
    let system = lattice(Dimensions::Three, 40).build().unwrap();
    let count = system.spheres.len() as f64;
    for axis in 0..3 {
        let mean =
            |power: i32| system.spheres.iter().map(|s| s.velocity[axis].powi(power)).sum::<f64>() / count;
        // Standard errors of the moments of a normal distribution of 64,000: 0.0056, 0.0155, 0.039 of the second's
        // scale.
        assert!((mean(2) / 3.0 - 1.0).abs() < 5.0 * 0.0056);
        assert!((mean(3) / 3f64.powf(1.5)).abs() < 5.0 * 0.0155);
        assert!((mean(4) / 9.0 - 3.0).abs() < 5.0 * 0.039);
    }
}

#[test]
fn heavy_spheres_are_slower() {
    let scene = Scene::new(0.01)
        .periodic()
        .fill(Fill::random(8000).volume_fraction(0.1).diameters([(1.0, 0.5), (2.0, 0.5)]).temperature(1.0));
    let system = scene.build().unwrap();
    for radius in [0.5, 1.0] {
        let group = || system.spheres.iter().filter(|s| s.radius == radius);
        let energy: f64 = group().map(|s| 0.5 * s.mass * s.velocity.length_squared()).sum();
        // 4000 spheres, 12,000 components: kT is known to sqrt(2/12000) = 1.3%.
        assert!((energy / (1.5 * group().count() as f64) - 1.0).abs() < 5.0 * 0.013);
    }
    assert!(momentum(&system).length() < 1e-9);
}

#[test]
fn one_speed_in_all_directions() {
    for flat in [false, true] {
        let mut scene = Scene::new(0.01).fill(Fill::lattice([100, 100, 1], 2.0).speed_uniform(3.0));
        if flat {
            scene = scene.flat();
        }
        let system = scene.build().unwrap();
        assert!(system.spheres.iter().all(|s| (s.velocity.length() - 3.0).abs() < 1e-12));
        let axes = if flat { 2 } else { 3 };
        for axis in 0..axes {
            let mean = system.spheres.iter().map(|s| s.velocity[axis]).sum::<f64>() / 10_000.0;
            let square = system.spheres.iter().map(|s| s.velocity[axis].powi(2)).sum::<f64>() / 10_000.0;
            assert!(mean.abs() < 5.0 * 3.0 / (axes as f64 * 10_000.0).sqrt());
            assert!((square * axes as f64 / 9.0 - 1.0).abs() < 0.05);
        }
        assert!(!flat || system.spheres.iter().all(|s| s.velocity.z == 0.0));
    }
}

#[test]
fn a_single_sphere_keeps_its_thermal_velocity() {
    let system = Scene::new(0.01).fill(Fill::lattice([1, 1, 1], 1.0).temperature(1.0)).build().unwrap();
    assert!(system.spheres[0].velocity.length() > 0.0);
}

#[test]
fn fixed_spheres_stay_and_a_group_velocity_replaces_each_ones() {
    let moving = Placed { velocity: DVec3::X, ..Placed::default() };
    let held = Placed { position: DVec3::splat(5.0), fixed: true, ..moving.clone() };
    let kept = Scene::new(0.01).fill(Fill::at([moving.clone(), held.clone()])).build().unwrap();
    assert_eq!(kept.spheres[0].velocity, DVec3::X);
    assert_eq!(kept.spheres[1].velocity, DVec3::ZERO);
    let pushed = Scene::new(0.01).fill(Fill::at([moving, held]).velocity([0.0, 2.0, 0.0])).build().unwrap();
    assert_eq!(pushed.spheres[0].velocity, DVec3::new(0.0, 2.0, 0.0));
    assert_eq!(pushed.spheres[1].velocity, DVec3::ZERO);
}
