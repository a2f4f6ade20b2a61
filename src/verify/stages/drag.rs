//! The comparisons of the two drag passes. Each pass applies half of the drag of a step, and belongs to the stage `launch`.

use glam::Vec3;

use super::{
    Bindings, Comparison, Findings, Memory, OVERALL, PRESENT, Pass, Site, Tolerances, Twin, columns,
};
use crate::gpu::layout::Node;

/// Tolerance of velocities, relative: one product and one difference, which may be fused, and the share that drag takes,
/// each good to 6e-8.
const SPEED: f32 = 3e-7;

/// Tolerance of the energy that a sphere loses, as a share of that energy and of what it has lost before: a handful of
/// operations, each good to 6e-8.
const LOSS: f64 = 1e-6;

pub const BEFORE: Comparison = Comparison {
    pass: Pass::DragBefore,
    bindings: Bindings::View,
    input: |site, twin| Memory::of(site, twin),
    twin: Twin::drag,
    dispatches: |_, all| vec![("launch_drag", 0, all)],
    compare,
};

pub const AFTER: Comparison = Comparison { pass: Pass::DragAfter, ..BEFORE };

fn compare(site: &Site, input: &Memory, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let (bodies, tags) = columns(&twin.core.state, &site.host);
    let unit = findings.units.energy();
    let (mut total, mut kinetic) = (0.0, 0.0);
    for i in 0..bodies.len() {
        let (before, after) = (input.bodies[PRESENT][i], output.bodies[PRESENT][i]);
        let velocity = SPEED * before.velocity.length();
        let tolerances = Tolerances { velocity, ..Tolerances::default() };
        findings.sphere(i, (after, output.tags[PRESENT][i]), (bodies[i], tags[i]), tolerances);
        let (old, new) = (input.nodes[i], output.nodes[i]);
        findings.node(i, Node { loss: 0.0, ..new }, Node { loss: 0.0, ..old });
        if before.inverse_mass == 0.0 {
            findings.equal("energy lost, scaled", i, new.loss, old.loss);
            continue;
        }
        // The device's loss is that of its own velocities: they are rounded, their difference is not.
        let square = |v: Vec3| v.as_dvec3().length_squared() / f64::from(before.inverse_mass);
        let loss = 0.5 * (square(before.velocity) - square(after.velocity));
        let [old, new] = [old.loss, new.loss].map(f64::from);
        findings.near("energy lost to drag", unit, i, new - old, loss, LOSS * (loss.abs() + old.abs()));
        kinetic += 0.5 * square(before.velocity);
        total += loss;
    }
    let tolerance = 2.0 * f64::from(SPEED) * kinetic;
    findings.near("energy that all lose to drag", unit, OVERALL, total, twin.drag_loss, tolerance);
    findings.saw("slowed by drag", u64::from(twin.drag_loss > 0.0));
}
