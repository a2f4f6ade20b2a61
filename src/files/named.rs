//! Finds a scene by the name of a built-in scene or by its path.

use std::path::Path;

use super::{BUILTIN, Builtin, SceneError, builtin, load_scene};
use crate::scene::Scene;

/// Reads the built-in scene of this name, or the scene file at this path. A built-in name takes precedence over a file of
/// that name in the working directory; `./gas` is the file.
///
/// `overrides` are as for [`load_scene`], but a text needs no quotes: `bounds.x=wall` is read as `bounds.x="wall"`,
/// because shells remove quotes.
///
/// ```
/// let scene = carom::files::find_scene("gas", &["bounds.x=wall".to_owned()])?;
/// assert_eq!(scene.bounds.sides[0], carom::Side::Wall);
/// let error = carom::files::find_scene("gass", &[]).unwrap_err();
/// assert!(error.to_string().contains("did you mean `gas`?"));
/// # Ok::<(), carom::files::SceneError>(())
/// ```
///
/// # Errors
/// [`SceneError`] if there is no such scene, or as [`load_scene`].
pub fn find_scene(name: &str, overrides: &[String]) -> Result<Scene, SceneError> {
    let overrides: Vec<String> = overrides.iter().map(|text| quoted(text)).collect();
    let path = Path::new(name);
    match builtin(name) {
        Some(builtin) => builtin.load(&overrides),
        None if path.exists() || path.extension().is_some() || path.components().count() > 1 => {
            load_scene(path, &overrides)
        }
        None => Err(unknown(name)),
    }
}

/// The built-in scene of this name.
///
/// # Errors
/// [`SceneError`], which suggests the nearest name.
pub fn find_builtin(name: &str) -> Result<&'static Builtin, SceneError> {
    builtin(name).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> SceneError {
    // Up to three edits count as a misspelling; more count as another word.
    let nearest = BUILTIN
        .iter()
        .map(|scene| (strsim::damerau_levenshtein(name, scene.name), scene.name))
        .min()
        .filter(|(distance, _)| *distance <= 3);
    let hint = nearest.map_or(String::new(), |(_, nearest)| format!("did you mean `{nearest}`? "));
    SceneError::missing(format!(
        "no built-in scene and no file is called `{name}`; {hint}`carom scenes` lists the built-in ones"
    ))
}

fn quoted(setting: &str) -> String {
    match setting.split_once('=') {
        Some((key, value)) if is_word(value.trim()) => format!("{key}=\"{}\"", value.trim()),
        _ => setting.to_owned(),
    }
}

fn is_word(value: &str) -> bool {
    let bare = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    value.starts_with(|c: char| c.is_ascii_alphabetic())
        && value.chars().all(bare)
        && !matches!(value, "true" | "false" | "inf" | "nan")
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_put_in_quotes_and_toml_is_left_alone() {
        for (setting, toml) in [
            ("bounds.x=wall", "bounds.x=\"wall\""),
            ("spheres.0.file = a/b.csv", "spheres.0.file =\"a/b.csv\""),
            ("world.dt=0.1", "world.dt=0.1"),
            ("world.dt=nan", "world.dt=nan"),
            ("solver.strict_order=true", "solver.strict_order=true"),
            ("world.gravity=[0, 0, -1]", "world.gravity=[0, 0, -1]"),
            ("bounds.x=\"wall\"", "bounds.x=\"wall\""),
            ("no sense", "no sense"),
        ] {
            assert_eq!(quoted(setting), toml);
        }
    }
}
