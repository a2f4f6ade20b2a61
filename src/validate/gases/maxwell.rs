//! The distribution of the velocities.

use std::f64::consts::PI;

use super::super::{Case, Chart, Curve, CurveForm, Estimate, Expected, Group, Source, Study};
use super::gas::Gas;
use crate::{Error, Sphere};

pub const CASE: Case = Case {
    name: "maxwell",
    group: Group::Gases,
    title: "Relaxation from equal speeds to the Maxwell-Boltzmann distribution",
    method: "4,000 elastic spheres at the volume fraction 0.2 start at random positions with equal speeds sqrt(3) in random directions, that is, \
             with kT = 1. Collisions spread the speeds. A step takes half a collision per sphere. After 15 collisions per sphere the velocities \
             are sampled every 2 collisions per sphere: 60 times in the quick run, 1,200 times in the full one.\n\n\
             For Maxwell-Boltzmann velocities <v^4>/<v^2>^2 is 5/3 (1 for equal speeds), the kurtosis of each component is 3 (9/5 for equal \
             speeds), the mean speed is sqrt(8 kT/(pi m)), and each bin of the distribution of speeds holds the share that the integral of \
             the distribution gives; the greatest difference of the cumulative distribution from the measured one is therefore 0, up to the number of \
             sampled speeds. At a fixed energy and momentum the moments of N spheres differ from those of an infinite system by a share of 1/N, \
             so the error of the theory is 0.1%. For the cumulative distribution, which is compared at 30 speeds, chance alone gives a \
             greatest difference of 1.4/sqrt(n) or less in 96% of all samples of n independent speeds (Kolmogorov); the error is taken as 2/sqrt(n). Samples of the same spheres 2 collisions apart \
             are not quite independent, so this error is a convention and no probability follows from it.\n\n\
             Standard errors come from 20 blocks of samples. The first chart shows the relaxation, the second the distribution of the \
             sampled speeds.",
    quick: true,
    exact: true,
    measure,
};

const PER_STEP: f64 = 0.5;
const RELAX: u64 = 30;
const BETWEEN: u64 = 4;
const BINS: usize = 30;
const BIN: f64 = 0.15;

/// <v^4>/<v^2>^2, the mean kurtosis of the components, and the mean speed in units of the root of kT.
fn moments(spheres: &[Sphere]) -> [f64; 3] {
    let count = spheres.len() as f64;
    let mean = |of: &dyn Fn(&Sphere) -> f64| spheres.iter().map(of).sum::<f64>() / count;
    let square = mean(&|s| s.velocity.length_squared());
    let fourth = mean(&|s| s.velocity.length_squared().powi(2));
    let kurtosis =
        |axis: usize| mean(&|s| s.velocity[axis].powi(4)) / mean(&|s| s.velocity[axis].powi(2)).powi(2);
    let speed = mean(&|s| s.velocity.length());
    [fourth / square.powi(2), (0..3).map(kurtosis).sum::<f64>() / 3.0, speed / (square / 3.0).sqrt()]
}

/// Share of the spheres with at most this speed at kT = 1, by Simpson's rule for the Maxwell-Boltzmann distribution.
fn cumulative(speed: f64) -> f64 {
    let density = |v: f64| (2.0 / PI).sqrt() * v * v * (-0.5 * v * v).exp();
    let parts = 200;
    let h = speed / parts as f64;
    let weight = |k: usize| if k == 0 || k == parts { 1.0 } else { 2.0 * (1 + k % 2) as f64 };
    (0..=parts).map(|k| weight(k) * density(k as f64 * h)).sum::<f64>() * h / 3.0
}

fn measure(study: &mut Study) -> Result<(), Error> {
    let samples = study.depth().pick(60, 1_200);
    let steps = RELAX + BETWEEN * samples;
    let gas = Gas { motion: "speed_uniform = 1.7320508075688772", ..Gas::new(4_000, 0.2, PER_STEP, steps) };
    let mut simulation = study.simulation("equal-speeds", &gas.scene())?;
    let mut relaxation = vec![(0.0, moments(&simulation.spheres())[0])];
    let mut series = [vec![], vec![], vec![]];
    let mut bins = vec![0u64; BINS + 1];
    for step in 1..=steps {
        if study.stopped() {
            return Ok(());
        }
        simulation.step()?;
        if step <= RELAX {
            let moments = moments(&simulation.try_spheres()?);
            relaxation.push((step as f64 * PER_STEP, moments[0]));
        } else if (step - RELAX).is_multiple_of(BETWEEN) {
            let spheres = simulation.try_spheres()?;
            for (series, moment) in series.iter_mut().zip(moments(&spheres)) {
                series.push(moment);
            }
            for sphere in &spheres {
                bins[((sphere.velocity.length() / BIN) as usize).min(BINS)] += 1;
            }
        }
    }
    let statistics = study.depth().pick(4e-3, 1e-3);
    let expected = [
        ("<v^4>/<v^2>^2", 5.0 / 3.0),
        ("kurtosis of the components", 3.0),
        ("mean speed over sqrt(kT/m)", (8.0 / PI).sqrt()),
    ];
    for ((quantity, value), series) in expected.into_iter().zip(&series) {
        let expected = Expected {
            value,
            theory_error: 1e-3 * value,
            largest_error: statistics * value,
            source: Source::Derived,
        };
        study.check(quantity, expected, Estimate::of_blocks(series, 20));
    }
    histogram(study, &bins);
    let equal = vec![(0.0, 5.0 / 3.0), (relaxation[relaxation.len() - 1].0, 5.0 / 3.0)];
    study.chart(Chart {
        title: "Relaxation from equal speeds".to_owned(),
        labels: ["collisions per sphere".to_owned(), "<v^4>/<v^2>^2".to_owned()],
        logarithmic: [false; 2],
        curves: vec![
            Curve::new("Maxwell-Boltzmann, 5/3", CurveForm::Line, equal),
            Curve::new("measured", CurveForm::Points, relaxation),
        ],
    });
    Ok(())
}

fn histogram(study: &mut Study, bins: &[u64]) {
    let total = bins.iter().sum::<u64>() as f64;
    let mut below = 0.0;
    let mut worst = 0.0f64;
    let mut points = vec![];
    for (k, count) in bins[..BINS].iter().enumerate() {
        let share = *count as f64 / total;
        below += share;
        worst = worst.max((below - cumulative((k + 1) as f64 * BIN)).abs());
        points.push(((k as f64 + 0.5) * BIN, share / BIN));
    }
    let expected = Expected {
        value: 0.0,
        theory_error: 2.0 / total.sqrt(),
        largest_error: 0.0,
        source: Source::Derived,
    };
    study.check(
        "greatest difference of the cumulative distribution of speeds",
        expected,
        Estimate::exact(worst),
    );
    let density = |v: f64| (v, (2.0 / PI).sqrt() * v * v * (-0.5 * v * v).exp());
    let theory = (0..=90).map(|k| density(0.05 * f64::from(k))).collect();
    study.chart(Chart {
        title: "Distribution of speeds".to_owned(),
        labels: ["speed over sqrt(kT/m)".to_owned(), "probability density".to_owned()],
        logarithmic: [false; 2],
        curves: vec![
            Curve::new("measured", CurveForm::Bars, points),
            Curve::new("Maxwell-Boltzmann", CurveForm::Line, theory),
        ],
    });
}
