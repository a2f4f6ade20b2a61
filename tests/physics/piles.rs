//! Piles: they fall, come to rest and stay at rest.

use carom::{
    Backend, Bounds, Cells, Dimensions, Error, Materials, Options, Partner, Side, Simulation, Sphere,
    StepReport, Surface, System, contact_stress,
};
use glam::{DMat3, DVec3};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::support::simulate_silently;

on_each_engine!(
    fifty_plastic_layers_come_to_rest (gpu: long "7 min"),
    fifty_lossy_layers_come_to_rest (gpu: long "7 min"),
    fifty_bouncy_layers_come_to_rest (gpu: long "7 min"),
    fifty_layers_come_to_rest_far_from_the_origin (gpu: long "7 min"),
    smooth_layers_come_to_rest (gpu: long "about 15 min"),
    a_stack_that_falls_comes_to_rest (gpu: long "about a minute"),
    spheres_at_rest_are_not_fast,
    contacts_are_reported_or_refused,
    a_column_in_a_plane_carries_itself,
    the_stress_of_a_pile_at_rest_is_the_weight_above (gpu: long "about 5 min"),
    neither_edits_nor_another_engine_shake_a_pile,
    a_sphere_that_is_not_finite_leaves_a_pile_as_it_was,
    the_contacts_of_a_pile_at_rest_carry_its_weight (gpu: long "about 5 min"),
    twenty_thousand_spheres_in_fifty_layers_come_to_rest (cpu: campaign "10 min on two cores", gpu: campaign "73 min"),
    a_falling_pile_of_a_hundred_thousand_has_the_same_bits (cpu: campaign "10 min on two cores", gpu: campaign "about two hours"),
    a_pile_that_falls_asleep_has_the_same_bits (gpu: long "five minutes"),
    a_broad_pile_that_falls_asleep_has_the_same_bits (cpu: long "about 4 min", gpu: campaign "about an hour"),
    a_falling_pile_has_the_same_bits_on_any_number_of_threads_and_in_any_order (gpu: long "five minutes"),
);

// Loose layers of `side` x `side` spheres, radii +-10%, that fall as one block on a floor of a box with periodic sides;
// diameter, mass and gravity 1.
fn layers(count: u32, side: u32, surface: Surface, origin: f64, seed: u64) -> System {
    const GAP: f64 = 1.25;
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut uniform = || 2.0 * rng.random::<f64>() - 1.0;
    let mut system = System { gravity: -DVec3::Z, dt: 0.05, ..System::default() };
    // The layers have to stay without sleeping.
    system.solver.sleeping = false;
    system.materials = Materials::empty();
    system.materials.add("grain", surface, 6.0 / std::f64::consts::PI);
    let (width, corner) = (f64::from(side) * GAP, DVec3::new(origin, origin, 0.0));
    system.bounds = Bounds {
        min: corner,
        max: corner + DVec3::new(width, width, 1.5 * GAP * f64::from(count)),
        sides: [Side::Periodic, Side::Periodic, Side::Wall],
        ..Bounds::default()
    };
    for id in 0..count * side * side {
        let site = DVec3::new(f64::from(id % side), f64::from(id / side % side), f64::from(id / side / side));
        let noise = 0.05 * DVec3::new(uniform(), uniform(), uniform());
        let radius = 0.5 * (1.0 + 0.1 * uniform());
        system.spheres.push(Sphere {
            id,
            position: corner + (site + 0.5) * GAP + 0.5 * DVec3::Z + noise,
            radius,
            mass: (2.0 * radius).powi(3),
            ..Sphere::default()
        });
    }
    system
}

fn grain(restitution: f64, friction: f64) -> Surface {
    Surface { restitution, friction, rolling_friction: 0.01, twisting_friction: 0.01, ..Surface::default() }
}

// Path of the centre of mass between two states. Positions are those inside the periods: without the nearest image, one sphere
// that crosses a periodic side would move the centre by a share of the period.
fn path_of_centre(system: &System, start: &[Sphere], end: &[Sphere]) -> DVec3 {
    let mass: f64 = start.iter().map(|s| s.mass).sum();
    let paths = start.iter().zip(end).map(|(a, b)| system.separation(b.position, a.position) * a.mass);
    paths.sum::<DVec3>() / mass
}

