//! Comma-separated values: a header and a line for each sphere.

use std::io::{self, Write};

use csv::{ReaderBuilder, StringRecord, Trim};

use super::{FileFault, columns::Layout, table::Table};
use crate::{Sphere, files::frame::Frame};

/// Reads the only frame of a file.
pub(super) fn read(text: &str, sink: &mut dyn FnMut(Frame)) -> Result<(), FileFault> {
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text.as_bytes());
    let layout = match reader.headers() {
        Ok(header) => Layout::new(header.iter()).map_err(|what| FileFault::at(1, what))?,
        Err(error) => return Err(bad_line(&error)),
    };
    let mut spheres = vec![];
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| bad_line(&error))? {
        let sphere = layout.read(|place| record.get(place));
        spheres.push(sphere.map_err(|what| {
            let line = record.position().map_or(0, csv::Position::line);
            FileFault::at(line, what)
        })?);
    }
    sink(Frame { spheres, ..Frame::default() });
    Ok(())
}

fn bad_line(error: &csv::Error) -> FileFault {
    let line = error.position().map_or(1, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            FileFault::at(line, format!("{len} values; the header names {expected_len}"))
        }
        _ => FileFault::at(line, error.to_string()),
    }
}

/// Writes a state.
pub(super) fn write(out: &mut dyn Write, table: &Table) -> io::Result<()> {
    write!(out, "id,x,y,z,vx,vy,vz,radius")?;
    for (needed, columns) in [
        (table.has_mass, ",mass"),
        (table.has_spin, ",wx,wy,wz"),
        (table.has_fixed, ",fixed"),
        (table.has_material, ",material"),
    ] {
        if needed {
            write!(out, "{columns}")?;
        }
    }
    writeln!(out)?;
    let cells: Vec<String> = table.materials.iter().map(|name| quoted(name)).collect();
    for sphere in table.spheres.iter() {
        let Sphere { id, position: p, velocity: v, spin: w, radius, mass, .. } = sphere;
        // `{:?}` prints the fewest digits that read back as the same f64.
        write!(out, "{id},{:?},{:?},{:?},{:?},{:?},{:?},{radius:?}", p.x, p.y, p.z, v.x, v.y, v.z)?;
        if table.has_mass {
            write!(out, ",{mass:?}")?;
        }
        if table.has_spin {
            write!(out, ",{:?},{:?},{:?}", w.x, w.y, w.z)?;
        }
        if table.has_fixed {
            write!(out, ",{}", u8::from(sphere.fixed))?;
        }
        if table.has_material {
            write!(out, ",{}", cells[usize::from(sphere.material)])?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// A name as a CSV cell.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) || name.trim() != name {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}
