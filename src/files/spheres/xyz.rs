//! Extended XYZ: for each frame a count, a line of `key=value` pairs, and a line for each sphere.

use std::io::{self, Write};

use glam::DVec3;

use super::{FileFault, columns::Layout, table::Table};
use crate::{
    Sphere,
    files::frame::{Frame, FrameBounds},
};

/// The columns of each known property.
const PROPERTIES: [(&str, &[&str]); 9] = [
    ("id", &["id"]),
    ("species", &["material"]),
    ("pos", &["x", "y", "z"]),
    ("velo", &["vx", "vy", "vz"]),
    ("radius", &["radius"]),
    ("mass", &["mass"]),
    // The name that OVITO reads as an angular velocity; it takes `spin` for a single number.
    ("omega", &["wx", "wy", "wz"]),
    ("spin", &["wx", "wy", "wz"]),
    ("fixed", &["fixed"]),
];

/// Reads all frames of a file.
pub(super) fn read(text: &str, sink: &mut dyn FnMut(Frame)) -> Result<(), FileFault> {
    let mut lines = (1..).zip(text.lines()).peekable();
    if lines.peek().is_none() {
        return Err(FileFault::at(1, "the file is empty; expected a number of spheres".into()));
    }
    while let Some((start, first)) = lines.next() {
        let count: u64 = first.trim().parse().map_err(|_| {
            FileFault::at(start, format!("the first line is {first:?}; expected a number of spheres"))
        })?;
        let comment = lines.next().map(|(_, line)| line);
        let comment =
            comment.ok_or_else(|| FileFault::at(start + 1, "the line with Properties is missing".into()))?;
        let pairs = pairs(comment);
        let (layout, width) = layout(&pairs).map_err(|what| FileFault::at(start + 1, what))?;
        let mut frame = Frame { bounds: bounds(&pairs), ..Frame::default() };
        frame.time = find(&pairs, "time").and_then(|time| time.parse().ok()).filter(|t: &f64| t.is_finite());
        frame.step = find(&pairs, "step").and_then(|step| step.parse().ok());
        let mut words = vec![];
        for done in 0..count {
            let Some((number, line)) = lines.next() else {
                let what = format!("the file ends after {done} of {count} spheres");
                return Err(FileFault::at(start + 1 + done, what));
            };
            words.clear();
            words.extend(line.split_ascii_whitespace());
            if words.len() != width {
                let what = format!("{} values; Properties names {width}", words.len());
                return Err(FileFault::at(number, what));
            }
            let sphere = layout.read(|place| words.get(place).copied());
            frame.spheres.push(sphere.map_err(|what| FileFault::at(number, what))?);
        }
        sink(frame);
        while lines.next_if(|(_, line)| line.trim().is_empty()).is_some() {}
    }
    Ok(())
}

/// The pairs `key=value` of a line; a value may stand in quotes.
fn pairs(comment: &str) -> Vec<(&str, &str)> {
    let mut found = vec![];
    let mut rest = comment.trim_start();
    while let Some((key, after)) = rest.split_once('=') {
        // A word without `=` before the key is a flag; none has a meaning here.
        let key = key.rsplit(char::is_whitespace).find(|key| !key.is_empty()).unwrap_or("");
        let quote = after.chars().next().filter(|c| ['"', '\''].contains(c));
        let (value, behind) = match quote {
            Some(quote) => after[1..].split_once(quote).unwrap_or((&after[1..], "")),
            None => after.split_once(char::is_whitespace).unwrap_or((after, "")),
        };
        found.push((key, value));
        rest = behind.trim_start();
    }
    found
}

/// The value of a key, in whatever case the key is written.
fn find<'p>(pairs: &[(&'p str, &'p str)], key: &str) -> Option<&'p str> {
    pairs.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| *value)
}

