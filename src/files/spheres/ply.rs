//! PLY, the Stanford polygon format: a header of text, then the vertices, each a sphere.
//!
//! Time, step, box and names of materials stand in comments of the header.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use glam::DVec3;

use super::{
    FileFault,
    binary::{Columns, Kind, Numbers},
    table::Table,
};
use crate::files::frame::{Frame, FrameBounds};

/// Names of the types of numbers.
const KINDS: [(&str, Kind); 16] = [
    ("char", Kind::I8),
    ("uchar", Kind::U8),
    ("short", Kind::I16),
    ("ushort", Kind::U16),
    ("int", Kind::I32),
    ("uint", Kind::U32),
    ("float", Kind::F32),
    ("double", Kind::F64),
    ("int8", Kind::I8),
    ("uint8", Kind::U8),
    ("int16", Kind::I16),
    ("uint16", Kind::U16),
    ("int32", Kind::I32),
    ("uint32", Kind::U32),
    ("float32", Kind::F32),
    ("float64", Kind::F64),
];

/// Encoding of the vertices.
#[derive(Clone, Copy, PartialEq)]
enum Encoding {
    Text,
    LittleEndian,
    BigEndian,
}

/// The header of a file.
#[derive(Default)]
struct Header {
    encoding: Option<Encoding>,
    vertices: Option<u64>,
    /// Names and types of the properties of a vertex.
    properties: Vec<(String, Kind)>,
    frame: Frame,
    materials: Vec<String>,
    /// Position behind the header, and its number of lines.
    end: usize,
    lines: u64,
}

/// Reads the only frame of a file.
pub(super) fn read(bytes: &[u8], sink: &mut dyn FnMut(Frame)) -> Result<(), FileFault> {
    let header = header(bytes)?;
    let body = &bytes[header.end..];
    let count = header.vertices.ok_or_else(|| FileFault::of("the header has no element vertex".into()))?;
    let encoding = header.encoding.ok_or_else(|| FileFault::of("the header has no format".into()))?;
    let (body, is_text) = match encoding {
        Encoding::Text => (Cow::from(numbers_of_text(body, &header, count)?), true),
        _ => (Cow::from(body), false),
    };
    let size = |kind: Kind| if is_text { 8 } else { kind.size() };
    let stride = header.properties.iter().map(|(_, kind)| size(*kind)).sum();
    let mut columns = Columns::default();
    columns.materials = (!header.materials.is_empty()).then_some(header.materials);
    let mut start = 0;
    for (name, kind) in &header.properties {
        let numbers = Numbers {
            bytes: Cow::from(&*body),
            start,
            stride,
            kind: if is_text { Kind::F64 } else { *kind },
            is_big_endian: encoding == Encoding::BigEndian,
        };
        columns.put_named(name, numbers);
        start += size(*kind);
    }
    let spheres = columns.spheres(count).map_err(FileFault::of)?;
    sink(Frame { spheres, ..header.frame });
    Ok(())
}

/// Reads the header.
fn header(bytes: &[u8]) -> Result<Header, FileFault> {
    let mut header = Header::default();
    // Whether the properties belong to an element behind the vertices, which is not read.
    let mut is_behind = false;
    loop {
        header.lines += 1;
        let fault = |what: String| FileFault::at(header.lines, what);
        let rest = &bytes[header.end..];
        let length = rest.iter().position(|byte| *byte == b'\n');
        let length = length.ok_or_else(|| fault("the header does not end; expected end_header".into()))?;
        let line = std::str::from_utf8(&rest[..length]).map_err(|_| fault("the header is no text".into()))?;
        let line = line.trim_end();
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut vertices = header.vertices;
        match words[..] {
            ["ply"] if header.lines == 1 => {}
            _ if header.lines == 1 => return Err(fault("the first line is not \"ply\"".into())),
            ["format", encoding, "1.0"] => {
                header.encoding = Some(match encoding {
                    "ascii" => Encoding::Text,
                    "binary_little_endian" => Encoding::LittleEndian,
                    "binary_big_endian" => Encoding::BigEndian,
                    _ => return Err(fault(format!("the format {encoding:?} is unknown"))),
                });
            }
            ["element", "vertex", count] if vertices.is_none() => {
                let count = count.parse();
                let count = count.map_err(|_| fault("the number of vertices is no number".into()))?;
                vertices = Some(count);
            }
            ["element", ..] if vertices.is_none() => {
                return Err(fault("the vertices have to be the first element".into()));
            }
            ["element", ..] => is_behind = true,
            ["property", ..] if is_behind => {}
            ["property", kind, name] if vertices.is_some() => {
                let kind = KINDS.iter().find(|(known, _)| *known == kind).map(|(_, kind)| *kind);
                let kind = kind.ok_or_else(|| fault(format!("{line:?} has an unknown type")))?;
                header.properties.push((name.to_owned(), kind));
            }
            ["property", ..] => return Err(fault(format!("{line:?} is no property of a vertex"))),
            ["comment" | "obj_info", ..] => comment(line, &mut header),
            ["end_header"] => {
                header.end += length + 1;
                return Ok(header);
            }
            _ => return Err(fault(format!("{line:?} is no line of a header"))),
        }
        header.vertices = vertices;
        header.end += length + 1;
    }
}

