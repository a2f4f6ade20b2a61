//! Galperin's billiard.

use super::super::{Case, Chart, Curve, CurveForm, Estimate, Expected, Group, Source, Study};
use crate::Error;

pub const CASE: Case = Case {
    name: "pi",
    group: Group::Impacts,
    title: "Galperin's billiard: the collisions of two spheres and a wall count the digits of pi",
    method: "A heavy sphere pushes a light sphere at rest towards a wall; all impacts are elastic. In the coordinates x \
             sqrt(mass) the motion is a straight line through a fan of wedges of angle arctan(sqrt(m/M)), so the number \
             of collisions is ceil(pi / arctan(sqrt(m/M))) - 1: 3, 31, 314 and 3141 for M/m = 1, 100, 10^4 and 10^6.\n\n\
             The tolerance is 0: a single lost, repeated or misplaced collision shows. Rounding of f32 may turn the line \
             by 6e-8 per collision, 2e-4 in all, and the line for 10^6 ends 5.9e-4 before the last edge. After the last \
             collision the light sphere moves away from the wall and is slower than the heavy sphere; the run continues \
             for more than twice the time of the last collision.",
    quick: true,
    exact: true,
    measure,
};

const GALPERIN: Source = Source::Cited("Galperin, Regular and Chaotic Dynamics 8, 375 (2003)");

/// Steps of a run.
const STEPS: u64 = 400;

fn scene(ratio: f64) -> String {
    format!(
        "[world]\ndimensions = 2\ndt = 0.05\nsteps = {STEPS}\n\n\
         [[walls]]\nname = \"wall\"\nplane = {{ point = [0, 0, 0], normal = [1, 0, 0] }}\n\n\
         [[spheres]]\nat = [\n    \
         {{ position = [4.0, 0, 0], velocity = [-1, 0, 0], radius = 1.0, mass = {ratio:.1} }},\n    \
         {{ position = [1.5, 0, 0], radius = 0.5, mass = 1.0 }},\n]\n"
    )
}

fn measure(study: &mut Study) -> Result<(), Error> {
    let mut points = vec![];
    for (ratio, value) in [(1.0, 3.0), (100.0, 31.0), (1e4, 314.0), (1e6, 3141.0)] {
        let mut simulation = study.simulation(&format!("ratio-{ratio}"), &scene(ratio))?;
        if !study.steps(&mut simulation, STEPS, |_| {})? {
            return Ok(());
        }
        let count = simulation.summary().impacts() as f64;
        points.push((ratio, count));
        let expected = Expected { value, theory_error: 0.0, largest_error: 0.0, source: Source::Derived };
        study.published(format!("collisions at a mass ratio of {ratio}"), value.to_string(), GALPERIN);
        study.check(format!("collisions at a mass ratio of {ratio}"), expected, Estimate::exact(count));
    }
    let theory = (0..=60).map(|k| 10f64.powf(0.1 * f64::from(k)));
    let theory =
        theory.map(|ratio| (ratio, (std::f64::consts::PI / ratio.sqrt().recip().atan()).ceil() - 1.0));
    study.chart(Chart {
        title: "Galperin's billiard".to_owned(),
        labels: ["mass ratio".to_owned(), "collisions".to_owned()],
        logarithmic: [true; 2],
        curves: vec![
            Curve::new("theory", CurveForm::Line, theory.collect()),
            Curve::new("measured", CurveForm::Points, points),
        ],
    });
    Ok(())
}
