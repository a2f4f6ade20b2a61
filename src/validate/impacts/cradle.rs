//! Newton's cradle.

use std::fmt::Write;

use super::super::{Case, Estimate, Expected, Group, Source, Study};
use crate::Error;

pub const CASE: Case = Case {
    name: "cradle",
    group: Group::Impacts,
    title: "Newton's cradle: the last sphere takes all of the momentum",
    method: "Five equal elastic spheres lie in a row with gaps of a tenth of a diameter. The first hits the second with speed 1. Each \
             head-on impact of equal masses exchanges the velocities, so in the end the last sphere has the speed 1 and all others \
             rest. The tolerance, 1e-6, is the rounding of four impacts in f32 (6e-8 each) with a factor of four.",
    quick: true,
    exact: true,
    measure,
};

const SPHERES: usize = 5;

fn measure(study: &mut Study) -> Result<(), Error> {
    let mut scene = String::from("[world]\ndt = 0.1\nsteps = 40\n\n[[spheres]]\nat = [\n");
    for k in 0..SPHERES {
        let speed = if k == 0 { 1.0 } else { 0.0 };
        let _ = writeln!(
            scene,
            "    {{ position = [{:.1}, 0, 0], velocity = [{speed:.1}, 0, 0] }},",
            1.1 * k as f64
        );
    }
    scene.push_str("]\n");
    let mut simulation = study.simulation("cradle", &scene)?;
    if !study.steps(&mut simulation, 40, |_| {})? {
        return Ok(());
    }
    for (k, sphere) in simulation.spheres().iter().enumerate() {
        let value = if k == SPHERES - 1 { 1.0 } else { 0.0 };
        let expected = Expected { value, theory_error: 1e-6, largest_error: 0.0, source: Source::Derived };
        study.check(format!("speed of sphere {}", k + 1), expected, Estimate::exact(sphere.velocity.x));
    }
    Ok(())
}
