//! Stage `compress` against its twin: positions in a smaller box, in the same cells and in others, and pushes against overlaps.

use super::{
    Case, Harness, Setup, Slip, agrees, context, go_before, notices,
    starts::{self, Start, start},
};
use crate::{Side, System, state::grid::Grid, step::schedule::Pass};

/// Share of its lengths that the box loses: many spheres of a dense start overlap afterwards.
const SHARE: f64 = 0.002;

// Lets the step begin in a smaller box, with other cells if `changes_cells`, unless the system of this start cannot be compressed.
fn shrink(start: &Start, setup: &mut Setup, changes_cells: bool) {
    let domain = &setup.host.domain;
    let System { bounds, walls, dimensions, .. } = &start.system;
    let axes = dimensions.count();
    let is_periodic = bounds.sides[..axes].iter().all(|side| *side == Side::Periodic);
    if !is_periodic || !walls.is_empty() || start.system.spheres.iter().any(|sphere| sphere.fixed) {
        return;
    }
    let mut at = domain.resized(&domain.periodic_box(), bounds.shrunk(SHARE, axes));
    if changes_cells {
        let system = System { bounds: at.bounds.clone(), ..domain.system.clone() };
        let margin = 2.0 * f64::from(at.grid.margin_limit);
        at.grid = Grid::new(&system, &domain.units, &domain.statistics, margin, at.grid.origin);
    }
    setup.shrink(at);
}

fn harness(start: &Start, changes_cells: bool) -> Harness<'static> {
    let mut setup = starts::setup(start);
    shrink(start, &mut setup, changes_cells);
    Harness::new(setup, context(), 0.0).unwrap()
}

fn places(start: &Start) -> Case {
    Case::new(start, harness(start, false), Pass::Shrink)
}

fn places_in_other_cells(start: &Start) -> Case {
    Case::new(start, harness(start, true), Pass::Shrink)
}

fn pushes(start: &Start) -> Case {
    let harness = go_before(harness(start, false), Pass::PushApart);
    Case::new(start, harness, Pass::PushApart)
}

#[test]
fn compress_agrees_with_its_twin() {
    super::agrees_without("compress", &["in other cells"], places);
    agrees("compress, other cells", places_in_other_cells);
    assert_eq!(agrees("compress, pushes", pushes).0.near_ties, 0);
}

#[test]
fn a_slip_in_compress_is_noticed() {
    let input: &[Slip] = &[
        ("an offset", |m, _, _| m.bodies[0][11].offset.x += 1e-4),
        ("a cell", |m, _, _| m.tags[0][40].cell.y += 1),
        ("a velocity", |m, _, _| m.bodies[0][0].velocity.z += 1e-6),
    ];
    let output: &[Slip] = &[
        ("an offset", |m, _, _| m.bodies[1][64].offset.z += 1e-5),
        ("a cell", |m, _, _| m.tags[1][3].cell.x += 1),
        ("a radius", |m, _, _| m.bodies[1][5].radius *= 1.0 + 1e-6),
    ];
    notices(&start("gas", 65), places, input, output);
    notices(&start("gas", 65), places_in_other_cells, input, output);
}

#[test]
fn a_slip_in_the_pushes_of_compress_is_noticed() {
    // A sphere that is pushed.
    let case = |start: &Start| {
        let case = pushes(start);
        let margins = &case.harness.twin.core.motion_margin;
        let sample = (0..margins.len()).find(|&i| margins[i] != case.input.nodes[i].motion_margin).unwrap();
        case.with_sample(sample)
    };
    let input: &[Slip] = &[
        ("an offset", |m, _, sample| m.bodies[1][sample].offset.x += 1e-4),
        ("a radius", |m, _, sample| m.bodies[1][sample].radius *= 1.01),
    ];
    let output: &[Slip] = &[
        ("an offset", |m, _, sample| m.bodies[1][sample].offset.y += 1e-4),
        ("a motion margin", |m, _, sample| m.nodes[sample].motion_margin -= 1e-4),
    ];
    notices(&start("gas", 10_007), case, input, output);
}
