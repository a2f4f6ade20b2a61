//! What the walls felt in every step, as CSV.

use std::path::Path;

use carom::{Backend, Simulation};

use super::{aside::Aside, failure::Failure};

/// Names of the columns: one line for each wall and step.
const COLUMNS: &str = "step,time,wall,fx,fy,fz,tx,ty,tz,power";

/// A file of wall loads in the making.
pub struct Walls {
    aside: Aside,
    names: Vec<String>,
}

impl Walls {
    /// Opens the file aside.
    pub fn create(path: &Path, simulation: &Simulation) -> Result<Self, Failure> {
        if simulation.backend() == Backend::Exact {
            return Err(Failure::usage(format!(
                "--walls is for cpu and gpu; {} does not tell what walls feel",
                simulation.backend().name()
            )));
        }
        let mut aside = Aside::create(path)?;
        aside.line(COLUMNS)?;
        let names = simulation.system().all_walls().into_iter().map(|wall| wall.name).collect();
        Ok(Self { aside, names })
    }

    /// Adds the lines of a step.
    pub fn add(&mut self, simulation: &Simulation) -> Result<(), Failure> {
        let report = simulation.report();
        for (name, load) in self.names.iter().zip(simulation.wall_loads()) {
            let mut line = format!("{},{},{}", report.step, report.time, quoted(name));
            for value in load.force.to_array().into_iter().chain(load.torque.to_array()).chain([load.power]) {
                line.push(',');
                line.push_str(&value.to_string());
            }
            self.aside.line(&line)?;
        }
        Ok(())
    }

    /// Gives the file its name.
    pub fn finish(self) -> Result<(), Failure> {
        self.aside.commit()
    }
}

/// A name as a cell of CSV.
pub fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}
