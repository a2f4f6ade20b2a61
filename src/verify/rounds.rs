//! The stages from the launch to the last round compared with their twins.

use std::collections::BTreeSet;

use super::{
    PRESENT,
    findings::Findings,
    harness::Harness,
    memory::{Memory, constraints, time},
    twin::Twin,
};
use crate::cpu::{event as twins, select, sweep};
use crate::gpu::{
    layout::{Event, FROZEN, LAUNCH, WALL},
    shaders::NO_IMPACT,
};

/// Of the path ahead against the budget: a length of three fused squares and one product.
const PATH: f32 = 1e-6;

/// How far apart, in cells, the two sides may see a pair at its time of impact: coordinates are at most a few cells, each
/// of the sums and products before the root loses 6e-8 of them, and a fused one loses less.
const GAP: f32 = 2e-6;

/// Share of the squared relative speed to which the squared normal speed is known: it is the difference of that speed and
/// what passes by.
const NORMAL: f32 = 2e-6;

/// Of the times of the guard, as a share of the substep: the touch of two cones is the root of a square that cancels
/// where they just meet.
const CAUSALITY: f32 = 1e-3;

/// Of velocities after an impact, as a share of the speeds that meet.
const SPEED: f32 = 2e-6;

/// Of the speeds of rims, the same for spins: an impulse moves the rim 5/2 times as much as the centre, and is as well known
/// as the slip.
const RIM: f32 = 3.0 * SPEED;

/// Of offsets at an impact, as a share of a cell and the way to it.
const PLACE: f32 = 1e-6;

/// Stage 5, with the walks of the spheres that are fast from the start.
pub fn launch(harness: &Harness, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let (core, frame) = (&twin.core, twin.frame);
    let fast = |i: usize| core.dynamic_candidates.is_fast(i);
    let mut ties = false;
    for (i, node) in output.nodes.iter().enumerate() {
        findings.equal("clock", i, node.clock, 0.0);
        findings.equal("plane below", i, node.support, 0);
        let is_walker = node.walk != 0;
        if is_walker != fast(i) {
            let ahead = frame.path(core.state.velocity(i), core.state.inverse_mass(i), 0.0);
            if (ahead - core.motion_margin[i]).abs() <= PATH * findings.scale * core.motion_margin[i] {
                findings.near_ties += 1;
                ties = true;
            } else {
                findings.equal(
                    "too fast for its list",
                    i,
                    f64::from(node.walk),
                    f64::from(u8::from(fast(i))),
                );
            }
        }
    }
    if !ties {
        dynamic_candidates(harness, twin, output, findings);
        let walkers = output.walkers(&harness.layout, LAUNCH).len() as f64;
        let expected = core.dynamic_candidates.fast_count() as f64;
        if walkers != expected && findings.is_clean() {
            findings.differ_overall("spheres too fast for their lists", walkers, expected, 0.0);
        }
    }
}

// Whom a walker could meet: what only the twin knows of must not be somebody it meets. (More than the twin's does no
// harm, and on the rim of a way rounding decides.)
fn dynamic_candidates(harness: &Harness, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let view = twin.view();
    for i in 0..twin.core.state.len() {
        let mut of = twin.core.dynamic_candidates.of(i).peekable();
        if of.peek().is_none() {
            continue;
        }
        let found: BTreeSet<(u32, [i32; 3])> =
            output.dynamic_candidates(&harness.layout, i).into_iter().collect();
        for (place, dynamic) in of {
            if found.contains(&(dynamic.other, dynamic.cells.to_array())) {
                continue;
            }
            let mut told = twins::Event::NONE;
            let link = crate::state::grid::CODES + place;
            let shift = twin.core.domain.grid.shift(dynamic.cells);
            sweep::consider(&view, i, dynamic.other as usize, link, shift, &mut told);
            let other = twin.core.state.id[dynamic.other as usize];
            if told.is_some() && !Scales::of(twin, i, dynamic.other, told.delta_v_bound).grazes {
                findings.differ("whom a fast sphere meets", i, vec![], vec![f64::from(other)], 0.0);
            } else {
                findings.near_ties += 1;
            }
        }
    }
}

