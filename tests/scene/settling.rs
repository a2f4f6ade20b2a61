//! The built-in scenes that should come to rest do so, and stay at rest.

use std::ops::ControlFlow::Continue;

use carom::{Options, Simulation, Sphere, files::builtin};

fn start(name: &str) -> (Simulation, u64) {
    let scene = builtin(name).unwrap().load(&[]).unwrap();
    let steps = scene.world.steps;
    (Simulation::new(scene.build().unwrap(), Options::default()).unwrap(), steps)
}

// The largest displacement of a sphere.
fn farthest(simulation: &Simulation, before: &[Sphere]) -> f64 {
    let (system, after) = (simulation.system(), simulation.spheres());
    let ways = before.iter().zip(&after).map(|(a, b)| system.separation(a.position, b.position).length());
    ways.fold(0.0, f64::max)
}

// Runs a scene of mean diameter, mass and gravity 1 and tests its last third: 30 sqrt(d/g) of 90, or 20 of 60.
fn settles(name: &str) {
    let (mut simulation, steps) = start(name);
    simulation.run(steps - steps / 3, |_| Continue(())).unwrap();
    let before = simulation.spheres();
    let (mut kinetic, mut impacts) = (0.0f64, 0);
    simulation
        .run(steps / 3, |report| {
            kinetic = kinetic.max(report.kinetic_energy / before.len() as f64);
            impacts += report.pair_impacts + report.wall_impacts;
            Continue(())
        })
        .unwrap();
    let (farthest, summary) = (farthest(&simulation, &before), simulation.summary());
    println!(
        "{name}: kinetic energy {kinetic:.1e} each, {impacts} impacts, farthest {farthest:.1e}; deepest overlap ever {:.4}, stopped {}, \
         {:.1} s",
        summary.deepest_overlap, summary.stopped, summary.wall_seconds
    );
    assert!(kinetic <= 1e-6 && impacts == 0, "{kinetic:e}, {impacts} impacts");
    assert!(farthest <= 0.1, "a sphere moved {farthest}");
    assert!(summary.deepest_overlap <= 0.02, "{}", summary.deepest_overlap);
    assert_eq!((summary.stopped, summary.unresolved, summary.nonfinite), (0, 0, 0));
}

#[test]
fn the_balls_of_rolling_stop_where_its_file_says() {
    let (mut simulation, steps) = start("rolling");
    simulation.run(steps, |_| Continue(())).unwrap();
    for (ball, x) in simulation.spheres().iter().zip([8.1, 5.4, 3.5, 2.1, 1.1, 0.3]) {
        assert!((ball.position.x - x).abs() <= 0.05 && ball.velocity.length() <= 1e-6, "{ball:?}, not {x}");
    }
}

#[test]
fn pile50_comes_to_rest_and_stays() {
    settles("pile50");
}

tier!(long "about 2 min": packing_comes_to_rest_and_stays);
fn packing_comes_to_rest_and_stays() {
    settles("packing");
}

tier!(long "16 s": marbles_lie_in_their_tray);
fn marbles_lie_in_their_tray() {
    let (mut simulation, steps) = start("marbles");
    simulation.run(steps, |_| Continue(())).unwrap();
    let spheres = simulation.spheres();
    let fastest = spheres.iter().map(|s| s.velocity.length()).fold(0.0, f64::max);
    let summary = simulation.summary();
    println!(
        "marbles: the fastest at {fastest:.1e} m/s, deepest overlap ever {:.4}, {:.1} s",
        summary.deepest_overlap, summary.wall_seconds
    );
    assert!(fastest <= 0.01, "{fastest} m/s");
    assert!(spheres.iter().all(|s| s.position.z < 0.4), "not poured out");
    assert_eq!((summary.stopped, summary.unresolved), (0, 0));
}
