//! Stress in a silo.

use glam::DVec3;

use super::super::{Case, Chart, Curve, CurveForm, Estimate, Expected, Group, Source, Study};
use super::{DT, GRAIN, VOLUME, filled_cylinder, world};
use crate::{Cells, Error};

pub const CASE: Case = Case {
    name: "janssen",
    group: Group::Grains,
    title: "Stress in a silo saturates with the depth (Janssen)",
    method: "Grains with friction 0.5 settle in a cylinder. The floor sinks by 0.04 d per time, which mobilises the \
             friction at the wall: at rest it may have any smaller value. Janssen's balance of a layer gives the vertical \
             stress rho g L (1 - exp(-z / L)) at depth z, with L = R / (2 mu K), friction mu and the ratio K of \
             horizontal and vertical stress. The load on the floor of a silo gives L; with this L, Janssen's law predicts \
             the load on the floor below twice the grains. Published stress profiles of simulated silos differ from \
             Janssen's by some 10%, because the friction is not mobilised everywhere; the tolerance is 15% of the \
             predicted load, with the scatter of the load on a few dozen grains.\n\n\
             K lies between the limit of active failure, (1 - sin a) / (1 + sin a) = 0.33 for an angle of internal \
             friction of 30 degrees, and 1, the hydrostatic value: 0.67 with a tolerance of 0.33. Floor and wall together \
             carry all of the weight, to 1% for the acceleration of grains that slip. Loads are averages of 40 samples, each the load of one step, from the last \
             800 steps, in which the floor sinks by 1.6 d; their errors come from independent seeds.\n\n\
             The chart shows the vertical stress from the contact forces in layers of the taller silo.",
    quick: false,
    exact: false,
    measure,
};

const JANSSEN: Source =
    Source::Unverified("Janssen, Zeitschrift des Vereines deutscher Ingenieure 39, 1045 (1895)");
const LANDRY: Source =
    Source::Unverified("Landry, Grest, Silbert & Plimpton, Phys. Rev. E 67, 041303 (2003)");

const FRICTION: f64 = 0.5;

/// Speed at which the floor sinks.
const SINKING: f64 = 0.04;

/// Steps before the measurement, and of the measurement.
const STEPS: [u64; 2] = [800, 800];

/// Loads in weights of the grains, and layers (depth below the surface, vertical stress).
struct Silo {
    floor: f64,
    all: f64,
    height: f64,
    layers: Vec<(f64, f64)>,
}

fn scene(radius: f64, count: u64, seed: u64) -> String {
    format!(
        "{}{GRAIN}\n{}[[walls]]\nname = \"floor\"\ndisc = {{ center = [0, 0, 0], normal = [0, 0, 1], radius = {radius} }}\n\
         velocity = [0, 0, -{SINKING}]\n",
        world(STEPS[0] + STEPS[1], seed),
        // The floor sinks out of the cylinder.
        filled_cylinder(radius, count, None).replace("from = [0, 0, 0]", "from = [0, 0, -4]"),
    )
}

// Loads and stresses in a silo; None if the user has stopped the case.
fn silo(study: &mut Study, radius: f64, count: u64, seed: u64) -> Result<Option<Silo>, Error> {
    const SAMPLES: u64 = 40;
    let label = format!("grains-{count}-seed-{seed}");
    let mut simulation = study.simulation(&label, &scene(radius, count, seed))?;
    if !study.steps(&mut simulation, STEPS[0], |_| {})? {
        return Ok(None);
    }
    let weight: f64 = simulation.system().spheres.iter().map(|s| s.mass).sum();
    let layers = (count as f64 * VOLUME / (0.58 * std::f64::consts::PI * radius * radius) / 2.0) as usize + 2;
    let (mut loads, mut stress) = ([0.0; 2], vec![0.0; layers]);
    let (mut top, mut bottom) = (0.0, 0.0);
    for _ in 0..SAMPLES {
        if !study.steps(&mut simulation, STEPS[1] / SAMPLES, |_| {})? {
            return Ok(None);
        }
        for (sum, load) in loads.iter_mut().zip(simulation.wall_loads()) {
            *sum -= load.force.z / (weight * SAMPLES as f64);
        }
        let spheres = simulation.try_spheres()?;
        let mut heights: Vec<f64> = spheres.iter().map(|s| s.position.z).collect();
        heights.sort_by(f64::total_cmp);
        // A few grains lie on the surface.
        (top, bottom) = (heights[heights.len() * 99 / 100] + 0.5, -SINKING * simulation.time());
        let corner = DVec3::new(radius, radius, 0.0);
        let (min, max) = (-corner + DVec3::Z * bottom, corner + DVec3::Z * (bottom + 2.0 * layers as f64));
        let cells = simulation.contact_stress(&Cells { min, max, count: [1, 1, layers] })?;
        for (sum, cell) in stress.iter_mut().zip(cells) {
            // The cell is a square about the circle.
            *sum += cell.z_axis.z * 4.0 / std::f64::consts::PI / SAMPLES as f64;
        }
    }
    let depth = |k: usize| top - bottom - 2.0 * (k as f64 + 0.5);
    let layers = stress.iter().enumerate().map(|(k, &stress)| (depth(k), stress));
    Ok(Some(Silo {
        floor: loads[1],
        all: loads[0] + loads[1],
        height: top - bottom,
        layers: layers.filter(|(depth, _)| *depth > 0.0).collect(),
    }))
}

