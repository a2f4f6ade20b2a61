//! The same events as the naive finder, in the same order, on random small systems.
//!
//! Hard spheres are chaotic: a rounding error grows tenfold every few collisions, and no two programs agree over
//! hundreds of events. Therefore the naive finder starts each step from the state that the engine reports, while the
//! engine continues with its queue, cells and clocks. A step contains few events, and the test compares every one of
//! them. No pair of events is excused as a near-tie.

use carom::{Backend, Bounds, Dimensions, Options, Partner, Plane, Side, Simulation, Solver, Sphere, System};
use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

use crate::naive::Naive;

const EVENTS: u64 = 200;

// Relative tolerance of event times since the start of the run. All other values have this absolute tolerance, which
// is scaled by 1 + value for impulses and velocities.
const TOLERANCE: f64 = 1e-9;

// A burst of events in one step (a light sphere between two heavy ones) amplifies rounding errors: after the first
// eight events of a step, values have this tolerance. The events and their order are still compared.
const BURST: usize = 8;
const TOLERANCE_IN_BURST: f64 = 1e-6;

// Draws systems until one has enough events, with steps of about one event.
fn random_system(seed: u64) -> System {
    let mut rng = Pcg64::seed_from_u64(seed);
    loop {
        let mut system = draw(&mut rng);
        let mut trial = Simulation::new(system.clone(), exact()).unwrap();
        let mut early = 0;
        for step in 0..400 {
            trial.step().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            if step < 40 {
                early = trial.summary().impacts();
            }
        }
        if trial.summary().impacts() >= 2 * EVENTS {
            system.dt *= (40.0 / early as f64).min(1.0);
            return system;
        }
    }
}

fn draw(rng: &mut Pcg64) -> System {
    let mut system = System { dt: 0.5, ..System::default() };
    let flat = rng.random_bool(0.4);
    let axes = if flat { 2 } else { 3 };
    system.dimensions = if flat { Dimensions::Two } else { Dimensions::Three };
    let falling = rng.random_bool(0.4);
    // Up is the last axis, which then needs a floor.
    let up = axes - 1;
    let mut bounds = Bounds::default();
    for axis in 0..axes {
        bounds.sides[axis] =
            if rng.random_bool(0.5) && !(falling && axis == up) { Side::Periodic } else { Side::Wall };
        bounds.min[axis] = rng.random_range(-50.0..50.0);
        bounds.max[axis] = bounds.min[axis] + rng.random_range(3.7..6.5);
    }
    if falling {
        system.gravity[up] = -rng.random_range(0.5..10.0);
        if bounds.sides[0] == Side::Wall {
            system.gravity[0] = rng.random_range(-0.5..0.5);
        }
        // Half of the systems are open above, with a plane below.
        if rng.random_bool(0.5) {
            bounds.sides[up] = Side::Open;
            let mut normal = DVec3::AXES[up];
            if bounds.sides[0] == Side::Wall {
                normal.x = rng.random_range(-0.3..0.3);
            }
            system.walls.push(
                Plane { point: bounds.min, normal: normal.normalize(), material: 0, name: "floor".into() }
                    .into(),
            );
        }
    }
    // Elastic, or lossy with a contact time that matters.
    let lossy = rng.random_bool(0.4);
    if lossy {
        system.solver = Solver { contact_time: Some(rng.random_range(0.001..0.05)), ..Solver::default() };
        system.materials = carom::Materials::empty();
        let density = 1.0;
        system.materials.push("a", rng.random_range(0.9..1.0), density);
        system.materials.push("b", rng.random_range(0.7..0.95), density);
        system.materials.set_restitution(0, 1, rng.random_range(0.5..1.0));
    }
    system.bounds = bounds;
    let equal = rng.random_bool(0.3);
    let count = rng.random_range(3..=12);
    let with_fixed = rng.random_bool(0.4);
    let mut id = 0;
    for attempt in 0..4000 {
        if system.spheres.len() == count {
            break;
        }
        let radius = if equal { 0.5 } else { rng.random_range(0.2..0.6) };
        let mut sphere = Sphere {
            radius,
            mass: if equal { 1.0 } else { 10f64.powf(rng.random_range(-1.0..1.5)) },
            material: u16::from(lossy && rng.random_bool(0.5)),
            fixed: with_fixed && attempt % 5 == 0,
            ..Sphere::default()
        };
        for axis in 0..axes {
            sphere.position[axis] = rng.random_range(system.bounds.min[axis]..system.bounds.max[axis]);
            if !sphere.fixed {
                sphere.velocity[axis] = StandardNormal.sample(rng);
            }
        }
        let clear_of_walls = system
            .planes()
            .iter()
            .all(|p| sphere.fixed || (sphere.position - p.point).dot(p.normal) > radius * 1.001);
        let clear = clear_of_walls
            && system.spheres.iter().all(|s| {
                system.separation(s.position, sphere.position).length() > (s.radius + radius) * 1.001
            });
        if clear {
            // Ids with gaps, not in the order of the list.
            id = (id + 37) % 101;
            system.spheres.push(Sphere { id, ..sphere });
        }
    }
    system
}

