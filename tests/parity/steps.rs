//! Whole steps from equal states: the same impacts on both sides but for near-ties.
//!
//! The twin's state after each step is what both sides take the next one from, so that no difference grows. Impacts are
//! compared as a multiset of (sphere, partner) with their times. An impact that only one side has, or has at another
//! time, is a near-tie where
//! - it grazes or comes so near the end of the step that an offset of `GAP` in the place of the spheres decides, or
//! - a sphere of it takes part in a near-tie: all it does afterwards may differ.

use std::{collections::HashMap, sync::Arc};

use super::{
    super::{Context, engine::GpuEngine, pipelines::Pipelines, places::Capacities},
    device,
};
use crate::{
    Backend, Impact, Options, Partner, Simulation, System,
    files::builtin,
    model::state::NEVER,
    scene::{Scene, Shape},
    simulation::Engine,
};

/// Steps of each scene.
const STEPS: u32 = 50;

/// Offset to which both sides know where spheres are (diameters): a few roundings (1e-7) of coordinates of about a cell,
/// and ten times as much after an impact or two.
const GAP: f64 = 1e-5;

/// Near-ties among a thousand impacts that are few.
const FEW: f64 = 2.0;

struct Tally {
    impacts: u64,
    near_ties: u64,
    worst: f64,
}

// A scene of the crate with fewer spheres.
fn scene(name: &str, count: u64) -> System {
    let mut scene: Scene = builtin(name).unwrap().load(&[]).unwrap();
    match &mut scene.fills[0].shape {
        Shape::Random(random) => random.count = Some(count),
        Shape::Lattice(lattice) => lattice.count = [3, 30, 30],
        Shape::At(_) => {}
    }
    let mut system = scene.build().unwrap();
    system.spheres.sort_by_key(|s| s.id);
    system
}

// What happens in a step from a state.
fn on_cpu(system: &System) -> (Vec<Impact>, Vec<crate::Sphere>) {
    let options = Options { backend: Backend::Cpu, record_impacts: true, ..Options::default() };
    let mut simulation = Simulation::new(system.clone(), options).unwrap();
    simulation.step().unwrap();
    (simulation.impacts().to_vec(), simulation.spheres())
}

fn on_device(system: &System, context: &Context, pipelines: &Arc<Pipelines>) -> Vec<Impact> {
    let capacities = Capacities::for_spheres(system.spheres.len(), true);
    let (context, pipelines) = (context.clone(), pipelines.clone());
    let mut engine = GpuEngine::with(system, context, pipelines, capacities, false, |_| NEVER).unwrap();
    let mut impacts = vec![];
    engine.step(0.0, Some(&mut impacts), false).unwrap();
    impacts
}

fn spheres_of(impact: &Impact) -> Vec<u32> {
    match impact.partner {
        Partner::Sphere(other) => vec![impact.sphere, other],
        Partner::Wall(_) => vec![impact.sphere],
    }
}

// How well the time of an impact is known: a gap closes with the normal speed, which the impulse tells.
fn known_to(system: &System, impact: &Impact) -> f64 {
    let spheres = spheres_of(impact);
    let find = |id: u32| &system.spheres[system.spheres.binary_search_by_key(&id, |s| s.id).unwrap()];
    let inverse: f64 = spheres.iter().map(|&id| find(id).inverse_mass()).sum();
    let diameter = spheres.iter().map(|&id| 2.0 * find(id).radius).fold(0.0, f64::max);
    // Elastic: the normal speed is turned round.
    let speed = 0.5 * impact.impulse * inverse;
    GAP * diameter / speed.max(f64::MIN_POSITIVE)
}

