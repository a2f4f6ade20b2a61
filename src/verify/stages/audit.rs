//! The comparison of `audit`.

use glam::{DVec3, Vec3};

use super::{Bindings, Comparison, Findings, Memory, OVERALL, Pass, Site, Twin};
use crate::{
    gpu::{layout::CLASS_COUNTS, submit_queue::sums},
    state::sums::{CLASS_SHIFT, CLASSES, Sums},
};

/// Tolerance of sums, as a share of the sum of all magnitudes: a workgroup of 64 lanes adds 4096 spheres in f32, 64 in
/// a row and then six times by halves, each addition good to 6e-8.
const SUM: f64 = 4e-6;

/// Units in the last place of squared speeds within which rounding decides on the class: a product may be fused.
const CLASS_TIE: u32 = 4;

pub const COMPARISON: Comparison = Comparison {
    pass: Pass::Audit,
    bindings: Bindings::View,
    input: |site, twin| Memory::of(site, twin),
    // The sums are no state of the twin.
    twin: |_| (),
    dispatches: |site, _| vec![("audit", 0, site.layout.parts())],
    compare,
};

/// Sums of magnitudes to which tolerances are relative, and the classes of speed.
struct Scale {
    kinetic: f64,
    momentum: f64,
    arm: f64,
    classes: Vec<u32>,
    /// Spheres on the edge of a class.
    on_edge: u32,
}

impl Scale {
    fn of(site: &Site, twin: &Twin) -> Self {
        let state = &twin.core.state;
        let mut scale = Self { kinetic: 0.0, momentum: 0.0, arm: 0.0, classes: vec![0; CLASSES], on_edge: 0 };
        for i in 0..state.len() {
            let v = state.velocity(i);
            if !(v.length_squared().is_finite() && state.offset(i).is_finite() && state.spin[i].is_finite()) {
                continue;
            }
            let bits = (v - site.frame.drift).length_squared().to_bits();
            scale.classes[(bits >> CLASS_SHIFT) as usize] += 1;
            let within = bits & ((1 << CLASS_SHIFT) - 1);
            scale.on_edge += u32::from(!(CLASS_TIE..(1 << CLASS_SHIFT) - CLASS_TIE).contains(&within));
            if state.inverse_mass(i) > 0.0 {
                let mass = 1.0 / f64::from(state.inverse_mass(i));
                let spin = state.spin[i].truncate().as_dvec3() * f64::from(state.radius(i));
                scale.kinetic += 0.5 * mass * (v.as_dvec3().length_squared() + 0.4 * spin.length_squared());
                scale.momentum += mass * v.as_dvec3().length();
                let cells = state.cell[i].truncate().as_dvec3().abs() * site.host.domain.grid.exact_edge;
                scale.arm += mass * (cells + state.offset(i).as_dvec3().abs()).length();
            }
        }
        scale
    }
}

fn compare(site: &Site, input: &Memory, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let expected = twin.audit();
    let scale = Scale::of(site, twin);
    let (found, node_sums) = sums(&output.work, &site.host, &site.layout);
    let units = findings.units;
    let mut near = |what: &str, unit: f64, a: f64, b: f64, magnitude: f64| {
        findings.near(what, unit, OVERALL, a, b, SUM * magnitude + 1e-30);
    };
    near("kinetic energy", units.energy(), found.kinetic, expected.kinetic, scale.kinetic);
    near("kinetic energy of the spins", units.energy(), found.spin, expected.spin, scale.kinetic);
    for axis in 0..3 {
        let (unit, a, b) = (units.mass * units.velocity(), found.momentum, expected.momentum);
        near("momentum along an axis", unit, a[axis], b[axis], scale.momentum);
        let (unit, a, b) = (units.mass * units.length, found.mass_position, expected.mass_position);
        near("mass times position along an axis", unit, a[axis], b[axis], scale.arm);
    }
    let of_nodes = input
        .nodes
        .iter()
        .fold(DVec3::ZERO, |sum, node| sum + Vec3::new(node.loss, node.virial, node.relax_work).as_dvec3());
    for (k, what) in ["energy lost", "virial", "work of pushes"].into_iter().enumerate() {
        near(what, units.energy(), node_sums[k], of_nodes[k], of_nodes[k].abs());
    }
    for axis in 0..3 {
        findings.equal("drift, scaled", OVERALL, found.drift[axis], expected.drift[axis]);
    }
    findings.equal("spheres not finite", OVERALL, found.nonfinite as u32, expected.nonfinite as u32);
    if expected.nonfinite > 0 {
        let what = "first sphere not finite";
        findings.equal(what, OVERALL, found.first_nonfinite, expected.first_nonfinite);
    }
    findings.saw("not finite", expected.nonfinite);
    classes(site, &scale, output, (found, expected), findings);
}

// How many spheres are as fast as what, and the speeds that follow.
fn classes(
    site: &Site,
    scale: &Scale,
    output: &Memory,
    (found, expected): (Sums, Sums),
    findings: &mut Findings,
) {
    let classes = output.get(CLASS_COUNTS, CLASSES);
    let differ: u32 = classes.iter().zip(&scale.classes).map(|(a, b)| a.abs_diff(*b)).sum();
    findings.near_ties += u64::from(differ / 2);
    findings.compared += u64::from(site.layout.sphere_count);
    if differ > 2 * scale.on_edge {
        findings.equal("spheres in other classes of speed", OVERALL, differ, 2 * scale.on_edge);
    }
    let counted = classes.iter().sum::<u32>() + found.nonfinite as u32;
    findings.equal("spheres counted by speed", OVERALL, counted, site.layout.sphere_count);
    if differ == 0 {
        for (what, found, expected) in [
            ("speed that a tenth exceeds, scaled", found.bulk_speed, expected.bulk_speed),
            ("speed that a fiftieth exceeds, scaled", found.crowd_speed, expected.crowd_speed),
            ("speed that a five-thousandth exceeds, scaled", found.high_speed, expected.high_speed),
        ] {
            findings.equal(what, OVERALL, found, expected);
        }
        for (found, expected) in found.tail_speeds.into_iter().zip(expected.tail_speeds) {
            findings.equal("speed that few spheres exceed, scaled", OVERALL, found, expected);
        }
    }
}
