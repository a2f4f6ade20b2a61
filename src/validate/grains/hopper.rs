//! Discharge of a flat-bottomed bin through a circular outlet.

use super::super::{Case, Chart, Curve, CurveForm, Estimate, Expected, Group, Source, Study};
use super::{DT, GRAIN, VOLUME, filled_cylinder, line_through, world};
use glam::DVec3;

use crate::analysis::volume_in_box;
use crate::{Dimensions, Error, Sphere};

pub const CASE: Case = Case {
    name: "hopper",
    group: Group::Grains,
    title: "Discharge rate of a bin against the outlet diameter (Beverloo) and the fill height",
    method: "Grains with friction 0.5 settle in a cylinder with a flat bottom, then a flap opens a circular outlet. \
             Beverloo, Leniger & van de Velde: W = C rho sqrt(g) (D - k d)^(5/2), with k = 1.4 and the bulk density rho. \
             The exponent is the slope of log W against log(D - 1.4 d). It changes by 0.11 if k changes by 0.2, the \
             scatter of published values of k, which is the tolerance. C is published between 0.55 and 0.65; together \
             with the uncertainty of k its tolerance is 0.08. The bulk density is that of the bed at rest, measured before the \
             flap opens, from 1 d above the bottom to about 3 d below the top.\n\n\
             The rate does not depend on the fill height: the rate is the number of grains that leave per time after the bed \
             has loosened up to its top, sqrt(2 h / g), until the level falls below the diameter of the outlet. The \
             second half of this time is compared with the first. A bed of depth near D flows a few percent slower, hence \
             the tolerance of 0.1. Errors come from independent seeds.\n\n\
             The bin is 6 to 7 d in radius; Beverloo's law is for bins much wider than the outlet, D + 30 d.",
    quick: false,
    exact: false,
    measure,
};

const BEVERLOO: Source =
    Source::Unverified("Beverloo, Leniger & van de Velde, Chem. Eng. Sci. 15, 260 (1961)");
const NEDDERMAN: Source = Source::Unverified(
    "Nedderman, Statics and Kinematics of Granular Materials, Cambridge (1992), section 10.2",
);

/// Beverloo's k: the part of the outlet, in grain diameters, through which no grains flow.
const EMPTY: f64 = 1.4;

/// Packing fraction of a bed, for the length of a run. The checks use the measured one.
const GUESS: f64 = 0.58;

/// Time at which the flap opens.
const OPEN: f64 = 20.0;

/// Steps between two counts.
const EVERY: u64 = 10;

fn scene(radius: f64, count: u64, diameter: f64, steps: u64, seed: u64) -> String {
    format!(
        "{}{GRAIN}\n{}\
         [[walls]]\nname = \"bottom\"\ndisc = {{ center = [0, 0, 0], normal = [0, 0, 1], radius = {radius}, hole = {hole} }}\n\n\
         [[walls]]\nname = \"flap\"\ndisc = {{ center = [0, 0, 0], normal = [0, 0, 1], radius = {hole} }}\nuntil = {OPEN}\n\n\
         [[sinks]]\nname = \"ground\"\nmin = [-inf, -inf, -inf]\nmax = [inf, inf, -3]\nevery = {EVERY}\n",
        world(steps, seed),
        filled_cylinder(radius, count, None),
        hole = 0.5 * diameter,
    )
}

/// Discharge rates (grains per time) in the first and second half of the steady flow.
fn rates(removed: &[(f64, f64)], depth: f64, last: f64) -> [f64; 2] {
    // A grain falls 3 d from the outlet to the sink.
    let begin = OPEN + (2.0 * depth).sqrt() + 6f64.sqrt();
    let steady: Vec<_> =
        removed.iter().copied().filter(|&(time, left)| time > begin && left < last).collect();
    let middle = steady.len() / 2;
    [&steady[..middle], &steady[middle..]].map(|half| match half {
        [first, .., end] => (end.1 - first.1) / (end.0 - first.0),
        _ => f64::NAN,
    })
}

/// A run of one bin.
struct Discharge {
    /// Grains per time in the first and second half of the steady flow.
    rates: [f64; 2],
    /// Packing fraction of the bed at rest.
    fraction: f64,
}

/// Packing fraction of a bed in a cylinder, from 1 d above the bottom to about 3 d below the top.
fn packing_fraction(spheres: &[Sphere], radius: f64, count: u64) -> f64 {
    // The bed is a little deeper than this guess, so the height stays below its top.
    let depth = count as f64 * VOLUME / (GUESS * std::f64::consts::PI * radius * radius);
    let [low, high] = [1.0, depth - 2.0];
    let whole = DVec3::new(f64::INFINITY, f64::INFINITY, 0.0);
    let (min, max) = (low * DVec3::Z - whole, high * DVec3::Z + whole);
    let volume: f64 =
        spheres.iter().map(|s| volume_in_box(s.position, s.radius, min, max, Dimensions::Three)).sum();
    volume / (std::f64::consts::PI * radius * radius * (high - low))
}