// Compares the impacts of one step; both are in the order of their times.
fn compare(system: &System, found: &[Impact], twin: &[Impact]) -> Result<Tally, String> {
    let mut tally = Tally { impacts: twin.len() as u64, near_ties: 0, worst: 0.0 };
    // By key the impacts of both sides in their order; the n-th of one belongs to the n-th of the other.
    let mut pairs: HashMap<(u32, Partner), [Vec<Impact>; 2]> = HashMap::new();
    for (side, impacts) in [found, twin].into_iter().enumerate() {
        for impact in impacts {
            pairs.entry((impact.sphere, impact.partner)).or_default()[side].push(*impact);
        }
    }
    let mut differences: Vec<(f64, Impact, Option<Impact>)> = vec![];
    for [found, twin] in pairs.into_values() {
        for k in 0..found.len().max(twin.len()) {
            match (found.get(k), twin.get(k)) {
                (Some(a), Some(b)) => {
                    let share = (a.time - b.time).abs() / known_to(system, b);
                    if share <= 1.0 {
                        tally.worst = tally.worst.max(share);
                    } else {
                        differences.push((a.time.min(b.time), *a, Some(*b)));
                    }
                }
                (a, b) => {
                    let lone = *a.or(b).expect("one of them");
                    differences.push((lone.time, lone, None));
                }
            }
        }
    }
    // In the order of time: a near-tie excuses what its spheres do later, and nothing before.
    differences.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut excused: Vec<u32> = vec![];
    for (time, impact, other) in differences {
        let spheres = spheres_of(&impact);
        let diameter = 2.0 * system.spheres[0].radius;
        let at_end = system.dt - time <= known_to(system, &impact);
        // Of spheres that pass, the depth of their overlap is v^2 / 2a: a grazing pass is as shallow as GAP.
        let grazes = known_to(system, &impact) * 1e-2 >= diameter * GAP / fastest(system);
        let is_late = spheres.iter().any(|id| excused.contains(id));
        if !(at_end || (other.is_none() && grazes) || is_late) {
            return Err(format!("impact {impact:?} on one side, {other:?} on the other"));
        }
        excused.extend(spheres);
        tally.near_ties += 1;
    }
    Ok(tally)
}

fn fastest(system: &System) -> f64 {
    system.spheres.iter().map(|s| s.velocity.length()).fold(f64::MIN_POSITIVE, f64::max)
}

fn agrees(name: &str, count: u64, least: u64) {
    let mut system = scene(name, count);
    let context = &device().context;
    let pipelines = Arc::new(Pipelines::new(context).unwrap());
    let mut total = Tally { impacts: 0, near_ties: 0, worst: 0.0 };
    for step in 0..STEPS {
        let (twin, spheres) = on_cpu(&system);
        let found = on_device(&system, context, &pipelines);
        let tally = compare(&system, &found, &twin).unwrap_or_else(|e| panic!("{name}, step {step}: {e}"));
        total.impacts += tally.impacts;
        total.near_ties += tally.near_ties;
        total.worst = total.worst.max(tally.worst);
        if step == 0 && !twin.is_empty() {
            are_noticed(&system, &twin);
        }
        system.spheres = spheres;
    }
    println!(
        "{name}: {} impacts in {STEPS} steps, {} near-ties, times within {:.2} of what is known",
        total.impacts, total.near_ties, total.worst
    );
    assert!(total.impacts >= least, "{name}: {} impacts say little", total.impacts);
    let most = 1.0 + FEW * total.impacts as f64 / 1000.0;
    assert!(total.near_ties as f64 <= most, "{name}: {} near-ties among {}", total.near_ties, total.impacts);
}

// The comparison can fail: one impact left out, one with another partner, one at another time.
fn are_noticed(system: &System, twin: &[Impact]) {
    // One that neither grazes nor comes last.
    let fair = |i: &&Impact| known_to(system, i) < 1e-3 * system.dt && i.time < 0.9 * system.dt;
    let Some(at) = twin.iter().position(|i| fair(&i)) else { return };
    let slip = |change: fn(&mut Vec<Impact>, usize, f64)| {
        let mut found = twin.to_vec();
        change(&mut found, at, system.dt);
        compare(system, &found, twin).is_err()
    };
    assert!(slip(|impacts, at, _| drop(impacts.remove(at))), "an impact was left out");
    assert!(slip(|impacts, at, _| impacts[at].partner = Partner::Wall(77)), "another partner");
    assert!(slip(|impacts, at, dt| impacts[at].time += 0.01 * dt), "another time");
}

#[test]
fn steps_of_the_gas_have_the_same_impacts() {
    agrees("gas", 4000, 20_000);
}

#[test]
fn steps_of_the_mixture_have_the_same_impacts() {
    agrees("mixture", 4000, 10_000);
}

#[test]
fn steps_of_the_bounce_have_the_same_impacts() {
    agrees("bounce", 0, 0);
}

#[test]
fn steps_of_the_bullets_have_the_same_impacts() {
    agrees("bullets", 0, 1000);
}
