//! Reads mesh files.

mod obj;
mod stl;

use std::{fs, path::Path};

use glam::DVec3;

use crate::{Error, Mesh};

/// Longest part of a message that comes from a crate (bytes): it may contain a whole line, and a line may be a whole file.
const LONGEST_REASON: usize = 160;

/// Reads a mesh from a file: `.stl` (binary or text) or `.obj`, in either case.
///
/// Coordinates are read unscaled, to the seven digits of `f32`. From an `.stl` only the corners are read, and several solids
/// become one mesh. From an `.obj` the vertices and faces of all objects and groups are read, and materials are ignored.
/// Faces with more than three corners are divided into triangles from their first corner, which is correct for convex faces.
///
/// # Errors
/// [`Error::Invalid`] with the name of the file if it cannot be read, has another extension or is malformed, or if
/// [`Mesh::new`] rejects its content.
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

/// Parses the content of a mesh file with this name.
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

/// Vertices, and triangles of indices into them.
type Parts = (Vec<DVec3>, Vec<[u32; 3]>);

/// The reason that a crate gives, cut to the longest length for a message.
fn reason(error: &dyn std::error::Error) -> String {
    let text = error.to_string();
    match text.char_indices().nth(LONGEST_REASON) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
