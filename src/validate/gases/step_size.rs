//! The step.

use super::super::theory::{COMPRESSIBILITY, collision_rate, compressibility};
use super::super::{Case, Chart, Curve, CurveForm, Estimate, Expected, Group, Source, Study};
use super::gas::{Bulk, Gas, measure_bulk};
use crate::Error;

pub const CASE: Case = Case {
    name: "step-size",
    group: Group::Gases,
    title: "Pressure, collision rate and energy for steps of 0.1 to 8 collisions per sphere",
    method: "1,000 elastic spheres at the volume fraction 0.3 run with steps of 0.1, 0.5, 2 and 8 collisions per sphere, for the same \
             time: 100 collisions per sphere without a measurement, then 400 (quick) or 4,000 (full). A step only decides when the state is \
             reported and how many collisions are solved together, so it must change neither Z nor the collision rate.\n\n\
             Both are compared with the fit to molecular dynamics; the error of the theory, 0.1%, is the finite number of spheres (1/N). \
             Standard errors come from 10 blocks. The energy is conserved; its error is 2e-6, the rounding of f32 (see the case soak).\n\n\
             The chart and the notes show what a longer step costs: rounds (passes over the pending collisions of a step) and \
             collisions found out of order.",
    quick: true,
    exact: true,
    measure,
};

fn measure(study: &mut Study) -> Result<(), Error> {
    let phi = 0.3;
    let (mut pressures, mut rates, mut rounds, mut late) = (vec![], vec![], vec![], vec![]);
    for collisions in [0.1, 0.5, 2.0, 8.0] {
        let steps = ((100.0 + study.depth().pick(400.0, 4_000.0)) / collisions) as u64;
        let gas = Gas::new(1_000, phi, collisions, steps);
        let mut simulation = study.simulation(&format!("step-{collisions}"), &gas.scene())?;
        let mut bulk = Bulk::default();
        if !measure_bulk(study, &gas, &mut simulation, 100.0, &mut bulk)? {
            return Ok(());
        }
        let statistics = study.depth().pick(5e-3, 1.5e-3);
        let relative = |value: f64, accuracy: f64| Expected {
            value,
            theory_error: accuracy * value,
            largest_error: statistics * value,
            source: COMPRESSIBILITY,
        };
        let at = format!("with {collisions} collisions per step");
        let (z, rate) = (compressibility(phi), collision_rate(phi));
        study.check(format!("Z {at}"), relative(z, 1e-3), bulk.z());
        study.check(
            format!("collisions per sphere and time {at}"),
            relative(rate, 1e-3 * z / (z - 1.0)),
            bulk.rate(),
        );
        let energy = simulation.summary().energy_error.unwrap_or(f64::NAN);
        let conserved =
            Expected { value: 0.0, theory_error: 2e-6, largest_error: 0.0, source: Source::Derived };
        study.check(format!("relative change of the energy {at}"), conserved, Estimate::exact(energy));
        let share = bulk.late as f64 / bulk.impacts as f64;
        study.note(format!(
            "{at}: at most {} rounds in a substep; {} of {} impacts found out of order",
            bulk.rounds, bulk.late, bulk.impacts
        ));
        let excess = |measured: Estimate, expected: f64| Estimate {
            mean: 100.0 * (measured.mean / expected - 1.0),
            error: 100.0 * measured.error / expected,
        };
        pressures.push((collisions, excess(bulk.z(), z)));
        rates.push((collisions, excess(bulk.rate(), rate)));
        rounds.push((collisions, f64::from(bulk.rounds)));
        late.push((collisions, 1e6 * share));
    }
    let curve = |label: &str, points| Curve::new(label, CurveForm::Points, points);
    let chart = |title: &str, y: &str, curves| Chart {
        title: title.to_owned(),
        labels: ["collisions per sphere and step".to_owned(), y.to_owned()],
        logarithmic: [true, false],
        curves,
    };
    study.chart(chart(
        "Pressure and collision rate for longer steps",
        "difference from the fit (%)",
        vec![Curve::estimates("Z", &pressures), Curve::estimates("collision rate", &rates)],
    ));
    study.chart(chart(
        "Cost of longer steps",
        "count",
        vec![curve("rounds in a substep, at most", rounds), curve("impacts out of order, per million", late)],
    ));
    Ok(())
}
