//! Reads extended XYZ: a count, a line of `key=value` pairs, and a line for each sphere.

use super::{BadLine, COLUMNS, Layout};
use crate::scene::Placed;

/// The columns of each known property.
const PROPERTIES: [(&str, &[&str]); 8] = [
    ("id", &["id"]),
    ("species", &["material"]),
    ("pos", &["x", "y", "z"]),
    ("velo", &["vx", "vy", "vz"]),
    ("radius", &["radius"]),
    ("mass", &["mass"]),
    ("spin", &["wx", "wy", "wz"]),
    ("fixed", &["fixed"]),
];

/// Reads the single frame of a file; drops a species that is not `known`.
pub(super) fn parse(text: &str, known: impl Fn(&str) -> bool) -> Result<Vec<Placed>, BadLine> {
    let mut lines = (1..).zip(text.lines());
    let (_, first) = lines.next().ok_or((1, "the file is empty; expected a number of spheres".to_owned()))?;
    let count: usize = first
        .trim()
        .parse()
        .map_err(|_| (1, format!("the first line is {first:?}; expected a number of spheres")))?;
    let (_, comment) = lines.next().ok_or((2, "the line with Properties is missing".to_owned()))?;
    let (layout, width) = layout(comment).map_err(|what| (2, what))?;
    let mut spheres = vec![];
    for (number, line) in lines {
        if spheres.len() == count {
            if line.trim().is_empty() {
                continue;
            }
            return Err((number, format!("there is more after {count} spheres; keep one frame")));
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.len() != width {
            return Err((number, format!("{} values; Properties names {width}", words.len())));
        }
        let mut placed = layout.read(&words).map_err(|what| (number, what))?;
        placed.material = placed.material.filter(|species| known(species));
        spheres.push(placed);
    }
    if spheres.len() < count {
        let end = text.lines().count() as u64;
        return Err((end, format!("the file ends after {} of {count} spheres", spheres.len())));
    }
    Ok(spheres)
}

/// The layout of the columns and their number, from `Properties=name:type:width:...`.
fn layout(comment: &str) -> Result<(Layout, usize), String> {
    let start = comment.find("Properties=").ok_or("there is no Properties=...; expected extended XYZ")?;
    let value = &comment[start + "Properties=".len()..];
    let value = match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => value.split_whitespace().next(),
    };
    let words: Vec<&str> = value.unwrap_or("").split(':').collect();
    let mut layout = Layout([None; COLUMNS.len()]);
    let mut width = 0;
    for property in words.chunks(3) {
        let [name, _, columns] = property else {
            return Err("Properties is cut short; expected name:type:columns triples".into());
        };
        let columns: usize = columns
            .parse()
            .map_err(|_| format!("property {name} has {columns:?} columns; expected a number"))?;
        if let Some((_, known)) = PROPERTIES.iter().find(|(property, _)| property == name) {
            if known.len() != columns {
                return Err(format!("property {name} has {columns} columns; expected {}", known.len()));
            }
            for (offset, column) in known.iter().enumerate() {
                let place = COLUMNS.iter().position(|c| c == column).expect("a known column");
                layout.0[place] = Some(width + offset);
            }
        }
        width += columns;
    }
    Ok((layout.complete()?, width))
}
