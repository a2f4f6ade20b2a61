//! Writes sphere states into the folder given by `--out`.

use std::path::{Path, PathBuf};

use carom::{Simulation, Sphere};

use super::atomic_file::cannot_write;
use super::command_error::CommandError;

// Both kinds of sphere files: CSV for tables and as input, extended XYZ for other viewers.
const EXTENSIONS: [&str; 2] = ["csv", "xyz"];

/// A folder for states.
pub struct Output {
    folder: PathBuf,
    every: Option<u64>,
}

impl Output {
    /// Creates the folder if it does not exist.
    pub fn create(folder: &Path, every: Option<u64>) -> Result<Self, CommandError> {
        std::fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
        Ok(Self { folder: folder.to_owned(), every })
    }

    /// Number of steps from step `step` to the next intermediate state; `None` without intermediate states.
    pub fn steps_to_next(&self, step: u64) -> Option<u64> {
        self.every.map(|every| every - step % every)
    }

    /// Name of the state after step `step`, if it is to be written.
    pub fn name_between(&self, step: u64) -> Option<String> {
        // Eight digits: names sort in the order of the steps for all practical lengths of a run.
        let wanted = self.every.is_some_and(|every| step.is_multiple_of(every));
        wanted.then(|| format!("state-{step:08}"))
    }

    /// Writes the given spheres.
    pub fn write(&self, stem: &str, simulation: &Simulation, spheres: &[Sphere]) -> Result<(), CommandError> {
        for extension in EXTENSIONS {
            let path = self.folder.join(format!("{stem}.{extension}"));
            carom::files::write_spheres(&path, simulation.system(), simulation.time(), spheres)
                .map_err(|e| cannot_write(&path, &e))?;
        }
        Ok(())
    }
}
