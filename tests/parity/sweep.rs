//! Stage 6 against its twin: the sweep of all, and that of what a round has touched.

use super::{
    Case, Harness, Slip, Verdict, WIDE_ROUNDS, agrees,
    memory::{Memory, time},
    notices, rounds,
    starts::{Start, start},
    twin::Twin,
};
use crate::gpu::{encode, layout::Event};
use crate::{cpu::event as twins, gpu::shaders::NO_IMPACT, state::grid::CODES};

/// How far apart, in cells, the two sides may see a pair at its time of impact: coordinates are at most a few cells, each
/// of the sums and products before the root loses 6e-8 of them, and a fused one loses less.
const GAP: f32 = 2e-6;

/// Share of the squared relative speed to which the squared normal speed is known: it is the difference of that speed and
/// what passes by.
const NORMAL: f32 = 2e-6;

/// What tells the tolerance of an event.
struct Events {
    twin: Twin,
    edge: f32,
}

impl Events {
    fn new(twin: Twin) -> Self {
        Self { edge: twin.core.domain.grid.edge.max_element(), twin }
    }

    fn count(&self) -> u32 {
        self.twin.rounds.events.len() as u32
    }

    fn compare(&self, output: &Memory, verdict: &mut Verdict) {
        let rounds = &self.twin.rounds;
        let count = |is: &dyn Fn(&&twins::Event) -> bool| {
            rounds.events.iter().filter(|event| event.is_some()).filter(is).count() as u64
        };
        let fixed = |j: u32| self.twin.core.state.inverse_mass(j as usize) == 0.0;
        verdict.saw("impacts", count(&|_| true));
        verdict.saw("with planes", count(&|event| event.wall().is_some()));
        verdict.saw("with what is fixed", count(&|event| event.wall().is_none() && fixed(event.partner)));
        verdict.saw("by extras", count(&|event| event.link >= CODES));
        for (i, twin) in self.twin.rounds.events.iter().enumerate() {
            self.one(i, output.next_events[i].event, *twin, verdict);
        }
    }

    fn one(&self, i: usize, found: Event, twin: twins::Event, verdict: &mut Verdict) {
        verdict.compared += 1;
        let twins::Event { toi, partner, link, delta_v_bound } = twin;
        let toi = time(toi);
        if found == (Event { toi, partner, link, delta_v_bound }) {
            return;
        }
        let (a, b) =
            (self.scales(i, found.partner, found.delta_v_bound), self.scales(i, partner, delta_v_bound));
        let (is_here, is_there) = (found.toi < NO_IMPACT, toi < NO_IMPACT);
        if is_here && is_there && (found.partner, found.link) == (partner, link) {
            let tolerance = a.time.max(b.time);
            verdict.near("time of impact of", i, found.toi, toi, tolerance);
            let squares = (found.delta_v_bound * found.delta_v_bound, delta_v_bound * delta_v_bound);
            verdict.near("squared jolt of", i, squares.0, squares.1, a.delta_v_bound.max(b.delta_v_bound));
            return;
        }
        // What the device says has to be so at least: the twin's impact with that partner.
        if is_here {
            let Some(told) = rounds::with_partner(&self.twin, i, found) else {
                verdict.fail(|| format!("event of {i}: {found:?} is none, twin {twin:?}"));
                return;
            };
            verdict.near("time with another of", i, found.toi, time(told.toi), a.time);
            verdict.near(
                "squared jolt with another of",
                i,
                found.delta_v_bound.powi(2),
                told.delta_v_bound.powi(2),
                a.delta_v_bound,
            );
        }
        // Another partner at the same time, an impact at the very end, or one that grazes.
        verdict.near_ties += 1;
        let same_time = (found.toi - toi).abs() <= a.time + b.time;
        let at_end = |t: f32, scale: &Scales| self.twin.frame.h - t <= scale.time;
        let lone = |is_some: bool, t: f32, scale: &Scales| !is_some || at_end(t, scale) || scale.grazes;
        let may = same_time || (lone(is_here, found.toi, &a) && lone(is_there, toi, &b));
        if !may {
            verdict.fail(|| format!("event of {i}: {found:?}, twin {twin:?}"));
        }
    }

    // How well time and jolt of an event are known.
    fn scales(&self, i: usize, partner: u32, delta_v_bound: f32) -> Scales {
        let (state, frame) = (&self.twin.core.state, self.twin.frame);
        let own = state.inverse_mass(i);
        let fall = frame.gravity.length() * frame.h;
        let (theirs, other) = match state.id.get(partner as usize) {
            Some(_) => (state.inverse_mass(partner as usize), state.velocity(partner as usize)),
            None => (0.0, glam::Vec3::ZERO),
        };
        let relative = (state.velocity(i) - other).length() + fall;
        let share = self.twin.core.domain.world.delta_v_bound * own / (own + theirs);
        let normal = delta_v_bound / share;
        let square = NORMAL * (relative * relative + self.edge * fall);
        // A gap closes with the normal speed.
        let slow = normal.max(square.sqrt());
        let time = GAP * self.edge / slow + 2e-7 * frame.h;
        Scales { time, delta_v_bound: 4.0 * share * share * square, grazes: normal * normal <= 4.0 * square }
    }
}