/// Kinetic energy per sphere of a pile at rest, in m g d.
const STILL: f64 = 1e-6;

// Path of the centre of a pile at rest, in diameters.
const DRIFT: f64 = 5e-4;

// Steps of the fall, after which no impacts follow: 60 sqrt(d/g).
const FALL: u32 = 1200;

// The same until smooth layers lie still: 240 sqrt(d/g). Without friction a sphere in a trough oscillates for long, and
// half of such piles still sink by .001 to .01 between 60 and 90 sqrt(d/g), a few until 170.
const SMOOTH_FALL: u32 = 4800;

// Kinetic energy per sphere from the fall on until the pile lies still, in m g d.
const SLOW: f64 = 1e-3;

// Measures for 30 sqrt(d/g) after so many steps.
fn comes_to_rest(system: &System, still: u32, backend: Backend) {
    let mut simulation = simulate_silently(system, backend);
    let count = system.spheres.len() as f64;
    let (mut falling, mut resting, mut settling, mut kinetic, mut rounds) =
        (0.0f64, 0.0f64, 0.0f64, 0.0f64, 0);
    let mut start = vec![];
    for step in 1..=still + 600 {
        let report = simulation.step().unwrap().clone();
        assert_eq!((report.stopped, report.unresolved), (0, 0), "{report:?}");
        if step <= FALL {
            falling = falling.max(report.deepest_overlap);
        } else {
            resting = resting.max(report.deepest_overlap);
            settling = settling.max(report.kinetic_energy / count);
            rounds = rounds.max(report.rounds);
        }
        if step == still {
            start = simulation.spheres();
        } else if step > still {
            kinetic = kinetic.max(report.kinetic_energy / count);
        }
    }
    let end = simulation.spheres();
    let drift = path_of_centre(system, &start, &end).length();
    let moved = start.iter().zip(&end).map(|(a, b)| system.separation(a.position, b.position).length());
    let summary = simulation.summary();
    println!(
        "{count} spheres: overlap {falling:.4} falling, {resting:.5} at rest; kinetic energy {settling:.1e}, then {kinetic:.1e}, rounds {rounds}, \
         drift {drift:.1e}, farthest {:.1e}, ledger {:.1e}, {} impacts, {} late, {:.1} s",
        moved.fold(0.0, f64::max),
        summary.ledger_error,
        summary.pair_impacts + summary.wall_impacts,
        summary.late,
        summary.wall_seconds
    );
    assert!(falling <= 0.02 && resting <= 0.0025, "overlap {falling} falling, {resting} at rest");
    assert!(settling <= SLOW, "kinetic energy after the fall {settling:e}");
    assert!(kinetic <= STILL, "kinetic energy at rest {kinetic:e}");
    assert_eq!((rounds, summary.late), (0, 0), "rounds at rest, and late impacts");
    assert!(summary.ledger_error <= 1e-5, "{:e}", summary.ledger_error);
    assert!(drift <= DRIFT, "drift {drift:e}");
}

fn fifty_plastic_layers_come_to_rest(backend: Backend) {
    comes_to_rest(&layers(50, 4, grain(0.0, 0.5), 0.0, 1), FALL, backend);
}

fn fifty_lossy_layers_come_to_rest(backend: Backend) {
    comes_to_rest(&layers(50, 4, grain(0.5, 0.5), 0.0, 1), FALL, backend);
}

fn fifty_bouncy_layers_come_to_rest(backend: Backend) {
    comes_to_rest(&layers(50, 4, grain(0.9, 0.5), 0.0, 1), FALL, backend);
}

fn fifty_layers_come_to_rest_far_from_the_origin(backend: Backend) {
    comes_to_rest(&layers(50, 4, grain(0.5, 0.5), 10_000.0, 1), FALL, backend);
}

fn smooth_layers_come_to_rest(backend: Backend) {
    let smooth = Surface { restitution: 0.5, ..Surface::default() };
    for seed in [3, 10] {
        comes_to_rest(&layers(20, 6, smooth, 0.0, seed), SMOOTH_FALL, backend);
    }
}