/// The box, from `Lattice`, `Origin` and `pbc`.
fn bounds(pairs: &[(&str, &str)]) -> Option<FrameBounds> {
    let numbers = |key: &str| -> Option<Vec<f64>> {
        find(pairs, key)?.split_whitespace().map(|word| word.parse().ok()).collect()
    };
    let lattice = numbers("lattice")?;
    let [x, a, b, c, y, d, e, f, z] = lattice[..] else { return None };
    let origin = match numbers("origin").as_deref() {
        Some([x, y, z]) => DVec3::new(*x, *y, *z),
        _ => DVec3::ZERO,
    };
    let is_upright = [a, b, c, d, e, f].iter().all(|entry| *entry == 0.0);
    let mut periodic = [true; 3];
    if let Some(pbc) = find(pairs, "pbc") {
        let mut words = pbc.split_whitespace();
        periodic =
            [0; 3].map(|_| words.next().is_some_and(|word| ["T", "1", "true", "True"].contains(&word)));
    }
    FrameBounds::new(origin, origin + DVec3::new(x, y, z), periodic).filter(|_| is_upright)
}

/// The layout of the columns and their number, from `Properties=name:type:width:...`.
fn layout(pairs: &[(&str, &str)]) -> Result<(Layout, usize), String> {
    let value = pairs.iter().find(|(key, _)| *key == "Properties").map(|(_, value)| *value);
    let value = value.ok_or("there is no Properties=...; expected extended XYZ")?;
    let words: Vec<&str> = value.split(':').collect();
    let mut layout = Layout::empty();
    let mut width = 0_usize;
    for property in words.chunks(3) {
        let [name, _, columns] = property else {
            return Err("Properties is cut short; expected name:type:columns triples".into());
        };
        let columns: u16 = columns
            .parse()
            .map_err(|_| format!("property {name} has {columns:?} columns; expected a number"))?;
        let columns = usize::from(columns);
        if let Some((_, known)) = PROPERTIES.iter().find(|(property, _)| property == name) {
            if known.len() != columns {
                return Err(format!("property {name} has {columns} columns; expected {}", known.len()));
            }
            for (offset, column) in known.iter().enumerate() {
                layout.put(column, width + offset);
            }
        }
        width += columns;
    }
    Ok((layout.complete()?, width))
}

/// Writes a state; several states in succession are a trajectory.
pub(super) fn write(out: &mut dyn Write, table: &Table) -> io::Result<()> {
    writeln!(out, "{}", table.spheres.len())?;
    if let Some(FrameBounds { min, max, periodic }) = table.bounds {
        let size = max - min;
        write!(
            out,
            "Lattice=\"{:?} 0.0 0.0 0.0 {:?} 0.0 0.0 0.0 {:?}\" Origin=\"{:?} {:?} {:?}\" ",
            size.x, size.y, size.z, min.x, min.y, min.z,
        )?;
        write_properties(out, table)?;
        write!(out, " pbc=\"{}\"", periodic.map(|is| if is { "T" } else { "F" }).join(" "))?;
    } else {
        write_properties(out, table)?;
    }
    if let Some(time) = table.time {
        write!(out, " Time={time:?}")?;
    }
    if let Some(step) = table.step {
        write!(out, " Step={step}")?;
    }
    writeln!(out)?;
    let species = table.words();
    for sphere in table.spheres.iter() {
        let Sphere { id, position: p, velocity: v, spin: w, radius, mass, .. } = sphere;
        let species = &species[usize::from(sphere.material)];
        write!(out, "{id} {species} {:?} {:?} {:?} {:?} {:?} {:?}", p.x, p.y, p.z, v.x, v.y, v.z)?;
        write!(out, " {radius:?}")?;
        if table.has_mass {
            write!(out, " {mass:?}")?;
        }
        if table.has_spin {
            write!(out, " {:?} {:?} {:?}", w.x, w.y, w.z)?;
        }
        if table.has_fixed {
            write!(out, " {}", if sphere.fixed { "T" } else { "F" })?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_properties(out: &mut dyn Write, table: &Table) -> io::Result<()> {
    write!(out, "Properties=id:I:1:species:S:1:pos:R:3:velo:R:3:radius:R:1")?;
    for (needed, property) in
        [(table.has_mass, ":mass:R:1"), (table.has_spin, ":omega:R:3"), (table.has_fixed, ":fixed:L:1")]
    {
        if needed {
            write!(out, "{property}")?;
        }
    }
    Ok(())
}