struct Scales {
    time: f32,
    delta_v_bound: f32,
    grazes: bool,
}

fn case(start: &Start) -> Case {
    let mut harness = Harness::in_substep(start);
    harness.twin.launch();
    let input = harness.memory();
    harness.twin.sweep();
    let (layout, struck) = (harness.layout, struck(&harness.twin));
    let dispatches = encode::sweep(harness.all()).to_vec();
    let events = Events::new(harness.twin);
    Case::new(harness.site, input, dispatches, false, move |output, verdict| {
        events.compare(output, verdict);
        let some = |i: &u32| output.next_events[*i as usize].event.toi < NO_IMPACT;
        let pending = (0..events.count()).filter(some).collect();
        verdict.same_set("pending", output.pending(&layout, 0), pending);
    })
    .with_sample(struck)
}

// After the first impacts, with the number of a round that looks at all or of one that makes lists.
fn after_impacts(start: &Start, round: u32) -> Case {
    let mut harness = Harness::in_substep(start);
    let twin = &mut harness.twin;
    twin.launch();
    twin.sweep();
    twin.select();
    let (selected, pending) = (twin.rounds.selected.clone(), twin.rounds.pending_list.clone());
    twin.collide();
    let mut input = harness.memory();
    let layout = harness.layout;
    input.put_pending(&layout, round, &pending);
    input.put_selected(&layout, round, &selected);
    for &i in &harness.twin.rounds.touched_list {
        input.nodes[i as usize].touched = round + 1;
    }
    // Marks of the stages before.
    for i in 0..layout.sphere_count {
        input.work[(layout.marks + i) as usize] = (i % 2) * (2 * round + 1);
    }
    harness.twin.resweep();
    let twins = harness.twin.rounds.pending_list.clone();
    let dispatches = encode::resweep(round, harness.all(), harness.all()).to_vec();
    assert!(round + 1 < WIDE_ROUNDS);
    let fair = is_fair(&harness.twin);
    let sample =
        harness.twin.rounds.touched_list.iter().find(|i| fair(&harness.twin.rounds.events[**i as usize]));
    let sample = sample.copied().unwrap_or(0) as usize;
    let events = Events::new(harness.twin);
    Case::new(harness.site, input, dispatches, false, move |output, verdict| {
        events.compare(output, verdict);
        let some = |i: &u32| output.next_events[*i as usize].event.toi < NO_IMPACT;
        let pending: Vec<u32> = (0..events.count()).filter(some).collect();
        if selected.is_empty() {
            // The round is over before it has begun.
            return;
        }
        // All with an event are pending, once each; which these are was compared above.
        verdict.compared += twins.len() as u64;
        verdict.same_set("pending", output.pending(&layout, round + 1), pending);
    })
    .with_sample(sample)
}

#[test]
fn sweep_agrees_with_its_twin() {
    agrees("sweep", case);
}

#[test]
fn the_sweep_of_the_touched_agrees_with_its_twin() {
    agrees("sweep of all after impacts", |start| after_impacts(start, 0));
    agrees("sweep of the touched", |start| after_impacts(start, 2));
}

#[test]
fn a_slip_in_sweep_is_noticed() {
    let input: &[Slip] = &[
        ("a velocity", |m, _, i| m.bodies[1][i].velocity.x += 1e-3),
        ("an offset", |m, _, i| m.bodies[1][i].offset.y += 1e-4),
        ("a candidate", |m, layout, _| {
            let at = layout.entries as usize;
            m.lists[at..].iter_mut().take(60).for_each(|entry| *entry ^= 1 << 27);
        }),
        ("a clock", |m, _, i| m.nodes[i].clock = 1e-3),
    ];
    let output: &[Slip] = &[
        ("a time", |m, _, i| m.next_events[i].event.toi += 1e-3),
        ("a partner", |m, _, i| m.next_events[i].event.partner ^= 1),
        ("a jolt", |m, _, i| m.next_events[i].event.delta_v_bound *= 1.01),
        ("a pending sphere", |m, layout, _| m.work[layout.pending as usize] ^= 1),
    ];
    notices(&start("gas", 65), case, input, output);
    let input: &[Slip] = &[
        ("a velocity", |m, _, i| m.bodies[1][i].velocity.x += 0.01),
        ("a clock", |m, _, i| m.nodes[i].clock += 1e-2),
        ("who was touched", |m, _, _| m.nodes.iter_mut().for_each(|node| node.touched = 0)),
    ];
    for round in [1, 2] {
        notices(&start("gas", 10_007), |start| after_impacts(start, round), input, &[]);
    }
}

// A sphere that meets another one fairly, not grazing.
fn struck(twin: &Twin) -> usize {
    twin.rounds.events.iter().position(is_fair(twin)).unwrap_or(0)
}

fn is_fair(twin: &Twin) -> impl Fn(&twins::Event) -> bool + use<> {
    let least = 0.1 * twin.core.domain.grid.edge.x / twin.frame.h;
    move |event| event.is_some() && event.toi > 0.0 && event.delta_v_bound > least
}
