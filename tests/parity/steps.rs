//! Whole steps from equal states: the same impacts on both sides but for near-ties.
//!
//! The twin's state after each step is what both sides take the next one from, so that no difference outlives a step.
//! Impacts are compared as a multiset of (sphere, partner) with their times, which may differ by what is known of the
//! two spheres' places over their normal speed ([`Known`] says how that grows from impact to impact). An impact that
//! only one side has, or has at another time, is a near-tie where
//! - what is known of the places leaves open whether the two touch at all, or before the end of the step, or
//! - one of its spheres takes part in an earlier near-tie: all it does afterwards may differ.
//!
//! Anything else is wrong, and near-ties have to be few.

use std::collections::HashMap;

use glam::DVec3;

use super::context;
use crate::{Backend, Impact, Options, Partner, Simulation, Sphere, System, files::builtin, scene::Shape};

/// Steps of each scene.
const STEPS: u32 = 50;

/// Rounding of a place, relative to a few cells and the way of the step: times and places are f32 (6e-8), and a handful
/// of operations make one from the other, some of them fused on a device.
const ROUNDING: f64 = 5e-7;

/// Near-ties among a thousand impacts that are few. Five times as many may follow from them: after a bullet's impact a
/// cascade of others is over within the step.
const FEW: f64 = 2.0;

#[derive(Default)]
struct Tally {
    impacts: u64,
    /// Near-ties, and what only follows from them.
    near_ties: u64,
    followers: u64,
    /// Largest difference of times, as a share of what is known of them.
    worst: f64,
}

// What happens in a step, and where it leaves the spheres.
fn step(system: &System, backend: Backend) -> (Vec<Impact>, Vec<Sphere>) {
    let context = Some(context().clone());
    let options = Options { backend, context, record_impacts: true, ..Options::default() };
    let mut simulation = Simulation::new(system.clone(), options).unwrap();
    simulation.step().unwrap();
    (simulation.impacts().to_vec(), simulation.spheres())
}

/// How well the places of two spheres are known when they meet, and what follows for the rest of the step.
struct Known<'a> {
    system: &'a System,
    places: HashMap<u32, usize>,
    velocity: Vec<DVec3>,
    /// Error of each place at the end of the step, as far as earlier impacts have made it larger.
    error: Vec<f64>,
    /// Took part in a near-tie.
    is_open: Vec<bool>,
    largest: f64,
}

struct Meeting {
    error: f64,
    /// How well its time is known.
    time: f64,
    /// Whether the two may miss each other.
    grazes: bool,
    relative: f64,
    normal: f64,
    radius_sum: f64,
}

impl<'a> Known<'a> {
    fn new(system: &'a System) -> Self {
        let spheres = &system.spheres;
        Self {
            system,
            places: spheres.iter().enumerate().map(|(k, s)| (s.id, k)).collect(),
            velocity: spheres.iter().map(|s| s.velocity).collect(),
            error: vec![0.0; spheres.len()],
            is_open: vec![false; spheres.len()],
            largest: spheres.iter().map(|s| 2.0 * s.radius).fold(0.0, f64::max),
        }
    }

    fn members(&self, impact: &Impact) -> (usize, Option<usize>) {
        let other = match impact.partner {
            Partner::Sphere(id) => Some(self.places[&id]),
            Partner::Wall(_) => None,
        };
        (self.places[&impact.sphere], other)
    }

    fn meeting(&self, impact: &Impact) -> Meeting {
        let (a, b) = self.members(impact);
        let spheres = &self.system.spheres;
        let of_other = |value: &dyn Fn(usize) -> f64| b.map_or(0.0, value);
        let dt = self.system.dt;
        let fall = self.system.gravity.length() * dt;
        let way = (self.velocity[a].length() + of_other(&|b| self.velocity[b].length()) + fall) * dt;
        let error = self.error[a] + of_other(&|b| self.error[b]) + ROUNDING * (4.0 * self.largest + way);
        // Elastic: the normal speed is turned round.
        let inverse = spheres[a].inverse_mass() + of_other(&|b| spheres[b].inverse_mass());
        let normal = 0.5 * impact.impulse * inverse;
        let relative = (self.velocity[a] - b.map_or(DVec3::ZERO, |b| self.velocity[b])).length() + fall;
        let relative = relative.max(normal);
        let radius_sum = b.map_or(f64::INFINITY, |b| spheres[a].radius + spheres[b].radius);
        // How far the centres would come inside of the radius sum if they passed: R (1 - sqrt(1 - (normal/relative)^2)).
        let depth = b.map_or(f64::INFINITY, |_| 0.5 * radius_sum * (normal / relative).powi(2));
        Meeting {
            error,
            time: error / normal.max(1e-6 * relative) + 2e-7 * dt,
            grazes: depth <= error,
            relative,
            normal,
            radius_sum,
        }
    }

