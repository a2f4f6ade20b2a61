//! Large ratios of sizes and masses.

use carom::{
    Backend, Side, Simulation, Sphere, Surface, System,
    scene::{Fill, Scene},
};
use glam::DVec3;

use crate::support::{gas, momentum, simulate};

on_each_backend!(
    radii_of_one_to_ten_keep_order_gaps_and_energy,
    radii_of_one_to_fifty_keep_order_gaps_and_energy,
    masses_of_one_to_a_million_keep_the_momentum,
);
on_each_engine!(large_spheres_that_land_on_small_ones_press_none_into_the_floor);

fn hold(system: &System, backend: Backend, steps: u32) -> Simulation {
    let mut simulation = simulate(system, backend);
    for _ in 0..steps {
        simulation.step().unwrap();
    }
    let s = simulation.summary();
    println!(
        "{backend:?}: {} spheres, {} + {} impacts, late {}, stopped {}, redone {}, overlap {:e}, energy {:?}, \
         momentum {:?}, {} substeps, {:.1} s",
        s.sphere_count,
        s.pair_impacts,
        s.wall_impacts,
        s.late,
        s.stopped,
        s.redone,
        s.deepest_overlap,
        s.energy_error,
        s.momentum_error,
        s.substeps,
        s.wall_seconds
    );
    assert!(s.pair_impacts > 1000, "too few impacts to tell: {}", s.pair_impacts);
    assert_eq!((s.stopped, s.unresolved, s.nonfinite), (0, 0, 0));
    // 100 in a million.
    assert!(s.late * 10_000 <= s.pair_impacts, "late {} of {}", s.late, s.pair_impacts);
    assert!(s.deepest_overlap <= 1e-5, "overlap {:e}", s.deepest_overlap);
    assert!(s.energy_error.unwrap().abs() <= 5e-6, "energy {:?}", s.energy_error);
    simulation
}

fn radii_of_one_to_ten_keep_order_gaps_and_energy(backend: Backend) {
    println!("seed 61");
    // 3000 small spheres and six large ones that occupy two thirds of the volume.
    let fill = Fill::random(3006)
        .diameters([(1.0, 3000.0 / 3006.0), (10.0, 6.0 / 3006.0)])
        .volume_fraction(0.25)
        .temperature(3.0);
    let system = Scene::new(0.02).seed(61).periodic().fill(fill).build().unwrap();
    assert_eq!(system.spheres.iter().filter(|s| s.radius == 5.0).count(), 6);
    let simulation = hold(&system, backend, 50);
    let error = simulation.summary().momentum_error.unwrap();
    assert!(error <= 1e-5, "momentum {error:e}");
}

fn radii_of_one_to_fifty_keep_order_gaps_and_energy(backend: Backend) {
    println!("seed 62");
    // One sphere that occupies a quarter of a walled box, and small spheres in the rest.
    let fill = Fill::random(4001).diameters([(1.0, 4000.0 / 4001.0), (50.0, 1.0 / 4001.0)]).temperature(3.0);
    let system = Scene::new(0.1).seed(62).bounds([0.0; 3], [62.0; 3]).walled().fill(fill).build().unwrap();
    assert_eq!(system.spheres.iter().filter(|s| s.radius == 25.0).count(), 1);
    hold(&system, backend, 30);
}

fn masses_of_one_to_a_million_keep_the_momentum(backend: Backend) {
    println!("seed 63");
    // At the temperature of the small spheres (slow), and at their speed.
    for speed in [1e-3, 1.0] {
        let mut system = gas(2000, 63);
        for sphere in system.spheres.iter_mut().step_by(100) {
            sphere.mass = 1e6;
            sphere.velocity *= speed;
        }
        let before = momentum(&system.spheres);
        let scale: f64 = system.spheres.iter().map(|s| s.mass * s.velocity.length()).sum();
        let simulation = hold(&system, backend, 30);
        let change = (momentum(&simulation.spheres()) - before).length() / scale;
        println!("heavy ones at {speed} of the thermal speed: momentum {change:e}");
        assert!(change <= 1e-5, "momentum {change:e}");
        let error = simulation.summary().momentum_error.unwrap();
        assert!(error <= 1e-5, "momentum {error:e} of sqrt(2 M E)");
    }
}

// A large sphere lands on a layer of small ones after a fall of 85 d and 180 d. It squeezes several of them between itself and the
// floor. If it went on along its free path after the first of these contacts, small spheres would end .02 to .15 d inside the floor.
fn large_spheres_that_land_on_small_ones_press_none_into_the_floor(backend: Backend) {
    let surface = Surface { restitution: 0.5, friction: 0.5, ..Surface::default() };
    for (ratio, speed, seed) in [(10.0, 13.0, 2), (10.0, 13.0, 3), (20.0, 19.0, 2), (20.0, 19.0, 5)] {
        let edge = 3.0 * ratio;
        let count = (0.28 * edge * edge) as u64;
        let layer = Fill::random(count).region([0.0; 3], [edge, edge, 1.3]);
        let mut system = Scene::new(0.05)
            .seed(seed)
            .gravity(DVec3::NEG_Z)
            .bounds([0.0; 3], [edge, edge, 4.0 * ratio])
            .sides([Side::Periodic, Side::Periodic, Side::Wall])
            .surface("default", surface, 6.0 / std::f64::consts::PI)
            .fill(layer)
            .build()
            .unwrap();
        system.spheres.push(Sphere {
            id: count as u32,
            position: DVec3::new(0.5 * edge, 0.5 * edge, 0.5 * ratio + 3.0),
            velocity: DVec3::new(0.3, 0.1, -speed),
            radius: 0.5 * ratio,
            mass: ratio.powi(3),
            ..Sphere::default()
        });
        let mut simulation = simulate(&system, backend);
        let mut deepest = 0.0f64;
        let mut turned = false;
        for _ in 0..60 {
            deepest = deepest.max(simulation.step().unwrap().deepest_overlap);
            turned |= simulation.spheres().last().unwrap().velocity.z > 0.0;
        }
        let s = simulation.summary();
        println!(
            "{backend:?} 1:{ratio}, seed {seed}: overlap {deepest:.4}, crowded {}, late {}",
            s.crowded, s.late
        );
        assert!(turned && s.crowded > 0, "the large sphere does not land");
        assert_eq!(s.late, 0);
        assert!(deepest <= 0.01, "1:{ratio}, seed {seed}: overlap {deepest}");
    }
}
