//! Mixtures of two species.

use std::f64::consts::PI;

use super::super::theory::{CONTACT_VALUE, Species, contact_value};
use super::super::{Case, Chart, Curve, CurveForm, Estimate, Expected, Group, Study};
use crate::{Error, Impact, Options, Partner, Simulation, Sphere};

pub const CASE: Case = Case {
    name: "mixtures",
    group: Group::Gases,
    title: "Collisions of each pair of species in mixtures of size ratio 2 and mass ratios 8 and 1000",
    method: "1,000 spheres of diameter 2 and 1,000 of diameter 1 fill a fifth of a periodic box. All have the same temperature; the \
             small ones have mass 1, the large ones mass 8 (equal densities) or 1,000. They start at random positions. A step takes one \
             collision per small sphere. The first 100 steps are not measured; the quick run measures 400 steps, the full one 6,000.\n\n\
             Each recorded impact is assigned to its pair of species. In kinetic theory a sphere of species i collides with those of species \
             j at the rate n_j s^2 g sqrt(8 pi (T_i/m_i + T_j/m_j)), s the sum of the radii, n_j the number density and g the pair \
             distribution at contact. The masses do not change g. The count of impacts in each step, over this rate without g and with the \
             measured kinetic temperature of each species, gives g; its standard error comes from 20 blocks. For the second mixture, the \
             exchange of energy between the species takes about 500 collisions of a light sphere, which is why the measured temperatures \
             enter. The check on the sum of all impacts is the mean collision rate per sphere over that of the theory.\n\n\
             The expected values of g are those of Boublik, Mansoori, Carnahan, Starling and Leland. For equal spheres of this volume fraction \
             their g is 0.2% below molecular dynamics; the difference grows with the size of the spheres. The error of the theory is taken as \
             0.5%, with 0.1% for the finite number of spheres included. Heavy spheres are slow, so their count has the largest standard error. \
             Z follows from the impulses: Z = 1 + sum(r . J)/(3 NkT t). Its expected value is the sum over all pairs of species, \
             1 + (2 pi/3) n sum(x_i x_j s^3 g); the error is taken as 0.4%.",
    quick: true,
    exact: true,
    measure,
};

const COUNT: usize = 1_000;
const FRACTION: f64 = 0.2;
const DIAMETERS: [f64; 2] = [1.0, 2.0];
const PAIRS: [(usize, usize, &str); 3] =
    [(0, 0, "small-small"), (0, 1, "small-large"), (1, 1, "large-large")];
/// Density of a sphere of diameter 1 and mass 1.
const DENSITY: f64 = 6.0 / PI;
const MELT: u64 = 100;

/// A mixture.
struct Mixture {
    /// Mass of the large spheres.
    mass: f64,
    steps: u64,
}

impl Mixture {
    fn edge(&self) -> f64 {
        let volume: f64 = DIAMETERS.iter().map(|d| PI / 6.0 * d.powi(3) * COUNT as f64).sum();
        (volume / FRACTION).cbrt()
    }

    fn species(&self) -> [Species; 2] {
        let density = COUNT as f64 / self.edge().powi(3);
        DIAMETERS.map(|diameter| Species { density, diameter })
    }

    /// Impacts of a pair of species per time without the factor g, at these temperatures.
    fn free_rate(&self, (a, b): (usize, usize), temperatures: [f64; 2]) -> f64 {
        let masses = [1.0, self.mass];
        let reach = 0.5 * (DIAMETERS[a] + DIAMETERS[b]);
        let pairs = if a == b { 0.5 } else { 1.0 } * (COUNT as f64).powi(2) / self.edge().powi(3);
        let spread = temperatures[a] / masses[a] + temperatures[b] / masses[b];
        pairs * reach.powi(2) * (8.0 * PI * spread).sqrt()
    }

    fn contact_value(&self, (a, b): (usize, usize)) -> f64 {
        contact_value(&self.species(), DIAMETERS[a], DIAMETERS[b])
    }

    fn compressibility(&self) -> f64 {
        let sum: f64 = PAIRS
            .iter()
            .map(|&(a, b, _)| {
                let share = if a == b { 0.25 } else { 0.5 };
                share * (0.5 * (DIAMETERS[a] + DIAMETERS[b])).powi(3) * self.contact_value((a, b))
            })
            .sum();
        1.0 + 2.0 * PI / 3.0 * 2.0 * self.species()[0].density * sum
    }

    /// The step: one collision per small sphere.
    fn dt(&self) -> f64 {
        let impacts = |pair| self.free_rate(pair, [1.0; 2]) * self.contact_value(pair);
        COUNT as f64 / (2.0 * impacts((0, 0)) + impacts((0, 1)))
    }

