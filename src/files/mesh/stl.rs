//! STL files, binary or text.

use std::io::Cursor;

use glam::DVec3;

use super::{Parts, reason};
use crate::system::mesh::{MAX_TRIANGLES, too_many};

/// Length of the header in bytes. It may contain anything, even `solid`.
const HEADER: usize = 80;
/// Bytes before the first triangle.
const PREFACE: usize = HEADER + size_of::<u32>();
/// Bytes of a triangle: normal, three corners, and two bytes without agreed meaning.
const TRIANGLE: usize = 4 * 3 * size_of::<f32>() + 2;

/// Reads either kind. A file is binary if its length matches its number of triangles, because both kinds may start with
/// `solid`.
pub(super) fn parse(bytes: &[u8]) -> Result<Parts, String> {
    if bytes.is_empty() {
        return Err("the file is empty; expected an STL".into());
    }
    let count = bytes.get(HEADER..PREFACE).map(|count| {
        let count = count.iter().rev().fold(0, |count, byte| count << 8 | u64::from(*byte));
        (count, PREFACE as u64 + count * TRIANGLE as u64)
    });
    match count {
        Some((count, length)) if length == bytes.len() as u64 => {
            if count > MAX_TRIANGLES as u64 {
                return Err(too_many(count as usize));
            }
            // `stl_io` would take a header that starts with `solid` for text.
            let mut plain = bytes.to_vec();
            plain[..HEADER].fill(0);
            read(plain)
        }
        _ if starts_as_text(bytes) => read(text(&String::from_utf8_lossy(bytes))?),
        Some((count, length)) => Err(format!(
            "its header tells of {count} triangles, which make {length} bytes, and the file has {}; it is cut off or no STL",
            bytes.len()
        )),
        None => Err(format!("{} bytes are too few for an STL; it has at least {PREFACE}", bytes.len())),
    }
}

fn starts_as_text(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    bytes.get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"solid"))
}

/// Normalises the text for `stl_io`: one solid, without name, in lower case, with numeric normals. Some programs write
/// several solids in a file, capitals, names in other alphabets, and NaN as normals of thin triangles.
fn text(given: &str) -> Result<Vec<u8>, String> {
    let mut plain = String::from("solid \n");
    let mut open = true;
    for line in given.trim_start_matches('\u{feff}').lines() {
        let line = line.trim().to_ascii_lowercase();
        match line.split_whitespace().next() {
            None => continue,
            Some("solid") => open = true,
            Some("endsolid") => open = false,
            Some("facet") => plain.push_str("facet normal 0 0 0\n"),
            Some(_) => {
                plain.push_str(&line);
                plain.push('\n');
            }
        }
    }
    if open {
        return Err("the text ends without endsolid; it is cut off".into());
    }
    plain.push_str("endsolid\n");
    Ok(plain.into_bytes())
}

fn read(bytes: Vec<u8>) -> Result<Parts, String> {
    let mut bytes = Cursor::new(bytes);
    let facets = stl_io::create_stl_reader(&mut bytes).map_err(|error| reason(&error))?;
    let mut corners = vec![];
    for (index, facet) in facets.enumerate() {
        let facet = facet.map_err(|error| format!("triangle {index}, counted from 0: {}", reason(&error)))?;
        if index >= MAX_TRIANGLES {
            return Err(format!("more than {MAX_TRIANGLES} triangles; make several meshes of it"));
        }
        corners.extend(facet.vertices.map(|vertex| DVec3::from(vertex.0.map(f64::from))));
    }
    let triangles = (0..corners.len() as u32 / 3).map(|index| [3 * index, 3 * index + 1, 3 * index + 2]);
    let triangles = triangles.collect();
    Ok((corners, triangles))
}