// None if the user has stopped the case.
fn discharge(
    study: &mut Study,
    radius: f64,
    count: u64,
    diameter: f64,
    seed: u64,
) -> Result<Option<Discharge>, Error> {
    let guess = 0.58 * GUESS / VOLUME * (diameter - EMPTY).powf(2.5);
    let steps = ((OPEN + 10.0 + 1.5 * count as f64 / guess) / DT) as u64;
    let text = scene(radius, count, diameter, steps, seed);
    let mut simulation = study.simulation(&format!("outlet-{diameter}-seed-{seed}"), &text)?;
    if !study.steps(&mut simulation, (OPEN / DT) as u64 - EVERY, |_| ())? {
        return Ok(None);
    }
    let fraction = packing_fraction(&simulation.spheres(), radius, count);
    let depth = count as f64 * VOLUME / (fraction * std::f64::consts::PI * radius * radius);
    // The level falls to the diameter of the outlet.
    let last = count as f64 * (1.0 - diameter / depth);
    let (mut removed, mut left) = (vec![], 0);
    while simulation.steps() < steps && (left as f64) < last {
        let visit = |report: &crate::StepReport| left += report.removed;
        if !study.steps(&mut simulation, EVERY, visit)? {
            return Ok(None);
        }
        removed.push((simulation.time(), left as f64));
    }
    Ok(Some(Discharge { rates: rates(&removed, depth, last), fraction }))
}

fn measure(study: &mut Study) -> Result<(), Error> {
    let (radius, count, diameters, seeds) =
        study.depth().pick((6.0, 1200, &[4.5, 6.5][..], 2), (7.0, 2500, &[5.0, 6.0, 7.0][..], 3));
    let (mut exponents, mut factors, mut fractions, mut changes, mut points) =
        (vec![], vec![], vec![], vec![], vec![]);
    for seed in 1..=seeds {
        let mut logarithms = vec![];
        for &diameter in diameters {
            let Some(run) = discharge(study, radius, count, diameter, seed)? else {
                return Ok(());
            };
            let ([early, late], fraction) = (run.rates, run.fraction);
            let (rate, open) = (0.5 * (early + late), diameter - EMPTY);
            logarithms.push((open.ln(), rate.ln()));
            points.push((open, rate));
            factors.push(rate * VOLUME / (fraction * open.powf(2.5)));
            fractions.push(fraction);
            changes.push(late / early - 1.0);
        }
        exponents.push(line_through(&logarithms).0);
    }
    let expected = Expected {
        value: 2.5,
        theory_error: 0.11,
        largest_error: study.depth().pick(0.1, 0.05),
        source: BEVERLOO,
    };
    study.check("exponent of the discharge rate", expected, Estimate::of(&exponents));
    let expected = Expected { value: 0.6, theory_error: 0.08, largest_error: 0.02, source: NEDDERMAN };
    let note = "C depends on the assumed k, and the bins are narrower than Beverloo's. LAMMPS with springs as contacts gives a C \
                as low in the same bin (examples/peers/hopper.py).";
    study.check_with_note("factor C of the discharge rate", expected, Estimate::of(&factors), note);
    let expected = Expected {
        value: 0.0,
        theory_error: 0.1,
        largest_error: study.depth().pick(0.06, 0.03),
        source: BEVERLOO,
    };
    study.check("relative change of the rate while the bin empties", expected, Estimate::of(&changes));
    study.published("factor C of the discharge rate", "0.58", BEVERLOO);
    study.published(
        "factor C of the discharge rate",
        "0.53 and 0.47 for outlets of 6 and 7 d, bin of radius 7 d, LAMMPS",
        Source::Measured,
    );
    let fraction = Estimate::of(&fractions);
    study.note(format!(
        "Packing fraction of the beds at rest: {:.4} +- {:.4}.",
        fraction.mean, fraction.error
    ));
    let mean = Estimate::of(&factors).mean;
    let law = [2.0f64, 8.0].map(|open| (open, mean * fraction.mean / VOLUME * open.powf(2.5)));
    study.chart(Chart {
        title: "Discharge rate of a bin".to_owned(),
        labels: ["outlet diameter - 1.4 d (d)".to_owned(), "grains per time sqrt(d/g)".to_owned()],
        logarithmic: [true; 2],
        curves: vec![
            Curve::new("slope 5/2", CurveForm::Line, law.to_vec()),
            Curve::new("measured", CurveForm::Points, points),
        ],
    });
    Ok(())
}
