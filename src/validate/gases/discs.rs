//! The equation of state in 2D.

use super::super::theory::{DISC_COMPRESSIBILITY, disc_compressibility, henderson};
use super::super::{Case, Chart, Curve, CurveForm, Expected, Group, Source, Study};
use super::gas::{Bulk, Gas, measure_bulk};
use crate::{Dimensions, Error};

pub const CASE: Case = Case {
    name: "discs",
    group: Group::Gases,
    title: "Pressure of hard discs (2D) against their virial series",
    method: "2,000 elastic discs of diameter and mass 1 move in a periodic square at kT = 1. They start at random positions, and the \
             first 100 collisions per disc of the run are not measured. A step takes one collision per disc. The quick run \
             measures 400 collisions per disc, the full one 8,000. Z = PV/NkT = 1 + sum(r . J)/(2 NkT t) follows from the \
             impulses; the standard error, from 10 blocks.\n\n\
             The expected value is the virial series with ten coefficients. The terms beyond the tenth are continued as a geometric \
             series; they add 1e-4 to Z at the area fraction 0.3 and 0.024 at 0.5. With an error of a tenth of this continuation, \
             and of 0.05% (1/N) for the finite number of discs, the error of the theory is 0.06% at 0.3 and 0.12% at 0.5. \
             Henderson's equation, in the list of published values, is 0.03% and 0.4% higher.\n\n\
             Z - 1 and the collision rate are both proportional to the pair density at contact: Z - 1 = rate sqrt(pi)/4. The error of \
             this relation is that of the finite number of discs; it is taken as 0.1%.",
    quick: true,
    exact: true,
    measure,
};

fn measure(study: &mut Study) -> Result<(), Error> {
    let mut points = vec![];
    for (phi, accuracy) in [(0.3, 6e-4), (0.5, 1.2e-3)] {
        let steps = 100 + study.depth().pick(400, 8_000);
        let gas = Gas { dimensions: Dimensions::Two, ..Gas::new(2_000, phi, 1.0, steps) };
        let mut simulation = study.simulation(&format!("phi-{phi}"), &gas.scene())?;
        let mut bulk = Bulk::default();
        if !measure_bulk(study, &gas, &mut simulation, 100.0, &mut bulk)? {
            return Ok(());
        }
        let z = disc_compressibility(phi);
        let statistics = study.depth().pick(4e-3, 1e-3);
        let relative = |value: f64, accuracy: f64, source: Source| Expected {
            value,
            theory_error: accuracy * value,
            largest_error: statistics * value,
            source,
        };
        study.check(format!("Z at phi = {phi}"), relative(z, accuracy, DISC_COMPRESSIBILITY), bulk.z());
        study.check(
            format!("Z - 1 by the rate over Z - 1 at phi = {phi}"),
            relative(1.0, 1e-3, Source::Derived),
            bulk.consistency(&gas),
        );
        let source = Source::Unverified("Henderson, Mol. Phys. 30, 971 (1975), an equation");
        study.published(format!("Z at phi = {phi}"), format!("{:.4}", henderson(phi)), source);
        points.push((phi, bulk.z()));
    }
    let theory = (0..=55).map(|k| 0.01 * f64::from(k)).map(|phi| (phi, disc_compressibility(phi))).collect();
    study.chart(Chart {
        title: "Compressibility of hard discs".to_owned(),
        labels: ["area fraction".to_owned(), "Z = PV/NkT".to_owned()],
        logarithmic: [false; 2],
        curves: vec![
            Curve::new("virial series", CurveForm::Line, theory),
            Curve::estimates("measured", &points),
        ],
    });
    Ok(())
}
