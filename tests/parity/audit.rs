//! Stage 12 against its twin.

use glam::DVec3;

use super::{
    Case, Harness, PRESENT, Slip, agrees, notices,
    starts::{Start, start},
};
use crate::gpu::{
    layout::{CLASS_COUNTS, PART_WORDS, SAMPLE_WORDS},
    submit_queue::sums,
};
use crate::state::{
    columns::State,
    sums::{CLASS_SHIFT, CLASSES},
};

/// Of sums, as a share of the sum of all sizes: a workgroup of 64 lanes adds 4096 spheres in f32, 64 in a row and then six
/// times by halves, each addition good to 6e-8.
const SUM: f64 = 4e-6;

/// Squares of speeds differ by a fused product: classes of speed are told apart to so many units in the last place.
const CLASS_TIE: u32 = 4;

// Makes some spheres not finite, or so fast that the square of the speed is not.
fn break_some(state: &mut State) {
    for (k, i) in (5..state.len()).step_by(29).enumerate() {
        match k % 4 {
            0 => state.motion[i].y = f32::NAN,
            1 => state.place[i].z = f32::INFINITY,
            2 => state.spin[i].x = f32::NEG_INFINITY,
            _ => state.motion[i].x = 1e20,
        }
    }
}

fn case_with(start: &Start, broken: bool) -> Case {
    let mut harness = Harness::in_substep(start);
    if broken {
        break_some(&mut harness.twin.core.state);
    }
    let mut input = harness.memory();
    for (i, node) in input.nodes.iter_mut().enumerate() {
        (node.loss, node.virial, node.relax_work) = (0.5 + i as f32, 1.0 / (1.0 + i as f32), -(i as f32));
    }
    let node_sums = input.nodes.iter().fold([0.0; 3], |[a, b, c], node| {
        [a + f64::from(node.loss), b + f64::from(node.virial), c + f64::from(node.relax_work)]
    });
    let drift = harness.frame.drift;
    harness.twin.drift = drift.as_dvec3();
    let twin = harness.twin.audit();
    let state = &harness.twin.core.state;
    // The sums of all sizes, and how many spheres are on the edge of a class.
    let (mut kinetic, mut momentum, mut arm) = (0.0, 0.0, 0.0);
    let (mut classes, mut on_edge) = (vec![0_u32; CLASSES], 0);
    for i in 0..state.len() {
        let v = state.velocity(i);
        if !(v.length_squared().is_finite() && state.offset(i).is_finite() && state.spin[i].is_finite()) {
            continue;
        }
        let bits = (v - drift).length_squared().to_bits();
        classes[(bits >> CLASS_SHIFT) as usize] += 1;
        let within = bits & ((1 << CLASS_SHIFT) - 1);
        on_edge += u32::from(!(CLASS_TIE..(1 << CLASS_SHIFT) - CLASS_TIE).contains(&within));
        if state.inverse_mass(i) > 0.0 {
            let mass = 1.0 / f64::from(state.inverse_mass(i));
            let spin = state.spin[i].truncate().as_dvec3() * f64::from(state.radius(i));
            kinetic += 0.5 * mass * (v.as_dvec3().length_squared() + 0.4 * spin.length_squared());
            momentum += mass * v.as_dvec3().length();
            let cells = state.cell[i].truncate().as_dvec3().abs() * harness.host.domain.grid.exact_edge;
            arm += mass * (cells + state.offset(i).as_dvec3().abs()).length();
        }
    }
    let layout = harness.layout;
    let host = Harness::new(start).site.host;
    let n = layout.sphere_count;
    let dispatches = vec![("audit", 0, layout.parts())];
    Case::new(harness, input, dispatches, false, move |output, verdict| {
        let (found, [loss, virial, relax_work]) = sums(&output.work, &host, &layout);
        let mut near = |what: &str, a: f64, b: f64, tolerance: f64| {
            // Relative to the tolerance: what the sums have lost in f32 stays visible.
            verdict.near(what, 0, ((a - b) / tolerance) as f32, 0.0, 1.0);
        };
        near("kinetic energy", found.kinetic, twin.kinetic, SUM * kinetic + 1e-30);
        for axis in 0..3 {
            let vectors = |v: DVec3| v[axis];
            near("momentum", vectors(found.momentum), vectors(twin.momentum), SUM * momentum + 1e-30);
            let (a, b) = (vectors(found.mass_position), vectors(twin.mass_position));
            near("mass * position", a, b, SUM * arm + 1e-30);
        }
        for (what, found, sum) in [("loss", loss, 0), ("virial", virial, 1), ("work", relax_work, 2)] {
            near(what, found, node_sums[sum], SUM * node_sums[sum].abs() + 1e-30);
        }
        verdict.equal("drift", 0, found.drift, twin.drift);
        verdict.equal("not finite", 0, found.nonfinite, twin.nonfinite);
        if twin.nonfinite > 0 {
            verdict.equal("first not finite", 0, found.first_nonfinite, twin.first_nonfinite);
        }
        if broken {
            verdict.saw("not finite", twin.nonfinite);
        }
        let speeds = output.get(CLASS_COUNTS, CLASSES);
        let differ: u32 = speeds.iter().zip(&classes).map(|(a, b)| a.abs_diff(*b)).sum();
        verdict.near_ties += u64::from(differ / 2);
        verdict.equal("classes of speed but for edges", 0, differ > 2 * on_edge, false);
        let counted = u64::from(speeds.iter().sum::<u32>()) + found.nonfinite;
        verdict.equal("spheres counted", 0, counted, u64::from(n));
        if differ == 0 {
            let speeds = |s: crate::state::sums::Sums| (s.bulk_speed, s.crowd_speed, s.high_speed);
            verdict.equal("speeds", 0, speeds(found), speeds(twin));
        }
        verdict.compared += u64::from(n);
    })
}

fn case(start: &Start) -> Case {
    case_with(start, false)
}

#[test]
fn audit_agrees_with_its_twin() {
    agrees("audit", case);
    agrees("audit of what is not finite", |start| case_with(start, true));
}

#[test]
fn a_slip_in_audit_is_noticed() {
    let input: &[Slip] = &[
        ("a velocity", |m, _, _| m.bodies[PRESENT][64].velocity.x *= -1.0),
        ("a spin", |m, _, _| m.tags[PRESENT][3].spin.y = 100.0),
        ("a cell", |m, _, _| m.tags[PRESENT][64].cell.z += 1),
        ("an offset", |m, _, _| m.bodies[PRESENT][11].offset.y += 0.1),
        ("a loss", |m, _, _| m.nodes[60].loss += 0.1),
        ("a place that is not finite", |m, _, _| m.bodies[PRESENT][0].offset.x = f32::NAN),
        ("a count that was not cleared", |m, _, _| m.work[CLASS_COUNTS as usize + 7] = 1),
    ];
    let output: &[Slip] = &[
        ("a sum", |m, _, _| m.work[PART_WORDS as usize] += 1 << 8),
        ("a class", |m, _, _| m.work[CLASS_COUNTS as usize + 100] += 1),
        ("a sample", |m, _, _| m.work[SAMPLE_WORDS as usize..].iter_mut().take(195).for_each(|v| *v = 0)),
    ];
    notices(&start("gas", 65), case, input, output);
}
