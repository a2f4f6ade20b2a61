//! Galton's board.

use std::fmt::Write;

use super::super::{Case, Chart, Curve, CurveForm, Estimate, Expected, Group, Source, Study};
use crate::Error;

pub const CASE: Case = Case {
    name: "galton",
    group: Group::Grains,
    title: "Galton's board: the bins fill by the binomial distribution",
    method: "Discs fall one after another through twelve rows of fixed pins into thirteen bins, in 2D and without \
             friction; sinks empty the bins. The gaps between pins are 1.06 diameters wide and the restitution is 0.85, \
             so that a disc strikes both sides of a gap many times and forgets its direction. Boards side by side hold \
             more discs.\n\n\
             The board is symmetric, so the mean is exactly 6. If a disc goes left or right at each pin with equal odds \
             and without memory, the variance is 3 and the counts are binomial. Nothing in mechanics guarantees that; the \
             restitution of the scene was chosen so that correlations between rows are small. A correlation of 5% between \
             successive rows changes the variance by 10%: the tolerance is 0.3, and the sum of chi-square grows by 0.005 times the number of discs. Chi-square per degree of freedom is 1 \
             with a standard error of sqrt(2 / degrees) for binomial counts; bins with an expectation below 5 are joined \
             to their neighbours.",
    quick: true,
    exact: true,
    measure,
};

/// Relative change of the variance by correlations between rows.
const VARIANCE_ERROR: f64 = 0.1;

const GALTON: Source = Source::Derived;

const ROWS: usize = 12;
const BINS: usize = ROWS + 1;

/// Distance between bins, between rows and between boards.
const SPACING: f64 = 2.56;
const ROW: f64 = 2.18;
const APART: f64 = 40.0;

/// Height of the last row of pins.
const LOW: f64 = 46.0;

/// Discs per time, and the time that the last one needs to reach its bin.
const RATE: f64 = 0.1;
const FALL: f64 = 400.0;

fn scene(boards: usize, each: u64, dt: f64, steps: u64) -> String {
    let mut text = format!(
        "[world]\ndimensions = 2\ngravity = [0, -1]\ndt = {dt}\nsteps = {steps}\nseed = 1\n\n\
         [materials.default]\nrestitution = 0.85\n"
    );
    let top = LOW + ROW * (ROWS - 1) as f64;
    for board in 0..boards {
        let middle = APART * board as f64;
        let _ = write!(
            text,
            "\n[[spheres]]\nsource = {{ min = [{:.2}, {:.2}, 0], max = [{:.2}, {:.2}, 0], rate = {RATE}, count = {each} }}\n",
            middle - 0.52,
            top + 0.95,
            middle + 0.52,
            top + 2.05
        );
        for row in 0..ROWS {
            let _ = write!(
                text,
                "\n[[spheres]]\nlattice = {{ count = [{}, 1], spacing = {SPACING}, origin = [{:.2}, {:.2}, 0], diameter = 1.5 }}\n\
                 fixed = true\n",
                row + 3,
                middle - 0.5 * SPACING * (row + 2) as f64,
                top - ROW * row as f64
            );
        }
        for bin in 0..BINS {
            let left = middle + (bin as f64 - 0.5 * BINS as f64) * SPACING;
            let _ = write!(
                text,
                "\n[[sinks]]\nname = \"board {board}, bin {bin}\"\nmin = [{left:.2}, -inf, 0]\nmax = [{:.2}, 43, 0]\n",
                left + SPACING
            );
        }
    }
    text
}

// Probability of each bin.
fn binomial() -> [f64; BINS] {
    let mut probability = 0.5f64.powi(ROWS as i32);
    std::array::from_fn(|bin| {
        let here = probability;
        probability *= (ROWS - bin) as f64 / (bin + 1) as f64;
        here
    })
}

