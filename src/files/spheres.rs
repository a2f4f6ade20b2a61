//! Reads and writes files of spheres: one module for each format.

mod columns;
mod csv;
mod write;
mod xyz;

use std::{ffi::OsStr, fs, path::Path};

use super::{error::SceneError, frame::Frame};
use crate::scene::{Material, Placed};

pub use write::write_spheres;

/// Reads all states of a file of spheres; the ending of its name gives the format.
///
/// `.csv`: a header names the columns `id,x,y,z,vx,vy,vz,radius,mass,wx,wy,wz,fixed,material` in any order; `x`, `y` and
/// `radius` are required. `.xyz`: extended XYZ with the properties `pos` and `radius`, and optionally `id`, `velo`, `mass`,
/// `spin`, `fixed` and `species` (the material); other properties are skipped. `Lattice`, `Origin`, `pbc`, `Time` and `Step`
/// are read from its second line. A `.csv` file has one frame without time and box, an `.xyz` file any number of frames.
///
/// # Errors
/// [`SceneError`] if the file is missing or if its content is invalid; the message names the file and, in a text, the line.
pub fn read_frames(path: &Path) -> Result<Vec<Frame>, SceneError> {
    let bytes = fs::read(path)
        .map_err(|error| SceneError::missing(format!("cannot read {}: {error}", path.display())))?;
    let mut frames = vec![];
    parse(path, &bytes, &mut |frame| frames.push(frame))?;
    Ok(frames)
}

/// Reads the spheres of the last frame of a file, for a scene with these materials.
///
/// A species of an `.xyz` file may be an element of chemistry; one that is not a material of the scene is left out.
pub(crate) fn parse_spheres(
    path: &Path,
    bytes: &[u8],
    materials: &[Material],
) -> Result<Vec<Placed>, SceneError> {
    let mut last = Frame::default();
    parse(path, bytes, &mut |frame| last = frame)?;
    if path.extension() == Some(OsStr::new("xyz")) {
        for sphere in &mut last.spheres {
            sphere.material.take_if(|species| !materials.iter().any(|m| m.name == *species));
        }
    }
    Ok(last.spheres)
}

/// What is wrong with a file, and in which line, from 1, of a text.
struct FileFault {
    line: Option<u64>,
    what: String,
}

impl FileFault {
    fn at(line: u64, what: String) -> Self {
        Self { line: Some(line), what }
    }
}

/// Reads the frames of a file one by one.
fn parse(path: &Path, bytes: &[u8], sink: &mut dyn FnMut(Frame)) -> Result<(), SceneError> {
    let name = path.display().to_string();
    let read = match path.extension().and_then(OsStr::to_str) {
        Some("csv") => csv::read,
        Some("xyz") => xyz::read,
        _ => return Err(SceneError::invalid(format!("{name}: spheres are read from .csv and .xyz files"))),
    };
    let text = std::str::from_utf8(bytes)
        .map_err(|error| SceneError::invalid(format!("{name}: not a text: {error}")))?;
    read(text, sink).map_err(|FileFault { line, what }| {
        let place = line.map_or(String::new(), |line| format!("{line}:"));
        SceneError::invalid(format!("{name}:{place} {what}"))
    })
}
