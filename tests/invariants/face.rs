//! The library's public interface: edits between steps, recorded and summed quantities, and errors.

use carom::{Backend, Error, Side, Simulation, Sphere, System};
use glam::DVec3;

use crate::support::{gas, options, simulate, sphere, to_its_end};

on_each_backend!(
    spheres_may_be_added_removed_and_struck_between_steps,
    a_failed_edit_changes_nothing,
    positions_are_those_of_the_spheres,
    an_edit_that_makes_the_system_invalid_is_reported_by_the_step,
    impacts_are_recorded_only_on_request,
    a_summary_has_only_figures_that_apply,
    time_and_steps_continue_after_an_edit,
    extreme_speeds_end_or_are_refused,
    an_extreme_impulse_ends_or_is_refused,
);

fn ids(simulation: &Simulation) -> Vec<u32> {
    simulation.spheres().iter().map(|s| s.id).collect()
}

fn row() -> System {
    let mut system = System { dt: 0.5, ..System::default() };
    // Ids with gaps, unordered.
    system.spheres = vec![sphere(9, [0.0; 3], [1.0, 0.0, 0.0]), sphere(4, [6.0, 0.0, 0.0], [0.0; 3])];
    system
}

fn spheres_may_be_added_removed_and_struck_between_steps(backend: Backend) {
    let mut simulation = simulate(&row(), backend);
    assert_eq!(ids(&simulation), [4, 9]);
    simulation.step().unwrap();
    let new = Sphere { mass: 3.0, ..sphere(6, [2.0, 0.0, 0.0], [0.0; 3]) };
    simulation.add(new).unwrap();
    assert_eq!((simulation.sphere_count(), ids(&simulation)), (3, vec![4, 6, 9]));
    assert_eq!(simulation.spheres()[1], new, "an edit is seen before the next step");
    // 9 is at 0.5 and hits 6 at x = 1 after half a unit: v = (m1 - m2)/(m1 + m2), v' = 2 m1/(m1 + m2).
    simulation.step().unwrap();
    let report = simulation.step().unwrap().clone();
    assert_eq!((report.step, simulation.summary().pair_impacts), (3, 1));
    let [still, struck, striker] = simulation.spheres()[..] else { panic!() };
    assert!((striker.velocity - DVec3::X * -0.5).length() < 1e-6, "{striker:?}");
    assert!((struck.velocity - DVec3::X * 0.5).length() < 1e-6, "{struck:?}");
    assert_eq!((still.position, still.velocity), (DVec3::X * 6.0, DVec3::ZERO));
    // Two impulses before a step add up, divided by the mass.
    simulation.apply_impulse(6, DVec3::new(0.0, 3.0, 0.0)).unwrap();
    simulation.apply_impulse(6, DVec3::new(0.0, 0.0, -6.0)).unwrap();
    let gone = simulation.remove(9).unwrap();
    assert!((gone.velocity - striker.velocity).length() < 1e-9 && gone.id == 9, "{gone:?}");
    let before = simulation.spheres()[1];
    simulation.step().unwrap();
    assert_eq!((ids(&simulation), simulation.sphere_count()), (vec![4, 6], 2));
    let after = simulation.spheres()[1];
    assert!((after.velocity - DVec3::new(0.5, 1.0, -2.0)).length() < 1e-6, "{after:?}");
    assert!((after.position - before.position - after.velocity * 0.5).length() < 1e-6, "{after:?}");
    // The id is free again.
    simulation.add(sphere(9, [0.0, 50.0, 0.0], [0.0; 3])).unwrap();
    simulation.step().unwrap();
    assert_eq!(ids(&simulation), [4, 6, 9]);
    // A fixed sphere accepts any impulse.
    simulation.add(Sphere { fixed: true, ..sphere(1, [0.0, 0.0, 70.0], [0.0; 3]) }).unwrap();
    simulation.apply_impulse(1, DVec3::splat(1e3)).unwrap();
    simulation.step().unwrap();
    let held = simulation.spheres()[0];
    assert_eq!((held.id, held.velocity), (1, DVec3::ZERO));
    assert!((held.position - DVec3::Z * 70.0).length() < 1e-6, "{held:?}");
    // Removes all spheres, then continues.
    for id in [1, 4, 6, 9] {
        simulation.remove(id).unwrap();
    }
    simulation.step().unwrap();
    assert_eq!((simulation.sphere_count(), simulation.spheres()), (0, vec![]));
}

