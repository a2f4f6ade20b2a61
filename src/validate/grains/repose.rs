//! The angle of repose.

use super::super::{Case, Chart, Curve, CurveForm, Estimate, Expected, Group, Source, Study};
use super::{BASE, DT, GRAIN, VOLUME, filled_cylinder, line_through, world};
use crate::{Error, Sphere};

pub const CASE: Case = Case {
    name: "repose",
    group: Group::Grains,
    title: "Angle of repose of a heap on a round plate",
    method: "Grains with friction 0.5 settle in a cylinder on a round plate of radius 10 d on which grains do not roll \
             far. At time 25 the cylinder disappears. Grains on slopes that are too steep run off over the rim; the heap \
             that is left has the steepest flanks that are stable. 60 units of time later the volume of the grains in \
             rings about the axis gives the height of the heap (packing fraction 0.58, which changes the angle by 1 \
             degree per 0.03), and a straight line through the rings from 0.2 to 0.9 of the radius gives the angle.\n\n\
             Published angles of repose of nearly round grains such as glass beads are 20 to 30 degrees; the method \
             (heap, funnel, drained plate), the size of the heap and the rolling friction decide where: 25 with a \
             tolerance of 5 degrees. Errors come from independent seeds.",
    quick: false,
    exact: false,
    measure,
};

const REFERENCE: Source = Source::Unverified(
    "Zhou, Xu, Yu & Zulli, Powder Technology 125, 45 (2002); Beakawi Al-Hashemi & Baghabra Al-Amoudi, Powder Technology 330, 397 (2018)",
);

const RADIUS: f64 = 10.0;

/// Time at which the cylinder disappears, and the time until the heap is at rest.
const GONE: f64 = 25.0;
const SETTLE: f64 = 60.0;

fn scene(count: u64, steps: u64, seed: u64) -> String {
    format!(
        "{}{GRAIN}\n{BASE}\n{}[[walls]]\nname = \"plate\"\nmaterial = \"base\"\n\
         disc = {{ center = [0, 0, 0], normal = [0, 0, 1], radius = {RADIUS} }}\n\n\
         [[sinks]]\nname = \"ground\"\nmin = [-inf, -inf, -inf]\nmax = [inf, inf, -2]\nevery = 10\n",
        world(steps, seed),
        filled_cylinder(RADIUS, count, Some(GONE)),
    )
}

/// Radius and height in the middle of each ring of width 1.
fn rings(spheres: &[Sphere]) -> Vec<(f64, f64)> {
    let mut volumes = [0.0; RADIUS as usize];
    for sphere in spheres.iter().filter(|sphere| sphere.position.z > 0.0) {
        let ring = sphere.position.truncate().length() as usize;
        if let Some(volume) = volumes.get_mut(ring) {
            *volume += 4.0 / 3.0 * std::f64::consts::PI * sphere.radius.powi(3);
        }
    }
    let height = |(k, volume): (usize, &f64)| {
        let radius = k as f64 + 0.5;
        (radius, volume / (0.58 * 2.0 * std::f64::consts::PI * radius))
    };
    volumes.iter().enumerate().map(height).collect()
}

fn measure(study: &mut Study) -> Result<(), Error> {
    // Filled to 0.9 of the radius: more than the heap that stays.
    let count = (0.58 * 0.9 * std::f64::consts::PI * RADIUS.powi(3) / VOLUME) as u64;
    let steps = ((GONE + SETTLE) / DT) as u64;
    let (mut angles, mut curves) = (vec![], vec![]);
    for seed in 1..=3 {
        let mut simulation = study.simulation(&format!("seed-{seed}"), &scene(count, steps, seed))?;
        if !study.steps(&mut simulation, steps, |_| {})? {
            return Ok(());
        }
        let rings = rings(&simulation.try_spheres()?);
        angles.push((-line_through(&rings[2..9]).0).atan().to_degrees());
        curves.push(Curve::new(format!("seed {seed}"), CurveForm::Points, rings));
    }
    let expected = Expected { value: 25.0, theory_error: 5.0, largest_error: 1.0, source: REFERENCE };
    study.check("angle of repose (degrees)", expected, Estimate::of(&angles));
    study.chart(Chart {
        title: "Heap on a round plate".to_owned(),
        labels: ["distance from the axis (d)".to_owned(), "height (d)".to_owned()],
        logarithmic: [false; 2],
        curves,
    });
    Ok(())
}
