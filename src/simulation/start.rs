//! Who computes.

use super::{Backend, Engine, Options};
#[cfg(feature = "gpu")]
use crate::gpu;
use crate::{Error, System, WallShape, cpu::CpuEngine, exact::ExactEngine};

/// The engine of a system as it is at a time; opens a device where one is needed and none is given.
pub(super) fn start_engine(
    system: &System,
    options: &mut Options,
    time: f64,
) -> Result<Box<dyn Engine>, Error> {
    Ok(match options.backend {
        Backend::Cpu => Box::new(CpuEngine::new(system, options.threads, time)?),
        Backend::Exact => Box::new(ExactEngine::new(system)?),
        #[cfg(feature = "gpu")]
        Backend::Gpu => {
            Backend::Gpu.has_walls_of(system)?;
            let context = match options.context.take() {
                Some(context) => context,
                None => gpu::Context::open(options.adapter.as_deref())?,
            };
            gpu::engine(system, options.context.insert(context).clone(), options.profile)?
        }
    })
}

impl Backend {
    /// Whether this backend has the walls of a system: `cpu` has all there are, `gpu` planes alone that always stand still. (What else `exact` does
    /// not do, [`Simulation::new`](super::Simulation::new) says.)
    ///
    /// # Errors
    /// [`Error::Unsupported`] with the name of the wall.
    pub fn has_walls_of(self, system: &System) -> Result<(), Error> {
        if self == Self::Cpu {
            return Ok(());
        }
        let Some(wall) = system.walls.iter().find(|wall| wall.as_plane().is_none()) else { return Ok(()) };
        let what = match wall.shape {
            WallShape::Plane { .. } if wall.is_lasting() => "plane that moves",
            WallShape::Plane { .. } => "plane that comes or goes",
            ref shape => shape.kind(),
        };
        Err(Error::Unsupported(format!(
            "{}: {} is a {what}; this backend does planes alone that stand still, use cpu",
            self.name(),
            wall.name
        )))
    }
}
