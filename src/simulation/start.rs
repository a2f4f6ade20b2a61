//! Chooses and starts the engine.

#[cfg(feature = "gpu")]
use crate::gpu;
use crate::{
    Backend, Error, System, WallShape,
    cpu::CpuEngine,
    exact::ExactEngine,
    simulation::Options,
    step::{checkpoint::EngineState, engine::Engine},
};

/// Starts the engine for a system at a time; opens a device if one is needed and none is given.
pub(super) fn start_engine(
    system: &System,
    options: &mut Options,
    time: f64,
) -> Result<Box<dyn Engine>, Error> {
    options.backend.supports(system)?;
    Ok(match options.backend {
        Backend::Cpu => Box::new(CpuEngine::new(system, options.threads, time)?),
        Backend::Exact => Box::new(ExactEngine::new(system)?),
        #[cfg(feature = "gpu")]
        Backend::Gpu => {
            let context = open_context(options)?;
            gpu::engine(system, context, options.profile, time)?
        }
    })
}

/// Starts an engine that goes on from the state of another one; `None` if the engine of these options cannot go on from this kind of
/// state.
///
/// # Errors
/// As [`start_engine`].
pub(super) fn resume_engine(
    system: &System,
    options: &mut Options,
    state: &EngineState,
    time: f64,
) -> Result<Option<Box<dyn Engine>>, Error> {
    options.backend.supports(system)?;
    Ok(match (options.backend, state) {
        (Backend::Cpu, EngineState::Staged(state)) => {
            Some(Box::new(CpuEngine::resume(system, options.threads, state, time)?))
        }
        (Backend::Exact, EngineState::Exact(state)) => Some(Box::new(ExactEngine::resume(system, state)?)),
        #[cfg(feature = "gpu")]
        (Backend::Gpu, EngineState::Staged(state)) => {
            let context = open_context(options)?;
            Some(gpu::resume(system, context, options.profile, state, time)?)
        }
        _ => None,
    })
}

// The device of the options; opens one if none is given.
#[cfg(feature = "gpu")]
fn open_context(options: &mut Options) -> Result<gpu::Context, Error> {
    let context = match options.context.take() {
        Some(context) => context,
        None => gpu::Context::open(options.adapter.as_deref())?,
    };
    Ok(options.context.insert(context).clone())
}

impl Backend {
    /// Checks that this backend can simulate a system. `cpu` and `gpu` support every system; `exact` supports planes at rest
    /// as the only walls, and surfaces with restitution only.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with the unsupported feature and the backends that have it.
    pub fn supports(self, system: &System) -> Result<(), Error> {
        if self != Self::Exact {
            return Ok(());
        }
        if let Some(wall) = system.walls.iter().find(|wall| wall.as_plane().is_none()) {
            let what = match wall.shape {
                WallShape::Plane { .. } if wall.is_lasting() => "plane that moves",
                WallShape::Plane { .. } => "plane that comes or goes",
                ref shape => shape.kind(),
            };
            return Err(Error::Unsupported(format!(
                "{}: {} is a {what}; this backend does planes alone that stand still, use cpu",
                self.name(),
                wall.name
            )));
        }
        crate::exact::refuse_rough(&system.materials)
    }
}
