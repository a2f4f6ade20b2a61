//! A long run.

use super::super::theory::{COMPRESSIBILITY, compressibility};
use super::super::{Case, Chart, Curve, CurveForm, Estimate, Expected, Group, Source, Study};
use super::gas::{Bulk, Gas, measure_bulk};
use crate::Error;

pub const CASE: Case = Case {
    name: "soak",
    group: Group::Gases,
    title: "Energy and pressure over four million impacts",
    method: "1,000 elastic spheres at the volume fraction 0.2 take 8,100 steps of one collision per sphere: four million impacts. \
             The first 100 steps are not measured.\n\n\
             Energy is conserved, so its relative change is 0. Each impact rounds the velocities of two spheres in f32, by \
             6e-8 of a velocity at most. Rounding errors that add up like a random walk change the energy of N spheres after n impacts by \
             about 6e-8 sqrt(n)/N = 1e-7; a bias of rounding of 1e-10 for each collision of a sphere adds 8e-7. The error is \
             taken as 2e-6. Momentum, relative to sqrt(2 m E N), is conserved with the same error.\n\n\
             Z is compared with the fit to molecular dynamics, with an error of 0.1%: 1/N for the finite number of spheres.",
    quick: false,
    exact: true,
    measure,
};

fn measure(study: &mut Study) -> Result<(), Error> {
    let gas = Gas::new(1_000, 0.2, 1.0, 8_100);
    let mut simulation = study.simulation("soak", &gas.scene())?;
    let mut bulk = Bulk::default();
    if !measure_bulk(study, &gas, &mut simulation, 100.0, &mut bulk)? {
        return Ok(());
    }
    let conserved = Expected { value: 0.0, theory_error: 2e-6, largest_error: 0.0, source: Source::Derived };
    let summary = simulation.summary();
    let (energy, momentum) = (summary.energy_error, summary.momentum_error);
    let impacts = summary.pair_impacts;
    study.check("relative change of the energy", conserved, Estimate::exact(energy.unwrap_or(f64::NAN)));
    study.check("relative change of the momentum", conserved, Estimate::exact(momentum.unwrap_or(f64::NAN)));
    let z = compressibility(0.2);
    let expected =
        Expected { value: z, theory_error: 1e-3 * z, largest_error: 1e-3 * z, source: COMPRESSIBILITY };
    study.check("Z at phi = 0.2", expected, bulk.z());
    study.note(format!("{impacts} impacts, {} of them found out of order", bulk.late));
    let part = bulk.z.len().div_ceil(80);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let means = bulk.z.chunks(part).enumerate();
    let points = means.map(|(k, values)| (((k * part) as f64) + 100.0, mean(values))).collect();
    study.chart(Chart {
        title: "Z over a long run".to_owned(),
        labels: ["collisions per sphere".to_owned(), "Z = PV/NkT".to_owned()],
        logarithmic: [false; 2],
        curves: vec![Curve::new("means of 100 collisions", CurveForm::Points, points)],
    });
    Ok(())
}