/// Chi-square per degree of freedom with its standard error, and the degrees of freedom.
fn chi_square(counts: &[f64; BINS]) -> (Estimate, f64) {
    let total: f64 = counts.iter().sum();
    // Classes of bins, from left to right.
    let mut classes: Vec<[f64; 2]> = vec![];
    let mut open = [0.0; 2];
    for (count, probability) in counts.iter().zip(binomial()) {
        open = [open[0] + count, open[1] + total * probability];
        if open[1] >= 5.0 {
            classes.push(std::mem::take(&mut open));
        }
    }
    if let Some(last) = classes.last_mut() {
        *last = [last[0] + open[0], last[1] + open[1]];
    }
    let sum: f64 = classes.iter().map(|[count, expected]| (count - expected).powi(2) / expected).sum();
    let degrees = classes.len() as f64 - 1.0;
    (Estimate { mean: sum / degrees, error: (2.0 / degrees).sqrt() }, degrees)
}

// Discs in each bin; None if the user has stopped the case.
fn sort(study: &mut Study) -> Result<Option<[f64; BINS]>, Error> {
    const DT_OF_BOARD: f64 = 0.25;
    let (boards, each) = study.depth().pick((8, 25), (24, 60));
    let steps = ((each as f64 / RATE + FALL) / DT_OF_BOARD) as u64;
    let mut simulation = study.simulation("board", &scene(boards, each, DT_OF_BOARD, steps))?;
    let all = boards as u64 * each;
    while simulation.steps() < steps && simulation.summary().removed < all {
        if !study.steps(&mut simulation, 40, |_| {})? {
            return Ok(None);
        }
    }
    let mut counts = [0.0; BINS];
    for (place, count) in simulation.sink_counts().iter().enumerate() {
        counts[place % BINS] += count.removed as f64;
    }
    let missing = all as f64 - counts.iter().sum::<f64>();
    let expected = Expected { value: 0.0, theory_error: 0.0, largest_error: 0.0, source: GALTON };
    study.check("discs that do not reach a bin", expected, Estimate::exact(missing));
    Ok(Some(counts))
}

fn measure(study: &mut Study) -> Result<(), Error> {
    let Some(counts) = sort(study)? else { return Ok(()) };
    let total: f64 = counts.iter().sum();
    let moment = |center: f64, power: i32| {
        let terms = counts.iter().enumerate().map(|(bin, count)| count * (bin as f64 - center).powi(power));
        terms.sum::<f64>() / total
    };
    let mean = moment(0.0, 1);
    let variance = moment(mean, 2) * total / (total - 1.0);
    let largest_error = study.depth().pick(0.15, 0.06);
    let expected = Expected { value: 6.0, theory_error: 0.0, largest_error, source: GALTON };
    study.check("mean of the bins", expected, Estimate { mean, error: (variance / total).sqrt() });
    let error = ((moment(mean, 4) - variance * variance) / total).sqrt();
    let largest_error = study.depth().pick(0.4, 0.15);
    let expected = Expected { value: 3.0, theory_error: 3.0 * VARIANCE_ERROR, largest_error, source: GALTON };
    study.check("variance of the bins", expected, Estimate { mean: variance, error });
    let (measured, degrees) = chi_square(&counts);
    // A normal distribution whose variance is off by a share s has a chi-square of s^2 / 2 per disc.
    let theory_error = 0.5 * VARIANCE_ERROR * VARIANCE_ERROR * total / degrees;
    let expected = Expected { value: 1.0, theory_error, largest_error: 0.65, source: GALTON };
    study.check("chi-square per degree of freedom", expected, measured);
    let bars = |share: &dyn Fn(usize) -> f64| (0..BINS).map(|bin| (bin as f64, share(bin))).collect();
    study.chart(Chart {
        title: "Galton's board".to_owned(),
        labels: ["bin".to_owned(), "share of the discs".to_owned()],
        logarithmic: [false; 2],
        curves: vec![
            Curve::new("measured", CurveForm::Bars, bars(&|bin| counts[bin] / total)),
            Curve::new("binomial", CurveForm::Points, bars(&|bin| binomial()[bin])),
        ],
    });
    Ok(())
}
