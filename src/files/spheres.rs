//! Reads and writes files of spheres: one module for each format.

mod binary;
mod checkpoint;
mod columns;
mod csv;
mod gather;
mod gzip;
mod lammps_data;
mod lammps_dump;
mod npz;
mod ply;
mod table;
mod vtp;
mod write;
mod xyz;

use std::{borrow::Cow, ffi::OsStr, fs, path::Path};

use super::{error::SceneError, frame::Frame};
use crate::scene::{Material, Placed};

pub use write::{WRITTEN_ENDINGS, write_frames, write_series, write_snapshot, write_spheres};

/// Endings of the names of the files that are read.
pub const READ_ENDINGS: [&str; 10] =
    ["csv", "xyz", "lammpstrj", "dump", "data", "lmp", "vtp", "npz", "ply", "safetensors"];

/// Reads all states of a file of spheres; the ending of its name gives the format, one of [`READ_ENDINGS`]. Texts may be
/// compressed, with `.gz` behind the ending.
///
/// `.csv`: a header names the columns `id,x,y,z,vx,vy,vz,radius,mass,wx,wy,wz,fixed,material` in any order; `x`, `y` and
/// `radius` are required. `.xyz`: extended XYZ with the properties `pos` and `radius`, and optionally `id`, `velo`, `mass`,
/// `omega` or `spin`, `fixed` and `species` (the material); other properties are skipped. `Lattice`, `Origin`, `pbc`, `Time` and `Step`
/// are read from its second line. `docs/files.md` in the repository describes all formats.
///
/// No count in a file is trusted before the bytes behind it are there: reading takes at most 80 times the size of the
/// file or, if it is compressed, of its content. The content of a compressed file is at most 100 times as large as the
/// file and 16 MiB; a larger one is an error.
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

/// Name of the format that the ending of a file's name gives; `None` if it is none of a file of spheres.
pub fn format_name(path: &Path) -> Option<&'static str> {
    Ending::of(path).map(|ending| ending.format.name())
}

/// Reads the spheres of the last frame of a file, for a scene with these materials.
///
/// A species of extended XYZ may be an element of chemistry, and a type of LAMMPS may be a number; one that is not a
/// material of the scene is left out.
pub(crate) fn parse_spheres(
    path: &Path,
    bytes: &[u8],
    materials: &[Material],
) -> Result<Vec<Placed>, SceneError> {
    let mut last = Frame::default();
    parse(path, bytes, &mut |frame| last = frame)?;
    let format = Ending::of(path).map(|ending| ending.format);
    if matches!(format, Some(Format::Xyz | Format::LammpsDump | Format::LammpsData)) {
        // These formats separate words by blanks, so a name with blanks was written with underscores.
        let words: Vec<String> = materials.iter().map(|material| table::word(&material.name)).collect();
        for sphere in &mut last.spheres {
            let Some(species) = sphere.material.take() else { continue };
            let place = words.iter().position(|word| *word == species);
            sphere.material = place.map(|place| materials[place].name.clone());
        }
    }
    Ok(last.spheres)
}

/// A fault of a file, with the line, counted from 1, if the file is a text.
struct FileFault {
    line: Option<u64>,
    what: String,
}

impl FileFault {
    fn of(what: String) -> Self {
        Self { line: None, what }
    }

    fn at(line: u64, what: String) -> Self {
        Self { line: Some(line), what }
    }
}

/// A format of files of spheres.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Csv,
    Xyz,
    LammpsDump,
    LammpsData,
    Vtp,
    Npz,
    Ply,
    Checkpoint,
}

impl Format {
    /// Whether a file may hold several frames.
    fn holds_frames(self) -> bool {
        matches!(self, Self::Xyz | Self::LammpsDump)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::Xyz => "extended XYZ",
            Self::LammpsDump => "LAMMPS dump",
            Self::LammpsData => "LAMMPS data",
            Self::Vtp => "VTK poly data",
            Self::Npz => "NumPy archive",
            Self::Ply => "PLY",
            Self::Checkpoint => "checkpoint",
        }
    }

    fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Xyz | Self::LammpsDump | Self::LammpsData)
    }
}

/// The format that the ending of a file's name gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ending {
    format: Format,
    is_packed: bool,
}

impl Ending {
    /// The ending of a name; `None` if it is none of a file of spheres.
    fn of(path: &Path) -> Option<Self> {
        let is_packed = path.extension() == Some(OsStr::new("gz"));
        let stem = if is_packed { path.file_stem().map(Path::new)? } else { path };
        let format = match stem.extension().and_then(OsStr::to_str)? {
            "csv" => Format::Csv,
            "xyz" => Format::Xyz,
            "lammpstrj" | "dump" => Format::LammpsDump,
            "data" | "lmp" => Format::LammpsData,
            "vtp" => Format::Vtp,
            "npz" => Format::Npz,
            "ply" => Format::Ply,
            "safetensors" => Format::Checkpoint,
            _ => return None,
        };
        (format.is_text() || !is_packed).then_some(Self { format, is_packed })
    }

    /// Endings as a text for messages.
    fn list(endings: &[&str]) -> String {
        endings.iter().map(|ending| format!(".{ending}")).collect::<Vec<_>>().join(", ")
    }
}

/// Reads the frames of a file one by one.
fn parse(path: &Path, bytes: &[u8], sink: &mut dyn FnMut(Frame)) -> Result<(), SceneError> {
    let name = path.display().to_string();
    let Some(Ending { format, is_packed }) = Ending::of(path) else {
        return Err(SceneError::invalid(format!(
            "{name}: spheres are read from files with the endings {}; .gz may follow those of texts",
            Ending::list(&READ_ENDINGS)
        )));
    };
    let mut read = || {
        let bytes = match is_packed {
            true => Cow::from(gzip::unpack(bytes).map_err(FileFault::of)?),
            false => Cow::from(bytes),
        };
        let read_text = match format {
            Format::Csv => csv::read,
            Format::Xyz => xyz::read,
            Format::LammpsDump => lammps_dump::read,
            Format::LammpsData => lammps_data::read,
            Format::Vtp => return vtp::read(&bytes, sink),
            Format::Npz => return npz::read(&bytes, sink),
            Format::Ply => return ply::read(&bytes, sink),
            Format::Checkpoint => return checkpoint::read(&bytes, sink),
        };
        let text = std::str::from_utf8(&bytes);
        read_text(text.map_err(|error| FileFault::of(format!("not a text: {error}")))?, sink)
    };
    read().map_err(|FileFault { line, what }| {
        let place = line.map_or(String::new(), |line| format!("{line}:"));
        SceneError::invalid(format!("{name}:{place} {what}"))
    })
}
