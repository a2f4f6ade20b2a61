//! Reads the file of `carom run --contacts`.

use std::path::Path;

use carom::{Contact, Partner};
use glam::DVec3;

use super::metrics::{Row, Rows};
use crate::cli::command_error::CommandError;

/// Reads all contacts. Walls are numbered in the order in which they occur.
pub fn read(path: &Path) -> Result<Vec<Contact>, CommandError> {
    let mut walls: Vec<String> = vec![];
    let mut contacts = vec![];
    let mut rows = Rows::open(path)?;
    while let Some(row) = rows.next()? {
        contacts.push(contact(&row, &mut walls)?);
    }
    Ok(contacts)
}

fn contact(row: &Row, walls: &mut Vec<String>) -> Result<Contact, CommandError> {
    let vector = |names: [&str; 3]| {
        Ok::<_, CommandError>(DVec3::new(row.number(names[0])?, row.number(names[1])?, row.number(names[2])?))
    };
    let partner = match (row.word("partner_sphere")?, row.word("partner_wall")?) {
        ("", "") => return Err(row.error("a contact without a partner; expected a sphere or a wall")),
        ("", wall) => {
            let known = walls.iter().position(|known| known == wall).unwrap_or_else(|| {
                walls.push(wall.to_owned());
                walls.len() - 1
            });
            Partner::Wall(known as u32)
        }
        _ => Partner::Sphere(row.id("partner_sphere")?),
    };
    let normal = vector(["nx", "ny", "nz"])?;
    // Files have all digits, so a normal of another length is a mistake.
    if (normal.length() - 1.0).abs() > 1e-3 {
        return Err(row.error(&format!("the normal has length {}; expected 1", normal.length())));
    }
    Ok(Contact {
        sphere: row.id("sphere")?,
        partner,
        point: vector(["x", "y", "z"])?,
        normal: normal.normalize(),
        branch: vector(["bx", "by", "bz"])?,
        gap: row.number("gap")?,
        force: vector(["fx", "fy", "fz"])?,
        torque: vector(["tx", "ty", "tz"])?,
    })
}
