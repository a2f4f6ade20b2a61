//! Writes files of spheres atomically.

use std::{
    io::{self, BufWriter, Error, ErrorKind, Write},
    path::Path,
};

use tempfile::NamedTempFile;

use super::{Ending, Format, csv, gzip, lammps_dump, npz, ply, table::Table, vtp, xyz};
use crate::{
    Sphere, System,
    files::{
        atomic::new_file,
        frame::Frame,
        snapshot::{self, Snapshot},
    },
};

/// Endings of the names of the files that are written.
pub const WRITTEN_ENDINGS: [&str; 11] =
    ["csv", "xyz", "lammpstrj", "dump", "vtp", "npz", "ply", "csv.gz", "xyz.gz", "lammpstrj.gz", "dump.gz"];

/// Size of the buffer before a file. A system call for each 8 KiB would cost as much as the numbers.
const BUFFER: usize = 1 << 18;

/// Writes spheres in the format that the ending of the name gives, one of [`WRITTEN_ENDINGS`], with all digits: the file reads
/// back to the same bits.
///
/// The file is written under a temporary name in the same folder and then renamed, so an incomplete file never appears. CSV
/// has the columns `id,x,y,z,vx,vy,vz,radius,mass`; `wx,wy,wz` if any sphere spins; `fixed` if any sphere is held in place;
/// and `material` if there is more than one material. Extended XYZ has the same data as properties, the material as
/// `species`, and the box and the time in its second line.
///
/// # Errors
/// Errors of the file system; [`io::ErrorKind::InvalidInput`] for another ending.
pub fn write_spheres(path: &Path, system: &System, time: f64, spheres: &[Sphere]) -> io::Result<()> {
    let bounds = snapshot::bounds(system, spheres);
    let names = snapshot::material_names(system);
    write(path, &[Table::new(Some(time), None, Some(bounds), names.into(), spheres.into())])
}

/// Writes a snapshot, as [`write_spheres`] does.
///
/// # Errors
/// As [`write_spheres`].
pub fn write_snapshot(path: &Path, snapshot: &Snapshot) -> io::Result<()> {
    write(path, &[Table::of_snapshot(snapshot)])
}

/// Writes frames, as [`write_spheres`] does. Extended XYZ and LAMMPS dumps hold any number of frames, the other formats one.
///
/// Spheres without an id are numbered on after the largest id of their frame.
///
/// # Errors
/// As [`write_spheres`]; [`io::ErrorKind::InvalidInput`] also if the format does not hold this number of frames, or if only
/// some spheres of a frame have a mass.
pub fn write_frames(path: &Path, frames: &[Frame]) -> io::Result<()> {
    let tables: Vec<Table> = frames.iter().map(Table::of_frame).collect::<Result<_, _>>()?;
    write(path, &tables)
}

/// Writes the text of a ParaView series (`.pvd`), which gives `.vtp` files their times. The names are relative to the folder
/// of the series.
///
/// # Errors
/// Errors of the file system.
pub fn write_series(path: &Path, files: &[(f64, String)]) -> io::Result<()> {
    write_aside(path, |file| file.write_all(vtp::series(files).as_bytes()))
}

fn write(path: &Path, tables: &[Table]) -> io::Result<()> {
    let invalid = |what: String| Error::new(ErrorKind::InvalidInput, format!("{}: {what}", path.display()));
    let ending = Ending::of(path).filter(|ending| ending.format != Format::LammpsData);
    let Some(Ending { format, is_packed }) = ending else {
        return Err(invalid(format!("spheres are written as {}", Ending::list(&WRITTEN_ENDINGS))));
    };
    if tables.len() != 1 && !format.holds_frames() {
        return Err(invalid(format!(
            "{} frames do not fit into a file of one frame; choose one, or write .xyz or .lammpstrj",
            tables.len()
        )));
    }
    write_aside(path, |file| {
        let write: fn(&mut dyn Write, &Table) -> io::Result<()> = match format {
            Format::Csv => csv::write,
            Format::Xyz => xyz::write,
            Format::LammpsDump => lammps_dump::write,
            Format::Vtp => vtp::write,
            Format::Ply => ply::write,
            Format::Npz => return npz::write(file, &tables[0]),
            Format::LammpsData => unreachable!("it is not among the endings"),
        };
        if is_packed {
            let mut packer = BufWriter::with_capacity(BUFFER, gzip::packer(file));
            tables.iter().try_for_each(|table| write(&mut packer, table))?;
            packer.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
            return Ok(());
        }
        tables.iter().try_for_each(|table| write(file, table))
    })
}

/// Writes a file under a temporary name in the same folder, and renames it when it is complete.
fn write_aside(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<NamedTempFile>) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(BUFFER, new_file(path)?);
    write(&mut file)?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.persist(path)?;
    Ok(())
}