    // After an impact the velocities are others, and less well known: an offset e across the line of approach turns the
    // normal by e / (R cos), and the velocities by up to twice that times the speed.
    fn strike(&mut self, impact: &Impact) {
        let m = self.meeting(impact);
        let (a, b) = self.members(impact);
        let turn = m.error / m.radius_sum * (m.relative / m.normal.max(1e-6 * m.relative));
        let error = m.error + 2.0 * m.relative * turn.min(1.0) * (self.system.dt - impact.time).max(0.0);
        let push = impact.normal * impact.impulse;
        for (k, push) in [(Some(a), push), (b, -push)] {
            if let Some(k) = k {
                self.velocity[k] += push * self.system.spheres[k].inverse_mass();
                self.error[k] = error;
            }
        }
    }

    fn is_open(&self, impact: &Impact) -> bool {
        let (a, b) = self.members(impact);
        self.is_open[a] || b.is_some_and(|b| self.is_open[b])
    }

    fn open(&mut self, impact: &Impact) {
        let (a, b) = self.members(impact);
        self.is_open[a] = true;
        b.into_iter().for_each(|b| self.is_open[b] = true);
    }
}

// Compares the impacts of one step.
fn compare(system: &System, found: &[Impact], twin: &[Impact]) -> Result<Tally, String> {
    let mut tally = Tally { impacts: twin.len() as u64, ..Tally::default() };
    // By key the impacts of both sides in their order; the n-th of one belongs to the n-th of the other.
    let mut pairs: HashMap<(u32, Partner), [Vec<Impact>; 2]> = HashMap::new();
    for (side, impacts) in [found, twin].into_iter().enumerate() {
        for impact in impacts {
            pairs.entry((impact.sphere, impact.partner)).or_default()[side].push(*impact);
        }
    }
    let mut rows: Vec<[Option<Impact>; 2]> = vec![];
    for [found, twin] in pairs.into_values() {
        rows.extend((0..found.len().max(twin.len())).map(|k| [found.get(k).copied(), twin.get(k).copied()]));
    }
    // In the order of time: what comes first counts for what comes later.
    let time = |row: &[Option<Impact>; 2]| row.iter().flatten().map(|i| i.time).fold(f64::MAX, f64::min);
    rows.sort_by(|a, b| time(a).total_cmp(&time(b)));
    let mut known = Known::new(system);
    for row in rows {
        let impact = row[1].or(row[0]).expect("of one side at least");
        if !known.places.contains_key(&impact.sphere) {
            return Err(format!("no such sphere: {impact:?}"));
        }
        let meeting = known.meeting(&impact);
        let agree = match row {
            [Some(a), Some(b)] => {
                let share = (a.time - b.time).abs() / meeting.time;
                if share <= 1.0 {
                    tally.worst = tally.worst.max(share);
                }
                share <= 1.0
            }
            _ => false,
        };
        if !agree {
            let at_end = system.dt - time(&row) <= meeting.time;
            if !(at_end || meeting.grazes || known.is_open(&impact)) {
                let [found, twin] = row;
                return Err(format!("{found:?}, twin {twin:?}, time known to {:e}", meeting.time));
            }
            if known.is_open(&impact) {
                tally.followers += 1;
            } else {
                tally.near_ties += 1;
            }
            known.open(&impact);
        }
        if row[1].is_some() {
            known.strike(&impact);
        }
    }
    Ok(tally)
}

