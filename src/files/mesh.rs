//! Files of triangles.

mod obj;
mod stl;

use std::{fs, path::Path};

use glam::DVec3;

use crate::{Error, Mesh};

/// Longest part of a message that comes from a crate: it may show a whole line, and a line may be a whole file.
const LONGEST_REASON: usize = 160;

/// Reads a mesh from a file: `.stl` (binary or text) or `.obj`, in capitals or not.
///
/// Coordinates are taken as they are, in whatever unit, to the seven digits of `f32`. Of an `.stl` only the corners count;
/// several solids become one mesh. Of an `.obj` only vertices and faces count, those of all objects and groups; faces of
/// more than three corners are cut into triangles from their first corner, which is right for convex ones; materials are
/// not looked for.
///
/// # Errors
/// [`Error::Invalid`] naming the file: it cannot be read, is of another kind, or is malformed; or [`Mesh::new`] refuses
/// what it holds.
///
/// ```
/// let triangle = "v 0 0 0\nv 2 0 0\nv 0 1 0\nf 1 2 3\n";
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("triangle.obj");
/// std::fs::write(&path, triangle)?;
/// let mesh = carom::files::read_mesh(&path)?;
/// assert_eq!(mesh.bounds()[1], glam::DVec3::new(2.0, 1.0, 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_mesh(path: &Path) -> Result<Mesh, Error> {
    let bytes = fs::read(path)
        .map_err(|error| Error::Invalid(format!("cannot read the mesh {}: {error}", path.display())))?;
    parse_mesh(path, &bytes)
}

/// Reads a mesh from what a file of this name holds.
pub(crate) fn parse_mesh(path: &Path, bytes: &[u8]) -> Result<Mesh, Error> {
    let named = |what: String| Error::Invalid(format!("{}: {what}", path.display()));
    let kind = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    let (vertices, triangles) = match kind.as_str() {
        "stl" => stl::parse(bytes),
        "obj" => obj::parse(bytes),
        _ => Err("meshes are read from .stl and .obj files".into()),
    }
    .map_err(named)?;
    Mesh::new(vertices, triangles).map_err(|error| named(error.to_string()))
}

/// Vertices, and triangles that name them.
type Parts = (Vec<DVec3>, Vec<[u32; 3]>);

/// The reason that a crate gives, not longer than a message can bear.
fn reason(error: &dyn std::error::Error) -> String {
    let text = error.to_string();
    match text.char_indices().nth(LONGEST_REASON) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
