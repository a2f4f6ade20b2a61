//! A rotating drum.

use glam::DVec3;

use super::super::{Case, Chart, Curve, CurveForm, Estimate, Expected, Group, Source, Study};
use super::{DT, GRAIN, SIZES, VOLUME, world};
use crate::Error;

pub const CASE: Case = Case {
    name: "drum",
    group: Group::Grains,
    title: "Dynamic angle of repose in a rotating drum",
    method: "A drum of radius R = 10 d, a third full of grains with friction 0.5, rotates at w = 0.03 sqrt(g/d); its \
             length is periodic, 5 d, so that no end walls hold the grains. The Froude number w^2 R / g is about 0.01: \
             the grains roll down a flat surface or avalanche. The angle between the vertical and the line from the axis \
             to the centre of mass is that of the surface if the bed is the segment of a circle. It is averaged from time \
             80, after 140 degrees, to 440, and its error comes from 5 blocks.\n\n\
             Published dynamic angles of glass beads and of simulated round grains in slow drums are 22 to 34 degrees: 28 \
             with a tolerance of 6 degrees, which covers the choice of friction, of rolling friction and of the size of \
             the drum. The angle must not drift: the difference between the second and the first half of the average is 0 \
             with a tolerance of 2 degrees.",
    quick: false,
    exact: false,
    measure,
};

const REFERENCE: Source = Source::Unverified(
    "Dury, Ristow, Moss & Nakagawa, Phys. Rev. E 57, 4491 (1998); Yang, Zou & Yu, Powder Technology 130, 138 (2003)",
);

/// Length of the period along the axis.
const LENGTH: f64 = 5.0;
const SPEED: f64 = 0.03;
const RADIUS: f64 = 10.0;

/// Times of the start and the end of the average; at the start, the drum has turned by 140 degrees.
const START: f64 = 80.0;
const END: f64 = 440.0;

fn scene(steps: u64) -> String {
    let volume = std::f64::consts::PI * RADIUS * RADIUS * LENGTH;
    let count = (0.58 / 3.0 * volume / VOLUME) as u64;
    format!(
        "{}{GRAIN}\n[bounds]\nmin = [{low}, 0, {low}]\nmax = [{RADIUS}, {LENGTH}, {RADIUS}]\nx = \"open\"\ny = \"periodic\"\nz = \"open\"\n\n\
         [[walls]]\nname = \"drum\"\ncylinder = {{ from = [0, -{LENGTH}, 0], to = [0, {end}, 0], radius = {RADIUS} }}\n\
         rotation = {{ point = [0, 0, 0], axis = [0, 1, 0], speed = {SPEED} }}\n\n\
         [[spheres]]\nrandom = {{ count = {count}, {SIZES}, min = [{low}, 0, {low}], max = [{RADIUS}, {LENGTH}, {RADIUS}] }}\n\
         inside = \"drum\"\n",
        world(steps, 1),
        low = -RADIUS,
        end = 2.0 * LENGTH,
    )
}

fn measure(study: &mut Study) -> Result<(), Error> {
    const EVERY: u64 = 10;
    let steps = (END / DT) as u64;
    let mut simulation = study.simulation("drum", &scene(steps))?;
    let mut angles = vec![];
    while simulation.steps() < steps {
        if !study.steps(&mut simulation, EVERY, |_| {})? {
            return Ok(());
        }
        let center: DVec3 = simulation.try_spheres()?.iter().map(|s| s.position * s.mass).sum();
        angles.push((simulation.time(), (-center.x).atan2(-center.z).to_degrees().abs()));
    }
    let steady: Vec<f64> = angles.iter().filter(|(time, _)| *time > START).map(|(_, angle)| *angle).collect();
    let expected = Expected { value: 28.0, theory_error: 6.0, largest_error: 1.0, source: REFERENCE };
    study.check("dynamic angle of repose (degrees)", expected, Estimate::of_blocks(&steady, 5));
    let halves = steady.split_at(steady.len() / 2);
    let [early, late] = [halves.0, halves.1].map(|half| Estimate::of_blocks(half, 4));
    let drift = Estimate { mean: late.mean - early.mean, error: late.error.hypot(early.error) };
    let expected = Expected { value: 0.0, theory_error: 2.0, largest_error: 1.5, source: Source::Derived };
    study.check("drift of the angle (degrees)", expected, drift);
    study.chart(Chart {
        title: "Angle of the bed in a rotating drum".to_owned(),
        labels: ["time (sqrt(d/g))".to_owned(), "angle (degrees)".to_owned()],
        logarithmic: [false; 2],
        curves: vec![Curve::new("measured", CurveForm::Line, angles)],
    });
    Ok(())
}