fn the_contacts_of_a_pile_at_rest_carry_its_weight(backend: Backend) {
    let system = layers(20, 5, grain(0.3, 0.5), 1000.0, 5);
    let mut simulation = simulate_silently(&system, backend);
    simulation.run(1200, |_| std::ops::ControlFlow::Continue(())).unwrap();
    let (spheres, contacts) = (simulation.spheres(), simulation.contacts().unwrap());
    let weight: f64 = spheres.iter().map(|s| s.mass).sum();
    let mut balance: Vec<DVec3> = spheres.iter().map(|s| -DVec3::Z * s.mass).collect();
    let (mut torque, mut floor) = (vec![DVec3::ZERO; spheres.len()], 0.0);
    for contact in &contacts {
        let pressure = contact.force.dot(contact.normal);
        let friction = contact.force - contact.normal * pressure;
        assert!(pressure > 0.0 && friction.length() <= 0.5 * pressure * (1.0 + 1e-5), "{contact:?}");
        assert!(contact.gap.abs() <= 0.02, "{contact:?}");
        let i = contact.sphere as usize;
        balance[i] += contact.force;
        torque[i] += (contact.point - spheres[i].position).cross(contact.force) + contact.torque;
        match contact.partner {
            Partner::Sphere(id) => {
                let j = id as usize;
                assert!(contact.sphere < id, "{contact:?}");
                balance[j] -= contact.force;
                let apart = system.separation(spheres[i].position, spheres[j].position);
                assert!((apart - contact.branch).length() <= 1e-4, "{contact:?}: {apart}");
                torque[j] -=
                    (contact.point - (spheres[i].position - apart)).cross(contact.force) + contact.torque;
            }
            Partner::Wall(plane) => {
                assert_eq!(system.planes()[plane as usize].name, "z-min");
                floor += contact.force.z;
            }
        }
    }
    let worst = |all: &[DVec3]| all.iter().map(|v| v.length()).fold(0.0, f64::max);
    let extent = system.bounds.max - system.bounds.min;
    let volume = extent.x * extent.y * extent.z;
    let stress = contact_stress(&contacts, volume) * volume;
    println!(
        "{} contacts of {} spheres, {:.2} each: the floor carries {floor:.4} of {weight:.4}; left over at most force {:.1e}, torque \
         {:.1e}; stress times volume {stress}",
        contacts.len(),
        spheres.len(),
        2.0 * contacts.len() as f64 / spheres.len() as f64,
        worst(&balance),
        worst(&torque)
    );
    assert!((floor - weight).abs() <= 1e-3 * weight, "the floor carries {floor} of {weight}");
    assert!(worst(&balance) <= 1e-3, "a sphere is left with the force {:e}", worst(&balance));
    assert!(worst(&torque) <= 1e-3, "a sphere is left with the torque {:e}", worst(&torque));
    // Pressed on all sides, most along gravity, and without torque: the tensor is symmetric.
    assert!(stress.z_axis.z > stress.x_axis.x && stress.x_axis.x > 0.0 && stress.y_axis.y > 0.0, "{stress}");
    assert!((stress.x_axis.z - stress.z_axis.x).abs() <= 1e-3 * stress.z_axis.z, "{stress}");
}

fn twenty_thousand_spheres_in_fifty_layers_come_to_rest(backend: Backend) {
    comes_to_rest(&layers(50, 20, grain(0.5, 0.5), 0.0, 1), FALL, backend);
}

// The contact impulses survive a change of engine: no contact starts from zero.
fn neither_edits_nor_another_engine_shake_a_pile(backend: Backend) {
    let system = layers(8, 3, grain(0.5, 0.5), 0.0, 9);
    let weight: f64 = system.spheres.iter().map(|s| s.mass).sum();
    let mut simulation = simulate_silently(&system, Backend::Cpu);
    simulation.run(1000, |_| std::ops::ControlFlow::Continue(())).unwrap();
    let start = simulation.spheres();
    simulation.switch(Options { backend, ..Options::default() }).unwrap();
    for step in 0..4 {
        // Half of the steps follow an edit that changes nothing.
        if step % 2 == 0 {
            simulation.apply_impulse(17, DVec3::ZERO).unwrap();
        }
        let report = simulation.step().unwrap().clone();
        let contacts = simulation.contacts().unwrap();
        let floor: f64 =
            contacts.iter().filter(|c| matches!(c.partner, Partner::Wall(_))).map(|c| c.force.z).sum();
        println!("step {step}: the floor carries {floor:.5} of {weight:.5}, {:e}", report.kinetic_energy);
        assert!((floor - weight).abs() <= 1e-3 * weight, "the floor carries {floor} of {weight}");
        assert!(report.kinetic_energy <= STILL * 72.0, "{report:?}");
    }
    for (a, b) in start.iter().zip(simulation.spheres()) {
        assert!(a.position.distance(b.position) <= 1e-5, "{a:?} {b:?}");
    }
    // The neighbours of a removed sphere drop their contact impulse with it.
    simulation.remove(30).unwrap();
    simulation.step().unwrap();
    assert!(
        !simulation.contacts().unwrap().iter().any(|c| c.sphere == 30 || c.partner == Partner::Sphere(30))
    );
}

