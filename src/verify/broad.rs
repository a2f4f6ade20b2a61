//! The stages of the broad phase compared with their twins.

use super::{
    PRESENT,
    findings::Findings,
    harness::Harness,
    memory::{Memory, constraints, rough_place},
    twin::Twin,
};
use crate::gpu::layout::{CODE_SHIFT, INDEX_MASK};
use crate::{
    cpu::sweep::from_wall,
    state::{constants::wall_bit, grid::CODES},
};

/// Of what is left of an offset, as a share of the cell: `x - moved * edge` may be fused, and what was before may be a
/// few cells.
const OFFSET: f32 = 1e-6;

/// Of squared distances: the squares may be fused with their sums, each step 6e-8.
const RIM: f64 = 1e-6;

/// Of the gap to a plane, as a share of a cell's edge: a sum of three products of lengths up to a few edges.
const WALL_RIM: f32 = 1e-6;

/// Stage 1.
pub fn bin(harness: &Harness, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let source = 1 - PRESENT;
    let (bodies, tags) = constraints(&twin.core.state, &harness.host);
    let edge = harness.frames[0].edge;
    let ties = findings.near_ties;
    for i in 0..bodies.len() {
        let (body, tag) = (output.bodies[source][i], output.tags[source][i]);
        let cells = (tag.cell - tags[i].cell).as_vec3() * edge;
        if cells != glam::Vec3::ZERO && (body.offset + cells - bodies[i].offset).abs().max_element() < OFFSET
        {
            // In the very face between two cells.
            findings.near_ties += 1;
            continue;
        }
        let tolerance = OFFSET * bodies[i].offset.abs().max(edge).max_element();
        findings.sphere(i, (body, tag), (bodies[i], tags[i]), [tolerance, 0.0, 0.0]);
        findings.equal("bucket", i, output.work[harness.layout.pending as usize + i], twin.core.keys[i]);
    }
    if findings.near_ties == ties && findings.is_clean() {
        histogram("spheres of the bucket", harness, twin, output, findings);
    }
}

// The counts of the buckets; a bucket is named after the first sphere of its own.
fn histogram(what: &str, harness: &Harness, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let counts = twin.counts();
    let found = output.get(harness.layout.counts, counts.len());
    if let Some(bucket) = (0..counts.len()).find(|&b| found[b] != counts[b]) {
        let of = twin.core.keys.iter().position(|&key| key as usize == bucket).unwrap_or(usize::MAX);
        findings.equal(what, of, found[bucket], counts[bucket]);
    }
}

/// Stage 2.
pub fn scan(harness: &Harness, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let starts = &twin.core.starts;
    let found = output.get(harness.layout.starts, starts.len());
    if let Some(bucket) = (0..starts.len()).find(|&b| found[b] != starts[b]) {
        let of = twin.core.keys.iter().position(|&key| key as usize == bucket).unwrap_or(usize::MAX);
        findings.equal("start of the bucket", of, found[bucket], starts[bucket]);
    }
    histogram("end of the bucket", harness, twin, output, findings);
}

/// Stage 3.
pub fn scatter(harness: &Harness, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let (bodies, tags) = constraints(&twin.core.state, &harness.host);
    for i in 0..bodies.len() {
        let found = (output.bodies[PRESENT][i], output.tags[PRESENT][i]);
        findings.sphere(i, found, (bodies[i], tags[i]), [0.0; 3]);
        findings.equal("path budget, scaled", i, output.nodes[i].motion_margin, twin.motion_margin);
    }
}

/// What stage 3 leaves for stage 4 beside the spheres themselves.
pub fn put_rough_places(twin: &Twin, input: &mut Memory) {
    let edge = twin.core.domain.grid.edge;
    for (i, node) in input.nodes.iter_mut().enumerate() {
        node.touched = rough_place(&input.bodies[PRESENT][i], &input.tags[PRESENT][i], edge);
    }
}

/// Stage 4.
pub fn neighbors(harness: &Harness, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let lists = &twin.core.lists;
    for i in 0..twin.core.state.len() {
        let mut found = output.list(i).1.to_vec();
        let mut expected: Vec<u32> =
            lists.of(i).iter().map(|c| c.code() << CODE_SHIFT | c.index() as u32).collect();
        if found != expected {
            let before = (found.len(), expected.len());
            let scale = f64::from(findings.scale);
            let clear = |list: &mut Vec<u32>| list.retain(|&entry| !is_on_rim(twin, i, entry, scale));
            clear(&mut found);
            clear(&mut expected);
            found.sort_unstable();
            expected.sort_unstable();
            if found == expected {
                findings.near_ties += 1;
            } else {
                let id = |entry: &u32| {
                    let of = twin.core.state.id.get((entry & INDEX_MASK) as usize);
                    of.map_or(f64::NAN, |&id| f64::from(id))
                };
                let only = |a: &[u32], b: &[u32]| -> Vec<f64> {
                    a.iter().filter(|entry| b.binary_search(entry).is_err()).map(id).take(3).collect()
                };
                let (device, host) = (only(&found, &expected), only(&expected, &found));
                let what = format!("candidates ({} and {}), those that only one has:", before.0, before.1);
                findings.differ(&what, i, device, host, 0.0);
            }
        }
        let bits = output.lists[harness.layout.walls as usize + i];
        let differ = bits ^ lists.walls(i);
        if differ != 0 {
            let tie = walls_on_rim(harness, twin, i, findings.scale);
            if differ & !tie != 0 {
                findings.equal("planes in reach, a bit each", i, bits, lists.walls(i));
            } else {
                findings.near_ties += 1;
            }
        }
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

fn walls_on_rim(harness: &Harness, twin: &Twin, i: usize, scale: f32) -> u32 {
    let (core, edge) = (&twin.core, harness.frames[0].edge.max_element());
    let path = twin.motion_margin + twin.drift_reach();
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