/// Stage 6, of all or of what a round has touched; `round` is the one that comes next.
pub fn sweep(harness: &Harness, twin: &Twin, output: &Memory, round: u32, findings: &mut Findings) {
    for (i, event) in twin.rounds.events.iter().enumerate() {
        one_event(twin, i, output.next_events[i].event, *event, findings);
    }
    // All with an event are pending.
    let pending: BTreeSet<u32> = output.pending(&harness.layout, round).into_iter().collect();
    for (i, next_event) in output.next_events.iter().enumerate() {
        let (is_pending, has_event) = (pending.contains(&(i as u32)), next_event.event.toi < NO_IMPACT);
        findings.equal("impact pending", i, f64::from(u8::from(is_pending)), f64::from(u8::from(has_event)));
    }
}

fn one_event(twin: &Twin, i: usize, found: Event, event: twins::Event, findings: &mut Findings) {
    let twins::Event { partner, link, delta_v_bound, .. } = event;
    let toi = time(event.toi);
    if found == (Event { toi, partner, link, delta_v_bound }) {
        return;
    }
    let (a, b) = (
        Scales::of(twin, i, found.partner, found.delta_v_bound),
        Scales::of(twin, i, partner, delta_v_bound),
    );
    let (is_here, is_there) = (found.toi < NO_IMPACT, toi < NO_IMPACT);
    let (scale, units) = (findings.scale, findings.units);
    let seconds = |is_some: bool, t: f32| if is_some { vec![f64::from(t) * units.time] } else { vec![] };
    if is_here && is_there && (found.partner, found.link) == (partner, link) {
        findings.near("time of impact", units.time, i, found.toi, toi, a.time.max(b.time));
        let squares = (found.delta_v_bound * found.delta_v_bound, delta_v_bound * delta_v_bound);
        let unit = units.velocity() * units.velocity();
        findings.near(
            "square of the impact's speed",
            unit,
            i,
            squares.0,
            squares.1,
            a.delta_v_bound.max(b.delta_v_bound),
        );
        return;
    }
    // What the device says has to be so at least: the twin's impact with that partner.
    if is_here {
        let told = with_partner(twin, i, found);
        let allowed = a.time * scale;
        if told.is_none_or(|told| (found.toi - told.toi).abs() > allowed) {
            let told = told.map_or(NO_IMPACT, |told| told.toi);
            let values = (seconds(true, found.toi), seconds(told < NO_IMPACT, told));
            let allowed = f64::from(allowed) * units.time;
            findings.differ("time of impact with another", i, values.0, values.1, allowed);
            return;
        }
    }
    // Another partner at the same time, an impact at the very end, or one that grazes.
    let allowed = (a.time + b.time) * scale;
    let same_time = (found.toi - toi).abs() <= allowed;
    let at_end = |t: f32, of: &Scales| twin.frame.h - t <= of.time * scale;
    let lone = |is_some: bool, t: f32, of: &Scales| !is_some || at_end(t, of) || of.grazes;
    if same_time || (lone(is_here, found.toi, &a) && lone(is_there, toi, &b)) {
        findings.near_ties += 1;
    } else {
        let values = (seconds(is_here, found.toi), seconds(is_there, toi));
        findings.differ("time of impact", i, values.0, values.1, f64::from(allowed) * units.time);
    }
}

/// The twin's impact of a sphere with the partner of an event of the device.
pub fn with_partner(twin: &Twin, i: usize, found: Event) -> Option<twins::Event> {
    let view = twin.view();
    let mut told = twins::Event::NONE;
    if found.partner & WALL != 0 {
        let plane = (found.partner & !WALL) as usize;
        if plane < view.world.walls.len() {
            sweep::consider_wall(&view, i, plane, &mut told);
        }
    } else {
        view.for_candidates(i, |j, link, shift| {
            if (j as u32, link) == (found.partner, found.link) {
                sweep::consider(&view, i, j, link, shift, &mut told);
            }
        });
    }
    told.is_some().then_some(told)
}

// How well time and jolt of an event are known.
struct Scales {
    time: f32,
    delta_v_bound: f32,
    grazes: bool,
}

