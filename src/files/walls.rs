//! Walls: from a table to a wall of a scene.

use std::{f64::consts::PI, sync::Arc};

use glam::{DQuat, DVec3};

use super::fields::{Fields, ParseError, boolean, list, mismatch, number, one_of, string, vector};
use super::tree::Node;
use crate::{
    Mesh, Oscillation, Rotation, WallMotion, WallShape,
    scene::{Wall, Walls},
};

/// The shapes that a wall may have, one of them.
const SHAPES: [&str; 7] = ["plane", "box", "cylinder", "cone", "disc", "sphere", "mesh"];

/// What else there is to a wall.
const OTHERS: [&str; 7] = ["name", "material", "velocity", "oscillation", "rotation", "from", "until"];

/// Reads the mesh of a file; the error is a message.
pub(crate) type OpenMesh<'o> = &'o mut dyn FnMut(&str) -> Result<Mesh, String>;

pub(super) fn wall(node: &Node, path: &str, open: OpenMesh) -> Result<Wall, ParseError> {
    let known: Vec<&str> = SHAPES.into_iter().chain(OTHERS).collect();
    let fields = Fields::new(Some(node), path, &known)?;
    let Some(kind) = one_of(&fields, node, path, &SHAPES)? else {
        return Err(ParseError {
            span: node.span.clone(),
            problem: format!("{path} has no shape"),
            remedy: format!("expected one of {}", SHAPES.join(", ")),
        });
    };
    let mut wall = Wall::new(shape(&fields, kind, open)?, &Walls::default().material);
    fields.set("material", &mut wall.material, string)?;
    wall.name = fields.optional("name", string)?;
    wall.motion = motion(&fields)?;
    fields.set("from", &mut wall.span[0], number)?;
    fields.set("until", &mut wall.span[1], number)?;
    Ok(wall)
}

fn shape(fields: &Fields, kind: &str, open: OpenMesh) -> Result<WallShape, ParseError> {
    let inner = |known: &[&str]| Fields::new(fields.get(kind), &fields.path(kind), known);
    let set = |inner: &Fields, name: &str, otherwise: f64| {
        inner.optional(name, number).map(|value| value.unwrap_or(otherwise))
    };
    Ok(match kind {
        "plane" => {
            let inner = inner(&["point", "normal"])?;
            WallShape::Plane {
                point: inner.required("point", "[0, 0, 0]", vector)?,
                normal: inner.required("normal", "[0, 0, 1]", vector)?,
            }
        }
        "box" => {
            let inner = inner(&["center", "size", "turn"])?;
            WallShape::Box {
                center: inner.required("center", "[0, 0, 0]", vector)?,
                size: inner.required("size", "[10, 10, 10]", vector)?,
                turn: inner.optional("turn", vector)?.unwrap_or(DVec3::ZERO),
            }
        }
        "cylinder" | "cone" => {
            let radius = if kind == "cone" { "radii" } else { "radius" };
            let inner = inner(&["from", "to", radius, "closed"])?;
            let radii = if kind == "cone" {
                inner.required("radii", "[10, 2]", |node, path| two(node, path, "two radii", number))?
            } else {
                [inner.required("radius", "10", number)?; 2]
            };
            let two_ends =
                |node: &Node, path: &str| two(node, path, "[true, false], one for each end", boolean);
            WallShape::Cone {
                from: inner.required("from", "[0, 0, 0]", vector)?,
                to: inner.required("to", "[0, 0, 10]", vector)?,
                radii,
                closed: inner.optional("closed", two_ends)?.unwrap_or_default(),
            }
        }
        "disc" => {
            let inner = inner(&["center", "normal", "radius", "hole"])?;
            WallShape::Disc {
                center: inner.required("center", "[0, 0, 0]", vector)?,
                normal: inner.required("normal", "[0, 0, 1]", vector)?,
                radius: inner.required("radius", "10", number)?,
                hole: set(&inner, "hole", 0.0)?,
            }
        }
        "mesh" => {
            let inner = inner(&["file", "scale", "turn", "shift"])?;
            let file =
                inner.required("file", "\"terrain.stl\"", |node, path| Ok((node, string(node, path)?)))?;
            let parse_error = |problem: String| ParseError {
                span: file.0.span.clone(),
                problem,
                remedy: "a mesh is a file of triangles, .stl or .obj".to_owned(),
            };
            let turn = DQuat::from_scaled_axis(inner.optional("turn", vector)?.unwrap_or(DVec3::ZERO));
            let shift = inner.optional("shift", vector)?.unwrap_or(DVec3::ZERO);
            let mesh = open(&file.1).map_err(parse_error)?;
            let scale = set(&inner, "scale", 1.0)?;
            WallShape::Mesh(Arc::new(
                mesh.transformed(scale, turn, shift).map_err(|e| parse_error(e.to_string()))?,
            ))
        }
        _ => {
            let inner = inner(&["center", "radius", "axis", "angle"])?;
            WallShape::Sphere {
                center: inner.required("center", "[0, 0, 0]", vector)?,
                radius: inner.required("radius", "10", number)?,
                axis: inner.optional("axis", vector)?.unwrap_or(DVec3::NEG_Z),
                angle: set(&inner, "angle", PI)?,
            }
        }
    })
}

fn motion(fields: &Fields) -> Result<WallMotion, ParseError> {
    let mut motion = WallMotion::default();
    fields.set("velocity", &mut motion.velocity, vector)?;
    if let Some(node) = fields.get("oscillation") {
        let path = fields.path("oscillation");
        let inner = Fields::new(Some(node), &path, &["amplitude", "frequency", "phase"])?;
        motion.oscillation = Some(Oscillation {
            amplitude: inner.required("amplitude", "[0, 0, 0.1]", vector)?,
            frequency: inner.required("frequency", "10", number)?,
            phase: inner.optional("phase", number)?.unwrap_or(0.0),
        });
    }
    if let Some(node) = fields.get("rotation") {
        let path = fields.path("rotation");
        let inner = Fields::new(Some(node), &path, &["point", "axis", "speed"])?;
        motion.rotation = Some(Rotation {
            point: inner.required("point", "[0, 0, 0]", vector)?,
            axis: inner.required("axis", "[0, 1, 0]", vector)?,
            speed: inner.required("speed", "1", number)?,
        });
    }
    Ok(motion)
}

fn two<T>(
    node: &Node,
    path: &str,
    expected: &str,
    read: impl Fn(&Node, &str) -> Result<T, ParseError>,
) -> Result<[T; 2], ParseError> {
    match list(node, path, expected)? {
        [a, b] => Ok([read(a, &format!("{path}[0]"))?, read(b, &format!("{path}[1]"))?]),
        _ => Err(mismatch(node, path, expected)),
    }
}
