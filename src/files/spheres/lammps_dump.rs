//! LAMMPS text dumps (`dump custom`): for each frame some `ITEM:` sections and a line for each sphere.

use std::io::{self, Write};

use glam::DVec3;

use super::{
    FileFault,
    columns::{COLUMNS, Layout, column},
    table::Table,
};
use crate::{
    Sphere,
    files::frame::{Frame, FrameBounds},
    scene::Placed,
};

/// Columns of a dump with their names in [`COLUMNS`].
const NAMES: [(&str, &str); 19] = [
    ("id", "id"),
    ("x", "x"),
    ("y", "y"),
    ("z", "z"),
    ("xu", "x"),
    ("yu", "y"),
    ("zu", "z"),
    ("vx", "vx"),
    ("vy", "vy"),
    ("vz", "vz"),
    ("radius", "radius"),
    ("mass", "mass"),
    ("omegax", "wx"),
    ("omegay", "wy"),
    ("omegaz", "wz"),
    ("fixed", "fixed"),
    // The name of the material; without names its number.
    ("element", "material"),
    ("type", "material"),
    // Twice the radius.
    ("diameter", "radius"),
];

/// Numbered lines of a text.
struct Lines<'t> {
    lines: std::str::Lines<'t>,
    /// Number of the last line, from 1.
    number: u64,
}

impl<'t> Lines<'t> {
    fn next(&mut self) -> Option<&'t str> {
        self.number += 1;
        self.lines.next()
    }

    /// The next line, which is `what`.
    fn expect(&mut self, what: &str) -> Result<&'t str, FileFault> {
        let line = self.next();
        line.ok_or_else(|| self.fault(format!("the file ends; expected {what}")))
    }

    fn fault(&self, what: String) -> FileFault {
        FileFault::at(self.number, what)
    }
}

/// The items before the spheres of a frame.
#[derive(Default)]
struct Head {
    time: Option<f64>,
    step: Option<u64>,
    count: Option<u64>,
    /// Corners of the box; a box with tilted edges has none.
    bounds: Option<FrameBounds>,
}

/// Reads all frames of a file.
pub(super) fn read(text: &str, sink: &mut dyn FnMut(Frame)) -> Result<(), FileFault> {
    let mut lines = Lines { lines: text.lines(), number: 0 };
    let mut head = Head::default();
    let mut frames = 0_u64;
    while let Some(line) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        let Some(item) = line.trim().strip_prefix("ITEM:").map(str::trim) else {
            let what = format!("{line:?} is no section of a dump; expected ITEM: ...");
            return Err(lines.fault(what));
        };
        if let Some(kinds) = item.strip_prefix("BOX BOUNDS") {
            head.bounds = bounds(&mut lines, kinds)?;
        } else if let Some(columns) = item.strip_prefix("ATOMS") {
            let head = std::mem::take(&mut head);
            sink(frame(&mut lines, columns, head)?);
            frames += 1;
        } else {
            let value = lines.expect(&format!("the value of ITEM: {item}"))?.trim();
            match item {
                "TIMESTEP" => head.step = Some(whole(&lines, item, value)?),
                "NUMBER OF ATOMS" => head.count = Some(whole(&lines, item, value)?),
                "TIME" => head.time = value.parse().ok().filter(|time: &f64| time.is_finite()),
                // The name of the units, for one.
                _ => {}
            }
        }
    }
    match frames {
        0 => Err(lines.fault("there is no ITEM: ATOMS; expected a LAMMPS dump".into())),
        _ => Ok(()),
    }
}

fn whole(lines: &Lines, item: &str, value: &str) -> Result<u64, FileFault> {
    value.parse().map_err(|_| lines.fault(format!("ITEM: {item} is {value:?}; expected a whole number")))
}

/// Reads the three lines of the box. `header` says what its ends are, as in `pp pp ff`; the words `xy xz yz` before that
/// announce the tilts of its edges.
fn bounds(lines: &mut Lines, header: &str) -> Result<Option<FrameBounds>, FileFault> {
    let is_kind = |word: &&str| word.len() == 2 && word.chars().all(|c| "pfsm".contains(c));
    let kinds: Vec<&str> = header.split_whitespace().filter(is_kind).collect();
    let (mut min, mut max, mut is_upright) = (DVec3::ZERO, DVec3::ZERO, true);
    for axis in 0..3 {
        let line = lines.expect("the ends of the box")?;
        let numbers: Option<Vec<f64>> =
            line.split_whitespace().map(|word| word.parse().ok().filter(|x: &f64| x.is_finite())).collect();
        let Some([low, high, tilts @ ..]) = numbers.as_deref() else {
            return Err(lines.fault(format!("the box is {line:?}; expected two numbers")));
        };
        (min[axis], max[axis]) = (*low, *high);
        // One tilt on each line, or the edge vectors of a box in any direction.
        is_upright &= matches!(tilts, [] | [0.0]);
    }
    let periodic = [0, 1, 2].map(|axis| kinds.get(axis).is_none_or(|kind| *kind == "pp"));
    Ok(FrameBounds::new(min, max, periodic).filter(|_| is_upright))
}

