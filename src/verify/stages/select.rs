//! The comparison of `select`: the threats (impacts that may make a sphere fast), the bounds of the first propagation, and
//! the selected impacts.

use std::collections::BTreeSet;

use super::{Bindings, Comparison, Findings, Memory, OVERALL, Pass, Site, Twin};
use crate::verify::memory::{counter, time};
use crate::{
    cpu::select,
    gpu::{
        encode,
        layout::{THREAT_WORDS, THREATS, VelocityBound},
    },
};

/// Tolerance of the times of the causality test, as a share of the substep. The touch of two cones is the root of a
/// square that cancels where they just meet, so a share `e` of rounding can move it by the root of `e`; the test makes
/// of it a bound that is a thousandth too early by design.
const TIME: f32 = 1e-3;

/// Tolerance of the bounds on changes of velocity, relative: they follow from lengths alone, but a touch that only one
/// side sees widens them.
const DELTA_V_BOUND: f32 = 1e-5;

/// Tolerance of threats, relative: places are sums of products of lengths in a few cells.
const PLACE: f32 = 1e-6;

pub const COMPARISON: Comparison = Comparison {
    pass: Pass::Select,
    bindings: Bindings::View,
    input: |site, twin| {
        let mut input = Memory::of(site, twin);
        input.put_pending(&site.layout, site.round, &twin.rounds.pending_list);
        input
    },
    twin: Twin::select,
    dispatches: |site, all| encode::select(site.round, all, all).to_vec(),
    compare,
};

fn compare(site: &Site, _: &Memory, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let (rounds, view) = (&twin.rounds, twin.view());
    for k in around_mutual(twin) {
        let (found, first) =
            (output.next_events[k as usize], rounds.propagation().first(k as usize, twin.frame.h));
        bound(
            ["time of a change of velocity", "change of velocity"],
            twin,
            k,
            found.any,
            first.any,
            findings,
        );
        let what = ["time of a change by a neighbour", "change by a neighbour"];
        bound(what, twin, k, found.others, first.others, findings);
    }
    let expected: BTreeSet<u32> = rounds.selected.iter().copied().collect();
    let listed = output.selected(&site.layout, site.round);
    let found: BTreeSet<u32> = listed.iter().copied().collect();
    findings.equal("impacts selected twice", OVERALL, (listed.len() - found.len()) as u32, 0);
    findings.compared += expected.len() as u64;
    let is_mutual = |i: &&u32| select::is_mutual(&view, &rounds.events, **i as usize);
    let mutual = rounds.pending_list.iter().filter(is_mutual).count() as u64;
    findings.saw("selected", expected.len() as u64);
    findings.saw("mutual and not selected", mutual.saturating_sub(expected.len() as u64));
    findings.saw("threats", rounds.threats.all.len() as u64);
    for &i in found.symmetric_difference(&expected) {
        findings.near_ties += 1;
        if i as usize >= twin.core.state.len() || !is_on_rim(twin, i as usize, findings.scale) {
            findings.flag("impact selected", i as usize, found.contains(&i), expected.contains(&i));
        }
    }
    threats(site, twin, output, findings);
}

// The spheres whose bounds the selection may need: the candidates of the partners of mutual pairs, and the candidates of those.
fn around_mutual(twin: &Twin) -> BTreeSet<u32> {
    let (rounds, view) = (&twin.rounds, twin.view());
    let mut near = BTreeSet::new();
    for &i in rounds.pending_list.iter().filter(|&&i| select::is_mutual(&view, &rounds.events, i as usize)) {
        view.for_candidates(i as usize, |k, _, _| near.extend([k as u32]));
        let event = rounds.events[i as usize];
        if event.wall().is_none() && view.state.inverse_mass(event.partner as usize) != 0.0 {
            view.for_candidates(event.partner as usize, |k, _, _| near.extend([k as u32]));
        }
    }
    let mut all = near.clone();
    near.iter().for_each(|&k| view.for_candidates(k as usize, |m, _, _| all.extend([m as u32])));
    all
}

fn bound(
    [of_time, of_change]: [&str; 2],
    twin: &Twin,
    k: u32,
    found: VelocityBound,
    expected: select::VelocityBound,
    findings: &mut Findings,
) {
    let (units, k) = (findings.units, k as usize);
    findings.near(of_time, units.time, k, found.time, time(expected.time), TIME * twin.frame.h);
    let change = expected.delta_v_bound;
    findings.near(of_change, units.velocity(), k, found.delta_v_bound, change, DELTA_V_BOUND * change);
}

// Whether the twin decides otherwise on an impact that is a little sooner or later: a touch comes at that very time.
fn is_on_rim(twin: &Twin, i: usize, scale: f32) -> bool {
    let (view, rounds) = (twin.view(), &twin.rounds);
    let decides = |shift: f32| {
        let mut events = rounds.events.clone();
        events[i].toi += shift * twin.frame.h;
        let propagation = select::Propagation { events: &events, crowded: &[], ..rounds.propagation() };
        select::is_mutual(&view, &events, i) && select::select(&view, propagation, &rounds.threats, i)
    };
    decides(-TIME * scale) != decides(TIME * scale)
}

fn threats(site: &Site, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let edge = site.frame.edge.max_element();
    let mut twins = twin.rounds.threats.all.to_vec();
    let count = output.work[counter(site.round, THREATS)] as usize;
    findings.equal("threats", OVERALL, count as u32, twins.len() as u32);
    let at = site.layout.threats as usize;
    let words = &output.pool[at..at + count * THREAT_WORDS as usize];
    let mut records: Vec<&[u32]> = words.chunks_exact(THREAT_WORDS as usize).collect();
    // Times are not negative: their bits are in their order.
    records.sort_by_key(|r| (r[0], r[1], r[2], r[3], r[4], r[5], r[6]));
    twins.sort_by_key(|t| {
        (t.time.to_bits(), t.cell.to_array().map(|c| c as u32), t.offset.to_array().map(f32::to_bits))
    });
    for (record, twin) in records.into_iter().zip(&twins) {
        let float = |k: usize| f32::from_bits(record[k]);
        findings.equal("time of a threat, scaled", OVERALL, float(0), twin.time);
        for axis in 0..3 {
            findings.equal("cell of a threat", OVERALL, record[1 + axis] as i32, twin.cell[axis]);
            let tolerance = PLACE * (edge + twin.offset[axis].abs());
            let unit = findings.units.length;
            findings.near("place of a threat", unit, OVERALL, float(4 + axis), twin.offset[axis], tolerance);
        }
        findings.equal("radius of a threat, scaled", OVERALL, float(7), twin.radius);
        let unit = findings.units.velocity();
        findings.near("speed of a threat", unit, OVERALL, float(8), twin.speed, PLACE * twin.speed);
    }
}
