//! The equation of state.

use super::super::theory::{CARNAHAN_STARLING, carnahan_starling};
use super::super::{Case, Chart, Curve, CurveForm, Estimate, Expected, Group, Study};
use crate::Error;

pub const CASE: Case = Case {
    name: "pressure",
    group: Group::Gases,
    title: "Compressibility of a gas against the equation of Carnahan and Starling",
    method: "4,000 elastic spheres in a periodic box, started at random, equilibrate for 60 collisions per sphere. Z = PV/NkT follows \
             from the momentum that impacts transfer, averaged over 20 blocks. Carnahan and Starling's equation is up to 0.3% too low.",
    quick: true,
    exact: true,
    measure,
};

fn measure(study: &mut Study) -> Result<(), Error> {
    let steps = study.depth().pick(1_000, 10_000);
    let mut points = vec![];
    for phi in [0.1, 0.3] {
        // A step of 0.5 collisions per sphere.
        let z = carnahan_starling(phi);
        let dt = 0.5 / (6.0 / std::f64::consts::PI.sqrt() * (z - 1.0));
        let scene = format!(
            "[world]\ndt = {dt}\nsteps = {steps}\nseed = 7\n\n[[spheres]]\nrandom = {{ count = 4000, volume_fraction = {phi} }}\n\
             temperature = 1.0\n"
        );
        let mut simulation = study.simulation(&format!("phi-{phi}"), &scene)?;
        if !study.steps(&mut simulation, 120, |_| {})? {
            return Ok(());
        }
        let mut series = vec![];
        let visit = |report: &crate::StepReport| {
            series.push(1.0 + report.virial / (2.0 * report.kinetic_energy * dt))
        };
        if !study.steps(&mut simulation, steps, visit)? {
            return Ok(());
        }
        let measured = Estimate::of_blocks(&series, 20);
        points.push((phi, measured.mean));
        let largest_error = study.depth().pick(0.003, 0.001) * z;
        let expected =
            Expected { value: z, theory_error: 0.003 * z, largest_error, source: CARNAHAN_STARLING };
        study.check(format!("Z at phi = {phi}"), expected, measured);
    }
    let theory = (0..=50).map(|k| 0.01 * f64::from(k)).map(|phi| (phi, carnahan_starling(phi))).collect();
    study.chart(Chart {
        title: "Compressibility of hard spheres".to_owned(),
        labels: ["volume fraction".to_owned(), "Z = PV/NkT".to_owned()],
        logarithmic: [false; 2],
        curves: vec![
            Curve { label: "Carnahan & Starling".to_owned(), form: CurveForm::Line, points: theory },
            Curve { label: "measured".to_owned(), form: CurveForm::Points, points },
        ],
    });
    Ok(())
}
