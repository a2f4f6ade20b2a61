//! The CPU engine against the event-driven reference, step by step from equal states.

use carom::{Backend, Impact, Partner, Solver, System};
use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::support::{melted_gas, simulate, simulate_silently};

// A step differs by a near-tie if the reference itself reproduces the result of the CPU engine after each coordinate of
// the spheres is shifted at random by up to this distance (diameters). An f32 rounding error is 6e-8.
const TIE: f64 = 1e-6;

fn pair(impact: &Impact) -> (u32, u32) {
    match impact.partner {
        Partner::Sphere(id) => (impact.sphere, id),
        Partner::Wall(_) => panic!("no walls here"),
    }
}

// The events of one list that the other lacks, counting how often each pair collides.
fn missing<'a>(from: &'a [Impact], other: &[Impact]) -> Vec<&'a Impact> {
    let mut pairs: Vec<_> = other.iter().map(pair).collect();
    from.iter()
        .filter(|impact| match pairs.iter().position(|&p| p == pair(impact)) {
            Some(place) => {
                pairs.swap_remove(place);
                false
            }
            None => true,
        })
        .collect()
}

// The first event that only one engine has, and the number of perturbed starts from which the reference agrees with the
// CPU engine on that pair.
fn ties<'a>(system: &System, exact: &'a [Impact], cpu: &'a [Impact]) -> (&'a Impact, usize) {
    let by_time = |a: &&Impact, b: &&Impact| a.time.total_cmp(&b.time);
    let first = missing(exact, cpu).into_iter().chain(missing(cpu, exact)).min_by(by_time).unwrap();
    let count = |impacts: &[Impact]| impacts.iter().filter(|&i| pair(i) == pair(first)).count();
    let mut rng = Pcg64::seed_from_u64(99);
    let agreeing = (0..40).filter(|_| {
        let mut near = system.clone();
        for sphere in &mut near.spheres {
            let shift: [f64; 3] = std::array::from_fn(|_| rng.random_range(-TIE..TIE));
            sphere.position += DVec3::from_array(shift);
        }
        let mut simulation = simulate(&near, Backend::Exact);
        simulation.step().unwrap();
        count(simulation.impacts()) == count(cpu)
    });
    (first, agreeing.count())
}

fn the_collisions_of_a_step_are_those_of_the_reference(volume_fraction: f64) {
    const STEPS: usize = 100;
    let mut system = melted_gas(10, volume_fraction, 0.3, 11, Backend::Cpu);
    let mut cpu = simulate(&system, Backend::Cpu);
    let (mut equal, mut untied, mut events, mut late, mut worst) = (0, 0, 0, 0, 0.0f64);
    for step in 0..STEPS {
        system.spheres = cpu.spheres();
        let start = cpu.time();
        late += cpu.step().unwrap().late;
        let mut exact = simulate(&system, Backend::Exact);
        exact.step().unwrap();
        let reference: Vec<_> =
            exact.impacts().iter().map(|i| Impact { time: i.time + start, ..*i }).collect();
        events += reference.len();
        let mut of_cpu: Vec<_> = cpu.impacts().iter().map(pair).collect();
        let mut of_exact: Vec<_> = reference.iter().map(pair).collect();
        of_cpu.sort_unstable();
        of_exact.sort_unstable();
        if of_cpu == of_exact {
            equal += 1;
            let ends = cpu.spheres().into_iter().zip(exact.spheres());
            worst =
                ends.map(|(a, b)| system.separation(a.position, b.position).length()).fold(worst, f64::max);
            continue;
        }
        let (first, agreeing) = ties(&system, &reference, cpu.impacts());
        println!(
            "phi {volume_fraction}, step {step} at {start}: {:?} at {} first, {agreeing} of 40 starts nearby agree; late {}\n\
             only exact {:?}\nonly cpu {:?}",
            pair(first),
            first.time,
            cpu.report().late,
            missing(&reference, cpu.impacts()),
            missing(cpu.impacts(), &reference),
        );
        untied += usize::from(agreeing == 0);
    }
    println!(
        "phi {volume_fraction}: {equal} of {STEPS} steps equal, {events} events, late {late}, ends within {worst:e} d"
    );
    assert_eq!(untied, 0, "steps that differ by more than a tie");
    assert!(equal * 100 >= STEPS * 99, "{equal} of {STEPS} steps equal");
}

#[test]
fn the_collisions_of_a_step_are_those_of_the_reference_at_a_fifth() {
    the_collisions_of_a_step_are_those_of_the_reference(0.2);
}

#[test]
fn the_collisions_of_a_step_are_those_of_the_reference_at_two_fifths() {
    the_collisions_of_a_step_are_those_of_the_reference(0.4);
}

// Pairs found overlapping and approaching, per million impacts.
fn late(volume_fraction: f64, collisions: f64, impacts: u64, solver: Solver) -> f64 {
    let mut system = melted_gas(10, volume_fraction, collisions, 12, Backend::Cpu);
    system.solver = solver;
    let mut cpu = simulate_silently(&system, Backend::Cpu);
    while cpu.summary().pair_impacts < impacts {
        cpu.step().unwrap();
    }
    let s = cpu.summary();
    println!(
        "phi {volume_fraction}, c={collisions}, strict {}: late {} in {} impacts, redone {}, {} substeps in {} steps, rounds \
         {}, overlap {:e}, {:.1} s",
        system.solver.strict_order,
        s.late,
        s.pair_impacts,
        s.redone,
        s.substeps,
        s.steps,
        s.rounds_max,
        s.deepest_overlap,
        s.wall_seconds,
    );
    s.late as f64 / (s.pair_impacts as f64 / 1e6)
}

#[test]
fn at_most_twenty_of_a_million_impacts_are_late_at_a_fifth() {
    let late = late(0.2, 0.1, 1_000_000, Solver::default());
    assert!(late <= 20.0, "{late} ppm");
}

#[test]
fn at_most_twenty_of_a_million_impacts_are_late_at_two_fifths() {
    let late = late(0.4, 0.1, 1_000_000, Solver::default());
    assert!(late <= 20.0, "{late} ppm");
}

#[test]
fn strict_order_leaves_nothing_late() {
    // Steps so long that the plain order fails occasionally.
    let strict = |substeps| Solver { strict_order: true, substeps, ..Solver::default() };
    assert_eq!(late(0.4, 0.3, 100_000, strict(0)), 0.0);
    assert_eq!(late(0.4, 2.0, 100_000, strict(1)), 0.0);
}
