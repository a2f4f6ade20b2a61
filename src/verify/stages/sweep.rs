//! The comparisons of the two passes of `sweep`: over all spheres, and over the spheres that the impacts of a round
//! affected.

use super::{Bindings, Comparison, Findings, Memory, Pass, Site, Twin, rest};
use crate::verify::memory::time;
use crate::{
    cpu::{event as twins, sweep},
    gpu::{
        encode,
        layout::{Event, WALL},
        shaders::NO_IMPACT,
    },
    state::grid::CODES,
};

/// How far apart, in cells, the two sides may see a pair at its time of impact: coordinates are at most a few cells, each
/// of the sums and products before the root loses 6e-8 of them, and a fused one loses less.
const GAP: f32 = 2e-6;

/// Share of the squared relative speed to which the squared normal speed is known: it is the difference between that
/// speed and the tangential one.
const NORMAL: f32 = 2e-6;

pub const ALL: Comparison = Comparison {
    pass: Pass::Sweep,
    bindings: Bindings::View,
    input: |site, twin| Memory::of(site, twin),
    twin: Twin::sweep,
    dispatches: |_, all| encode::sweep(all).to_vec(),
    compare: |site, _, twin, output, findings| {
        events(twin, output, findings);
        pending(site, 0, output, findings);
        converted(site, twin, output, findings);
    },
};

pub const TOUCHED: Comparison = Comparison {
    pass: Pass::Resweep,
    bindings: Bindings::View,
    input: |site, twin| {
        let mut input = Memory::of(site, twin);
        input.put_pending(&site.layout, site.round, &twin.rounds.pending_list);
        input.put_selected(&site.layout, site.round, &twin.rounds.selected);
        for &i in &twin.rounds.touched_list {
            input.nodes[i as usize].touched = site.round + 1;
        }
        input
    },
    twin: Twin::resweep,
    dispatches: |site, all| encode::resweep(site.round, all, all).to_vec(),
    compare: |site, _, twin, output, findings| {
        events(twin, output, findings);
        // Without a selected impact the rounds are over, and no list is made.
        if !twin.rounds.selected.is_empty() {
            pending(site, site.round + 1, output, findings);
        }
        converted(site, twin, output, findings);
    },
};

// Impacts in a crowd that the sweep converted to resting contacts.
fn converted(site: &Site, twin: &Twin, output: &Memory, findings: &mut Findings) {
    if site.layout.slots > 0 {
        findings.saw("spheres with converted impacts", twin.core.converted.count());
        rest::contact_flags(&site.layout, twin, output, findings);
    }
}

// All spheres with an event are pending, once each.
fn pending(site: &Site, round: u32, output: &Memory, findings: &mut Findings) {
    let has_event = |i: &u32| output.next_events[*i as usize].event.toi < NO_IMPACT;
    let expected = (0..site.layout.sphere_count).filter(has_event).collect();
    findings.same_members(
        "times in the list of pending impacts",
        output.pending(&site.layout, round),
        expected,
    );
}

fn events(twin: &Twin, output: &Memory, findings: &mut Findings) {
    let count = |is: &dyn Fn(&&twins::Event) -> bool| {
        twin.rounds.events.iter().filter(|event| event.is_some()).filter(is).count() as u64
    };
    let is_fixed = |j: u32| twin.core.state.inverse_mass(j as usize) == 0.0;
    findings.saw("impacts", count(&|_| true));
    findings.saw("impacts with walls", count(&|event| event.wall().is_some()));
    findings
        .saw("impacts with fixed spheres", count(&|event| event.wall().is_none() && is_fixed(event.partner)));
    findings.saw("impacts with dynamic candidates", count(&|event| event.link >= CODES));
    for (i, event) in twin.rounds.events.iter().enumerate() {
        one_event(twin, i, output.next_events[i].event, *event, findings);
    }
}

fn one_event(twin: &Twin, i: usize, found: Event, expected: twins::Event, findings: &mut Findings) {
    findings.compared += 1;
    let twins::Event { partner, link, delta_v_bound, .. } = expected;
    let toi = time(expected.toi);
    if found == (Event { toi, partner, link, delta_v_bound }) {
        return;
    }
    let (a, b) = (
        Scales::of(twin, i, found.partner, found.delta_v_bound),
        Scales::of(twin, i, partner, delta_v_bound),
    );
    let (is_here, is_there) = (found.toi < NO_IMPACT, toi < NO_IMPACT);
    let (scale, units) = (findings.scale, findings.units);
    let unit = units.velocity() * units.velocity();
    if is_here && is_there && (found.partner, found.link) == (partner, link) {
        findings.near("time of impact", units.time, i, found.toi, toi, a.time.max(b.time));
        let (squares, tolerance) =
            ([found.delta_v_bound, delta_v_bound], a.delta_v_bound.max(b.delta_v_bound));
        let [x, y] = squares.map(|bound| bound * bound);
        findings.near("square of the change of velocity", unit, i, x, y, tolerance);
        return;
    }
    // The device's impact has to be right at least: the twin's impact with that partner.
    if is_here {
        let what = "time of impact with another partner";
        let Some(told) = with_partner(twin, i, found) else {
            findings.differ(what, i, vec![f64::from(found.toi) * units.time], vec![], 0.0);
            return;
        };
        findings.near(what, units.time, i, found.toi, time(told.toi), a.time);
        let [x, y] = [found.delta_v_bound, told.delta_v_bound].map(|bound| bound * bound);
        findings.near("square of the change by another partner", unit, i, x, y, a.delta_v_bound);
    }
    // Another partner at the same time, an impact at the very end, or one that grazes.
    findings.near_ties += 1;
    let allowed = (a.time + b.time) * scale;
    let is_same_time = (found.toi - toi).abs() <= allowed;
    let is_at_end = |t: f32, of: &Scales| twin.frame.h - t <= of.time * scale;
    let is_lone = |is_some: bool, t: f32, of: &Scales| !is_some || is_at_end(t, of) || of.grazes;
    if !(is_same_time || (is_lone(is_here, found.toi, &a) && is_lone(is_there, toi, &b))) {
        let seconds = |is_some: bool, t: f32| if is_some { vec![f64::from(t) * units.time] } else { vec![] };
        let (device, host) = (seconds(is_here, found.toi), seconds(is_there, toi));
        findings.differ("time of impact", i, device, host, f64::from(allowed) * units.time);
    }
}

// The twin's impact of a sphere with the partner of an event of the device.
fn with_partner(twin: &Twin, i: usize, found: Event) -> Option<twins::Event> {
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

/// How well the time of an event is known, and the square of its bound on the change of velocity.
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