// Two edits without a step between them keep the contact impulses.
fn a_sphere_that_is_not_finite_leaves_a_pile_as_it_was(backend: Backend) {
    let mut system = layers(4, 3, grain(0.5, 0.5), 0.0, 9);
    // High above the others.
    system.spheres.push(Sphere { id: 99, position: DVec3::new(1.0, 1.0, 6.5), ..Sphere::default() });
    let mut simulation = simulate_silently(&system, Backend::Cpu);
    simulation.run(600, |_| std::ops::ControlFlow::Continue(())).unwrap();
    simulation.switch(Options { backend, ..Options::default() }).unwrap();
    let before = simulation.spheres();
    simulation.apply_impulse(99, 1e39 * DVec3::X).unwrap();
    let error = simulation.step().unwrap_err();
    assert!(matches!(error, Error::NonFinite { id: 99, .. }), "{error:?}");
    simulation.remove(99).unwrap();
    let report = simulation.step().unwrap().clone();
    println!("kinetic energy {:e}", report.kinetic_energy);
    assert!(report.nonfinite == 0 && report.kinetic_energy <= 0.01, "{report:?}");
    for (a, b) in before.iter().zip(simulation.spheres()) {
        assert!(a.id == b.id && a.position.distance(b.position) <= 0.01, "{a:?} {b:?}");
    }
}

// Every horizontal plane carries the weight of the centres above: each contact force acts along the line between two
// centres.
fn the_stress_of_a_pile_at_rest_is_the_weight_above(backend: Backend) {
    let system = layers(12, 5, grain(0.3, 0.5), 1000.0, 6);
    let mut simulation = simulate_silently(&system, backend);
    simulation.run(1200, |_| std::ops::ControlFlow::Continue(())).unwrap();
    let (spheres, contacts) = (simulation.spheres(), simulation.contacts().unwrap());
    let (low, high) = (system.bounds.min, system.bounds.max);
    let extent = high - low;
    let levels = 23;
    let cells = Cells { min: low, max: high, count: [1, 1, levels] };
    let stress = simulation.contact_stress(&cells).unwrap();
    let height = extent.z / levels as f64;
    let above =
        |z: f64| spheres.iter().map(|s| s.mass * ((s.position.z - z) / height).clamp(0.0, 1.0)).sum::<f64>();
    let area = extent.x * extent.y;
    let mut worst = 0.0f64;
    for (level, tensor) in stress.iter().enumerate() {
        let expected = above(low.z + level as f64 * height) / area;
        worst = worst.max((tensor.z_axis.z - expected).abs());
    }
    let foot = stress[0].z_axis.z;
    println!("{} contacts: stress at the foot {foot:.4}, off by at most {worst:.1e}", contacts.len());
    assert!(foot > 7.0 && worst <= 1e-3 * foot, "{worst:e} of {foot}");

    // The total is independent of the number of cells and of their origin along the periods.
    let whole = contact_stress(&contacts, extent.x * extent.y * extent.z);
    let shifted = DVec3::new(-7.3 * extent.x, 0.4 * extent.y, 0.0);
    for (count, shift) in [([1, 1, 1], DVec3::ZERO), ([3, 4, 5], DVec3::ZERO), ([5, 2, 7], shifted)] {
        let cells = Cells { min: low + shift, max: high + shift, count };
        let stress = simulation.contact_stress(&cells).unwrap();
        assert_eq!(stress.len(), count.iter().product::<usize>());
        let mean = stress.iter().sum::<DMat3>() * (1.0 / stress.len() as f64);
        let off = (mean - whole).to_cols_array().map(f64::abs).into_iter().fold(0.0, f64::max);
        assert!(off <= 1e-9 * whole.z_axis.z, "{count:?}: {mean}, not {whole}");
    }
    // The upper half of the box contains exactly the contacts in it.
    let halves = [0.0, 0.5].map(|k| Cells {
        min: low + extent * DVec3::Z * k,
        max: low + extent * DVec3::new(1.0, 1.0, k + 0.5),
        count: [1, 1, 1],
    });
    let [lower, upper] = halves.map(|cells| simulation.contact_stress(&cells).unwrap()[0].z_axis.z);
    assert!((0.5 * (lower + upper) - whole.z_axis.z).abs() <= 1e-9 * lower && lower > 2.0 * upper);
}

