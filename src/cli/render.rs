//! `carom render`: pictures and films of a scene, with no display.

#[cfg(feature = "render")]
mod chart;
#[cfg(feature = "render")]
mod film;
#[cfg(feature = "render")]
mod schedule;
#[cfg(feature = "render")]
mod shoot;

#[cfg(feature = "render")]
pub use shoot::render;
#[cfg(not(feature = "render"))]
pub use without_render::render;

#[cfg(not(feature = "render"))]
mod without_render {
    use crate::cli::{
        arguments::RenderArguments,
        command_error::{CommandError, Exit},
    };

    /// Fails in this build, which cannot draw.
    pub fn render(_arguments: &RenderArguments) -> Result<Exit, CommandError> {
        let message = "this build draws no pictures; build it with the feature `render`".to_owned();
        Err(CommandError { exit: Exit::NoAdapter, message })
    }
}
