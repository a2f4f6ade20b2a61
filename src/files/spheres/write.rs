//! Writes sphere files atomically.

use std::{
    ffi::OsStr,
    fs,
    io::{self, BufWriter, Write},
    path::Path,
};

use glam::DVec3;

use crate::{Side, Sphere, System};

/// Writes spheres as `.csv` or extended `.xyz`, by the extension, with all digits: the file reads back to the same bits.
///
/// The file is written under a temporary name in the same folder and then renamed, so an incomplete file never appears. CSV
/// has the columns `id,x,y,z,vx,vy,vz,radius,mass`; `wx,wy,wz` if any sphere spins; `fixed` if any sphere is held in place;
/// and `material` if there is more than one material. XYZ has the same data as properties, the material as `species`, and
/// the box and the time in its second line.
///
/// # Errors
/// Errors of the file system; [`io::ErrorKind::InvalidInput`] for another extension.
pub fn write_spheres(path: &Path, system: &System, time: f64, spheres: &[Sphere]) -> io::Result<()> {
    let write: fn(&mut dyn Write, &System, f64, &[Sphere]) -> io::Result<()> =
        match path.extension().and_then(OsStr::to_str) {
            Some("csv") => csv,
            Some("xyz") => xyz,
            _ => {
                let what = format!("{}: spheres are written as .csv or .xyz", path.display());
                return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
            }
        };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // Temporary files are private; the result gets the usual permissions under the user's umask.
    #[cfg(unix)]
    builder.permissions(<fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666));
    let mut file = BufWriter::new(builder.tempfile_in(folder)?);
    write(&mut file, system, time, spheres)?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.persist(path)?;
    Ok(())
}

/// Which optional columns are needed.
struct Extras {
    spin: bool,
    fixed: bool,
    material: bool,
}

impl Extras {
    fn new(system: &System, spheres: &[Sphere]) -> Self {
        Self {
            spin: spheres.iter().any(|s| s.spin != DVec3::ZERO),
            fixed: spheres.iter().any(|s| s.fixed),
            material: system.materials.len() > 1,
        }
    }
}

// `{:?}` prints the fewest digits that read back as the same f64.
fn csv(out: &mut dyn Write, system: &System, _: f64, spheres: &[Sphere]) -> io::Result<()> {
    let extras = Extras::new(system, spheres);
    write!(out, "id,x,y,z,vx,vy,vz,radius,mass")?;
    for (needed, columns) in
        [(extras.spin, ",wx,wy,wz"), (extras.fixed, ",fixed"), (extras.material, ",material")]
    {
        if needed {
            write!(out, "{columns}")?;
        }
    }
    writeln!(out)?;
    for sphere in spheres {
        let Sphere { id, position: p, velocity: v, spin: w, radius, mass, .. } = sphere;
        write!(out, "{id},{:?},{:?},{:?},{:?},{:?},{:?},{radius:?},{mass:?}", p.x, p.y, p.z, v.x, v.y, v.z)?;
        if extras.spin {
            write!(out, ",{:?},{:?},{:?}", w.x, w.y, w.z)?;
        }
        if extras.fixed {
            write!(out, ",{}", u8::from(sphere.fixed))?;
        }
        if extras.material {
            write!(out, ",{}", quoted(system.materials.name(sphere.material)))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn xyz(out: &mut dyn Write, system: &System, time: f64, spheres: &[Sphere]) -> io::Result<()> {
    let extras = Extras::new(system, spheres);
    writeln!(out, "{}", spheres.len())?;
    let (low, high) = extent(system, spheres);
    let size = high - low;
    let pbc = [0, 1, 2].map(|axis| if system.period(axis).is_some() { "T" } else { "F" });
    write!(
        out,
        "Lattice=\"{:?} 0.0 0.0 0.0 {:?} 0.0 0.0 0.0 {:?}\" Origin=\"{:?} {:?} {:?}\" ",
        size.x, size.y, size.z, low.x, low.y, low.z,
    )?;
    write!(out, "Properties=id:I:1:species:S:1:pos:R:3:velo:R:3:radius:R:1:mass:R:1")?;
    for (needed, property) in [(extras.spin, ":spin:R:3"), (extras.fixed, ":fixed:L:1")] {
        if needed {
            write!(out, "{property}")?;
        }
    }
    writeln!(out, " pbc=\"{}\" Time={time:?}", pbc.join(" "))?;
    let words = |name: &str| name.split_whitespace().collect::<Vec<_>>().join("_");
    let species: Vec<String> =
        (0..system.materials.len()).map(|index| words(system.materials.name(index as u16))).collect();
    for sphere in spheres {
        let Sphere { id, position: p, velocity: v, spin: w, radius, mass, .. } = sphere;
        let species = &species[usize::from(sphere.material)];
        write!(out, "{id} {species} {:?} {:?} {:?} {:?} {:?} {:?} ", p.x, p.y, p.z, v.x, v.y, v.z)?;
        write!(out, "{radius:?} {mass:?}")?;
        if extras.spin {
            write!(out, " {:?} {:?} {:?}", w.x, w.y, w.z)?;
        }
        if extras.fixed {
            write!(out, " {}", if sphere.fixed { "T" } else { "F" })?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The box; on open axes the extent of the spheres.
fn extent(system: &System, spheres: &[Sphere]) -> (DVec3, DVec3) {
    let (mut low, mut high) = (system.bounds.min, system.bounds.max);
    for axis in 0..3 {
        if system.bounds.sides[axis] == Side::Open && !spheres.is_empty() {
            let ends = |s: &Sphere| (s.position[axis] - s.radius, s.position[axis] + s.radius);
            low[axis] = spheres.iter().map(|s| ends(s).0).fold(f64::INFINITY, f64::min);
            high[axis] = spheres.iter().map(|s| ends(s).1).fold(f64::NEG_INFINITY, f64::max);
        }
    }
    (low, high)
}

/// A name as a CSV cell.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) || name.trim() != name {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}
