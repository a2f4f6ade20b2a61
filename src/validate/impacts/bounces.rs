//! A sphere dropped on a floor.

use super::super::{Case, Chart, Curve, CurveForm, Estimate, Expected, Group, Source, Study};
use crate::state::constants::rest_speed;
use crate::{Backend, Error, Options, Simulation};

pub const CASE: Case = Case {
    name: "bounces",
    group: Group::Impacts,
    title: "A dropped sphere: times of the bounces, heights of the rebounds, time to rest",
    method: "A sphere falls from H = 10 m on a plane, g = 9.81 m/s^2, restitution 0.8. Bounce k (from 0) comes at \
             sqrt(2H/g) (1 + 2 (e + e^2 + ... + e^k)), and the rebound after it reaches e^(2k+2) H. The tolerance of the \
             times, 1e-4 s, and of the heights, 2e-5 of H, is the rounding of positions and velocities in f32 (6e-8 of 10 \
             m and 14 m/s) in each of 690 steps.\n\n\
             With restitution 0.5 and H = 1 m the sphere comes to rest at sqrt(2H/g) (1 + e) / (1 - e). An impact slower \
             than v = 0.024 sqrt(g d) becomes a resting contact. The impacts left out would take up to 2 v / (g (1 - e)), \
             which is 0.0097 s for a diameter of 10 cm: the tolerance of the time of the last impact. The exact backend \
             has no resting contacts and does not run this part.",
    quick: true,
    exact: true,
    measure,
};

const GRAVITY: f64 = 9.81;
/// A sphere dropped at rest: restitution, height of its lowest point (m), radius (m) and length of the run (s).
struct Drop {
    restitution: f64,
    height: f64,
    radius: f64,
    duration: f64,
}

fn scene(drop: &Drop, steps: u64) -> String {
    let Drop { restitution, height, radius, .. } = drop;
    format!(
        "[world]\ngravity = [0, 0, -{GRAVITY}]\ndt = 0.016666667\nsteps = {steps}\n\n\
         [materials.default]\nrestitution = {restitution}\n\n\
         [[walls]]\nname = \"floor\"\nplane = {{ point = [0, 0, 0], normal = [0, 0, 1] }}\n\n\
         [[spheres]]\nat = [{{ position = [0, 0, {:.2}], radius = {radius} }}]\n",
        height + radius
    )
}

/// Times of the impacts, and the height of the rebound after each.
type Bounces = Vec<(f64, f64)>;

// None if the user has stopped the case.
fn run(study: &mut Study, drop: &Drop) -> Result<Option<Bounces>, Error> {
    let steps = (60.0 * drop.duration) as u64;
    let system = study.system(&format!("restitution-{}", drop.restitution), &scene(drop, steps))?;
    let options = Options { record_impacts: true, ..study.options() };
    let mut simulation = Simulation::new(system, options)?;
    let mut bounces: Bounces = vec![];
    for _ in 0..steps {
        if study.stopped() {
            return Ok(None);
        }
        simulation.step()?;
        bounces.extend(simulation.impacts().iter().map(|impact| (impact.time, f64::NAN)));
        let sphere = simulation.try_spheres()?[0];
        if let Some((_, apex)) = bounces.last_mut() {
            *apex = sphere.position.z - drop.radius + sphere.velocity.z.powi(2) / (2.0 * GRAVITY);
        }
    }
    Ok(Some(bounces))
}

fn measure(study: &mut Study) -> Result<(), Error> {
    let (e, height) = (0.8f64, 10.0f64);
    let fall = (2.0 * height / GRAVITY).sqrt();
    let Some(bounces) = run(study, &Drop { restitution: e, height, radius: 0.5, duration: 11.6 })? else {
        return Ok(());
    };
    let at = |k: usize| bounces.get(k).copied().unwrap_or((f64::NAN, f64::NAN));
    for k in [0, 1, 2, 5, 9] {
        let value = fall * (1.0 + 2.0 * (1..=k).map(|n| e.powi(n)).sum::<f64>());
        let expected = Expected { value, theory_error: 1e-4, largest_error: 0.0, source: Source::Derived };
        study.check(format!("time of bounce {} (s)", k + 1), expected, Estimate::exact(at(k as usize).0));
        let value = height * e.powi(2 * k + 2);
        let expected =
            Expected { value, theory_error: 2e-5 * height, largest_error: 0.0, source: Source::Derived };
        study.check(
            format!("height after bounce {} (m)", k + 1),
            expected,
            Estimate::exact(at(k as usize).1),
        );
    }
    let theory = (0..10).map(|k| (f64::from(k + 1), height * e.powi(2 * k + 2))).collect();
    let points = bounces.iter().take(10).zip(1..).map(|((_, apex), k)| (f64::from(k), *apex)).collect();
    study.chart(Chart {
        title: "Heights of the rebounds at restitution 0.8".to_owned(),
        labels: ["bounce".to_owned(), "height (m)".to_owned()],
        logarithmic: [false, true],
        curves: vec![
            Curve::new("theory", CurveForm::Line, theory),
            Curve::new("measured", CurveForm::Points, points),
        ],
    });
    if study.backend() == Backend::Exact {
        study.note("The exact backend has no resting contacts: the time to rest is not measured.");
        return Ok(());
    }
    let drop = Drop { restitution: 0.5, height: 1.0, radius: 0.05, duration: 2.0 };
    let Drop { restitution: e, height, radius, .. } = drop;
    let Some(bounces) = run(study, &drop)? else { return Ok(()) };
    let value = (2.0 * height / GRAVITY).sqrt() * (1.0 + e) / (1.0 - e);
    let theory_error = 2.0 * rest_speed(GRAVITY, 2.0 * radius) / (GRAVITY * (1.0 - e));
    let expected = Expected { value, theory_error, largest_error: 0.0, source: Source::Derived };
    let last = bounces.last().map_or(f64::NAN, |(time, _)| *time);
    study.check("time of the last impact at restitution 0.5 (s)", expected, Estimate::exact(last));
    Ok(())
}
