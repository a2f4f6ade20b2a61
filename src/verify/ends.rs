//! The stages that end a substep and a step compared with their twins.

use super::{
    PRESENT,
    findings::Findings,
    harness::Harness,
    memory::{Memory, constraints},
    twin::Twin,
};
use crate::gpu::{layout::DEEPEST_BEFORE, submit_queue::sums};

/// Of offsets, as a share of what was added up: `u * t + ...` may be fused, which saves the rounding of a product, and
/// the sum is rounded once on both sides; the projection on a plane adds three products.
const OFFSET: f32 = 5e-7;

/// Of velocities, relative: one fused product.
const SPEED: f32 = 5e-7;

/// Of depths, in diameters, and of pushes, in cells: the difference of two lengths of about one, each with a fused square.
const DEPTH: f32 = 1e-6;

/// Of sums, as a share of the sum of all sizes: 64 f32 in a row and then six times by halves, each good to 6e-8.
const SUM: f64 = 4e-6;

/// Stage 10.
pub fn advance(harness: &Harness, twin: &Twin, input: &Memory, output: &Memory, findings: &mut Findings) {
    let (bodies, tags) = constraints(&twin.core.state, &harness.host);
    let frame = twin.frame;
    let (gain, edge) = (frame.gravity.length() * frame.h, twin.core.domain.grid.edge.max_element());
    for i in 0..bodies.len() {
        let before = input.bodies[PRESENT][i];
        let speed = before.velocity.length().max(bodies[i].velocity.length()) + gain;
        let way = before.offset.abs().max_element().max(edge) + speed * frame.h;
        let found = (output.bodies[PRESENT][i], output.tags[PRESENT][i]);
        findings.sphere(i, found, (bodies[i], tags[i]), [OFFSET * way, SPEED * speed, 0.0]);
        let path = (speed + frame.drift.length()) * frame.h + input.nodes[i].motion_margin.abs();
        findings.near(
            "path budget",
            findings.units.length,
            i,
            output.nodes[i].motion_margin,
            twin.core.motion_margin[i],
            SPEED * path,
        );
    }
}

/// Stage 11; `before` is the deepest overlap that the twin found at first.
pub fn relax(harness: &Harness, twin: &Twin, before: f32, output: &Memory, findings: &mut Findings) {
    let found = f32::from_bits(output.work[DEEPEST_BEFORE as usize]);
    let allowed = DEPTH * findings.scale;
    if (found - before).abs() > allowed {
        let (found, before) = (f64::from(found), f64::from(before));
        findings.differ_overall("deepest overlap, in diameters", found, before, f64::from(allowed));
    }
    if crate::cpu::relax::needed(found) != crate::cpu::relax::needed(before) {
        // Just deep enough, or just not.
        findings.near_ties += 1;
        return;
    }
    let (bodies, tags) = constraints(&twin.core.state, &harness.host);
    let edge = twin.core.domain.grid.edge.max_element();
    for i in 0..bodies.len() {
        let tolerance = DEPTH * edge.max(bodies[i].offset.abs().max_element());
        let found = (output.bodies[PRESENT][i], output.tags[PRESENT][i]);
        findings.sphere(i, found, (bodies[i], tags[i]), [tolerance, 0.0, 0.0]);
    }
}

/// Stage 12.
pub fn audit(harness: &Harness, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let host = twin.audit();
    let (found, _) = sums(&output.work, &harness.host, &harness.layout);
    let (mut energy, mut momentum) = (0.0, 0.0);
    let state = &twin.core.state;
    for i in (0..state.len()).filter(|&i| state.inverse_mass(i) > 0.0) {
        let mass = 1.0 / f64::from(state.inverse_mass(i));
        let v = state.velocity(i).as_dvec3();
        let spin = state.spin[i].truncate().as_dvec3() * f64::from(state.radius(i));
        energy += 0.5 * mass * (v.length_squared() + 0.4 * spin.length_squared());
        momentum += mass * v.length();
    }
    let units = findings.units;
    let allowed = SUM * f64::from(findings.scale);
    if (found.kinetic - host.kinetic).abs() > allowed * energy {
        let unit = units.energy();
        findings.differ_overall(
            "kinetic energy",
            found.kinetic * unit,
            host.kinetic * unit,
            allowed * energy * unit,
        );
    }
    let apart = (found.momentum - host.momentum).length();
    if apart > allowed * momentum {
        let unit = units.mass * units.velocity();
        let (a, b) = (found.momentum.length() * unit, host.momentum.length() * unit);
        findings.differ_overall("momentum", a, b, allowed * momentum * unit);
    }
    if found.nonfinite != host.nonfinite {
        findings.differ_overall("spheres not finite", found.nonfinite as f64, host.nonfinite as f64, 0.0);
    }
}