impl Scales {
    fn of(twin: &Twin, i: usize, partner: u32, delta_v_bound: f32) -> Self {
        let (state, frame) = (&twin.core.state, twin.frame);
        let edge = twin.core.domain.grid.edge.max_element();
        let own = state.inverse_mass(i);
        let fall = frame.gravity.length() * frame.h;
        let (theirs, other) = match state.id.get(partner as usize) {
            Some(_) => (state.inverse_mass(partner as usize), state.velocity(partner as usize)),
            None => (0.0, glam::Vec3::ZERO),
        };
        let relative = (state.velocity(i) - other).length() + fall;
        let share = twin.core.domain.world.delta_v_bound * own / (own + theirs);
        let normal = delta_v_bound / share;
        let square = NORMAL * (relative * relative + edge * fall);
        // A gap closes with the normal speed.
        let slow = normal.max(square.sqrt());
        let time = GAP * edge / slow + 2e-7 * frame.h;
        Self { time, delta_v_bound: 4.0 * share * share * square, grazes: normal * normal <= 4.0 * square }
    }
}

/// Stage 7: the impacts that may happen now.
pub fn select(_: &Harness, twin: &Twin, found: &[u32], findings: &mut Findings) {
    let twins: BTreeSet<u32> = twin.rounds.selected.iter().copied().collect();
    let found: BTreeSet<u32> = found.iter().copied().collect();
    for &i in found.symmetric_difference(&twins) {
        if (i as usize) < twin.core.state.len() && is_on_rim(twin, i as usize, findings.scale) {
            findings.near_ties += 1;
        } else {
            let is_in = |set: &BTreeSet<u32>| f64::from(u8::from(set.contains(&i)));
            findings.equal("impact selected", i as usize, is_in(&found), is_in(&twins));
        }
    }
}

// Whether the twin decides otherwise on an impact that is a little sooner or later: a touch comes at that very time.
fn is_on_rim(twin: &Twin, i: usize, scale: f32) -> bool {
    let view = twin.view();
    let rounds = &twin.rounds;
    let propagation = select::Propagation { first: &rounds.first, crowded: &[] };
    let decides = |shift: f32| {
        let mut events = rounds.events.clone();
        events[i].toi += shift * twin.frame.h;
        select::is_mutual(&view, &events, i)
            && select::select(&view, &events, propagation, &rounds.threats, i)
    };
    let now = decides(0.0);
    decides(-CAUSALITY * scale) != now || decides(CAUSALITY * scale) != now
}

/// Of every sphere its speed and that of whom it is about to meet together, with those of the rims where they matter.
pub fn speeds(twin: &Twin) -> Vec<f32> {
    let state = &twin.core.state;
    let is_rough = twin.core.domain.world.is_rough();
    let rim = |i: usize| if is_rough { state.spin[i].truncate().length() * state.radius(i) } else { 0.0 };
    let speed = |i: usize| state.velocity(i).length() + rim(i);
    let mut speeds: Vec<f32> = (0..state.len()).map(speed).collect();
    for &i in &twin.rounds.selected {
        let partner = twin.rounds.events[i as usize].partner as usize;
        if partner < state.len() {
            let sum = speed(i as usize) + speed(partner);
            speeds[i as usize] = sum;
            speeds[partner] = sum;
        }
    }
    speeds
}

/// Stage 8.
pub fn collide(
    harness: &Harness,
    twin: &Twin,
    input: &Memory,
    output: &Memory,
    speeds: &[f32],
    findings: &mut Findings,
) {
    let (bodies, tags) = constraints(&twin.core.state, &harness.host);
    let frame = twin.frame;
    let (edge, fall) = (twin.core.domain.grid.edge.max_element(), frame.gravity.length() * frame.h);
    for i in 0..bodies.len() {
        let found = (output.bodies[PRESENT][i], output.tags[PRESENT][i]);
        let speed = speeds[i] + fall;
        let way = edge.max(bodies[i].offset.abs().max_element()) + speed * frame.h;
        let is_struck = twin.core.clock[i] != input.nodes[i].clock || bodies[i] != input.bodies[PRESENT][i];
        // Nobody else is written.
        let share = if is_struck { 1.0 } else { 0.0 };
        let rim = if twin.core.domain.world.is_rough() { RIM * speed } else { 0.0 };
        let tolerances = [PLACE * way, SPEED * speed, rim].map(|tolerance| share * tolerance);
        findings.sphere(i, found, (bodies[i], tags[i]), tolerances);
        findings.equal("clock, scaled", i, output.nodes[i].clock, twin.core.clock[i]);
        let support = output.nodes[i].support;
        if support & FROZEN == 0 {
            findings.equal("plane below", i, support, u32::from(twin.core.support[i]));
        }
    }
}
