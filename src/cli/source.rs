//! Finds the scene for a name or path.

use std::path::Path;

use carom::files::{BUILTIN, Builtin, SceneError, builtin as find_builtin, load_scene};
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
    let mut settings: Vec<String> = settings.iter().map(|setting| quoted(setting)).collect();
    settings.extend(seed.map(|seed| format!("world.seed={seed}")));
    let path = Path::new(name);
    let scene = match find_builtin(name) {
        Some(builtin) => builtin.load(&settings)?,
        None if path.exists() || path.extension().is_some() || path.components().count() > 1 => {
            load_scene(path, &settings)?
        }
        None => return Err(unknown(name)),
    };
    memory::check(&scene)?;
    Ok(Source { name: name.to_owned(), scene })
}

/// A built-in scene by name.
pub fn builtin(name: &str) -> Result<&'static Builtin, CommandError> {
    find_builtin(name).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> CommandError {
    // Up to three edits count as a misspelling; more count as another word.
    let nearest = BUILTIN
        .iter()
        .map(|scene| (strsim::damerau_levenshtein(name, scene.name), scene.name))
        .min()
        .filter(|(distance, _)| *distance <= 3);
    let hint = nearest.map_or(String::new(), |(_, nearest)| format!("did you mean `{nearest}`? "));
    CommandError::usage(format!(
        "no built-in scene and no file is called `{name}`; {hint}`carom scenes` lists the built-in ones"
    ))
}

// Settings are TOML with quoted strings, but shells remove quotes: `bounds.x=wall` is read as `"wall"`.
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
