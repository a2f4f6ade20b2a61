//! A sphere dropped on a floor.

use std::ops::ControlFlow;

use carom::{Backend, Materials, Plane, Sphere, System};
use glam::DVec3;

use crate::support::{simulate, simulate_silently};

const GRAVITY: f64 = 9.81;
const HEIGHT: f64 = 10.0;

on_each_backend!(
    a_thousand_bounces_keep_their_height_at_thirty_steps (gpu: long "8 min"),
    a_thousand_bounces_keep_their_height_at_sixty_steps (gpu: campaign "15 min"),
    a_thousand_bounces_keep_their_height_at_two_hundred_and_forty_steps (gpu: campaign "an hour"),
    a_few_bounces_keep_their_height,
    lossy_bounces_come_at_the_closed_form_times (gpu: long "a minute or two"),
    neighbours_in_free_fall_meet_as_if_there_were_no_gravity,
);

fn drop(restitution: f64, dt: f64) -> System {
    let mut system = System { dt, gravity: DVec3::new(0.0, 0.0, -GRAVITY), ..System::default() };
    system.materials = Materials::empty();
    system.materials.push("rubber", restitution, 1.0);
    system
        .walls
        .push(Plane { point: DVec3::ZERO, normal: DVec3::Z, material: 0, name: "floor".into() }.into());
    system.spheres.push(Sphere { position: DVec3::Z * (HEIGHT + 0.5), ..Sphere::default() });
    system
}

fn keep_height(bounces: u64, rate: f64, backend: Backend) {
    let mut simulation = simulate_silently(&drop(1.0, 1.0 / rate), backend);
    while simulation.summary().wall_impacts < bounces {
        // The device runs ahead while no state is read.
        let so_far = simulation.summary().wall_impacts;
        let flight = (2.0 * HEIGHT / GRAVITY).sqrt();
        let steps = ((bounces - so_far - 1) as f64 * 2.0 * flight * rate) as u64;
        simulation.run(steps.clamp(1, 1000), |_| ControlFlow::Continue(())).unwrap();
    }
    // The flight after the last bounce, step by step.
    let mut highest = 0.0f64;
    let mut left = true;
    while left {
        let sphere = simulation.spheres()[0];
        let apex = sphere.position.z - 0.5 + sphere.velocity.z.powi(2) / (2.0 * GRAVITY);
        if (apex / HEIGHT - 1.0).abs() > (highest / HEIGHT - 1.0).abs() || highest == 0.0 {
            highest = apex;
        }
        left = sphere.velocity.z > 0.0;
        simulation.step().unwrap();
    }
    println!(
        "{backend:?} dt 1/{rate}: apex off by {:e} after {bounces} bounces, {:.1} s",
        highest / HEIGHT - 1.0,
        { simulation.summary().wall_seconds }
    );
    assert!((highest / HEIGHT - 1.0).abs() <= 2e-6, "dt 1/{rate}: apex {highest}");
}

fn a_thousand_bounces_keep_their_height_at_thirty_steps(backend: Backend) {
    keep_height(1000, 30.0, backend);
}

fn a_thousand_bounces_keep_their_height_at_sixty_steps(backend: Backend) {
    keep_height(1000, 60.0, backend);
}

fn a_thousand_bounces_keep_their_height_at_two_hundred_and_forty_steps(backend: Backend) {
    keep_height(1000, 240.0, backend);
}

fn a_few_bounces_keep_their_height(backend: Backend) {
    for rate in [30.0, 60.0, 240.0] {
        // The same number of steps with each rate.
        keep_height((1200.0 / rate) as u64 / 2, rate, backend);
    }
}

fn lossy_bounces_come_at_the_closed_form_times(backend: Backend) {
    let e = 0.8f64;
    for rate in [30.0, 60.0, 240.0] {
        let mut simulation = simulate(&drop(e, 1.0 / rate), backend);
        let mut times = vec![];
        while times.len() < 15 {
            simulation.step().unwrap();
            times.extend(simulation.impacts().iter().map(|i| i.time));
        }
        let fall = (2.0 * HEIGHT / GRAVITY).sqrt();
        let mut expected = fall;
        let mut worst = 0.0f64;
        for (k, time) in times.iter().take(15).enumerate() {
            worst = worst.max((time - expected).abs());
            assert!((time - expected).abs() <= 1e-4, "dt 1/{rate}, bounce {k} at {time}, not {expected}");
            expected += 2.0 * fall * e.powi(k as i32 + 1);
        }
        println!("{backend:?} dt 1/{rate}: 15 bounces within {worst:e} s");
    }
}

fn neighbours_in_free_fall_meet_as_if_there_were_no_gravity(backend: Backend) {
    let outcome = |gravity: f64| {
        let mut system = System { dt: 1.0 / 60.0, gravity: DVec3::Z * -gravity, ..System::default() };
        for (id, x, v) in [(0, 0.0, 1.0), (1, 1.5, -0.5), (2, 3.0, -1.0)] {
            system.spheres.push(Sphere {
                id,
                position: DVec3::new(x, 0.2 * x, 50.0),
                velocity: DVec3::new(v, 0.0, 3.0),
                ..Sphere::default()
            });
        }
        let mut simulation = simulate(&system, backend);
        let mut impacts = vec![];
        for _ in 0..120 {
            simulation.step().unwrap();
            impacts.extend(simulation.impacts().iter().map(|i| (i.sphere, i.partner, i.time)));
        }
        (impacts, simulation.spheres())
    };
    let ((with, fallen), (without, flown)) = (outcome(GRAVITY), outcome(0.0));
    assert!(with.len() >= 2, "{with:?}");
    assert_eq!(with.len(), without.len());
    for (a, b) in with.iter().zip(&without) {
        assert_eq!((a.0, a.1), (b.0, b.1));
        assert!((a.2 - b.2).abs() < 1e-5, "{a:?} {b:?}");
    }
    let (fall, speed) = (GRAVITY * 2.0, GRAVITY * 2.0);
    for (a, b) in fallen.iter().zip(&flown) {
        assert!((a.position - (b.position - DVec3::Z * fall)).length() < 1e-4, "{a:?} {b:?}");
        assert!((a.velocity - (b.velocity - DVec3::Z * speed)).length() < 1e-4, "{a:?} {b:?}");
    }
}

// The rounding error of a velocity must enter the path on a device too: a compiler that replaced (u + g h) - u by g h
// lost two millionths of the height in three bounces, and a five-thousandth in a thousand.
#[cfg(feature = "gpu")]
#[test]
fn a_device_rounds_a_fall_as_the_processor_does() {
    let energy = |backend| {
        let mut simulation = simulate_silently(&drop(1.0, 1.0 / 240.0), backend);
        simulation.run(1000, |_| ControlFlow::Continue(())).unwrap();
        assert!(simulation.summary().wall_impacts > 0);
        let sphere = simulation.spheres()[0];
        sphere.position.z + sphere.velocity.z.powi(2) / (2.0 * GRAVITY)
    };
    let (device, processor) = (energy(Backend::Gpu), energy(Backend::Cpu));
    println!("height {device:.9} on the device, {processor:.9} on the processor");
    assert!((device - processor).abs() <= 1e-7 * HEIGHT, "{device} and {processor}");
}