// Spheres that lie still use up their margins exactly, substep by substep. In steps of these lengths rounding left less than the last
// substep needs, before the margins covered it.
fn spheres_at_rest_are_not_fast(backend: Backend) {
    for dt in [0.38, 0.44, 0.52] {
        let mut system = System { gravity: -DVec3::Z, dt, ..System::default() };
        system.solver.sleeping = false;
        system.materials = Materials::empty();
        system.materials.add("grain", Surface { restitution: 0.5, ..Surface::default() }, 1.0);
        let sides = [Side::Periodic, Side::Periodic, Side::Wall];
        system.bounds = Bounds { max: DVec3::new(12.0, 12.0, 6.0), sides, ..Bounds::default() };
        for id in 0..100_u32 {
            let site = DVec3::new(f64::from(id % 10), f64::from(id / 10), 0.0);
            system.spheres.push(Sphere { id, position: 1.2 * site + 0.5, ..Sphere::default() });
        }
        let mut simulation = Simulation::new(system, Options { backend, ..Options::default() }).unwrap();
        for step in 1..=6 {
            let report = simulation.step().unwrap();
            assert!(report.substeps > 10, "{dt}: {} substeps", report.substeps);
            assert_eq!(report.kinetic_energy, 0.0, "{dt}, step {step}");
            assert_eq!(report.fast, 0, "{dt}, step {step}: spheres at rest count as fast");
        }
    }
}

fn contacts_are_reported_or_refused(backend: Backend) {
    let system = layers(2, 2, grain(0.5, 0.0), 0.0, 1);
    let smooth = System { materials: Materials::default(), ..system.clone() };
    let exact = simulate_silently(&smooth, Backend::Exact);
    let Err(Error::Unsupported(text)) = exact.contacts() else { panic!("exact tells contacts") };
    assert!(text.contains("exact") && text.contains("cpu"), "{text}");

    let mut simulation = simulate_silently(&system, backend);
    assert_eq!(simulation.contacts().unwrap(), [], "before the first step");
    simulation.run(200, |_| std::ops::ControlFlow::Continue(())).unwrap();
    let contacts = simulation.contacts().unwrap();
    assert!(contacts.len() >= 4 && contacts.iter().any(|c| matches!(c.partner, Partner::Wall(_))));
    assert!(contacts.is_sorted_by_key(|contact| (contact.sphere, contact.partner)));
    let box_of = |count| Cells { min: system.bounds.min, max: system.bounds.max, count };
    assert_eq!(simulation.contact_stress(&box_of([2, 3, 4])).unwrap().len(), 24);
    let wide = Cells { max: system.bounds.max * 1.5, ..box_of([1; 3]) };
    let turned = Cells { min: system.bounds.max, max: system.bounds.min, ..box_of([1; 3]) };
    let endless = Cells { max: DVec3::INFINITY, ..box_of([1; 3]) };
    for cells in [box_of([2, 0, 1]), wide, turned, endless] {
        assert!(matches!(simulation.contact_stress(&cells), Err(Error::Invalid(_))), "{cells:?}");
    }
    let many = simulation.contact_stress(&box_of([1 << 40, 1 << 40, 1 << 40]));
    assert!(matches!(many, Err(Error::Capacity(_))));
    simulation.apply_impulse(0, DVec3::Z).unwrap();
    assert_eq!(simulation.contacts().unwrap(), [], "after an edit");
}

