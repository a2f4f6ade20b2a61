//! The same run on `gpu` and on `cpu` in lockstep, and the distance between the two places of each sphere.

use std::sync::Arc;

use crate::{Backend, Error, Options, Simulation, Sphere, System, render::Differences};

/// The run on `cpu` beside a run on `gpu`.
pub struct Comparison {
    /// The run on `cpu`.
    pub twin: Simulation,
    /// The latest differences.
    pub latest: Differing,
}

/// How far the two runs are apart.
#[derive(Clone, Debug, Default)]
pub struct Differing {
    /// Differences of all spheres, for the colours.
    pub all: Arc<Differences>,
    /// The largest difference (mean diameters), and the id of its sphere; `None` without spheres.
    pub largest: Option<(f64, u32)>,
    /// Steps since the start of the comparison.
    pub steps: u64,
}

impl Comparison {
    /// Starts both runs from the present state of `simulation`.
    ///
    /// # Errors
    /// As [`Simulation::new`], and [`Error::DeviceLost`].
    pub fn start(simulation: &mut Simulation, threads: usize) -> Result<Self, Error> {
        let moment = simulation.moment(None, None)?;
        let options = Options { backend: Backend::Cpu, threads, ..Options::default() };
        let twin = moment.start(options)?;
        // Both start without measurements of earlier steps.
        simulation.rewind(&moment)?;
        let mut made = Self { twin, latest: Differing::default() };
        made.compare(simulation)?;
        Ok(made)
    }

    /// Takes the step on `cpu` that `simulation` has just taken.
    ///
    /// # Errors
    /// As [`Simulation::step`].
    pub fn follow(&mut self, simulation: &Simulation) -> Result<(), Error> {
        self.twin.step()?;
        self.latest.steps += 1;
        self.compare(simulation)
    }

    fn compare(&mut self, simulation: &Simulation) -> Result<(), Error> {
        let (here, there) = (simulation.try_spheres()?, self.twin.try_spheres()?);
        let distances = distances(&here, &there, simulation.system());
        let largest = distances.iter().copied().zip(&here).max_by(|a, b| a.0.total_cmp(&b.0));
        self.latest.largest = largest.map(|(distance, sphere)| (distance, sphere.id));
        self.latest.all = Arc::new(Differences::of(&distances));
        Ok(())
    }
}

// Distances of equal ids (mean diameters) in the order of `here`; infinite for a sphere that the other run does not have.
fn distances(here: &[Sphere], there: &[Sphere], system: &System) -> Vec<f64> {
    let diameter = here.iter().map(|s| 2.0 * s.radius).sum::<f64>() / here.len().max(1) as f64;
    let apart = |sphere: &Sphere| match there.binary_search_by_key(&sphere.id, |other| other.id) {
        Ok(place) => system.separation(sphere.position, there[place].position).length() / diameter,
        Err(_) => f64::INFINITY,
    };
    here.iter().map(apart).collect()
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;

    #[test]
    fn distances_are_those_of_equal_ids() {
        let at = |id: u32, x: f64| Sphere { id, position: DVec3::X * x, radius: 2.0, ..Sphere::default() };
        let here = [at(1, 0.0), at(4, 10.0), at(7, 20.0)];
        let there = [at(1, 0.0), at(3, 10.0), at(7, 22.0)];
        assert_eq!(distances(&here, &there, &System::default()), [0.0, f64::INFINITY, 0.5]);
        assert_eq!(distances(&[], &there, &System::default()), [0.0; 0]);
    }
}