fn a_failed_edit_changes_nothing(backend: Backend) {
    let system = gas(200, 71);
    let [mut edited, mut left] = [0, 1].map(|_| simulate(&system, backend));
    for step in 0..5 {
        assert!(matches!(edited.add(sphere(7, [0.0; 3], [0.0; 3])), Err(Error::Invalid(_))));
        assert_eq!(edited.remove(1000).unwrap_err(), Error::NoSuchSphere(1000));
        assert_eq!(edited.apply_impulse(1000, DVec3::X).unwrap_err(), Error::NoSuchSphere(1000));
        let endless = edited.apply_impulse(7, DVec3::new(0.0, f64::NAN, 0.0));
        assert!(matches!(endless, Err(Error::Invalid(_))), "{endless:?}");
        assert!(matches!(edited.apply_impulse(7, DVec3::splat(f64::INFINITY)), Err(Error::Invalid(_))));
        assert_eq!(edited.spheres(), left.spheres(), "step {step}");
        edited.step().unwrap();
        left.step().unwrap();
        assert_eq!(edited.state_hash(), left.state_hash(), "after step {step}");
        assert_eq!(edited.impacts(), left.impacts(), "step {step}");
    }
    let energy = |simulation: &Simulation| simulation.summary().energy_error;
    assert_eq!(energy(&edited), energy(&left), "the energy is still counted from the start");
}

fn an_edit_that_makes_the_system_invalid_is_reported_by_the_step(backend: Backend) {
    for wrong in [
        sphere(5, [0.25, 0.0, 0.0], [0.0; 3]),
        Sphere { radius: -1.0, ..sphere(5, [0.0, 9.0, 0.0], [0.0; 3]) },
        sphere(5, [0.0, 9.0, f64::NAN], [0.0; 3]),
        Sphere { material: 3, ..sphere(5, [0.0, 9.0, 0.0], [0.0; 3]) },
    ] {
        let mut simulation = simulate(&row(), backend);
        simulation.add(wrong).unwrap();
        for _ in 0..2 {
            let error = simulation.step().unwrap_err();
            assert!(matches!(&error, Error::Invalid(text) if text.contains('5')), "{error:?}");
            assert_eq!((simulation.steps(), simulation.time()), (0, 0.0));
        }
        // After the correction the run continues.
        simulation.remove(5).unwrap();
        simulation.step().unwrap();
        assert!((simulation.spheres()[1].position - DVec3::X * 0.5).length() < 1e-6);
    }
}

fn impacts_are_recorded_only_on_request(backend: Backend) {
    let system = gas(500, 72);
    let mut silent = Simulation::new(system.clone(), options(backend)).unwrap();
    let mut loud = simulate(&system, backend);
    for _ in 0..5 {
        let struck = silent.step().unwrap().pair_impacts;
        assert!(struck > 0 && silent.impacts().is_empty());
        loud.step().unwrap();
        assert_eq!(loud.impacts().len() as u64, struck, "those of the last step alone");
        assert_eq!(silent.state_hash(), loud.state_hash());
    }
}

fn a_summary_has_only_figures_that_apply(backend: Backend) {
    let summary = |system: &System| {
        let mut simulation = simulate(system, backend);
        (0..3).for_each(|_| drop(simulation.step().unwrap().clone()));
        simulation.summary().clone()
    };
    let said = |system: &System| {
        let summary = summary(system);
        [summary.energy_error, summary.momentum_error, summary.compressibility].map(|value| value.is_some())
    };
    let free = gas(500, 73);
    assert_eq!(said(&free), [true, true, true]);
    let mut lossy = free.clone();
    lossy.materials.set_restitution(0, 0, 0.9);
    assert_eq!(said(&lossy), [false, true, true]);
    let mut open = free.clone();
    open.bounds.sides[1] = Side::Open;
    assert_eq!(said(&open), [true, true, false]);
    let mut falling = open.clone();
    falling.gravity = DVec3::Y * -1.0;
    assert_eq!(said(&falling), [true, false, false]);
    let mut held = free.clone();
    held.spheres[3].fixed = true;
    assert_eq!(said(&held), [true, false, false]);
    let mut walled = free.clone();
    // Space for spheres that extend across the boundary.
    walled.bounds.min -= 1.0;
    walled.bounds.max += 1.0;
    walled.bounds.sides = [Side::Wall; 3];
    assert_eq!(said(&walled), [true, false, false]);
}

fn time_and_steps_continue_after_an_edit(backend: Backend) {
    let mut simulation = simulate(&gas(300, 74), backend);
    assert_eq!((simulation.time(), simulation.steps(), simulation.backend()), (0.0, 0, backend));
    assert_eq!(simulation.report().step, 0);
    let mut impacts = 0;
    for step in 1..=10u64 {
        let report = simulation.step().unwrap().clone();
        impacts += report.pair_impacts;
        assert_eq!((report.step, simulation.steps()), (step, step));
        assert_eq!(report.time, simulation.time());
        assert!((report.time - step as f64 / 60.0).abs() < 1e-12, "{}", report.time);
        assert_eq!(simulation.report(), &report);
    }
    // An edit restarts the energies, not the counters.
    simulation.remove(0).unwrap();
    simulation.step().unwrap();
    let summary = simulation.summary();
    assert_eq!((summary.steps, summary.sphere_count), (11, 299));
    assert_eq!(
        (summary.pair_impacts, summary.time),
        (impacts + simulation.report().pair_impacts, simulation.time())
    );
    assert!(summary.energy_error.unwrap().abs() < 1e-6, "{summary:?}");
}