fn a_column_in_a_plane_carries_itself(backend: Backend) {
    let mut system =
        System { dimensions: Dimensions::Two, gravity: -10.0 * DVec3::Y, dt: 0.01, ..System::default() };
    system.materials = Materials::empty();
    system.materials.add("disc", grain(0.5, 0.5), 1.0);
    let sides = [Side::Periodic, Side::Wall, Side::Open];
    system.bounds = Bounds { max: DVec3::new(4.0, 8.0, 0.0), sides, ..Bounds::default() };
    for id in 0..3 {
        let position = DVec3::new(3.9, f64::from(id) + 0.5, 0.0);
        system.spheres.push(Sphere { id, position, mass: 2.0, ..Sphere::default() });
    }
    let mut simulation = simulate_silently(&system, backend);
    simulation.run(100, |_| std::ops::ControlFlow::Continue(())).unwrap();
    let contacts = simulation.contacts().unwrap();
    let forces: Vec<f64> = contacts.iter().map(|contact| contact.force.y).collect();
    assert_eq!(forces.len(), 3, "{contacts:?}");
    for (force, expected) in forces.iter().zip([-40.0, 60.0, -20.0]) {
        assert!((force - expected).abs() <= 0.02, "{forces:?}");
    }
    // Across a period, through a layer of thickness 2 from the floor to the lowest centre: 60 / (4 * 2).
    let corners = [DVec3::new(1.0, 0.0, -1.0), DVec3::new(5.0, 0.5, 1.0)];
    let cells = Cells { min: corners[0], max: corners[1], count: [4, 1, 1] };
    let stress = simulation.contact_stress(&cells).unwrap();
    assert!((stress.iter().map(|s| s.y_axis.y).sum::<f64>() / 4.0 - 7.5).abs() <= 0.01, "{stress:?}");
    assert!((stress[2].y_axis.y - 30.0).abs() <= 0.02, "{stress:?}");
}

// On one, two and three threads, and with the spheres in another order; on a device these are several runs.
fn has_the_same_bits(system: &System, steps: u64, backend: Backend, holds: fn(&StepReport) -> bool) {
    let hash = |system: &System, threads| {
        let options = Options { backend, threads, ..Options::default() };
        let mut simulation = Simulation::new(system.clone(), options).unwrap();
        simulation.run(steps, |_| std::ops::ControlFlow::Continue(())).unwrap();
        assert!(holds(simulation.report()), "{:?}", simulation.report());
        assert!(!simulation.contacts().unwrap().is_empty(), "nothing lies yet");
        simulation.state_hash()
    };
    let expected = hash(system, 1);
    let mut shuffled = system.clone();
    let mut rng = Pcg64::seed_from_u64(4);
    for k in (1..shuffled.spheres.len()).rev() {
        shuffled.spheres.swap(k, rng.random_range(0..=k));
    }
    assert_eq!(hash(system, 2), expected, "two threads");
    assert_eq!(hash(system, 3), expected, "three threads");
    assert_eq!(hash(&shuffled, 2), expected, "shuffled");
}

fn a_falling_pile_has_the_same_bits_on_any_number_of_threads_and_in_any_order(backend: Backend) {
    has_the_same_bits(&layers(12, 20, grain(0.5, 0.5), 0.0, 3), 160, backend, moves);
}

// In an upright stack the approach of all contacts adds up. Where the iterations leave it to the pushes against overlaps, the stack sinks
// in every substep and is lifted again, for ever.
fn a_stack_that_falls_comes_to_rest(backend: Backend) {
    for fall in [1.0, 2.0, 2.9, 3.0, 3.1, 4.0, 6.0] {
        let mut system =
            System { gravity: -DVec3::Z, dt: 0.05, materials: Materials::empty(), ..System::default() };
        let surface = Surface { restitution: 0.3, friction: 0.5, ..Surface::default() };
        system.materials.add("grain", surface, 6.0 / std::f64::consts::PI);
        let sides = [Side::Wall; 3];
        system.bounds = Bounds { max: DVec3::new(20.0, 20.0, 60.0), sides, ..Bounds::default() };
        for id in 0..12 {
            let position = DVec3::new(10.0, 10.0, fall + 0.5 + f64::from(id));
            system.spheres.push(Sphere { id, position, ..Sphere::default() });
        }
        let mut simulation = simulate_silently(&system, backend);
        let (mut kinetic, mut deepest) = (0.0_f64, 0.0_f64);
        for step in 0..400 {
            let report = simulation.step().unwrap();
            if step >= 350 {
                kinetic = kinetic.max(report.kinetic_energy);
                deepest = deepest.max(report.deepest_overlap);
            }
        }
        println!("fall {fall}: kinetic energy {kinetic:.1e}, overlap {deepest:.4}");
        assert!(kinetic < 1e-9 && deepest < 0.006, "fall {fall}: {kinetic} {deepest}");
    }
}

