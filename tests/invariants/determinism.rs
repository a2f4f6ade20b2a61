//! Equal input gives equal output, bit for bit, on any number of threads and for any order of the spheres in the input.

use carom::{
    Backend, Impact, Options, Side, Simulation, StepReport, Surface, System,
    scene::{Fill, LatticeKind, Placed, Scene},
};
use glam::DVec3;
use rand::{SeedableRng, seq::SliceRandom};
use rand_pcg::Pcg64;

use crate::support::{gas, options};

const COUNT: u64 = 100_000;
const STEPS: u32 = 20;
// Density of a sphere with diameter 1 and mass 1.
const DENSITY: f64 = 6.0 / std::f64::consts::PI;

/// Results of a run: the state hash and the report of each step, and every impact.
#[derive(PartialEq)]
struct Trace {
    hashes: Vec<u64>,
    reports: Vec<StepReport>,
    impacts: Vec<Impact>,
}

fn trace(system: &System, options: Options, steps: u32) -> Trace {
    let mut simulation = Simulation::new(system.clone(), options).unwrap();
    let mut trace = Trace { hashes: vec![simulation.state_hash()], reports: vec![], impacts: vec![] };
    for _ in 0..steps {
        // All fields except times.
        let report =
            StepReport { wall_seconds: 0.0, stage_seconds: vec![], ..simulation.step().unwrap().clone() };
        trace.reports.push(report);
        trace.hashes.push(simulation.state_hash());
        trace.impacts.extend_from_slice(simulation.impacts());
    }
    trace
}

fn assert_equal(expected: &Trace, found: &Trace, what: &str) {
    for (step, (a, b)) in expected.hashes.iter().zip(&found.hashes).enumerate() {
        assert_eq!(a, b, "{what}: the state differs after step {step}");
    }
    assert_eq!(expected.reports, found.reports, "{what}");
    if let Some(at) = expected.impacts.iter().zip(&found.impacts).position(|(a, b)| a != b) {
        panic!("{what}: impact {at} differs: {:?} {:?}", expected.impacts[at], found.impacts[at]);
    }
    assert_eq!(expected.impacts.len(), found.impacts.len(), "{what}");
}

fn shuffled(system: &System, seed: u64) -> System {
    let mut system = system.clone();
    system.spheres.shuffle(&mut Pcg64::seed_from_u64(seed));
    system
}

fn compare_on_cpu(system: &System, steps: u32, seed: u64) -> Vec<StepReport> {
    println!("seed {seed}");
    let on = |threads, record_impacts| Options {
        threads,
        record_impacts,
        backend: Backend::Cpu,
        ..Options::default()
    };
    let one = trace(system, on(1, true), steps);
    let count = |f: fn(&StepReport) -> u64| one.reports.iter().map(f).sum::<u64>();
    println!(
        "{} pair impacts, {} wall impacts, late {}",
        count(|r| r.pair_impacts),
        count(|r| r.wall_impacts),
        count(|r| r.late)
    );
    assert!(one.impacts.len() > 1000, "too few impacts to tell: {}", one.impacts.len());
    assert_equal(&one, &trace(system, on(2, true), steps), "two threads");
    assert_equal(&one, &trace(&shuffled(system, seed), on(2, true), steps), "shuffled rows");
    // More threads than cores, and no recorded impacts.
    let silent = trace(system, on(3, false), steps);
    assert!(silent.impacts.is_empty());
    assert_equal(&Trace { impacts: vec![], ..one }, &silent, "three threads");
    silent.reports
}

#[test]
fn a_gas_is_the_same_on_any_number_of_threads() {
    compare_on_cpu(&gas(COUNT, 41), STEPS, 41);
}

// Spheres falling into a box whose lower third is filled at 0.3: the lowest spheres meet the floor and each other at
// once.
fn falling(count: u64, restitution: f64, seed: u64) -> System {
    let side = (count as f64 / DENSITY / 0.1).cbrt();
    let fill = Fill::random(count).region([0.0; 3], [side, side, side / 3.0]).temperature(1.0);
    Scene::new(1.0 / 60.0)
        .seed(seed)
        .material("default", restitution, DENSITY)
        .gravity([0.0, 0.0, -9.81])
        .bounds([0.0; 3], [side; 3])
        .walled()
        .fill(fill)
        .build()
        .unwrap()
}

#[test]
fn falling_elastic_spheres_are_the_same_on_any_number_of_threads() {
    compare_on_cpu(&falling(COUNT, 1.0, 42), STEPS, 42);
}

#[test]
fn falling_inelastic_spheres_are_the_same_on_any_number_of_threads() {
    compare_on_cpu(&falling(COUNT / 4, 0.8, 43), STEPS, 43);
}

