//! `carom convert`: reads a file of spheres and writes it in another format.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use carom::files::{Frame, read_frames, write_frames};
use clap::Args;

use super::atomic_file::cannot_write;
use super::command_error::{CommandError, Exit};
use super::screen::Screen;
use super::text::counted;

const EXAMPLES: &str = "\
The endings give the formats: .csv, .xyz, .lammpstrj, .dump, .vtp, .npz, .ply are read and written, LAMMPS data files (.data,
.lmp) are read. .gz may follow the ending of a text.

Examples:
  carom convert out/final.xyz final.vtp                 a state for ParaView
  carom convert packing.data packing.csv                a packing of LAMMPS as a table
  carom convert run.lammpstrj.gz last.npz --frame -1    the last frame for NumPy";

/// Arguments of `carom convert`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ConvertArguments {
    /// The file to read.
    pub input: PathBuf,
    /// The file to write.
    pub output: PathBuf,
    /// Take only this frame, counted from 0; negative numbers count from the end. Default: all frames.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub frame: Option<i64>,
}

/// Runs `carom convert`.
pub fn convert(arguments: &ConvertArguments) -> Result<Exit, CommandError> {
    let ConvertArguments { input, output, frame } = arguments;
    let mut frames = read(input)?;
    if let Some(wanted) = *frame {
        let index = frame_index(input, &frames, wanted)?;
        frames = vec![frames.swap_remove(index)];
    }
    write_frames(output, &frames).map_err(|error| match error.kind() {
        // The file could be written, but not with this content.
        ErrorKind::InvalidInput => CommandError::usage(format!("{error}{}", hint(&frames))),
        _ => cannot_write(output, &error),
    })?;
    let spheres = frames.iter().map(|frame| frame.spheres.len() as u64).sum();
    Screen::new(false, false).line(&format!(
        "{}: {}, {}",
        output.display(),
        counted(frames.len() as u64, "frame"),
        counted(spheres, "sphere")
    ));
    Ok(Exit::Done)
}

fn hint(frames: &[Frame]) -> &'static str {
    if frames.len() > 1 { " (--frame -1 takes the last one)" } else { "" }
}

/// Reads all frames of a file.
pub fn read(path: &Path) -> Result<Vec<Frame>, CommandError> {
    read_frames(path).map_err(|error| CommandError::usage(error.to_string()))
}

/// The index of a frame that may be counted from the end.
pub fn frame_index(path: &Path, frames: &[Frame], wanted: i64) -> Result<usize, CommandError> {
    let count = frames.len() as i64;
    let index = if wanted < 0 { count.saturating_add(wanted) } else { wanted };
    if (0..count).contains(&index) {
        return Ok(index as usize);
    }
    Err(CommandError::usage(format!(
        "{}: there is no frame {wanted}; the frames are 0 to {}, or -{count} to -1",
        path.display(),
        count - 1
    )))
}
