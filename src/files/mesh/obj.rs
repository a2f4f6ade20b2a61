//! Wavefront OBJ files: vertices and faces, line by line.

use glam::DVec3;

use super::{Parts, reason};

/// Divides faces with more than three corners into triangles; reads only vertices and faces.
const OPTIONS: tobj::LoadOptions =
    tobj::LoadOptions { single_index: false, triangulate: true, ignore_points: true, ignore_lines: true };

pub(super) fn parse(bytes: &[u8]) -> Result<Parts, String> {
    let plain = plain(&String::from_utf8_lossy(bytes))?;
    let mut rest = plain.as_bytes();
    let no_materials = |_: &std::path::Path| Err(tobj::LoadError::OpenFileFailed);
    let (models, _) = tobj::load_obj_buf(&mut rest, &OPTIONS, no_materials).map_err(|error| {
        // `tobj` stops behind the line that it cannot parse.
        let line = plain[..plain.len() - rest.len()].lines().count();
        match error {
            tobj::LoadError::FaceVertexOutOfBounds => stray_face(&plain),
            _ => format!("line {line}: {}, in {:?}", reason(&error), shown(&plain, line)),
        }
    })?;
    let mut parts = Parts::default();
    for model in models {
        let start = parts.0.len() as u32;
        let (vertices, _) = model.mesh.positions.as_chunks::<3>();
        let (triangles, _) = model.mesh.indices.as_chunks::<3>();
        parts.0.extend(vertices.iter().map(|vertex| DVec3::from(vertex.map(f64::from))));
        parts.1.extend(triangles.iter().map(|triangle| triangle.map(|corner| start + corner)));
    }
    if parts.1.is_empty() {
        return Err("it has no faces; expected lines such as f 1 2 3".into());
    }
    Ok(parts)
}

/// The relevant lines in their places, without constructs that `tobj` rejects or misreads: weights and colours of
/// vertices, textures and normals of faces, polylines, and continued lines.
fn plain(given: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(given.len());
    let mut whole = String::new();
    for (index, line) in given.lines().enumerate() {
        if let Some(start) = line.trim_end().strip_suffix('\\') {
            whole.push_str(start);
            whole.push(' ');
            plain.push('\n');
            continue;
        }
        whole.push_str(line);
        let mut words = whole.split('#').next().unwrap_or_default().split_whitespace();
        match words.next() {
            Some("v") => {
                plain.push('v');
                for word in words.take(3) {
                    plain.push(' ');
                    plain.push_str(word);
                }
            }
            Some("f") => {
                let corners = words.clone().count();
                if corners < 3 {
                    return Err(format!("line {}: a face has {corners} corners; it needs 3", index + 1));
                }
                plain.push('f');
                for word in words {
                    plain.push(' ');
                    let vertex = word.split('/').next().filter(|vertex| !vertex.is_empty());
                    // A missing vertex becomes the invalid index 0, which is reported below.
                    plain.push_str(vertex.unwrap_or("0"));
                }
            }
            _ => {}
        }
        plain.push('\n');
        whole.clear();
    }
    Ok(plain)
}

/// Describes the first face with a corner that does not exist.
fn stray_face(plain: &str) -> String {
    let count = plain.lines().filter(|line| line.starts_with('v')).count() as i64;
    let mut before = 0;
    for (index, line) in plain.lines().enumerate() {
        before += i64::from(line.starts_with('v'));
        let corners = line.strip_prefix('f').unwrap_or_default().split_whitespace();
        let stray = corners.filter_map(|word| word.parse::<i64>().ok());
        // Positive indices count all vertices from 1; negative indices count backwards from this line.
        if let Some(corner) = stray.into_iter().find(|i| !(-before..=count).contains(i) || *i == 0) {
            return format!(
                "line {}: a face names vertex {corner}; there are {count}, counted from 1, and {before} before this line",
                index + 1
            );
        }
    }
    "a face names a vertex that is not there".into()
}

/// A line for a message, counted from 1.
fn shown(plain: &str, line: usize) -> String {
    let line = plain.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    line.chars().take(super::LONGEST_REASON).collect()
}
