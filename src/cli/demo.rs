//! The demonstration scene, with as many spheres as a GPU simulates in real time. The first steps decide, not the name of the adapter.

use std::time::Instant;

use carom::scene::Scene;
use carom::{Error, Simulation};

use super::adapters::Chosen;
use super::command_error::CommandError;
use super::screen::Screen;
use super::source::{self, Source};
use super::text::grouped;

const SCENE: &str = "marbles";

/// Each size that is tried has so many times the spheres of the one before.
const GROWTH: u64 = 4;
/// Largest size: the scene takes seconds to build, whatever the GPU.
const MOST: u64 = 200_000;
/// Steps that compile the shaders and grow the buffers, and steps that are measured: the marbles still fall.
const WARM_UP: u64 = 3;
const MEASURED: u64 = 12;
/// Time of a step where the marbles land over that of one of the first 15 steps: 92 ms over 16 ms on `cpu` with 2 cores. Not
/// measured on a GPU.
const PILE: f64 = 6.0;

/// The scene for a backend: in its own size, or on a GPU in the largest one that is expected to run in real time.
pub fn scene(chosen: &Chosen, screen: &mut Screen) -> Result<Source, CommandError> {
    let Source { name, scene } = source::scene(SCENE, &[], None)?;
    if !chosen.is_on_adapter() {
        return Ok(Source { name, scene });
    }
    screen.line("measuring how many marbles run in real time");
    let scene = fitting(scene, |scene| share(scene, chosen))?;
    screen.line(&format!("{} marbles, by the time of the first steps", grouped(scene.random_count())));
    Ok(Source { name, scene })
}

// The largest size whose measured share of real time leaves enough for the pile. The scene's own size needs no measurement to be
// taken.
fn fitting(scene: Scene, mut share: impl FnMut(&Scene) -> Result<f64, Error>) -> Result<Scene, Error> {
    let own = scene.random_count();
    let mut fitting = scene.clone();
    let mut count = own;
    loop {
        let measured = match share(if count == own { &scene } else { &fitting }) {
            // A size that the device cannot hold is too large.
            Err(Error::Capacity(_)) => f64::INFINITY,
            measured => measured?,
        };
        if measured * PILE > 1.0 {
            let before = (count / GROWTH).max(own);
            return if before == own { Ok(scene) } else { scene.resized(before as u32) };
        }
        // The time of a step grows at most about as its spheres.
        if count * GROWTH > MOST {
            return Ok(fitting);
        }
        count *= GROWTH;
        fitting = scene.resized(count as u32)?;
    }
}

// Wall time of the first steps over their simulated time.
fn share(scene: &Scene, chosen: &Chosen) -> Result<f64, Error> {
    let mut simulation = Simulation::new(scene.build()?, chosen.options(0))?;
    let step = |_: &carom::StepReport| std::ops::ControlFlow::Continue(());
    simulation.run(WARM_UP, step)?;
    let start = Instant::now();
    simulation.run(MEASURED, step)?;
    Ok(start.elapsed().as_secs_f64() / (MEASURED as f64 * simulation.system().dt))
}

#[cfg(test)]
mod tests {
    use super::*;

    // The size for a device that needs so much of real time for each sphere, and holds so many spheres.
    fn size(per_sphere: f64, room: u64) -> u64 {
        let scene = source::scene(SCENE, &[], None).unwrap().scene;
        let measure = |scene: &Scene| {
            let count = scene.random_count();
            if count > room { Err(Error::Capacity("full".to_owned())) } else { Ok(per_sphere * count as f64) }
        };
        fitting(scene, measure).unwrap().random_count()
    }

    #[test]
    fn the_largest_size_in_real_time_is_taken() {
        let at = |count: f64| 1.0 / (PILE * count);
        assert_eq!(size(at(3_100.0), u64::MAX), 3_000);
        assert_eq!(size(at(12_100.0), u64::MAX), 12_000);
        assert_eq!(size(at(50_000.0), u64::MAX), 48_000);
        assert_eq!(size(0.0, u64::MAX), 192_000);
        // Too slow for any size, and too small for a larger one.
        assert_eq!(size(at(1.0), u64::MAX), 3_000);
        assert_eq!(size(0.0, 20_000), 12_000);
    }

    #[test]
    fn other_failures_are_passed_on() {
        let scene = source::scene(SCENE, &[], None).unwrap().scene;
        let lost = fitting(scene, |_| Err(Error::DeviceLost("gone".to_owned())));
        assert!(matches!(lost, Err(Error::DeviceLost(_))));
    }
}
