//! Writes the impacts of a run, one after the other, as CSV or in a binary form.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use carom::{Impact, Partner, Simulation};

use super::arguments::RunArguments;
use super::atomic_file::{AtomicFile, cannot_write};
use super::command_error::CommandError;
use super::walls::quoted;

/// Names of the columns. The partner is a sphere or a wall; the cell of the other is empty.
const COLUMNS: &str = "step,time,sphere,partner_sphere,partner_wall,x,y,z,nx,ny,nz,impulse";

/// Start of a binary file; the last digit is the version of the format.
const MAGIC: &[u8; 8] = b"CAROMEV1";

/// Bytes of a binary record, and of the header before the records.
const RECORD: u32 = 88;
const HEADER: usize = 16;

/// An events file that is being written.
pub struct Events {
    path: PathBuf,
    file: BufWriter<AtomicFile>,
    is_binary: bool,
    /// Names of the walls, as CSV cells.
    walls: Vec<String>,
    count: u64,
}

/// Refuses a file name that another output of the run uses too.
pub fn check_path(arguments: &RunArguments) -> Result<(), CommandError> {
    let Some(path) = &arguments.events else { return Ok(()) };
    let place = |path: &Path| std::path::absolute(path).ok();
    let others = [
        (arguments.metrics.clone(), "--metrics"),
        (arguments.walls.clone(), "--walls"),
        (arguments.contacts.clone(), "--contacts"),
        (arguments.out.as_ref().map(|folder| folder.join("final.csv")), "--out"),
    ];
    for (other, option) in others {
        if other.is_some_and(|other| place(&other) == place(path)) {
            return Err(CommandError::usage(format!(
                "--events {} is a file that {option} writes too; choose another name",
                path.display()
            )));
        }
    }
    Ok(())
}

impl Events {
    /// Opens the file under a temporary name; `.bin` gives binary records, anything else CSV with a header.
    pub fn create(path: &Path, simulation: &Simulation) -> Result<Self, CommandError> {
        let is_binary = path.extension().is_some_and(|e| e == "bin");
        let walls = simulation.system().all_walls().iter().map(|wall| quoted(&wall.name)).collect();
        let file = BufWriter::with_capacity(1 << 16, AtomicFile::create(path)?);
        let mut events = Self { path: path.to_owned(), file, is_binary, walls, count: 0 };
        if is_binary {
            let mut header = [0; HEADER];
            header[..8].copy_from_slice(MAGIC);
            header[8..12].copy_from_slice(&RECORD.to_le_bytes());
            events.put(&header)?;
        } else {
            events.put(format!("{COLUMNS}\n").as_bytes())?;
        }
        Ok(events)
    }

    /// Adds the impacts of the last step.
    pub fn add(&mut self, simulation: &Simulation) -> Result<(), CommandError> {
        let step = simulation.report().step;
        for impact in simulation.impacts() {
            if self.is_binary {
                self.put(&record(step, impact))?;
            } else {
                let line = self.line(step, impact);
                self.put(line.as_bytes())?;
            }
            self.count += 1;
        }
        Ok(())
    }

    /// Renames the file to its final name; returns the number of impacts.
    pub fn finish(self) -> Result<u64, CommandError> {
        let file = self.file.into_inner().map_err(|e| cannot_write(&self.path, e.error()))?;
        file.commit()?;
        Ok(self.count)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), CommandError> {
        self.file.write_all(bytes).map_err(|e| cannot_write(&self.path, &e))
    }

    fn line(&self, step: u64, impact: &Impact) -> String {
        let Impact { time, sphere, partner, point, normal, impulse } = impact;
        let mut line = match partner {
            Partner::Sphere(id) => format!("{step},{time},{sphere},{id},"),
            Partner::Wall(wall) => {
                let name = self.walls.get(*wall as usize).map_or("", String::as_str);
                format!("{step},{time},{sphere},,{name}")
            }
        };
        for value in point.to_array().into_iter().chain(normal.to_array()).chain([*impulse]) {
            line.push(',');
            line.push_str(&value.to_string());
        }
        line.push('\n');
        line
    }
}

// A record, little-endian: step u64, time f64, sphere u32, kind of partner u32 (0 sphere, 1 wall), partner u32, zero u32,
// point, normal and impulse f64.
fn record(step: u64, impact: &Impact) -> Vec<u8> {
    let Impact { time, sphere, partner, point, normal, impulse } = impact;
    let (kind, number) = match partner {
        Partner::Sphere(id) => (0, *id),
        Partner::Wall(wall) => (1, *wall),
    };
    let mut bytes = Vec::with_capacity(RECORD as usize);
    bytes.extend(step.to_le_bytes());
    bytes.extend(time.to_le_bytes());
    [*sphere, kind, number, 0].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    let vectors = point.to_array().into_iter().chain(normal.to_array());
    vectors.chain([*impulse]).for_each(|value| bytes.extend(value.to_le_bytes()));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_its_length_and_order() {
        let impact = Impact {
            time: 0.5,
            sphere: 3,
            partner: Partner::Wall(2),
            point: [1.0, 2.0, 3.0].into(),
            normal: [0.0, 0.0, 1.0].into(),
            impulse: 0.25,
        };
        let bytes = record(7, &impact);
        assert_eq!(bytes.len(), RECORD as usize);
        assert_eq!(bytes[..8], 7u64.to_le_bytes());
        assert_eq!(bytes[8..16], 0.5f64.to_le_bytes());
        assert_eq!(bytes[16..32], [3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[32..40], 1.0f64.to_le_bytes());
        assert_eq!(bytes[80..], 0.25f64.to_le_bytes());
    }
}
