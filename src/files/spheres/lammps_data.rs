//! LAMMPS data files (`read_data`) of `atom_style sphere`: a header, and sections of lines.

use glam::DVec3;
use rustc_hash::FxHashMap;

use super::{FileFault, columns::check_sizes};
use crate::{
    files::frame::{Frame, FrameBounds},
    scene::Placed,
};

/// Section that a line belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    Header,
    Labels,
    Atoms,
    Velocities,
    /// One that is not read, as `Pair Coeffs`.
    Other,
}

/// The part of the file that has been read.
#[derive(Default)]
struct Reader {
    count: Option<u64>,
    min: [Option<f64>; 3],
    max: [Option<f64>; 3],
    is_tilted: bool,
    labels: FxHashMap<String, String>,
    spheres: Vec<Placed>,
    /// Index of the sphere with an id.
    places: FxHashMap<u32, usize>,
    has_atoms: bool,
}

/// Reads the only frame of a file.
pub(super) fn read(text: &str, sink: &mut dyn FnMut(Frame)) -> Result<(), FileFault> {
    let mut reader = Reader::default();
    let mut section = Section::Header;
    let mut words = vec![];
    // LAMMPS skips the first line.
    for (number, line) in (1..).zip(text.lines()).skip(1) {
        let (content, comment) = line.split_once('#').unwrap_or((line, ""));
        let content = content.trim();
        if content.is_empty() {
            continue;
        }
        let read = if content.starts_with(|c: char| c.is_ascii_alphabetic()) {
            reader.section(content, comment.trim()).map(|next| section = next)
        } else {
            words.clear();
            words.extend(content.split_ascii_whitespace());
            match section {
                Section::Header => reader.header(&words),
                Section::Labels => reader.label(&words),
                Section::Atoms => reader.atom(&words),
                Section::Velocities => reader.velocity(&words),
                Section::Other => Ok(()),
            }
        };
        read.map_err(|what| FileFault::at(number, what))?;
    }
    reader.finish(sink)
}

fn number(word: &str, name: &str) -> Result<f64, String> {
    match word.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("{name} is {word:?}; expected a finite number")),
    }
}

fn numbers<const N: usize>(words: &[&str], names: [&str; N]) -> Result<[f64; N], String> {
    let mut found = [0.0; N];
    for ((value, word), name) in found.iter_mut().zip(words).zip(names) {
        *value = number(word, name)?;
    }
    Ok(found)
}

fn whole_id(word: &str) -> Result<u32, String> {
    word.parse().map_err(|_| format!("id is {word:?}; expected a whole number from 0 to {}", u32::MAX))
}

impl Reader {
    /// The section that begins with this line.
    fn section(&mut self, name: &str, comment: &str) -> Result<Section, String> {
        Ok(match name {
            "Atoms" => {
                if !["", "sphere"].contains(&comment) {
                    return Err(format!("the atom style is {comment}; expected sphere"));
                }
                self.has_atoms = true;
                Section::Atoms
            }
            "Velocities" => Section::Velocities,
            "Atom Type Labels" => Section::Labels,
            _ => Section::Other,
        })
    }

    fn header(&mut self, words: &[&str]) -> Result<(), String> {
        match words {
            [count, "atoms"] => {
                let count = count.parse();
                self.count = Some(count.map_err(|_| format!("{words:?}; expected the number of atoms"))?);
            }
            [low, high, ends @ ("xlo" | "ylo" | "zlo"), _] => {
                let axis = usize::from(ends.as_bytes()[0] - b'x');
                let [low, high] = numbers(&[low, high], ["the lower end", "the upper end"])?;
                (self.min[axis], self.max[axis]) = (Some(low), Some(high));
            }
            [tilts @ .., "xy", "xz", "yz"] => {
                self.is_tilted = tilts.iter().any(|tilt| tilt.parse::<f64>() != Ok(0.0));
            }
            // Edge vectors of a box in any direction.
            [.., "avec" | "bvec" | "cvec"] => self.is_tilted = true,
            _ => {}
        }
        Ok(())
    }

    fn label(&mut self, words: &[&str]) -> Result<(), String> {
        if let [kind, name, ..] = words {
            self.labels.insert((*kind).to_owned(), (*name).to_owned());
        }
        Ok(())
    }

    /// `id type diameter density x y z`, and perhaps the periodic images, which the positions do not need.
    fn atom(&mut self, words: &[&str]) -> Result<(), String> {
        if ![7, 10].contains(&words.len()) {
            let what = "expected id type diameter density x y z, and perhaps three periodic images";
            return Err(format!("{} values; {what}", words.len()));
        }
        let names = ["diameter", "density", "x", "y", "z"];
        let [diameter, density, x, y, z] = numbers(&words[2..7], names)?;
        let (id, radius) = (whole_id(words[0])?, 0.5 * diameter);
        let sphere = Placed {
            id: Some(id),
            position: DVec3::new(x, y, z),
            radius,
            mass: Some(density * 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3)),
            material: Some(self.labels.get(words[1]).cloned().unwrap_or_else(|| words[1].to_owned())),
            ..Placed::default()
        };
        check_sizes(&sphere)?;
        self.places.insert(id, self.spheres.len());
        self.spheres.push(sphere);
        Ok(())
    }

    /// `id vx vy vz wx wy wz`
    fn velocity(&mut self, words: &[&str]) -> Result<(), String> {
        if words.len() != 7 && words.len() != 4 {
            return Err(format!("{} values; expected id vx vy vz wx wy wz", words.len()));
        }
        let id = whole_id(words[0])?;
        let place = self.places.get(&id).ok_or_else(|| format!("no atom before has the id {id}"))?;
        let [vx, vy, vz, wx, wy, wz] = numbers(&words[1..], ["vx", "vy", "vz", "wx", "wy", "wz"])?;
        self.spheres[*place].velocity = DVec3::new(vx, vy, vz);
        self.spheres[*place].spin = DVec3::new(wx, wy, wz);
        Ok(())
    }

    fn finish(self, sink: &mut dyn FnMut(Frame)) -> Result<(), FileFault> {
        if !self.has_atoms {
            return Err(FileFault::of("there is no section Atoms; expected a LAMMPS data file".into()));
        }
        let found = self.spheres.len() as u64;
        if let Some(count) = self.count.filter(|count| *count != found) {
            return Err(FileFault::of(format!("the header names {count} atoms; there are {found}")));
        }
        let corner = |ends: [Option<f64>; 3]| match ends {
            [Some(x), Some(y), Some(z)] => Some(DVec3::new(x, y, z)),
            _ => None,
        };
        // The file does not say which axes are periodic; all are by default.
        let bounds = corner(self.min).zip(corner(self.max));
        let bounds = bounds.filter(|_| !self.is_tilted);
        let bounds = bounds.and_then(|(min, max)| FrameBounds::new(min, max, [true; 3]));
        sink(Frame { bounds, spheres: self.spheres, ..Frame::default() });
        Ok(())
    }
}
