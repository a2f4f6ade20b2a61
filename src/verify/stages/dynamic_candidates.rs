//! Computes the dynamic candidates of fast spheres from the geometry of the twin's paths, and compares the device's entries
//! with them.

use std::collections::BTreeSet;

use glam::{IVec3, Vec3};

use super::{Findings, Memory, Twin};
use crate::{
    cpu::{
        event::View,
        fast::{DynamicCandidates, Lines, Walk},
    },
    gpu::buffer_layout::BufferLayout,
    state::constants::PASSING,
};

/// Rim of lengths, as a share of the path of a fast sphere and of the distance: a few sums of products of lengths up to
/// the path, each of which may be fused.
const RIM: f32 = 4e-6;

/// Sphere, other sphere, cells to its image.
type Entry = (u32, u32, [i32; 3]);

// The dynamic candidates of pairs in which one sphere is among the `walkers`, as if all fast spheres had traversed their
// present paths only.
fn expected(twin: &Twin, walkers: &BTreeSet<u32>) -> BTreeSet<Entry> {
    let core = &twin.core;
    let n = core.state.len();
    let all: Vec<u32> = (0..n as u32).filter(|&i| core.dynamic_candidates.is_fast(i as usize)).collect();
    let mut dynamic_candidates = DynamicCandidates::default();
    dynamic_candidates.reset(n, core.domain.grid.buckets);
    dynamic_candidates.mark(&all);
    let mut walk = Walk::default();
    let view = View { dynamic_candidates: &dynamic_candidates, ..twin.view() };
    all.iter().for_each(|&i| walk.run(&view, &core.starts, core.reach, i as usize));
    let lines = Lines { grid: &core.domain.grid, state: &core.state, clock: &core.clock, frame: twin.frame };
    dynamic_candidates.enter_walk(&walk, lines);
    let mut entries = BTreeSet::new();
    for i in 0..n as u32 {
        for (_, dynamic) in dynamic_candidates.of(i as usize) {
            if walkers.contains(&i) || walkers.contains(&dynamic.other) {
                entries.insert((i, dynamic.other, dynamic.cells.to_array()));
            }
        }
    }
    entries
}

/// Compares the entries of the `walkers`, which have just traversed their paths; `is_first` where no sphere had
/// traversed one before. Returns the number of all entries on the device.
pub fn compare(
    layout: &BufferLayout,
    twin: &Twin,
    walkers: &[u32],
    is_first: bool,
    output: &Memory,
    findings: &mut Findings,
) -> u32 {
    let walkers: BTreeSet<u32> = walkers.iter().copied().collect();
    let mut count = 0;
    let mut found = BTreeSet::new();
    for i in 0..output.nodes.len() as u32 {
        for (other, cells) in output.dynamic_candidates(layout, i as usize) {
            count += 1;
            let is_new = found.insert((i, other, cells));
            // A sphere may be entered once more with a partner that it met on an earlier path.
            findings.flag("entered once", i as usize, is_new || !is_first, true);
            // The lists of other spheres keep entries from earlier paths of a walker.
            let is_concerned = walkers.contains(&i) || (is_first && walkers.contains(&other));
            if !is_concerned {
                found.remove(&(i, other, cells));
            }
        }
    }
    if walkers.is_empty() {
        return count;
    }
    let expected = expected(twin, &walkers);
    findings.compared += expected.len() as u64;
    let is_missing = |entry: &&Entry| {
        if is_first || walkers.contains(&entry.0) {
            !found.contains(entry)
        } else {
            !output.dynamic_candidates(layout, entry.0 as usize).contains(&(entry.1, entry.2))
        }
    };
    let only_twin = expected.iter().filter(is_missing);
    let only_found = found.iter().filter(|entry| !expected.contains(entry));
    for entry in only_twin.chain(only_found) {
        findings.near_ties += 1;
        let margin = margin(twin, entry);
        if margin.is_none_or(|(margin, rim)| margin.abs() > rim * findings.scale) {
            let other = twin.core.state.id.get(entry.1 as usize).map_or(f64::NAN, |&id| f64::from(id));
            let of = |is_there: bool| if is_there { vec![other] } else { vec![] };
            let is_expected = expected.contains(entry);
            let allowed = margin.map_or(0.0, |(_, rim)| f64::from(rim * findings.scale));
            findings.differ(
                "dynamic candidate",
                entry.0 as usize,
                of(!is_expected),
                of(is_expected),
                allowed,
            );
        }
    }
    count
}

// By how much a pair passes closer than the limit below which it is entered, and by how much the sides may differ.
fn margin(twin: &Twin, &(i, j, cells): &Entry) -> Option<(f32, f32)> {
    let (i, j) = (i as usize, j as usize);
    let core = &twin.core;
    if i.max(j) >= core.state.len() {
        return None;
    }
    let cells = IVec3::from_array(cells);
    let is_fast = |i: usize| core.dynamic_candidates.is_fast(i);
    match (is_fast(i), is_fast(j)) {
        (true, true) => Some(margin_of_fast_pair(twin, i, j, cells)),
        (true, false) => Some(margin_to_slow(twin, i, j, cells)),
        (false, true) => Some(margin_to_slow(twin, j, i, -cells)),
        (false, false) => None,
    }
}

fn margin_to_slow(twin: &Twin, i: usize, j: usize, cells: IVec3) -> (f32, f32) {
    let (core, frame) = (&twin.core, &twin.frame);
    let (state, clock) = (&core.state, &core.clock);
    let bend =
        if state.inverse_mass(i) > 0.0 { 0.0 } else { 0.5 * frame.gravity.length() * frame.h * frame.h };
    let begin = state.offset(i) - (frame.drifted + frame.drift * clock[i]);
    let along = (state.velocity(i) - frame.drift) * (frame.h - clock[i]);
    let drifted = frame.drifted + frame.drift * clock[j];
    let d = state.offset(j) - drifted + core.domain.grid.shift(cells) - begin;
    let share =
        if along == Vec3::ZERO { 0.0 } else { (d.dot(along) / along.length_squared()).clamp(0.0, 1.0) };
    let wide = state.radius(i) + bend + 2.0 * core.reach.motion_margin + state.radius(j);
    ((d - along * share).length() - wide, RIM * (along.length() + d.length() + wide))
}

fn margin_of_fast_pair(twin: &Twin, i: usize, j: usize, cells: IVec3) -> (f32, f32) {
    let (state, clock, frame) = (&twin.core.state, &twin.core.clock, &twin.frame);
    let now = clock[i].max(clock[j]);
    let at = |i: usize| state.offset(i) + state.velocity(i) * (now - clock[i]);
    let d = at(i) - at(j) - twin.core.domain.grid.shift(cells);
    let along = (state.velocity(i) - state.velocity(j)) * (frame.h - now);
    let fixed = state.inverse_mass(i) == 0.0 || state.inverse_mass(j) == 0.0;
    let bend = if fixed { frame.gravity.length() * frame.h * frame.h } else { 0.0 };
    let wide = PASSING * (state.radius(i) + state.radius(j)) + bend;
    let share =
        if along == Vec3::ZERO { 0.0 } else { (-d.dot(along) / along.length_squared()).clamp(0.0, 1.0) };
    ((d + along * share).length() - wide, RIM * (along.length() + d.length() + wide))
}
