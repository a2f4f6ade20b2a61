//! The equation of state.

use std::f64::consts::{PI, SQRT_2};

use super::super::theory::{
    CARNAHAN_STARLING, COMPRESSIBILITY, carnahan_starling, collision_rate, compressibility,
};
use super::super::{Case, Chart, Curve, CurveForm, Depth, Estimate, Expected, Group, Source, Study};
use super::gas::{BLOCKS as RUNS, Bulk, Gas, measure_bulk};
use crate::Error;

pub const CASE: Case = Case {
    name: "pressure",
    group: Group::Gases,
    title: "Pressure and collision rate of hard spheres against molecular dynamics",
    method: "Elastic spheres of diameter and mass 1 move in a periodic box at kT = 1: 2,000 in the quick run, 4,000 in the full one. \
             They start at random positions (above a volume fraction phi of 0.3, from a lattice that was melted by random moves). A step takes \
             one collision per sphere. Ten runs with different seeds measure 40 collisions per sphere each in the quick run, 400 in the full \
             one, after 40 and 100 collisions per sphere that are not measured.\n\n\
             Z = PV/NkT follows from the momentum that the impacts transfer: Z = 1 + sum(r . J)/(3 NkT t), r the vector between the centres \
             and J the impulse. The collision rate is the count of the impacts. Standard errors come from the ten independent runs.\n\n\
             The expected values are those of a polynomial that was fitted to event-driven simulations. Its error is 0.02% where it can be \
             compared with other simulations, 0.1% at phi = 0.45, where fits to different simulations differ more. A finite system \
             differs from an infinite one by a share of the order of 1/N. The error of the theory is 0.05% and, at phi = 0.45, 0.125% \
             in the full run, 0.025% more in the quick one.\n\n\
             Z - 1 and the collision rate are both proportional to the pair density at contact: Z - 1 = rate sqrt(pi)/6. The check of \
             this relation needs no table. For a fixed energy and momentum it is exact up to 1/N; its error is taken as 0.1%.\n\n\
             The chart and the list of published values show the equation of Carnahan and Starling, which is up to 0.3% too low, and event-driven \
             results of Erpenbeck and Wood for infinite systems.",
    quick: true,
    exact: true,
    measure,
};

/// Volume fraction at close packing.
const CLOSE_PACKED: f64 = PI * SQRT_2 / 6.0;

/// Ratio of the volume to that at close packing, and Z.
const ERPENBECK_WOOD: [(f64, &str); 2] = [(5.0, "1.88839"), (2.0, "5.85016")];

fn fractions(depth: Depth) -> Vec<f64> {
    match depth {
        Depth::Quick => vec![0.1, 0.3, 0.45],
        Depth::Full => vec![0.1, CLOSE_PACKED / 5.0, 0.2, 0.3, CLOSE_PACKED / 2.0, 0.4, 0.45],
    }
}

fn gas(depth: Depth, phi: f64, seed: u64) -> Gas {
    Gas { seed, ..Gas::new(depth.pick(2_000, 4_000), phi, 1.0, depth.pick(80, 500)) }
}

fn measure(study: &mut Study) -> Result<(), Error> {
    let mut points = vec![];
    for phi in fractions(study.depth()) {
        let mut bulk = Bulk::default();
        for seed in 1..=RUNS as u64 {
            let gas = gas(study.depth(), phi, seed);
            let mut simulation = study.simulation(&format!("phi-{phi:.4}-seed-{seed}"), &gas.scene())?;
            let melt = study.depth().pick(40.0, 100.0);
            // The series of the runs follow one another: each of the ten blocks is a run.
            if !measure_bulk(study, &gas, &mut simulation, melt, &mut bulk)? {
                return Ok(());
            }
        }
        let gas = gas(study.depth(), phi, 1);
        check(study, &gas, &bulk);
        points.push((phi, bulk.z()));
        let equation = format!("{:.5}", carnahan_starling(phi));
        study.published(format!("Z at phi = {phi:.4}"), equation, CARNAHAN_STARLING);
        for (volume, z) in ERPENBECK_WOOD {
            if (phi * volume - CLOSE_PACKED).abs() < 1e-9 {
                let source = Source::Unverified("Erpenbeck & Wood, J. Stat. Phys. 35, 321 (1984)");
                study.published(format!("Z at phi = {phi:.4}"), z, source);
            }
        }
    }
    let grid = || (0..=50).map(|k| 0.01 * f64::from(k));
    let excess = |z: f64, phi: f64| 100.0 * (z / compressibility(phi) - 1.0);
    let difference: Vec<(f64, Estimate)> = points
        .iter()
        .map(|&(phi, z)| {
            let error = 100.0 * z.error / compressibility(phi);
            (phi, Estimate { mean: excess(z.mean, phi), error })
        })
        .collect();
    let theory = grid().map(|phi| (phi, carnahan_starling(phi))).collect();
    let theory_difference = grid().map(|phi| (phi, excess(carnahan_starling(phi), phi))).collect();
    let curves = |theory, measured: &[(f64, Estimate)]| {
        vec![
            Curve::new("Carnahan & Starling", CurveForm::Line, theory),
            Curve::estimates("measured", measured),
        ]
    };
    study.chart(Chart {
        title: "Compressibility of hard spheres".to_owned(),
        labels: ["volume fraction".to_owned(), "Z = PV/NkT".to_owned()],
        logarithmic: [false; 2],
        curves: curves(theory, &points),
    });
    study.chart(Chart {
        title: "Difference of Z from the fit to molecular dynamics".to_owned(),
        labels: ["volume fraction".to_owned(), "difference (%)".to_owned()],
        logarithmic: [false; 2],
        curves: curves(theory_difference, &difference),
    });
    Ok(())
}

fn check(study: &mut Study, gas: &Gas, bulk: &Bulk) {
    let phi = gas.fraction;
    let accuracy = if phi > 0.4 { 1.25e-3 } else { 5e-4 } + study.depth().pick(2.5e-4, 0.0);
    let statistics = study.depth().pick(3e-3, 8e-4);
    let relative = |value: f64, accuracy: f64, source: Source| Expected {
        value,
        theory_error: accuracy * value,
        largest_error: statistics * value,
        source,
    };
    let z = relative(compressibility(phi), accuracy, COMPRESSIBILITY);
    study.check(format!("Z at phi = {phi:.4}"), z, bulk.z());
    // A relative error of Z is a larger one of Z - 1, to which the rate is proportional.
    let share = compressibility(phi) / (compressibility(phi) - 1.0);
    let rate = relative(collision_rate(phi), accuracy * share, COMPRESSIBILITY);
    study.check(format!("collisions per sphere and time at phi = {phi:.4}"), rate, bulk.rate());
    let one = relative(1.0, 1e-3, Source::Derived);
    study.check(format!("Z - 1 by the rate over Z - 1 at phi = {phi:.4}"), one, bulk.consistency(gas));
}