/// Janssen's load on the floor over the weight for a depth in units of L.
fn janssen(depth: f64) -> f64 {
    -(-depth).exp_m1() / depth
}

// Depth in units of L at which the floor carries this share of the weight, by bisection.
fn saturation(share: f64) -> f64 {
    let (mut low, mut high) = (1e-3, 1e3);
    for _ in 0..60 {
        let middle = f64::sqrt(low * high);
        if janssen(middle) > share { low = middle } else { high = middle }
    }
    low
}

fn measure(study: &mut Study) -> Result<(), Error> {
    let (radius, count, seeds) = (4.0, 500, 8);
    let (mut ratios, mut stress_ratios, mut all) = (vec![], vec![], vec![]);
    let mut curves = vec![];
    for seed in 1..=seeds {
        let Some(short) = silo(study, radius, count, seed)? else { return Ok(()) };
        let Some(tall) = silo(study, radius, 2 * count, seed)? else { return Ok(()) };
        let depth = saturation(short.floor);
        ratios.push(tall.floor / janssen(depth * tall.height / short.height));
        let length = short.height / depth;
        stress_ratios.push(radius / (2.0 * FRICTION * length));
        all.push(0.5 * (short.all + tall.all));
        if seed == 1 {
            let density = count as f64 * 1.03 / (std::f64::consts::PI * radius * radius * short.height);
            let law = |k: u32| tall.height * f64::from(k) / 50.0;
            let law = (0..=50).map(law).map(|z| (z, density * length * -(-z / length).exp_m1())).collect();
            let label = format!("Janssen, L = {length:.1} d from the floor of the shorter silo");
            curves.push(Curve::new(label, CurveForm::Line, law));
            let weight = vec![(0.0, 0.0), (tall.height, density * tall.height)];
            curves.push(Curve::new("weight above", CurveForm::Line, weight));
            curves.push(Curve::new("measured", CurveForm::Points, tall.layers));
        }
    }
    let expected = Expected { value: 1.0, theory_error: 0.15, largest_error: 0.08, source: JANSSEN };
    study.check("load on the floor below twice the grains, over Janssen's", expected, Estimate::of(&ratios));
    let expected = Expected { value: 0.67, theory_error: 0.33, largest_error: 0.1, source: Source::Derived };
    study.check("ratio K of horizontal and vertical stress", expected, Estimate::of(&stress_ratios));
    let expected = Expected { value: 1.0, theory_error: 0.01, largest_error: 0.005, source: Source::Derived };
    study.check("load on floor and wall over the weight", expected, Estimate::of(&all));
    study.published(
        "load on the floor below twice the grains, over Janssen's",
        "stress near the bottom follows Janssen's form; the upper part rises hydrostatically",
        LANDRY,
    );
    study.chart(Chart {
        title: format!("Vertical stress in a silo, time step {DT}"),
        labels: ["depth (d)".to_owned(), "vertical stress (m g / d^2)".to_owned()],
        logarithmic: [false; 2],
        curves,
    });
    Ok(())
}
