//! Finds the scene for a name or path.

use carom::files::{SceneError, find_scene};
use carom::scene::Scene;

use super::command_error::CommandError;
use super::memory;

/// A scene, with its name for messages.
pub struct Source {
    pub name: String,
    pub scene: Scene,
}

impl From<SceneError> for CommandError {
    fn from(error: SceneError) -> Self {
        Self::usage(error.to_string())
    }
}

/// Loads a built-in scene by name, or a file. `settings` (`key=value`) and the seed replace values of the scene.
///
/// A built-in name takes precedence over a file of that name in the working directory; `./gas` is the file.
pub fn scene(name: &str, settings: &[String], seed: Option<u64>) -> Result<Source, CommandError> {
    let seed = seed.map(|seed| format!("world.seed={seed}"));
    let settings: Vec<String> = settings.iter().cloned().chain(seed).collect();
    let scene = find_scene(name, &settings)?;
    memory::check(&scene)?;
    Ok(Source { name: name.to_owned(), scene })
}
