//! Writes the contacts after the last step of a run as CSV.

use std::path::Path;

use carom::{Contact, Partner, Simulation};

use super::{arguments::RunArguments, atomic_file::AtomicFile, command_error::CommandError, walls::quoted};

/// Names of the columns. The partner is a sphere or a wall; the cell of the other is empty.
const COLUMNS: &str = "sphere,partner_sphere,partner_wall,x,y,z,nx,ny,nz,fx,fy,fz,tx,ty,tz,bx,by,bz,gap";

/// Refuses a file name that another output of the run uses too, because one output would be lost.
pub fn check_path(arguments: &RunArguments) -> Result<(), CommandError> {
    let place = |path: &Path| std::path::absolute(path).ok();
    let state = arguments.out.as_ref().map(|folder| folder.join("final.csv"));
    let (metrics, walls) = ((&arguments.metrics, "--metrics"), (&arguments.walls, "--walls"));
    for ((one, option), others) in [
        ((&arguments.contacts, "--contacts"), &[metrics, walls, (&state, "--out")][..]),
        (walls, &[metrics, (&state, "--out")][..]),
    ] {
        let Some(path) = one else { continue };
        for (other, also) in others {
            if other.as_ref().is_some_and(|other| place(other) == place(path)) {
                return Err(CommandError::usage(format!(
                    "{option} {} is a file that {also} writes too; choose another name",
                    path.display()
                )));
            }
        }
    }
    Ok(())
}

/// A contacts file that is not yet written.
pub struct Contacts {
    file: AtomicFile,
}

impl Contacts {
    /// Opens the file under a temporary name.
    pub fn create(path: &Path) -> Result<Self, CommandError> {
        Ok(Self { file: AtomicFile::create(path)? })
    }

    /// Writes the current contacts and renames the file to its final name.
    pub fn write(mut self, simulation: &Simulation) -> Result<(), CommandError> {
        let walls: Vec<String> = simulation.system().all_walls().into_iter().map(|wall| wall.name).collect();
        self.file.line(COLUMNS)?;
        for contact in simulation.contacts()? {
            self.file.line(&line(&contact, &walls))?;
        }
        self.file.commit()
    }
}

fn line(contact: &Contact, walls: &[String]) -> String {
    let Contact { sphere, partner, point, normal, branch, gap, force, torque } = contact;
    let mut line = match partner {
        Partner::Sphere(id) => format!("{sphere},{id},"),
        Partner::Wall(wall) => format!("{sphere},,{}", quoted(&walls[*wall as usize])),
    };
    for vector in [point, normal, force, torque, branch] {
        for value in vector.to_array() {
            line.push(',');
            line.push_str(&value.to_string());
        }
    }
    format!("{line},{gap}")
}
