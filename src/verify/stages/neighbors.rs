//! The comparison of `neighbors`.

use glam::Vec3;

use super::{Bindings, Comparison, Findings, Memory, OVERALL, PRESENT, Pass, Site, Twin};
use crate::verify::memory::rough_place;
use crate::{
    cpu::sweep::from_wall,
    gpu::{
        encode,
        layout::{CANDIDATE_COUNT, CODE_SHIFT, INDEX_MASK},
    },
    state::{constants::wall_bit, grid::CODES},
    walls::features::Instant,
};

/// Rim of the reach in squared distances, relative: the squares may be fused with their sums, each step 6e-8.
const RIM: f64 = 1e-6;

/// Rim of the gap to a wall, as a share of a cell's edge: a sum of three products of lengths up to a few edges.
const WALL_RIM: f32 = 1e-6;

pub const COMPARISON: Comparison = Comparison {
    pass: Pass::Neighbors,
    bindings: Bindings::Broad,
    input: |site, twin| {
        let mut input = Memory::of(site, twin);
        let edge = twin.core.domain.grid.edge;
        for i in 0..twin.core.state.len() {
            let place = rough_place(&input.bodies[PRESENT][i], &input.tags[PRESENT][i], edge);
            input.lists[site.layout.rough_places as usize + i] = place;
        }
        input
    },
    twin: Twin::neighbors,
    dispatches: |_, all| encode::neighbors(all).to_vec(),
    compare,
};

fn compare(site: &Site, _: &Memory, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let layout = &site.layout;
    let n = twin.core.state.len();
    let mut ranges: Vec<_> = (0..n).map(|i| output.list(i).0).filter(|range| !range.is_empty()).collect();
    ranges.sort_by_key(|range| range.start);
    let are_apart = ranges.windows(2).all(|pair| pair[0].end <= pair[1].start)
        && ranges.first().is_none_or(|range| range.start >= layout.entries as usize);
    let feature_ranges = (0..n).map(|i| output.features(layout, i).0);
    let total: usize = ranges.iter().cloned().chain(feature_ranges).map(|range| range.len()).sum();
    findings.saw("lists of more than 32", ranges.iter().filter(|range| range.len() > 32).count() as u64);
    for i in 0..n {
        candidates(twin, i, output.list(i).1, findings);
        let (_, features, is_near_moving_wall) = output.features(layout, i);
        wall_features(site, twin, i, (features, is_near_moving_wall), findings);
        let (bits, expected) = (output.lists[layout.walls as usize + i], twin.core.lists.walls(i));
        findings.saw("planes in reach", expected.count_ones().into());
        if bits != expected {
            findings.near_ties += 1;
            let ties = walls_on_rim(site, twin, i, findings.scale);
            findings.equal("planes in reach, a bit each", i, bits & !ties, expected & !ties);
        }
    }
    findings.flag("candidate lists that do not overlap", OVERALL, are_apart, true);
    findings.equal("candidates of all spheres", OVERALL, output.work[CANDIDATE_COUNT as usize], total as u32);
}

fn candidates(twin: &Twin, i: usize, found: &[u32], findings: &mut Findings) {
    let candidates = twin.core.lists.of(i).iter();
    let expected: Vec<u32> = candidates.map(|c| c.code() << CODE_SHIFT | c.index() as u32).collect();
    findings.compared += expected.len() as u64;
    if found == expected {
        return;
    }
    findings.near_ties += 1;
    let scale = f64::from(findings.scale);
    let clear = |list: &[u32]| -> Vec<u32> {
        list.iter().copied().filter(|&entry| !is_on_rim(twin, i, entry, scale)).collect()
    };
    let (device, host) = (clear(found), clear(&expected));
    if device != host {
        let id = |entry: &u32| {
            let of = twin.core.state.id.get((entry & INDEX_MASK) as usize);
            of.map_or(f64::NAN, |&id| f64::from(id))
        };
        let only = |a: &[u32], b: &[u32]| -> Vec<f64> {
            a.iter().filter(|entry| !b.contains(entry)).map(id).take(3).collect()
        };
        let counts = (found.len(), expected.len());
        let what = format!("candidates ({} and {}, in order), ids that only one has:", counts.0, counts.1);
        findings.differ(&what, i, only(&device, &host), only(&host, &device), 0.0);
    }
}

fn wall_features(
    site: &Site,
    twin: &Twin,
    i: usize,
    (found, is_near_moving_wall): (&[u32], bool),
    findings: &mut Findings,
) {
    let expected = twin.core.lists.features(i);
    findings.saw("wall features in reach", expected.len() as u64);
    if found == expected {
        let twins = twin.core.lists.is_near_moving_wall(i);
        findings.flag("a moving wall in reach", i, is_near_moving_wall, twins);
        return;
    }
    findings.near_ties += 1;
    let only = |a: &[u32], b: &[u32]| -> Vec<f64> {
        let is_clear = |k: &u32| {
            let count = |list: &[u32]| list.iter().filter(|other| *other == k).count();
            count(a) > count(b) && !is_feature_on_rim(site, twin, i, *k, findings.scale)
        };
        a.iter().copied().filter(is_clear).map(f64::from).take(3).collect()
    };
    let (device, host) = (only(found, expected), only(expected, found));
    if !(device.is_empty() && host.is_empty()) {
        findings.differ("wall features in reach, those that only one has", i, device, host, 0.0);
    }
}

// Whether a candidate is so nearly out of reach that rounding decides.
fn is_on_rim(twin: &Twin, i: usize, entry: u32, scale: f64) -> bool {
    let (state, grid) = (&twin.core.state, &twin.core.domain.grid);
    let (j, code) = ((entry & INDEX_MASK) as usize, entry >> CODE_SHIFT);
    if j >= state.len() || code >= CODES {
        return false;
    }
    let shift = grid.shifts()[code as usize];
    let d = ((state.offset(i) - state.offset(j)) - shift).as_dvec3().length_squared();
    let near = f64::from(state.radius(i) + state.radius(j) + 2.0 * twin.motion_margin).powi(2);
    (d - near).abs() <= RIM * scale * near
}

fn is_feature_on_rim(site: &Site, twin: &Twin, i: usize, feature: u32, scale: f32) -> bool {
    let (state, world) = (&twin.core.state, &twin.core.domain.world);
    let features = &world.features;
    let Some(feature) = features.all.get(feature as usize) else { return false };
    let (cell, offset, radius) = (state.cell[i].truncate(), state.offset(i), state.radius(i));
    let at = Instant { cell, offset, velocity: Vec3::ZERO, radius, t: 0.0 };
    let x = features.sight(&twin.core.domain.grid, feature, &at, Vec3::ZERO).x;
    let reach = radius + (twin.motion_margin + twin.drift_reach) * 1.001 + world.slop;
    let edge = site.frame.edge.max_element();
    (features.near(feature, x).distance - reach).abs() <= WALL_RIM * scale * (edge + x.length())
}

fn walls_on_rim(site: &Site, twin: &Twin, i: usize, scale: f32) -> u32 {
    let (core, edge) = (&twin.core, site.frame.edge.max_element());
    let path = twin.motion_margin + twin.drift_reach;
    let mut set = 0;
    for (k, wall) in core.domain.world.walls.iter().enumerate() {
        let gap = wall.normal.dot(from_wall(&core.domain.grid, core.state.columns(), wall, i))
            - core.state.radius(i);
        if (gap - (path * 1.001 + core.domain.world.slop)).abs() <= WALL_RIM * scale * edge {
            set |= wall_bit(k);
        }
    }
    set
}
