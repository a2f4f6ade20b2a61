//! Large ratios of sizes and masses.

use carom::{
    Backend, Simulation, System,
    scene::{Fill, Scene},
};

use crate::support::{gas, momentum, simulate};

on_each_backend!(
    radii_of_one_to_ten_keep_order_gaps_and_energy,
    radii_of_one_to_fifty_keep_order_gaps_and_energy,
    masses_of_one_to_a_million_keep_the_momentum,
);

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