// The same with friction, spins and a restitution that fades at low speed.
fn falling_rough(count: u64, seed: u64) -> System {
    let mut system = falling(count, 0.8, seed);
    let surface = Surface { friction: 0.4, restitution_threshold: 0.5, ..*system.materials.surface(0, 0) };
    system.materials.set_surface(0, 0, surface);
    for (k, sphere) in system.spheres.iter_mut().enumerate() {
        sphere.spin = DVec3::new((k % 3) as f64 - 1.0, (k % 5) as f64 - 2.0, (k % 7) as f64 - 3.0);
    }
    system
}

#[test]
fn falling_rough_spheres_are_the_same_on_any_number_of_threads() {
    compare_on_cpu(&falling_rough(COUNT / 4, 50), STEPS, 50);
}

tier!(long "45 s": many_falling_rough_spheres_are_the_same_on_any_number_of_threads);
fn many_falling_rough_spheres_are_the_same_on_any_number_of_threads() {
    compare_on_cpu(&falling_rough(COUNT, 50), STEPS, 50);
}

// A mixture of two radii in the plane.
fn mixture(count: u64, seed: u64) -> System {
    let fill = Fill::random(count).diameters([(1.0, 0.8), (2.5, 0.2)]).volume_fraction(0.4).temperature(3.0);
    Scene::new(1.0 / 60.0).seed(seed).flat().periodic().fill(fill).build().unwrap()
}

#[test]
fn a_flat_mixture_is_the_same_on_any_number_of_threads() {
    compare_on_cpu(&mixture(COUNT, 44), STEPS, 44);
}

// Diameters from one to ten with equal volume per size: cells of the largest size are subdivided for the smallest.
const ONE_TO_TEN: [(f64, f64); 3] = [(10.0, 0.001), (3.0, 0.036), (1.0, 0.963)];

#[test]
fn a_gas_of_sizes_from_one_to_ten_is_the_same_on_any_number_of_threads() {
    let fill = Fill::random(COUNT / 4).diameters(ONE_TO_TEN).volume_fraction(0.3).temperature(3.0);
    let system = Scene::new(1.0 / 60.0).seed(50).periodic().fill(fill).build().unwrap();
    compare_on_cpu(&system, STEPS, 50);
}

#[test]
fn falling_spheres_of_sizes_from_one_to_ten_are_the_same_on_any_number_of_threads() {
    let fill = Fill::random(4000).diameters(ONE_TO_TEN).region([0.0; 3], [24.0, 24.0, 38.0]);
    let mut system = Scene::new(0.05)
        .seed(51)
        .material("default", 0.3, DENSITY)
        .gravity([0.0, 0.0, -1.0])
        .bounds([0.0; 3], [24.0, 24.0, 40.0])
        .walled()
        .fill(fill.velocity([0.0, 0.0, -2.0]))
        .build()
        .unwrap();
    let surface = Surface { friction: 0.5, ..*system.materials.surface(0, 0) };
    system.materials.set_surface(0, 0, surface);
    compare_on_cpu(&system, 40, 51);
}

// A bed that sleeps when a marble strikes it: blocks of the solver stay as they are, change their places in the order, and wake. The
// world is open above, so its cells are hashed.
#[test]
fn a_sleeping_bed_that_a_marble_strikes_is_the_same_on_any_number_of_threads() {
    let spacing = 1.001;
    let width = 12.0 * spacing * 2.0_f64.sqrt();
    let marble = Placed {
        position: DVec3::new(4.3, 5.2, 110.0),
        velocity: DVec3::new(0.2, 0.1, 0.0),
        ..Placed::default()
    };
    let surface = Surface {
        restitution: 0.3,
        friction: 0.5,
        rolling_friction: 0.02,
        twisting_friction: 0.02,
        ..Surface::default()
    };
    let system = Scene::new(0.05)
        .gravity(-DVec3::Z)
        .bounds([0.0; 3], [width, width, 150.0])
        .sides([Side::Periodic, Side::Periodic, Side::Open])
        .surface("default", surface, DENSITY)
        .wall(DVec3::ZERO, DVec3::Z, "default")
        .fill(Fill::lattice([12, 12, 3], spacing).kind(LatticeKind::Fcc).origin(DVec3::splat(0.5)))
        .fill(Fill::at([marble]))
        .build()
        .unwrap();
    let on = |threads| Options { threads, ..Options::default() };
    let one = trace(&system, on(1), 420);
    let asleep: Vec<_> = one.reports.iter().map(|report| report.asleep).collect();
    println!("asleep: {:?}", asleep.iter().step_by(20).collect::<Vec<_>>());
    let most = *asleep.iter().max().unwrap();
    assert!(most > 1600 && *asleep.last().unwrap() < most - 50, "no bed that sleeps and wakes");
    for threads in [2, 8] {
        assert_equal(&one, &trace(&system, on(threads), 420), &format!("{threads} threads"));
    }
}

