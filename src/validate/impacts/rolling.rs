//! A sphere slides and rolls on a plane.

use super::super::{Case, Estimate, Expected, Group, Source, Study};
use crate::{Error, Sphere};

pub const CASE: Case = Case {
    name: "rolling",
    group: Group::Impacts,
    title: "A sphere comes to roll, rolls down an incline, and stops by rolling friction",
    method: "A solid sphere of radius 5 cm lies on a plane, g = 9.81 m/s^2. Sliding at 1 m/s with friction 0.3, it comes \
             to roll at 5/7 of its speed, because the angular momentum about the contact point is constant. From rest on \
             an incline of angle a it rolls with the acceleration 5/7 g sin(a) if the friction is at least 2/7 tan(a), \
             and slides with g (sin(a) - mu cos(a)) otherwise. With rolling friction c, a rolling sphere stops after 7/10 \
             v^2 / (c g).\n\n\
             Tilted gravity stands for the incline. The tolerance is 0.01% of each value, the rounding of a second of f32 substeps. \
             For the two values with rolling friction or a change from sliding to rolling it is 0.5%: contact forces act in \
             substeps, so such a change and the stop come up to a substep too late.",
    quick: true,
    exact: false,
    measure,
};

const GRAVITY: f64 = 9.81;
const RADIUS: f64 = 0.05;

/// Relative tolerances.
const ROUNDING: f64 = 1e-4;
const LATE: f64 = 5e-3;

/// A sphere on a plane: friction, rolling friction, angle of the incline (radian), speed along x and spin about y.
struct Start {
    friction: f64,
    rolling: f64,
    slope: f64,
    speed: f64,
    spin: f64,
}

const REST: Start = Start { friction: 0.3, rolling: 0.0, slope: 0.0, speed: 0.0, spin: 0.0 };

// The sphere after `steps` steps of 1/60 s; None if the user has stopped the case.
fn run(study: &mut Study, label: &str, start: &Start, steps: u64) -> Result<Option<Sphere>, Error> {
    let Start { friction, rolling, slope, speed, spin } = start;
    let scene = format!(
        "[world]\ngravity = [{:.9}, 0, {:.9}]\ndt = 0.016666667\nsteps = {steps}\n\n\
         [materials.default]\nrestitution = 0.5\nfriction = {friction}\nrolling_friction = {rolling}\n\n\
         [[walls]]\nname = \"floor\"\nplane = {{ point = [0, 0, 0], normal = [0, 0, 1] }}\n\n\
         [[spheres]]\nat = [{{ position = [0, 0, {RADIUS}], velocity = [{speed:.1}, 0, 0], spin = [0, {spin:.1}, 0], \
         radius = {RADIUS} }}]\n",
        GRAVITY * slope.sin(),
        -GRAVITY * slope.cos(),
    );
    let mut simulation = study.simulation(label, &scene)?;
    let ended = study.steps(&mut simulation, steps, |_| {})?;
    Ok(if ended { Some(simulation.try_spheres()?[0]) } else { None })
}

fn check(study: &mut Study, quantity: String, value: f64, accuracy: f64, measured: f64) {
    let expected =
        Expected { value, theory_error: accuracy * value, largest_error: 0.0, source: Source::Derived };
    study.check(quantity, expected, Estimate::exact(measured));
}

fn measure(study: &mut Study) -> Result<(), Error> {
    let start = Start { speed: 1.0, ..REST };
    let Some(sphere) = run(study, "sliding", &start, 60)? else { return Ok(()) };
    check(study, "speed after sliding, over the first speed".to_owned(), 5.0 / 7.0, LATE, sphere.velocity.x);
    check(study, "surface speed of the rolling sphere over its speed".to_owned(), 1.0, ROUNDING, {
        sphere.spin.y * RADIUS / sphere.velocity.x
    });
    for (degrees, friction) in [(5.0f64, 0.3), (20.0, 0.3), (40.0, 0.3), (20.0, 0.02)] {
        let slope = degrees.to_radians();
        let rolls = friction >= 2.0 / 7.0 * slope.tan();
        let start = Start { friction, slope, ..REST };
        let label = format!("incline-{degrees}-friction-{friction}");
        let Some(sphere) = run(study, &label, &start, 60)? else { return Ok(()) };
        let (motion, value) = if rolls {
            ("rolling", 5.0 / 7.0 * GRAVITY * slope.sin())
        } else {
            ("sliding", GRAVITY * (slope.sin() - friction * slope.cos()))
        };
        let quantity = format!("acceleration {motion} at {degrees} degrees, friction {friction} (m/s^2)");
        // A second from rest.
        check(study, quantity, value, ROUNDING, sphere.velocity.x);
    }
    let start = Start { friction: 0.6, rolling: 0.1, speed: 1.0, spin: 1.0 / RADIUS, ..REST };
    let Some(sphere) = run(study, "rolling-friction", &start, 180)? else { return Ok(()) };
    check(
        study,
        "way until rolling friction stops the sphere (m)".to_owned(),
        0.7 / (0.1 * GRAVITY),
        LATE,
        sphere.position.x,
    );
    Ok(())
}
