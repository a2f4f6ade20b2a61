//! The states written to the folder of `--out`.

use std::path::{Path, PathBuf};

use carom::Simulation;

use super::aside::cannot_write;
use super::failure::Failure;

// Sphere files of both kinds are written: CSV for tables and to go on from, extended XYZ for viewers.
const EXTENSIONS: [&str; 2] = ["csv", "xyz"];

/// A folder for states.
pub struct Output {
    folder: PathBuf,
    every: Option<u64>,
}

impl Output {
    /// Makes the folder where there is none.
    pub fn create(folder: &Path, every: Option<u64>) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
        Ok(Self { folder: folder.to_owned(), every })
    }

    /// Writes the state after every n-th step, if asked for.
    pub fn between(&self, simulation: &Simulation) -> Result<(), Failure> {
        match self.every {
            // Eight digits: names sort like the steps for runs as long as a folder can hold.
            Some(every) if simulation.steps().is_multiple_of(every) => {
                self.write(&format!("state-{:08}", simulation.steps()), simulation)
            }
            _ => Ok(()),
        }
    }

    /// Writes the state a run ends with.
    pub fn write(&self, stem: &str, simulation: &Simulation) -> Result<(), Failure> {
        let spheres = simulation.spheres();
        for extension in EXTENSIONS {
            let path = self.folder.join(format!("{stem}.{extension}"));
            carom::files::write_spheres(&path, simulation.system(), simulation.time(), &spheres)
                .map_err(|e| cannot_write(&path, &e))?;
        }
        Ok(())
    }
}
