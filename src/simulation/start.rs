//! Who computes.

use super::{Backend, Engine, Options};
#[cfg(feature = "gpu")]
use crate::gpu;
use crate::{Error, System, cpu::CpuEngine, exact::ExactEngine};

/// The engine of a system as it is at a time; opens a device where one is needed and none is given.
pub(super) fn start_engine(
    system: &System,
    options: &mut Options,
    time: f64,
) -> Result<Box<dyn Engine>, Error> {
    refuse(system, options.backend)?;
    Ok(match options.backend {
        Backend::Cpu => Box::new(CpuEngine::new(system, options.threads, time)?),
        Backend::Exact => Box::new(ExactEngine::new(system)?),
        #[cfg(feature = "gpu")]
        Backend::Gpu => {
            let context = match options.context.take() {
                Some(context) => context,
                None => gpu::Context::open(options.adapter.as_deref())?,
            };
            gpu::engine(system, options.context.insert(context).clone(), options.profile)?
        }
    })
}

/// Refuses by name what a backend does not do and would not say itself.
///
/// # Errors
/// [`Error::Unsupported`].
pub(super) fn refuse(system: &System, backend: Backend) -> Result<(), Error> {
    #[cfg(feature = "gpu")]
    if backend == Backend::Gpu {
        refuse_walls(system)?;
        if system.drag > 0.0 {
            return Err(Error::Unsupported(format!(
                "gpu: drag {}; this backend has none, use cpu",
                system.drag
            )));
        }
    }
    let _ = (system, backend);
    Ok(())
}

// Planes that stand still, always there, are all that the shaders know so far.
#[cfg(feature = "gpu")]
fn refuse_walls(system: &System) -> Result<(), Error> {
    match system.walls.iter().find(|wall| wall.as_plane().is_none()) {
        None => Ok(()),
        Some(wall) => Err(Error::Unsupported(format!(
            "gpu: {} is a {} that is no plane or moves; this backend has planes alone that stand still, use cpu",
            wall.name,
            wall.shape.kind()
        ))),
    }
}
