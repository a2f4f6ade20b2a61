//! The states written to the folder of `--out`.

use std::path::{Path, PathBuf};

use carom::{Simulation, Sphere};

use super::atomic_file::cannot_write;
use super::command_error::CommandError;

// Sphere files of both kinds are written: CSV for tables and to go on from, extended XYZ for viewers.
const EXTENSIONS: [&str; 2] = ["csv", "xyz"];

/// A folder for states.
pub struct Output {
    folder: PathBuf,
    every: Option<u64>,
}

impl Output {
    /// Makes the folder where there is none.
    pub fn create(folder: &Path, every: Option<u64>) -> Result<Self, CommandError> {
        std::fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
        Ok(Self { folder: folder.to_owned(), every })
    }

    /// Steps from step `step` to the next one whose state is wanted, if any but the last is.
    pub fn steps_to_next(&self, step: u64) -> Option<u64> {
        self.every.map(|every| every - step % every)
    }

    /// Name of the state after step `step`, where it is wanted.
    pub fn name_between(&self, step: u64) -> Option<String> {
        // Eight digits: names sort like the steps for runs as long as a folder can hold.
        let wanted = self.every.is_some_and(|every| step.is_multiple_of(every));
        wanted.then(|| format!("state-{step:08}"))
    }

    /// Writes the spheres as they are now.
    pub fn write(&self, stem: &str, simulation: &Simulation, spheres: &[Sphere]) -> Result<(), CommandError> {
        for extension in EXTENSIONS {
            let path = self.folder.join(format!("{stem}.{extension}"));
            carom::files::write_spheres(&path, simulation.system(), simulation.time(), spheres)
                .map_err(|e| cannot_write(&path, &e))?;
        }
        Ok(())
    }
}