/// Reads a comment of carom; skips any other.
fn comment(line: &str, header: &mut Header) {
    let Some((_, text)) = line.split_once("comment ") else { return };
    let Some((key, value)) = text.split_once(' ') else { return };
    match key {
        "time" => header.frame.time = value.parse().ok().filter(|time: &f64| time.is_finite()),
        "step" => header.frame.step = value.parse().ok(),
        "box" => header.frame.bounds = bounds(value),
        // The materials are numbered in their order.
        "material" => {
            header.materials.extend(value.split_once(' ').map(|(_, name)| name.to_owned()));
        }
        _ => {}
    }
}

/// The box of a comment: both corners, and T or F for each axis.
fn bounds(value: &str) -> Option<FrameBounds> {
    let words: Vec<&str> = value.split_whitespace().collect();
    let (corners, periodic) = words.split_at_checked(6)?;
    let corners: Vec<f64> = corners.iter().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let [x, y, z] = periodic[..] else { return None };
    let (min, max) = (DVec3::from_slice(&corners), DVec3::from_slice(&corners[3..]));
    FrameBounds::new(min, max, [x, y, z].map(|word| word == "T"))
}

/// The numbers of a text as f64 in little-endian order.
fn numbers_of_text(body: &[u8], header: &Header, count: u64) -> Result<Vec<u8>, FileFault> {
    let text = std::str::from_utf8(body);
    let text = text.map_err(|error| FileFault::of(format!("not a text: {error}")))?;
    let mut numbers = vec![];
    for (number, line) in
        (header.lines + 1..).zip(text.lines()).take(usize::try_from(count).unwrap_or(usize::MAX))
    {
        let before = numbers.len();
        for word in line.split_ascii_whitespace() {
            let value: f64 =
                word.parse().map_err(|_| FileFault::at(number, format!("{word:?} is no number")))?;
            numbers.extend_from_slice(&value.to_le_bytes());
        }
        let found = (numbers.len() - before) / 8;
        if found != header.properties.len() {
            let what = format!("{found} values; the header has {} properties", header.properties.len());
            return Err(FileFault::at(number, what));
        }
    }
    Ok(numbers)
}

/// Writes a state.
pub(super) fn write(out: &mut dyn Write, table: &Table) -> io::Result<()> {
    writeln!(out, "ply\nformat binary_little_endian 1.0\ncomment spheres written by carom")?;
    if let Some(time) = table.time {
        writeln!(out, "comment time {time:?}")?;
    }
    if let Some(step) = table.step {
        writeln!(out, "comment step {step}")?;
    }
    if let Some(FrameBounds { min, max, periodic }) = table.bounds {
        let corners = min.to_array().into_iter().chain(max.to_array()).map(|x| format!("{x:?}"));
        let periodic = periodic.map(|is| if is { "T" } else { "F" }.to_owned());
        let words: Vec<String> = corners.chain(periodic).collect();
        writeln!(out, "comment box {}", words.join(" "))?;
    }
    if table.has_material {
        for (index, name) in table.materials.iter().enumerate() {
            writeln!(out, "comment material {index} {}", name.replace(['\n', '\r'], " "))?;
        }
    }
    writeln!(out, "element vertex {}", table.spheres.len())?;
    let groups = [
        (true, "double", "x y z radius vx vy vz"),
        (table.has_mass, "double", "mass"),
        (table.has_spin, "double", "wx wy wz"),
        (true, "uint", "id"),
        (table.has_material, "ushort", "material"),
        (table.has_fixed, "uchar", "fixed"),
    ];
    for (_, kind, names) in groups.iter().filter(|(needed, ..)| *needed) {
        for name in names.split(' ') {
            writeln!(out, "property {kind} {name}")?;
        }
    }
    writeln!(out, "end_header")?;
    let mut record = Vec::with_capacity(128);
    for sphere in table.spheres.iter() {
        record.clear();
        let mut put = |value: f64| record.extend_from_slice(&value.to_le_bytes());
        sphere.position.to_array().into_iter().for_each(&mut put);
        put(sphere.radius);
        sphere.velocity.to_array().into_iter().for_each(&mut put);
        if table.has_mass {
            put(sphere.mass);
        }
        if table.has_spin {
            sphere.spin.to_array().into_iter().for_each(&mut put);
        }
        record.extend_from_slice(&sphere.id.to_le_bytes());
        if table.has_material {
            record.extend_from_slice(&sphere.material.to_le_bytes());
        }
        if table.has_fixed {
            record.push(u8::from(sphere.fixed));
        }
        out.write_all(&record)?;
    }
    Ok(())
}
