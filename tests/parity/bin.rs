//! Stage `bin` against its twin.

use super::{
    Case, Harness, Slip, agrees, before, notices,
    starts::{Start, dice, start},
};
use crate::step::schedule::Pass;

// Spheres far from their cells, also beyond the walls, none so near a face of a cell that the quotient `x / edge`,
// which WGSL guarantees to 2.5 ULP, could fall on either side.
fn strew(harness: &mut Harness) {
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
    let mut harness = before(start, Pass::Bin);
    strew(&mut harness);
    Case::new(start, harness, Pass::Bin)
}

#[test]
fn bin_agrees_with_its_twin() {
    assert_eq!(agrees("bin", case).0.near_ties, 0);
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