// The pile sleeps after 32.
fn a_pile_that_falls_asleep_has_the_same_bits(backend: Backend) {
    let mut system = layers(4, 7, grain(0.5, 0.5), 0.0, 3);
    system.solver.sleeping = true;
    has_the_same_bits(&system, 900, backend, |report| report.asleep == 196);
}

// Enough spheres for several threads.
fn a_broad_pile_that_falls_asleep_has_the_same_bits(backend: Backend) {
    let mut system = layers(2, 36, grain(0.5, 0.5), 0.0, 3);
    system.solver.sleeping = true;
    has_the_same_bits(&system, 1200, backend, |report| report.asleep > 2000);
}

fn moves(report: &StepReport) -> bool {
    report.kinetic_energy > 1.0
}

fn a_falling_pile_of_a_hundred_thousand_has_the_same_bits(backend: Backend) {
    has_the_same_bits(&layers(28, 60, grain(0.5, 0.5), 0.0, 3), 60, backend, moves);
}

tier!(long "about 3 min": thirty_two_thousand_spheres_dropped_into_a_box_do_not_sink_into_each_other);
fn thirty_two_thousand_spheres_dropped_into_a_box_do_not_sink_into_each_other() {
    const GAP: f64 = 1.1;
    let mut rng = Pcg64::seed_from_u64(1);
    let mut system = System { gravity: -9.81 * DVec3::Z, ..System::default() };
    system.materials = Materials::empty();
    let surface = Surface { restitution: 0.3, friction: 0.5, ..Surface::default() };
    system.materials.add("grain", surface, 6.0 / std::f64::consts::PI);
    let max = DVec3::new(40.0, 40.0, 40.0) * GAP;
    system.bounds = Bounds { max, sides: [Side::Wall; 3], ..Bounds::default() };
    for id in 0..32_000 {
        let site = DVec3::new(f64::from(id % 40), f64::from(id / 40 % 40), f64::from(id / 1600));
        let noise = DVec3::new(rng.random(), rng.random(), rng.random()) - 0.5;
        let position = (site + DVec3::new(0.5, 0.5, 1.0)) * GAP + 0.02 * noise;
        system.spheres.push(Sphere { id, position, ..Sphere::default() });
    }
    let mut simulation = simulate_silently(&system, Backend::Cpu);
    let mut deepest = (0.0, 0);
    for step in 1..=300 {
        let report = simulation.step().unwrap();
        assert_eq!((report.stopped, report.unresolved), (0, 0), "{report:?}");
        if report.deepest_overlap > deepest.0 {
            deepest = (report.deepest_overlap, step);
        }
        if step % 20 == 0 {
            println!(
                "step {step}: deepest overlap so far {:.4}, kinetic energy {:.2e} each, {} impacts, {} rounds, {:.0} ms",
                deepest.0,
                report.kinetic_energy / 32_000.0,
                report.pair_impacts + report.wall_impacts,
                report.rounds,
                1e3 * report.wall_seconds
            );
        }
    }
    let summary = simulation.summary();
    println!(
        "deepest overlap {:.4} at step {}; {:.0} ms a step, ledger {:.1e}, late {}",
        deepest.0,
        deepest.1,
        1e3 * summary.wall_seconds / 300.0,
        summary.ledger_error,
        summary.late
    );
    assert!(deepest.0 <= 0.02, "{} at step {}", deepest.0, deepest.1);
    assert!(summary.kinetic_energy / 32_000.0 < 1e-3, "it does not come to rest");
}

