//! Loads a scene: parses the text, applies the overrides, deserialises, converts and checks the scene.

use std::{fs, path::Path};

use super::{convert, deserialize::deserialize, error::SceneError, origin::Texts, parse_error::ParseError};
use crate::scene::Scene;
use crate::scene::origin::Origin;

/// Reads a scene file. `overrides` are TOML like `world.dt=0.001` or `spheres.0.random.count=1000`, applied to the
/// file in order before anything is checked.
///
/// # Errors
/// [`SceneError`] if the file, or a file that it names, is missing, or if its content is invalid.
pub fn load_scene(path: &Path, overrides: &[String]) -> Result<Scene, SceneError> {
    let text = fs::read_to_string(path)
        .map_err(|error| SceneError::missing(format!("cannot read the scene {}: {error}", path.display())))?;
    parse_scene(&text, &path.display().to_string(), path.parent(), overrides)
}

/// Reads a scene from a text that messages call `name`. Files that the text names are relative to `base_dir`; without it
/// they are the files of the built-in scenes. `overrides` as for [`load_scene`].
///
/// # Errors
/// As [`load_scene`].
pub fn parse_scene(
    text: &str,
    name: &str,
    base_dir: Option<&Path>,
    overrides: &[String],
) -> Result<Scene, SceneError> {
    let texts = Texts::new(name, text, overrides);
    let mut scene = read(&texts, base_dir).map_err(|error| {
        let (problem, remedy) = error.texts();
        let place = error.place.unwrap_or_default();
        SceneError::new(error.kind, texts.show(place, &problem, &remedy))
    })?;
    scene.origin = Origin::new(texts);
    scene.check().map_err(|error| SceneError::invalid(error.to_string()))?;
    Ok(scene)
}

fn read(texts: &Texts, folder: Option<&Path>) -> Result<Scene, ParseError> {
    let root = texts.tree()?;
    convert::refuse_conflicts(&root)?;
    convert::scene(deserialize(&root)?, &root, folder)
}