    fn scene(&self) -> String {
        let edge = self.edge();
        format!(
            "[world]\ndt = {}\nsteps = {}\nseed = 7\n\n[bounds]\nmax = [{edge}, {edge}, {edge}]\nx = \"periodic\"\ny = \"periodic\"\n\
             z = \"periodic\"\n\n[materials.small]\ndensity = {DENSITY}\n\n[materials.large]\ndensity = {}\n\n\
             [[spheres]]\nrandom = {{ count = {COUNT}, diameter = 2.0 }}\nmaterial = \"large\"\ntemperature = 1.0\n\n\
             [[spheres]]\nrandom = {{ count = {COUNT}, diameter = 1.0 }}\nmaterial = \"small\"\ntemperature = 1.0\n",
            self.dt(),
            self.steps,
            DENSITY * self.mass / 8.0,
        )
    }
}

/// Series over the steps: g of each pair of species, impacts over those of the theory, and Z.
#[derive(Default)]
struct Series {
    contact: [Vec<f64>; 3],
    rate: Vec<f64>,
    z: Vec<f64>,
}

fn temperatures(spheres: &[Sphere]) -> [f64; 2] {
    let mut energies = [0.0; 2];
    for sphere in spheres {
        energies[usize::from(sphere.radius > 0.75)] += sphere.mass * sphere.velocity.length_squared();
    }
    energies.map(|twice| twice / (3 * COUNT) as f64)
}

fn impacts_by_pair(impacts: &[Impact], is_large: &[bool]) -> [f64; 3] {
    let mut counts = [0.0; 3];
    for impact in impacts {
        if let Partner::Sphere(partner) = impact.partner {
            let large = [impact.sphere, partner].iter().filter(|id| is_large[**id as usize]).count();
            counts[large] += 1.0;
        }
    }
    counts
}

fn run(study: &mut Study, mixture: &Mixture, simulation: &mut Simulation) -> Result<Option<Series>, Error> {
    let mut is_large = vec![false; 2 * COUNT];
    for sphere in simulation.spheres() {
        is_large[sphere.id as usize] = sphere.radius > 0.75;
    }
    let mut series = Series::default();
    let mut before = temperatures(&simulation.spheres());
    for step in 0..mixture.steps {
        if study.stopped() {
            return Ok(None);
        }
        let report = simulation.step()?.clone();
        let after = temperatures(&simulation.try_spheres()?);
        let mean = [0.5 * (before[0] + after[0]), 0.5 * (before[1] + after[1])];
        before = after;
        if step < MELT {
            continue;
        }
        let counts = impacts_by_pair(simulation.impacts(), &is_large);
        let mut expected = 0.0;
        for (k, (a, b, _)) in PAIRS.into_iter().enumerate() {
            let free = mixture.free_rate((a, b), mean) * mixture.dt();
            series.contact[k].push(counts[k] / free);
            expected += free * mixture.contact_value((a, b));
        }
        series.rate.push(counts.iter().sum::<f64>() / expected);
        series.z.push(1.0 + report.virial / (2.0 * report.kinetic_energy * mixture.dt()));
    }
    Ok(Some(series))
}

fn measure(study: &mut Study) -> Result<(), Error> {
    let steps = MELT + study.depth().pick(400, 6_000);
    let mut points = vec![];
    for mass in [8.0, 1_000.0] {
        let mixture = Mixture { mass, steps };
        let system = study.system(&format!("mass-ratio-{mass}"), &mixture.scene())?;
        let options = Options { record_impacts: true, ..study.options() };
        let mut simulation = Simulation::new(system, options)?;
        let Some(series) = run(study, &mixture, &mut simulation)? else { return Ok(()) };
        // Quick and full; pairs of heavy spheres collide least.
        let errors: [(f64, f64); 3] = if mass > 100.0 {
            [(0.006, 0.002), (0.006, 0.002), (0.03, 0.008)]
        } else {
            [(0.006, 0.002), (0.006, 0.002), (0.01, 0.003)]
        };
        let mut expect = |quantity: &str, value: f64, theory: f64, statistics: f64, measured: Estimate| {
            let expected = Expected {
                value,
                theory_error: theory * value,
                largest_error: statistics * value,
                source: CONTACT_VALUE,
            };
            study.check(format!("{quantity} at mass ratio {mass}"), expected, measured);
        };
        let depth = usize::from(steps > 1_000);
        for (k, (a, b, name)) in PAIRS.into_iter().enumerate() {
            let measured = Estimate::of_blocks(&series.contact[k], 20);
            let value = mixture.contact_value((a, b));
            expect(
                &format!("g at contact, {name},"),
                value,
                5e-3,
                [errors[k].0, errors[k].1][depth],
                measured,
            );
            points.push((value, measured));
        }
        let statistics = [5e-3, 1.5e-3][depth];
        expect(
            "impacts over those of the theory",
            1.0,
            5e-3,
            statistics,
            Estimate::of_blocks(&series.rate, 20),
        );
        expect("Z", mixture.compressibility(), 4e-3, statistics, Estimate::of_blocks(&series.z, 20));
    }
    let ends = [1.0, 3.0].map(|g| (g, g)).to_vec();
    study.chart(Chart {
        title: "Pair distribution at contact".to_owned(),
        labels: ["theory".to_owned(), "measured".to_owned()],
        logarithmic: [false; 2],
        curves: vec![
            Curve::new("equality", CurveForm::Line, ends),
            Curve::estimates("pairs of species", &points),
        ],
    });
    Ok(())
}
