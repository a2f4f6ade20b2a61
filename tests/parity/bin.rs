//! Stage 1 against its twin.

use glam::Vec4;

use super::{
    Case, Harness, PRESENT, Slip, agrees,
    memory::{Memory, constraints},
    notices,
    starts::{Start, dice, start},
};

/// Of what is left of an offset, as a share of the offset before and of the cell: `x - moved * edge` may be fused, which
/// saves rounding the product, half an ULP (6e-8) of it; the difference is rounded once on both sides.
const OFFSET: f32 = 1.2e-7;

// Spheres far from their cells, also beyond the walls, none so near a face of a cell that the quotient `x / edge`, of
// for which WGSL guarantees 2.5 ULP, could fall on either side.
fn scatter_about(harness: &mut Harness) {
    let grid = &harness.twin.core.domain.grid;
    let mut draw = dice(3);
    for place in &mut harness.twin.core.state.place {
        for axis in 0..if grid.layers > 0 { 3 } else { 2 } {
            let edge = grid.edge[axis];
            place[axis] += (4.0 * draw() as f32 - 2.0) * edge;
            let cells = place[axis] / edge;
            if (cells - cells.round()).abs() < 1e-4 {
                place[axis] += 1e-3 * edge;
            }
        }
    }
}

fn case(start: &Start) -> Case {
    let mut harness = Harness::new(start);
    scatter_about(&mut harness);
    let mut input = Memory::new(&harness.layout);
    let source = 1 - PRESENT;
    (input.bodies[source], input.tags[source]) = constraints(&harness.twin.core.state, &harness.host);
    let input_cells: Vec<_> = input.tags[source].iter().map(|tag| tag.cell).collect();
    let before: Vec<Vec4> = harness.twin.core.state.place.clone();
    harness.twin.bin();
    let (bodies, tags) = constraints(&harness.twin.core.state, &harness.host);
    let (keys, counts) = (harness.twin.core.keys.clone(), harness.twin.counts());
    let (layout, edge) = (harness.layout, harness.frame.edge);
    let dispatches = vec![("bin", 0, harness.all())];
    Case::new(harness, input, dispatches, true, move |output, verdict| {
        let moved = (0..tags.len()).filter(|&i| tags[i].cell != input_cells[i]).count();
        verdict.saw("spheres in new cells", moved as u64);
        for i in 0..bodies.len() {
            verdict.equal("tag", i, output.tags[source][i], tags[i]);
            verdict.equal("key", i, output.work[layout.pending as usize + i], keys[i]);
            let body = output.bodies[source][i];
            for axis in 0..3 {
                let tolerance = OFFSET * before[i][axis].abs().max(edge[axis]);
                verdict.near("offset", i, body.offset[axis], bodies[i].offset[axis], tolerance);
            }
            verdict.equal("rest of", i, crate::gpu::Body { offset: bodies[i].offset, ..body }, bodies[i]);
        }
        verdict.equal("counts", 0, output.get(layout.counts, counts.len()), &counts);
    })
}

#[test]
fn bin_agrees_with_its_twin() {
    agrees("bin", case);
}

#[test]
fn a_slip_in_bin_is_noticed() {
    let input: &[Slip] = &[
        ("an offset", |m, _, _| m.bodies[0][11].offset.x += 1e-5),
        ("a cell", |m, _, _| m.tags[0][40].cell.y += 1),
        ("a count that was not cleared", |m, layout, _| m.work[layout.counts as usize + 3] = 1),
    ];
    let output: &[Slip] = &[
        ("a key", |m, layout, _| m.work[layout.pending as usize + 64] ^= 1),
        ("a velocity", |m, _, _| m.bodies[0][0].velocity.z += 1e-6),
        ("the offset of the last", |m, _, _| m.bodies[0][64].offset.z *= 1.0 + 1e-6),
    ];
    for kind in ["gas", "open"] {
        notices(&start(kind, 65), case, input, output);
    }
}
