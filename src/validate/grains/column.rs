//! Collapse of a column of grains.

use super::super::{Case, Chart, Curve, CurveForm, Estimate, Expected, Group, Source, Study};
use super::{BASE, DT, GRAIN, VOLUME, filled_cylinder, world};
use crate::{Error, Simulation};

pub const CASE: Case = Case {
    name: "column",
    group: Group::Grains,
    title: "Run-out of a collapsing column against its aspect ratio",
    method: "Grains with friction 0.5 settle in a cylinder of radius R = 9 d, which disappears at time 30. The column, of \
             height H and aspect ratio a = H / R, spreads over a base on which grains do not roll far, for 40 units of \
             time: at least eight times the fall from the top. Experiments with axisymmetric columns of a < 1.7 give a run-out of \
             1.24 a R (Lube and others), or about 1.0 a R (Lajeunesse and others): 1.12 with a tolerance of 0.12, and 0.1 \
             for the definition of the front: the front is the radius that holds 97% of the grains, because single grains \
             roll on. H is the height below which 98% of the grains lie, plus a radius. Errors come from independent \
             seeds.",
    quick: false,
    exact: false,
    measure,
};

const LUBE: Source = Source::Unverified(
    "Lube, Huppert, Sparks & Hallworth, J. Fluid Mech. 508, 175 (2004); Lajeunesse, Mangeney-Castelnau & Vilotte, Phys. Fluids 16, 2371 (2004)",
);
const LAJEUNESSE: Source =
    Source::Unverified("Lajeunesse, Mangeney-Castelnau & Vilotte, Phys. Fluids 16, 2371 (2004)");

const RADIUS: f64 = 9.0;

/// Time at which the cylinder disappears, and the duration of the collapse.
const GONE: f64 = 30.0;
const COLLAPSE: f64 = 40.0;

fn scene(count: u64, seed: u64) -> String {
    format!(
        "{}{GRAIN}\n{BASE}\n{}[[walls]]\nname = \"floor\"\nmaterial = \"base\"\n\
         plane = {{ point = [0, 0, 0], normal = [0, 0, 1] }}\n",
        world(((GONE + COLLAPSE) / DT) as u64, seed),
        filled_cylinder(RADIUS, count, Some(GONE)),
    )
}

// The value below which this share of the values lies.
fn quantile(simulation: &Simulation, share: f64, of: fn(glam::DVec3) -> f64) -> Result<f64, Error> {
    let mut values: Vec<f64> = simulation.try_spheres()?.iter().map(|s| of(s.position)).collect();
    values.sort_by(f64::total_cmp);
    Ok(values[(values.len() as f64 * share) as usize])
}

fn measure(study: &mut Study) -> Result<(), Error> {
    let mut points = vec![];
    for aspect in [0.5f64, 0.9, 1.4] {
        let volume = std::f64::consts::PI * RADIUS.powi(3) * aspect;
        let count = (0.58 * volume / VOLUME) as u64;
        let mut factors = vec![];
        for seed in 1..=3 {
            let label = format!("aspect-ratio-{aspect}-seed-{seed}");
            let mut simulation = study.simulation(&label, &scene(count, seed))?;
            // The last step with the cylinder.
            if !study.steps(&mut simulation, (GONE / DT) as u64 - 1, |_| {})? {
                return Ok(());
            }
            let ratio = (quantile(&simulation, 0.98, |p| p.z)? + 0.5) / RADIUS;
            if !study.steps(&mut simulation, (COLLAPSE / DT) as u64, |_| {})? {
                return Ok(());
            }
            let run_out = quantile(&simulation, 0.97, |p| p.truncate().length())? / RADIUS - 1.0;
            points.push((ratio, run_out));
            factors.push(run_out / ratio);
        }
        let expected = Expected { value: 1.12, theory_error: 0.22, largest_error: 0.04, source: LUBE };
        let quantity = format!("run-out over aspect ratio, at an aspect ratio of {aspect}");
        study.check(quantity, expected, Estimate::of(&factors));
    }
    study.published("run-out over aspect ratio", "1.24 for an aspect ratio below 1.7", LUBE);
    study.published("run-out over aspect ratio", "about 1.0 for an aspect ratio below 3", LAJEUNESSE);
    let line = |factor: f64| vec![(0.0, 0.0), (1.7, 1.7 * factor)];
    let curves = vec![
        Curve::new("1.24 a, Lube and others", CurveForm::Line, line(1.24)),
        Curve::new("1.0 a, Lajeunesse and others", CurveForm::Line, line(1.0)),
        Curve::new("measured", CurveForm::Points, points),
    ];
    study.chart(Chart {
        title: "Collapse of a column".to_owned(),
        labels: ["aspect ratio a = H / R".to_owned(), "run-out over R".to_owned()],
        logarithmic: [false; 2],
        curves,
    });
    Ok(())
}