// Steps until an error, at most ten times. No outcome panics or hangs, and all values stay finite.
fn endure(mut simulation: Simulation) -> Option<Error> {
    let start = simulation.steps();
    for step in 0..10 {
        let before = simulation.spheres();
        if let Err(error) = simulation.step() {
            let finite = before.iter().all(|s| s.velocity.is_finite());
            assert!(
                !finite || simulation.spheres() == before,
                "a failed step changes the spheres: {error:?}"
            );
            assert_eq!(simulation.steps(), start + step, "a failed step counts");
            if let Error::NonFinite { last_good_step, .. } = error {
                assert_eq!(last_good_step, start + step);
            }
            return Some(error);
        }
        let finite = |s: &Sphere| s.position.is_finite() && s.velocity.is_finite();
        assert!(simulation.spheres().iter().all(finite), "not finite, and no error says so");
    }
    None
}

fn is_clear(error: &Error) -> bool {
    match error {
        Error::NonFinite { .. } => true,
        Error::Invalid(text) | Error::NoProgress(text) | Error::Capacity(text) => !text.is_empty(),
        _ => false,
    }
}

fn extreme_speeds_end_or_are_refused(backend: Backend) {
    for (speed, sides) in [
        (1e12, Side::Open),
        (1e30, Side::Open),
        (1e300, Side::Open),
        (1e30, Side::Periodic),
        (1e30, Side::Wall),
        (1e300, Side::Periodic),
        (1e300, Side::Wall),
    ] {
        let outcome = to_its_end(move || {
            let mut system = gas(100, 75);
            system.bounds.min -= 1.0;
            system.bounds.max += 1.0;
            system.bounds.sides = [sides; 3];
            system.spheres[50].velocity = DVec3::new(speed, 0.5 * speed, 0.0);
            Simulation::new(system, options(backend)).map_or_else(Some, endure)
        });
        println!("{backend:?}, {speed:e}, {sides:?}: {outcome:?}");
        if let Some(Error::NonFinite { id, .. }) = outcome {
            assert_eq!(id, 50, "{speed:e}, {sides:?}: another one is named");
        }
        assert!(outcome.as_ref().is_none_or(is_clear), "{speed:e}, {sides:?}: {outcome:?}");
        // Neither an f32 nor a sum of squares in f64 can hold this value.
        assert!(outcome.is_some() || speed < 1e300, "{speed:e}, {sides:?}: taken for good");
    }
}

fn an_extreme_impulse_ends_or_is_refused(backend: Backend) {
    let outcome = to_its_end(move || {
        let mut simulation = simulate(&row(), backend);
        simulation.step().unwrap();
        // Each value is finite, but the velocity is infinite.
        simulation.add(Sphere { mass: 1e-300, ..sphere(5, [0.0, 9.0, 0.0], [0.0; 3]) }).unwrap();
        simulation.apply_impulse(5, DVec3::X * 1e100).err().or_else(|| endure(simulation))
    });
    println!("{backend:?}: {outcome:?}");
    assert!(outcome.as_ref().is_some_and(is_clear), "{outcome:?}");
}

fn positions_are_those_of_the_spheres(backend: Backend) {
    let mut simulation = simulate(&row(), backend);
    let agree = |simulation: &Simulation| {
        let centres: Vec<DVec3> = simulation.spheres().iter().map(|s| s.position).collect();
        assert_eq!(simulation.try_positions().unwrap(), centres);
        centres
    };
    assert_eq!(agree(&simulation)[1], DVec3::ZERO, "in the order of the ids");
    simulation.step().unwrap();
    assert!(agree(&simulation)[1].x > 0.0);
    simulation.apply_impulse(4, DVec3::Y).unwrap();
    agree(&simulation);
    simulation.remove(9).unwrap();
    assert_eq!(agree(&simulation).len(), 1);
}

#[test]
fn the_spheres_that_sleep_are_as_many_as_the_report_counts() {
    // Two spheres on a floor; one comes down long after the other has fallen asleep.
    let mut system = System { dt: 0.05, gravity: -DVec3::Z, ..System::default() };
    system.materials = carom::Materials::empty();
    let surface = carom::Surface { restitution: 0.5, friction: 0.5, ..carom::Surface::default() };
    system.materials.add("stone", surface, 1.0);
    let floor = carom::Plane { point: DVec3::ZERO, normal: DVec3::Z, material: 0, name: "floor".into() };
    system.walls.push(floor.into());
    system.spheres = vec![sphere(3, [0.0, 0.0, 0.5], [0.0; 3]), sphere(8, [9.0, 0.0, 400.0], [0.0; 3])];
    let mut simulation = Simulation::new(system, options(Backend::Cpu)).unwrap();
    assert_eq!(simulation.asleep().unwrap(), [false, false]);
    for _ in 0..400 {
        simulation.step().unwrap();
        let asleep = simulation.asleep().unwrap();
        assert_eq!(asleep.iter().filter(|a| **a).count() as u64, simulation.report().asleep);
    }
    assert_eq!(simulation.asleep().unwrap(), [true, false]);
}
