//! Writes the forces on walls in every step as CSV.

use std::path::Path;

use carom::{Backend, Simulation};

use super::{atomic_file::AtomicFile, command_error::CommandError};

/// Names of the columns: one line for each wall and step.
const COLUMNS: &str = "step,time,wall,fx,fy,fz,tx,ty,tz,power";

/// A wall forces file that is being written.
pub struct Walls {
    file: AtomicFile,
    names: Vec<String>,
}

impl Walls {
    /// Opens the file under a temporary name.
    pub fn create(path: &Path, simulation: &Simulation) -> Result<Self, CommandError> {
        if simulation.backend() == Backend::Exact {
            return Err(CommandError::usage(format!(
                "--walls is for cpu and gpu; {} does not report the forces on walls",
                simulation.backend().name()
            )));
        }
        let mut file = AtomicFile::create(path)?;
        file.line(COLUMNS)?;
        let names = simulation.system().all_walls().into_iter().map(|wall| wall.name).collect();
        Ok(Self { file, names })
    }

    /// Adds the lines of a step.
    pub fn add(&mut self, simulation: &Simulation) -> Result<(), CommandError> {
        let report = simulation.report();
        for (name, load) in self.names.iter().zip(simulation.wall_loads()) {
            let mut line = format!("{},{},{}", report.step, report.time, quoted(name));
            for value in load.force.to_array().into_iter().chain(load.torque.to_array()).chain([load.power]) {
                line.push(',');
                line.push_str(&value.to_string());
            }
            self.file.line(&line)?;
        }
        Ok(())
    }

    /// Renames the file to its final name.
    pub fn finish(self) -> Result<(), CommandError> {
        self.file.commit()
    }
}

/// A name as a CSV cell.
pub fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}
