//! The CPU engine against the event-driven reference, step by step from equal states.

use carom::{Backend, Impact, Partner, Solver, System};

use crate::support::{melted_gas, simulate, simulate_silently};

// Two events this close, in steps, are a tie: f32 cannot tell which comes first, or whether it comes at all.
const TIE: f64 = 1e-6;

fn pair(impact: &Impact) -> (u32, u32) {
    match impact.partner {
        Partner::Sphere(id) => (impact.sphere, id),
        Partner::Wall(_) => panic!("no walls here"),
    }
}

fn involves(impact: &Impact, id: u32) -> bool {
    let (a, b) = pair(impact);
    a == id || b == id
}

// The events of one list that the other lacks, counting how often each pair meets.
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

// Why the first event that only one engine has is a tie, if it is.
fn tie(system: &System, start: f64, exact: &[Impact], cpu: &[Impact]) -> Option<String> {
    let by_time = |a: &&Impact, b: &&Impact| a.time.total_cmp(&b.time);
    let first = missing(exact, cpu).into_iter().chain(missing(cpu, exact)).min_by(by_time)?;
    let (a, b) = pair(first);
    let left = (start + system.dt - first.time) / system.dt;
    if left.abs() <= TIE {
        return Some(format!("{a}-{b} at the very end of the step ({left:e})"));
    }
    // Another event of either at the same time, in either list.
    let rival = exact
        .iter()
        .chain(cpu)
        .filter(|i| pair(i) != (a, b) && (involves(i, a) || involves(i, b)))
        .map(|i| ((i.time - first.time).abs() / system.dt, pair(i)))
        .min_by(|x, y| x.0.total_cmp(&y.0));
    if let Some((apart, other)) = rival.filter(|r| r.0 <= TIE) {
        return Some(format!("{a}-{b} and {other:?} at one time ({apart:e} of a step)"));
    }
    // A graze: the spheres dip into each other's range by s (w_n/w)^2 / 2. Equal masses: impulse = w_n.
    let sphere = |id: u32| system.spheres.iter().find(|s| s.id == id).unwrap();
    let speed = (sphere(a).velocity - sphere(b).velocity).length();
    let depth = 0.5 * (first.impulse / speed).powi(2);
    (depth <= TIE).then(|| format!("{a}-{b} graze by {depth:e} of a diameter"))
}

fn the_collisions_of_a_step_are_those_of_the_reference(volume_fraction: f64) {
    const STEPS: usize = 100;
    let mut system = melted_gas(10, volume_fraction, 0.3, 11, Backend::Cpu);
    let mut cpu = simulate(&system, Backend::Cpu);
    let (mut equal, mut events, mut late, mut worst) = (0, 0, 0, 0.0f64);
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
        let why = tie(&system, start, &reference, cpu.impacts());
        println!("phi {volume_fraction}, step {step}: {why:?}");
        assert!(
            why.is_some(),
            "phi {volume_fraction}, step {step}: not a tie\nonly exact {:?}\nonly cpu {:?}",
            missing(&reference, cpu.impacts()),
            missing(cpu.impacts(), &reference),
        );
    }
    println!(
        "phi {volume_fraction}: {equal} of {STEPS} steps equal, {events} events, late {late}, ends within {worst:e} d"
    );
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
    // Steps so long that the plain order fails now and then.
    let strict = |substeps| Solver { strict_order: true, substeps, ..Solver::default() };
    assert_eq!(late(0.4, 0.3, 100_000, strict(0)), 0.0);
    assert_eq!(late(0.4, 2.0, 100_000, strict(1)), 0.0);
}