// One sphere in twenty is far too fast for the candidate lists, and some steps are so long that they are divided.
#[test]
fn fast_spheres_in_a_gas_are_the_same_on_any_number_of_threads() {
    let mut system = gas(10_000, 49);
    system.dt = 0.1;
    system.spheres.iter_mut().step_by(20).for_each(|s| s.velocity *= 30.0);
    let reports = compare_on_cpu(&system, 4, 49);
    let fast = reports.iter().map(|r| r.fast).max();
    println!("fast {fast:?}, redone {}", reports.iter().map(|r| r.redone).sum::<u64>());
    assert!(fast > Some(100), "no walks to compare");
}

#[test]
fn the_exact_engine_repeats_itself() {
    let on = |record_impacts| Options { record_impacts, backend: Backend::Exact, ..Options::default() };
    for (seed, system) in [(45, gas(1000, 45)), (46, falling(1000, 0.8, 46)), (47, mixture(1000, 47))] {
        println!("seed {seed}");
        let first = trace(&system, on(true), STEPS);
        assert!(first.impacts.len() > 100, "{}", first.impacts.len());
        assert_equal(&first, &trace(&system, on(true), STEPS), "again");
        assert_equal(&first, &trace(&shuffled(&system, seed), on(true), STEPS), "shuffled rows");
        let silent = trace(&system, on(false), STEPS);
        assert_equal(&Trace { impacts: vec![], ..first }, &silent, "nothing recorded");
    }
}

// The same without the counts of buffer growth: the number of spheres that a halted step processed depends on the order
// of invocations, and so does the number of retries. The result does not.
#[cfg(feature = "gpu")]
fn without_growth(mut trace: Trace) -> Trace {
    for report in &mut trace.reports {
        *report = StepReport { overflow: 0, submits: 0, blocking_reads: 0, dispatches: 0, ..report.clone() };
    }
    trace
}

// Twice, with the spheres in another order, and without recorded impacts.
#[cfg(feature = "gpu")]
fn compare_on_gpu(system: &System, steps: u32, seed: u64) -> Vec<StepReport> {
    println!("seed {seed}");
    let run = |system: &System, record_impacts| {
        without_growth(trace(system, Options { record_impacts, ..options(Backend::Gpu) }, steps))
    };
    let first = run(system, true);
    println!("{} impacts", first.impacts.len());
    assert!(first.impacts.len() > 1000, "too few impacts to tell: {}", first.impacts.len());
    assert_equal(&first, &run(system, true), "again");
    assert_equal(&first, &run(&shuffled(system, seed), true), "shuffled rows");
    let silent = run(system, false);
    assert_equal(&Trace { impacts: vec![], ..first }, &silent, "nothing recorded");
    silent.reports
}

#[cfg(feature = "gpu")]
#[test]
fn a_gas_is_the_same_again_on_gpu() {
    compare_on_gpu(&gas(COUNT, 41), 3, 41);
}

#[cfg(feature = "gpu")]
tier!(long "25 s": falling_inelastic_spheres_are_the_same_again_on_gpu);
#[cfg(feature = "gpu")]
fn falling_inelastic_spheres_are_the_same_again_on_gpu() {
    compare_on_gpu(&falling(10_000, 0.8, 43), 4, 43);
}

#[cfg(feature = "gpu")]
#[test]
fn falling_rough_spheres_are_the_same_again_on_gpu() {
    compare_on_gpu(&falling_rough(10_000, 50), 4, 50);
}

#[cfg(feature = "gpu")]
#[test]
fn a_flat_mixture_is_the_same_again_on_gpu() {
    compare_on_gpu(&mixture(10_000, 44), 10, 44);
}

#[cfg(feature = "gpu")]
#[test]
fn fast_spheres_in_a_gas_are_the_same_again_on_gpu() {
    let mut system = gas(2000, 49);
    system.dt = 0.02;
    system.spheres.iter_mut().step_by(10).for_each(|s| s.velocity *= 30.0);
    let reports = compare_on_gpu(&system, 4, 49);
    let fast = reports.iter().map(|r| r.fast).max();
    println!("fast {fast:?}, redone {}", reports.iter().map(|r| r.redone).sum::<u64>());
    assert!(fast > Some(20), "no walks to compare");
}

#[test]
fn one_bit_of_one_velocity_changes_the_hash() {
    for backend in [
        Backend::Cpu,
        Backend::Exact,
        #[cfg(feature = "gpu")]
        Backend::Gpu,
    ] {
        let mut system = gas(1000, 48);
        // The CPU and GPU engines hold f32 values; this test changes the last bit of one.
        system.spheres.iter_mut().for_each(|s| s.velocity = s.velocity.as_vec3().as_dvec3());
        let mut other = system.clone();
        let velocity = &mut other.spheres[500].velocity;
        velocity.y = f64::from(f32::from_bits((velocity.y as f32).to_bits() ^ 1));
        let options = Options { record_impacts: true, ..options(backend) };
        let [a, b] = [system, other].map(|system| trace(&system, options.clone(), 3));
        // The hashes also differ before the first step.
        assert!(a.hashes.iter().zip(&b.hashes).all(|(a, b)| a != b), "{backend:?}");
    }
}