fn exact() -> Options {
    Options { backend: Backend::Exact, record_impacts: true, ..Options::default() }
}

// Compares until EVENTS events have been seen; returns their number, the number late in a burst, and the worst relative
// difference of the other times.
fn compare(seed: u64) -> (u64, u64, f64) {
    let system = random_system(seed);
    let mut engine = Simulation::new(system.clone(), exact()).unwrap();
    let spheres = engine.spheres();
    let contacts = vec![f64::NEG_INFINITY; spheres.len()];
    let mut naive = Naive { system: &system, spheres, contacts };
    let (mut events, mut late, mut worst) = (0, 0, 0.0f64);
    for step in 0..20_000 {
        if events >= EVENTS {
            break;
        }
        let start = engine.time();
        naive.spheres = engine.spheres();
        let expected = naive.run(start, system.dt);
        let report = engine.step().unwrap_or_else(|e| panic!("seed {seed}, step {step}: {e}")).clone();
        let found = engine.impacts();
        for k in 0..expected.len().max(found.len()) {
            let place = format!("seed {seed}, step {step}, event {k}");
            let (Some(a), Some(b)) = (expected.get(k), found.get(k)) else {
                panic!("{place}: {} events expected, {} found", expected.len(), found.len())
            };
            assert_eq!((a.sphere, a.partner), (b.sphere, b.partner), "{place}: {a:?} against {b:?}");
            let tolerance = if k < BURST { TOLERANCE } else { TOLERANCE_IN_BURST };
            let apart = (a.time - b.time).abs() / a.time;
            assert!(apart <= tolerance, "{place}: times {} and {}", a.time, b.time);
            assert!((a.normal - b.normal).length() <= tolerance, "{place}: {a:?} against {b:?}");
            assert!((a.impulse - b.impulse).abs() <= tolerance * (1.0 + a.impulse), "{place}: {a:?} {b:?}");
            assert!(system.separation(a.point, b.point).length() <= tolerance, "{place}: {a:?} {b:?}");
            if k < BURST {
                worst = worst.max(apart);
            } else {
                late += 1;
            }
        }
        let tolerance = if found.len() <= BURST { TOLERANCE } else { TOLERANCE_IN_BURST };
        let pairs = expected.iter().filter(|i| matches!(i.partner, Partner::Sphere(_))).count();
        assert_eq!(
            (report.pair_impacts, report.wall_impacts),
            (pairs as u64, (expected.len() - pairs) as u64)
        );
        assert!(report.deepest_overlap < 1e-12, "seed {seed}, step {step}: {}", report.deepest_overlap);
        for (a, b) in naive.spheres.iter().zip(engine.spheres()) {
            let apart = system.separation(a.position, b.position).length();
            assert!(apart <= tolerance, "seed {seed}, step {step}: {a:?} against {b:?}");
            let faster = (a.velocity - b.velocity).length();
            assert!(
                faster <= tolerance * (1.0 + a.velocity.length()),
                "seed {seed}, step {step}: {a:?} {b:?}"
            );
        }
        events += found.len() as u64;
    }
    (events, late, worst)
}

#[test]
fn two_hundred_random_systems_have_the_events_of_the_naive_finder() {
    let (mut total, mut in_bursts, mut worst) = (0, 0, 0.0f64);
    for seed in 0..200 {
        let (events, late, apart) = compare(seed);
        total += events;
        in_bursts += late;
        worst = worst.max(apart);
        assert!(events >= EVENTS, "seed {seed}: only {events} events");
    }
    println!(
        "{total} events, {in_bursts} of them late in a burst; times of the others within {worst:e}, relative"
    );
    assert!(in_bursts * 100 < total, "steps are too long to compare closely");
}
