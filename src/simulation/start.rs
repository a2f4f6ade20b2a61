//! Who computes.

#[cfg(feature = "gpu")]
use crate::gpu;
use crate::{
    Backend, Error, System, WallShape, cpu::CpuEngine, exact::ExactEngine, simulation::Options,
    step::engine::Engine,
};

/// The engine of a system as it is at a time; opens a device where one is needed and none is given.
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
            let context = match options.context.take() {
                Some(context) => context,
                None => gpu::Context::open(options.adapter.as_deref())?,
            };
            gpu::engine(system, options.context.insert(context).clone(), options.profile, time)?
        }
    })
}

impl Backend {
    /// Whether this backend does all of a system: `cpu` and `gpu` do all there is; `exact` of walls planes alone that always stand still,
    /// and of surfaces restitution alone.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with what it does not do and who does.
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
