//! From a text to a scene: parse, override, read, check.

use std::{
    borrow::Cow,
    fs,
    path::{Path, PathBuf},
};

use super::{
    builtin::embedded,
    error::{SceneError, SceneErrorKind},
    fields::{ParseError, suggestion},
    mesh::parse_mesh,
    origin::{Origin, Text, show},
    read::read_scene,
    spheres::parse_spheres,
    tree::{Node, Value},
};
use crate::{
    Mesh,
    scene::{DEFAULT_MATERIAL, Material, Placed, Scene},
};

/// Reads a scene file. `overrides` are TOML like `world.dt=0.001` or `spheres.0.random.count=1000`, laid over the
/// file in their order before anything is checked.
///
/// # Errors
/// [`SceneError`]: the file, or one that it names, is missing; or something in it is wrong.
pub fn load_scene(path: &Path, overrides: &[String]) -> Result<Scene, SceneError> {
    let text = fs::read_to_string(path)
        .map_err(|error| SceneError::missing(format!("cannot read the scene {}: {error}", path.display())))?;
    parse_scene(&text, &path.display().to_string(), path.parent(), overrides)
}

/// Reads a scene from a text that messages call `name`. Files it names are relative to `base_dir`; without one they
/// are among those that the built-in scenes come with. `overrides` as for [`load_scene`].
///
/// # Errors
/// As [`load_scene`].
pub fn parse_scene(
    text: &str,
    name: &str,
    base_dir: Option<&Path>,
    overrides: &[String],
) -> Result<Scene, SceneError> {
    let mut texts = vec![Text { name: name.into(), text: text.into() }];
    texts.extend(overrides.iter().map(|text| Text { name: "override".into(), text: text.clone() }));
    let slipped = |parse_error: ParseError| {
        SceneError::invalid(show(&texts, &parse_error.span, &parse_error.problem, &parse_error.remedy))
    };
    let tree = merge(&texts).map_err(slipped)?;
    let mut kind = SceneErrorKind::Invalid;
    let mut open = |file: &str, materials: &[Material]| {
        read_spheres(file, base_dir, materials).map_err(|error| {
            kind = error.kind();
            error.to_string()
        })
    };
    let mut no_mesh = false;
    let mut open_mesh = |file: &str| {
        mesh_of(file, base_dir).map_err(|error| {
            no_mesh = error.kind() == SceneErrorKind::Missing;
            error.to_string()
        })
    };
    let mut scene = read_scene(&tree, &mut open, &mut open_mesh).map_err(|parse_error| {
        SceneError::new(
            if no_mesh { SceneErrorKind::Missing } else { kind },
            show(&texts, &parse_error.span, &parse_error.problem, &parse_error.remedy),
        )
    })?;
    scene.origin = Origin::new(texts.clone(), tree);
    scene.check().map_err(|error| SceneError::invalid(error.to_string()))?;
    Ok(scene)
}

fn merge(texts: &[Text]) -> Result<Node, ParseError> {
    let parse = |at: usize| {
        Node::parse(&texts[at].text, at).map_err(|(span, problem)| ParseError {
            span,
            problem,
            remedy: if at == 0 { "this is not TOML" } else { "expected KEY=VALUE, as in world.dt=0.001" }
                .into(),
        })
    };
    let mut tree = parse(0)?;
    for at in 1..texts.len() {
        let over = parse(at)?;
        refuse_new_materials(&tree, &over)?;
        tree.overlay(over).map_err(|(span, problem, remedy)| ParseError { span, problem, remedy })?;
    }
    Ok(tree)
}

/// A misspelt material would otherwise become one that nothing is made of.
fn refuse_new_materials(tree: &Node, over: &Node) -> Result<(), ParseError> {
    let Some(Value::Table(changed)) = over.get("materials").map(|entry| &entry.node.value) else {
        return Ok(());
    };
    let mut known = vec![DEFAULT_MATERIAL];
    if let Some(Value::Table(entries)) = tree.get("materials").map(|entry| &entry.node.value) {
        known.extend(entries.iter().map(|entry| entry.key.as_str()));
    }
    match changed.iter().find(|entry| !known.contains(&entry.key.as_str())) {
        Some(entry) => Err(ParseError {
            span: entry.key_span.clone(),
            problem: format!("the scene has no material `{}`", entry.key),
            remedy: suggestion(&entry.key, &known),
        }),
        None => Ok(()),
    }
}

fn read_spheres(
    file: &str,
    base_dir: Option<&Path>,
    materials: &[Material],
) -> Result<Vec<Placed>, SceneError> {
    let (path, bytes) = read(file, base_dir)?;
    parse_spheres(&path, &bytes, materials)
}

fn mesh_of(file: &str, base_dir: Option<&Path>) -> Result<Mesh, SceneError> {
    let (path, bytes) = read(file, base_dir)?;
    parse_mesh(&path, &bytes).map_err(|error| SceneError::invalid(error.to_string()))
}

/// A file that a scene names, with its path.
fn read(file: &str, base_dir: Option<&Path>) -> Result<(PathBuf, Cow<'static, [u8]>), SceneError> {
    let path = base_dir.map_or_else(|| Path::new(file).to_owned(), |base| base.join(file));
    let missing = |why: String| SceneError::missing(format!("cannot read {}: {why}", path.display()));
    let bytes = match base_dir {
        Some(_) => Cow::from(fs::read(&path).map_err(|error| missing(error.to_string()))?),
        None => Cow::from(embedded(file).ok_or_else(|| missing("no built-in scene has it".into()))?),
    };
    Ok((path, bytes))
}
