//! A gas of equal spheres in a periodic box, and the measurement of its pressure and collision rate.

use std::f64::consts::PI;

use super::super::theory::{collision_rate, disc_compressibility};
use super::super::{Estimate, Study};
use crate::{Dimensions, Error, Simulation, StepReport};

/// A gas of equal spheres of diameter and mass 1 in a periodic box.
#[derive(Clone, Copy, Debug)]
pub struct Gas {
    pub dimensions: Dimensions,
    pub count: usize,
    /// Share of the volume, or in 2D of the area, that the spheres fill.
    pub fraction: f64,
    /// Collisions per sphere and step at kT = 1; decides the step.
    pub collisions: f64,
    /// Steps of the whole run, those before the measurement included.
    pub steps: u64,
    pub seed: u64,
    pub restitution: f64,
    /// The line that sets the velocities.
    pub motion: &'static str,
}

impl Gas {
    /// An elastic gas at kT = 1.
    pub fn new(count: usize, fraction: f64, collisions: f64, steps: u64) -> Self {
        Self {
            dimensions: Dimensions::Three,
            count,
            fraction,
            collisions,
            steps,
            seed: 7,
            restitution: 1.0,
            motion: "temperature = 1.0",
        }
    }

    /// Collisions per sphere and time in theory, at kT = 1.
    pub fn rate(&self) -> f64 {
        match self.dimensions {
            Dimensions::Two => 4.0 / PI.sqrt() * (disc_compressibility(self.fraction) - 1.0),
            Dimensions::Three => collision_rate(self.fraction),
        }
    }

    /// The step.
    pub fn dt(&self) -> f64 {
        self.collisions / self.rate()
    }

    /// Edge of the box.
    pub fn edge(&self) -> f64 {
        match self.dimensions {
            Dimensions::Two => (self.count as f64 * PI / 4.0 / self.fraction).sqrt(),
            Dimensions::Three => (self.count as f64 * PI / 6.0 / self.fraction).cbrt(),
        }
    }

    /// The scene.
    pub fn scene(&self) -> String {
        let z = if self.dimensions == Dimensions::Two { "" } else { "z = \"periodic\"\n" };
        format!(
            "[world]\ndimensions = {}\ndt = {}\nsteps = {}\nseed = {}\n\n[bounds]\nx = \"periodic\"\ny = \"periodic\"\n{z}\n\
             [materials.default]\nrestitution = {}\n\n[[spheres]]\nrandom = {{ count = {}, volume_fraction = {} }}\n{}\n",
            self.dimensions.count(),
            self.dt(),
            self.steps,
            self.seed,
            self.restitution,
            self.count,
            self.fraction,
            self.motion,
        )
    }
}

/// Blocks of the measurement, or independent runs of equal length.
pub const BLOCKS: usize = 10;

/// Pressure and collision rate of a gas, step by step.
#[derive(Debug, Default)]
pub struct Bulk {
    /// Z = PV/NkT from the virial of the impulses.
    pub z: Vec<f64>,
    /// Impacts per sphere and time, each counted for both partners, divided by the root of kT.
    pub rate: Vec<f64>,
    /// Impacts.
    pub impacts: u64,
    /// Collisions found out of order.
    pub late: u64,
    /// Largest number of rounds in a substep.
    pub rounds: u32,
}

impl Bulk {
    fn add(&mut self, gas: &Gas, report: &StepReport) {
        let dt = gas.dt();
        let count = gas.count as f64;
        let temperature = 2.0 * report.kinetic_energy / (gas.dimensions.count() as f64 * count);
        // In d dimensions PV = NkT + sum(r . J)/(d dt), and NkT = 2E/d: the factor is 2 in both 2D and 3D.
        self.z.push(1.0 + report.virial / (2.0 * report.kinetic_energy * dt));
        self.rate.push(2.0 * report.pair_impacts as f64 / (count * dt * temperature.sqrt()));
        self.impacts += report.pair_impacts;
        self.late += report.late;
        self.rounds = self.rounds.max(report.rounds);
    }

    /// Z with its standard error from blocks.
    pub fn z(&self) -> Estimate {
        Estimate::of_blocks(&self.z, BLOCKS)
    }

    /// The collision rate with its standard error from blocks.
    pub fn rate(&self) -> Estimate {
        Estimate::of_blocks(&self.rate, BLOCKS)
    }

    /// Z - 1 that follows from the collision rate, over the measured Z - 1, with its standard error from blocks.
    pub fn consistency(&self, gas: &Gas) -> Estimate {
        // Z - 1 for each collision per sphere and time.
        let factor = PI.sqrt() / if gas.dimensions == Dimensions::Two { 4.0 } else { 6.0 };
        let z = self.z().mean;
        let series: Vec<f64> =
            self.rate.iter().zip(&self.z).map(|(rate, z)| factor * rate - (z - 1.0)).collect();
        let difference = Estimate::of_blocks(&series, BLOCKS).scaled(1.0 / (z - 1.0));
        Estimate { mean: 1.0 + difference.mean, error: difference.error }
    }
}

/// Takes the steps of a gas: first `melt` collisions per sphere without a measurement, then the others, which it adds to `bulk`.
/// Returns false if the user has stopped the case.
pub fn measure_bulk(
    study: &mut Study,
    gas: &Gas,
    simulation: &mut Simulation,
    melt: f64,
    bulk: &mut Bulk,
) -> Result<bool, Error> {
    let start = (melt / gas.collisions).ceil() as u64;
    Ok(study.steps(simulation, start, |_| {})?
        && study.steps(simulation, gas.steps.saturating_sub(start), |report| bulk.add(gas, report))?)
}