// Several steps, so that the warm start of each step matters; in a longer run rounding decides the paths of grains.
#[cfg(feature = "gpu")]
#[test]
fn a_falling_pile_is_the_same_on_a_device() {
    let system = layers(6, 5, grain(0.5, 0.5), 0.0, 7);
    let run = |backend| {
        let mut simulation = simulate_silently(&system, backend);
        let mut overlaps = vec![];
        simulation
            .run(40, |report| {
                overlaps.push(report.deepest_overlap);
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
        (simulation.spheres(), simulation.contacts().unwrap(), overlaps)
    };
    let (cpu, cpu_contacts, cpu_overlaps) = run(Backend::Cpu);
    let (gpu, gpu_contacts, gpu_overlaps) = run(Backend::Gpu);
    let overlaps = || cpu_overlaps.iter().zip(&gpu_overlaps);
    let most = overlaps().map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let seen = overlaps().filter(|(cpu, _)| **cpu > 1e-4).count();
    println!("overlaps of {seen} steps differ by at most {most:.1e}");
    assert!(seen > 5 && most <= 1e-4, "{seen} steps, {most:e}: {cpu_overlaps:?} and {gpu_overlaps:?}");
    let apart = cpu.iter().zip(&gpu).map(|(a, b)| system.separation(a.position, b.position).length());
    let apart = apart.fold(0.0, f64::max);
    println!("{} and {} contacts, spheres {apart:.1e} apart", cpu_contacts.len(), gpu_contacts.len());
    assert!(apart <= 1e-3, "{apart:e}");
    assert!(cpu_contacts.len() >= 30, "{}", cpu_contacts.len());
    for (a, b) in cpu_contacts.iter().zip(&gpu_contacts) {
        assert_eq!((a.sphere, a.partner), (b.sphere, b.partner));
    }
    let floor = |contacts: &[carom::Contact]| -> f64 {
        let walls = contacts.iter().filter(|c| matches!(c.partner, Partner::Wall(_)));
        walls.map(|c| c.force.z).sum()
    };
    let (on_cpu, on_gpu) = (floor(&cpu_contacts), floor(&gpu_contacts));
    assert!((on_cpu - on_gpu).abs() <= 0.01 * on_cpu, "the floor carries {on_cpu} and {on_gpu}");
}

// Calm contacts need one batch of iterations and one push, whose result the report of a device has to read.
#[cfg(feature = "gpu")]
#[test]
fn a_calm_pile_reports_the_same_overlap_on_a_device() {
    let mut system = layers(4, 6, grain(0.3, 0.5), 0.0, 7);
    for (sphere, k) in system.spheres.iter_mut().zip(0..) {
        let place = glam::UVec3::new(k % 6, k / 6 % 6, k / 36).as_dvec3() * DVec3::new(1.25, 1.25, 1.0) + 0.5;
        *sphere = Sphere { id: k, position: place, ..Sphere::default() };
    }
    let overlaps = |backend| {
        let mut simulation = simulate_silently(&system, backend);
        (0..12).map(|_| simulation.step().unwrap().deepest_overlap).collect::<Vec<_>>()
    };
    let (cpu, gpu) = (overlaps(Backend::Cpu), overlaps(Backend::Gpu));
    assert!(cpu[2..].iter().all(|&depth| depth > 1e-6), "{cpu:?}");
    for (a, b) in cpu.iter().zip(&gpu) {
        assert!((a - b).abs() <= 0.01 * a + 1e-6, "{cpu:?} and {gpu:?}");
    }
}

// Constraints, candidates and columns, without copies that a step does not need.
#[test]
fn a_pile_takes_less_than_two_kilobytes_per_sphere() {
    let surface = Surface { restitution: 0.3, friction: 0.5, ..Surface::default() };
    let mut simulation = simulate_silently(&layers(20, 16, surface, 0.0, 1), Backend::Cpu);
    simulation.run(400, |_| std::ops::ControlFlow::Continue(())).unwrap();
    let bytes = simulation.memory_bytes() / simulation.sphere_count();
    let per_sphere = simulation.contacts().unwrap().len() as f64 / simulation.sphere_count() as f64;
    println!("{bytes} bytes per sphere with {per_sphere:.2} contacts each");
    assert!(per_sphere > 1.5 && bytes < 2000);
}