fn agrees(name: &str, system: System, least: u64) {
    let mut system = system;
    let mut total = Tally::default();
    let mut shown = 0;
    for k in 0..STEPS {
        let (twin, spheres) = step(&system, Backend::Cpu);
        let (found, _) = step(&system, Backend::Gpu);
        let tally = compare(&system, &found, &twin).unwrap_or_else(|e| panic!("{name}, step {k}: {e}"));
        total.impacts += tally.impacts;
        total.near_ties += tally.near_ties;
        total.followers += tally.followers;
        total.worst = total.worst.max(tally.worst);
        if shown == 0 {
            shown = are_noticed(&system, &twin);
        }
        system.spheres = spheres;
    }
    println!(
        "{name}: {} impacts in {STEPS} steps, {} near-ties, {} that follow from them, times within {:.2} of what \
         is known",
        total.impacts, total.near_ties, total.followers, total.worst
    );
    assert!(total.impacts >= least, "{name}: {} impacts say little", total.impacts);
    assert!(shown > 0, "{name}: no impact to show that the comparison can fail");
    let thousands = total.impacts as f64 / 1000.0;
    let (near_ties, followers) = (total.near_ties as f64, total.followers as f64);
    assert!(near_ties <= 1.0 + FEW * thousands, "{name}: {near_ties} near-ties");
    assert!(followers <= 5.0 * (1.0 + FEW * thousands), "{name}: {followers} that follow from near-ties");
}

// The comparison can fail: one impact left out, one with another partner, one at another time. Returns how many could be
// tried on these impacts.
fn are_noticed(system: &System, twin: &[Impact]) -> usize {
    let known = Known::new(system);
    let fair = |i: &Impact| {
        let meeting = known.meeting(i);
        !meeting.grazes && meeting.time < 1e-3 * system.dt && i.time < 0.9 * system.dt
    };
    let Some(at) = twin.iter().position(fair) else { return 0 };
    let is_noticed = |change: &dyn Fn(&mut Vec<Impact>)| {
        let mut found = twin.to_vec();
        change(&mut found);
        compare(system, &found, twin).is_err()
    };
    let leave_out = |impacts: &mut Vec<Impact>| {
        impacts.remove(at);
    };
    assert!(is_noticed(&leave_out), "an impact was left out");
    assert!(is_noticed(&|impacts| impacts[at].partner = Partner::Wall(77)), "another partner");
    assert!(is_noticed(&|impacts| impacts[at].time += 0.01 * system.dt), "another time");
    3
}

// A scene of the crate with these changes.
fn scene(name: &str, changes: &[&str], shrink: impl Fn(&mut [Shape])) -> System {
    let changes: Vec<String> = changes.iter().map(|&text| text.to_owned()).collect();
    let mut scene = builtin(name).unwrap().load(&changes).unwrap();
    let mut shapes: Vec<Shape> = scene.fills.iter().map(|fill| fill.shape.clone()).collect();
    shrink(&mut shapes);
    scene.fills.iter_mut().zip(shapes).for_each(|(fill, shape)| fill.shape = shape);
    let mut system = scene.build().unwrap();
    system.spheres.sort_by_key(|s| s.id);
    system
}

#[test]
fn steps_of_the_gas_have_the_same_impacts() {
    agrees("gas", scene("gas", &["spheres.0.random.count=4000"], |_| ()), 10_000);
}

#[test]
fn steps_of_the_mixture_have_the_same_impacts() {
    agrees("mixture", scene("mixture", &["spheres.0.random.count=4000"], |_| ()), 2000);
}

#[test]
fn steps_of_the_bounce_have_the_same_impacts() {
    // Longer steps: some of the ten come down in each.
    agrees("bounce", scene("bounce", &["world.dt=0.3"], |_| ()), 20);
}

#[test]
fn steps_of_the_bullets_have_the_same_impacts() {
    let small = |shapes: &mut [Shape]| {
        for (shape, count) in shapes.iter_mut().zip([[3, 28, 28], [1, 2, 2]]) {
            if let Shape::Lattice(lattice) = shape {
                lattice.count = count;
            }
        }
    };
    // Steps start from what the twin makes of them, and its order is not perfect in this cascade.
    let mut system = scene("bullets", &[], small);
    system.solver.max_initial_overlap = 0.5;
    agrees("bullets", system, 1000);
}