/// Reads the spheres of a frame.
fn frame(lines: &mut Lines, columns: &str, head: Head) -> Result<Frame, FileFault> {
    let names: Vec<&str> = columns.split_whitespace().collect();
    let count = head.count.ok_or_else(|| lines.fault("ITEM: NUMBER OF ATOMS is missing".into()))?;
    let reader = Columns::new(&names, head.bounds).map_err(|what| lines.fault(what))?;
    let mut spheres = vec![];
    let mut words = vec![];
    for done in 0..count {
        let Some(line) = lines.next() else {
            return Err(lines.fault(format!("the file ends after {done} of {count} spheres")));
        };
        words.clear();
        words.extend(line.split_ascii_whitespace());
        if words.len() != names.len() {
            let what = format!("{} values; ITEM: ATOMS names {}", words.len(), names.len());
            return Err(lines.fault(what));
        }
        spheres.push(reader.sphere(&words).map_err(|what| lines.fault(what))?);
    }
    Ok(Frame { time: head.time, step: head.step, bounds: head.bounds, spheres })
}

/// How the spheres of a frame are read.
struct Columns {
    layout: Layout,
    /// Whether the column read as a radius is a diameter.
    is_diameter: bool,
    /// The box, if the coordinates are fractions of it.
    scaled: Option<FrameBounds>,
}

impl Columns {
    fn new(names: &[&str], bounds: Option<FrameBounds>) -> Result<Self, String> {
        let place = |name: &str| names.iter().position(|other| *other == name);
        let mut layout = Layout::empty();
        // The first name of a column in the list counts.
        for (name, column) in NAMES.iter().rev() {
            if let Some(place) = place(name) {
                layout.put(column, place);
            }
        }
        let mut scaled = None;
        if place("x").or(place("xu")).is_none() {
            for ends in [["xs", "ys", "zs"], ["xsu", "ysu", "zsu"]] {
                if let [Some(x), Some(y), Some(z)] = ends.map(place) {
                    COLUMNS[column::POSITION..].iter().zip([x, y, z]).for_each(|(c, at)| layout.put(c, at));
                    let needed = "the coordinates are fractions of the box, and the box is missing or tilted";
                    scaled = Some(bounds.ok_or(needed)?);
                }
            }
        }
        let is_diameter = place("radius").is_none() && place("diameter").is_some();
        let layout = layout
            .complete()
            .map_err(|what| format!("{what}: dump custom with id type x y z vx vy vz radius mass"))?;
        Ok(Self { layout, is_diameter, scaled })
    }

    fn sphere(&self, words: &[&str]) -> Result<Placed, String> {
        let mut sphere = self.layout.read(|place| words.get(place).copied())?;
        if self.is_diameter {
            sphere.radius *= 0.5;
        }
        if let Some(FrameBounds { min, max, .. }) = self.scaled {
            sphere.position = min + sphere.position * (max - min);
        }
        Ok(sphere)
    }
}

/// Writes a state; several states in succession are a trajectory.
pub(super) fn write(out: &mut dyn Write, table: &Table) -> io::Result<()> {
    if let Some(time) = table.time {
        writeln!(out, "ITEM: TIME\n{time:?}")?;
    }
    let FrameBounds { min, max, periodic } = table.bounds_or_extent();
    writeln!(out, "ITEM: TIMESTEP\n{}", table.step.unwrap_or(0))?;
    writeln!(out, "ITEM: NUMBER OF ATOMS\n{}", table.spheres.len())?;
    writeln!(out, "ITEM: BOX BOUNDS {}", periodic.map(|is| if is { "pp" } else { "ff" }).join(" "))?;
    for axis in 0..3 {
        writeln!(out, "{:?} {:?}", min[axis], max[axis])?;
    }
    write!(out, "ITEM: ATOMS id type element x y z vx vy vz radius")?;
    for (needed, columns) in
        [(table.has_mass, " mass"), (table.has_spin, " omegax omegay omegaz"), (table.has_fixed, " fixed")]
    {
        if needed {
            write!(out, "{columns}")?;
        }
    }
    writeln!(out)?;
    let elements = table.words();
    for sphere in table.spheres.iter() {
        let Sphere { id, position: p, velocity: v, spin: w, radius, mass, .. } = sphere;
        let (kind, element) = (u32::from(sphere.material) + 1, &elements[usize::from(sphere.material)]);
        write!(out, "{id} {kind} {element} {:?} {:?} {:?}", p.x, p.y, p.z)?;
        write!(out, " {:?} {:?} {:?} {radius:?}", v.x, v.y, v.z)?;
        if table.has_mass {
            write!(out, " {mass:?}")?;
        }
        if table.has_spin {
            write!(out, " {:?} {:?} {:?}", w.x, w.y, w.z)?;
        }
        if table.has_fixed {
            write!(out, " {}", u8::from(sphere.fixed))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
