//! From a tree to a scene.

use super::fields::{
    Fields, ParseError, boolean, choice, list, mismatch, number, one_of, string, vector, whole,
};
use super::flow::{compression, sink, source};
use super::tree::{Node, Value};
use super::walls::{OpenMesh, wall};
use crate::{
    Dimensions, Side, Solver, Surface,
    scene::{
        Fill, Lattice, LatticeKind, Material, Motion, Pair, Placed, Random, Scene, Shape, View, Walls, World,
    },
};

/// Reads the spheres of a file, given the materials there are; the error is a message.
pub(crate) type Open<'o> = &'o mut dyn FnMut(&str, &[Material]) -> Result<Vec<Placed>, String>;

pub(crate) fn read_scene(tree: &Node, open: Open, open_mesh: OpenMesh) -> Result<Scene, ParseError> {
    let top = Fields::new(
        Some(tree),
        "",
        &[
            "world",
            "solver",
            "bounds",
            "materials",
            "pairs",
            "spheres",
            "walls",
            "sinks",
            "compression",
            "view",
        ],
    )?;
    let mut scene = Scene {
        world: world(&top)?,
        solver: solver(&top)?,
        bounds: bounds(&top)?,
        materials: materials(&top)?,
        compression: compression(&top)?,
        view: view(&top)?,
        ..Scene::default()
    };
    for (node, path) in tables(&top, "pairs")? {
        let known: Vec<&str> = ["between"].into_iter().chain(Surface::FIELDS).collect();
        let fields = Fields::new(Some(node), &path, &known)?;
        scene.pairs.push(Pair {
            between: fields.required("between", "[\"steel\", \"glass\"]", two_names)?,
            restitution: fields.optional("restitution", number)?,
            friction: fields.optional("friction", number)?,
            rolling_friction: fields.optional("rolling_friction", number)?,
            twisting_friction: fields.optional("twisting_friction", number)?,
            restitution_threshold: fields.optional("restitution_threshold", number)?,
        });
    }
    for (node, path) in tables(&top, "spheres")? {
        scene.fills.push(fill(node, &path, &scene.materials, open)?);
    }
    for (node, path) in tables(&top, "walls")? {
        scene.walls.push(wall(node, &path, open_mesh)?);
    }
    for (node, path) in tables(&top, "sinks")? {
        scene.sinks.push(sink(node, &path)?);
    }
    Ok(scene)
}

fn world(top: &Fields) -> Result<World, ParseError> {
    let known = ["dimensions", "gravity", "dt", "steps", "seed", "drag"];
    let fields = Fields::new(top.get("world"), "world", &known)?;
    let mut world = World { dt: fields.required("dt", "0.0166667", number)?, ..World::default() };
    fields.set("dimensions", &mut world.dimensions, |node, path| match node.value {
        Value::Integer(2) => Ok(Dimensions::Two),
        Value::Integer(3) => Ok(Dimensions::Three),
        Value::Integer(other) => Err(ParseError {
            span: node.span.clone(),
            problem: format!("{path} is {other}"),
            remedy: "expected 2 or 3".into(),
        }),
        _ => Err(mismatch(node, path, "2 or 3")),
    })?;
    fields.set("gravity", &mut world.gravity, vector)?;
    fields.set("steps", &mut world.steps, whole)?;
    fields.set("seed", &mut world.seed, whole)?;
    fields.set("drag", &mut world.drag, number)?;
    Ok(world)
}

fn solver(top: &Fields) -> Result<Solver, ParseError> {
    let known = ["strict_order", "substeps", "max_initial_overlap", "contact_time", "sleeping"];
    let fields = Fields::new(top.get("solver"), "solver", &known)?;
    let mut solver = Solver::default();
    fields.set("strict_order", &mut solver.strict_order, boolean)?;
    fields.set("substeps", &mut solver.substeps, whole)?;
    fields.set("max_initial_overlap", &mut solver.max_initial_overlap, number)?;
    solver.contact_time = fields.optional("contact_time", number)?;
    fields.set("sleeping", &mut solver.sleeping, boolean)?;
    Ok(solver)
}

fn bounds(top: &Fields) -> Result<Walls, ParseError> {
    let known = ["min", "max", "x", "y", "z", "material"];
    let fields = Fields::new(top.get("bounds"), "bounds", &known)?;
    let mut bounds = Walls {
        min: fields.optional("min", vector)?,
        max: fields.optional("max", vector)?,
        ..Walls::default()
    };
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        let sides = [("periodic", Side::Periodic), ("wall", Side::Wall), ("open", Side::Open)];
        fields.set(name, &mut bounds.sides[axis], |node, path| choice(node, path, &sides))?;
    }
    fields.set("material", &mut bounds.material, string)?;
    Ok(bounds)
}

fn materials(top: &Fields) -> Result<Vec<Material>, ParseError> {
    let Some(node) = top.get("materials") else { return Ok(vec![]) };
    let Value::Table(entries) = &node.value else {
        return Err(mismatch(node, "materials", "tables like [materials.steel]"));
    };
    let read = |entry: &super::tree::Entry| {
        let path = format!("materials.{}", entry.key);
        let known: Vec<&str> = Surface::FIELDS.into_iter().chain(["density"]).collect();
        let fields = Fields::new(Some(&entry.node), &path, &known)?;
        let mut material = Material { name: entry.key.clone(), ..Material::default() };
        let surface = &mut material.surface;
        fields.set("restitution", &mut surface.restitution, number)?;
        fields.set("friction", &mut surface.friction, number)?;
        fields.set("rolling_friction", &mut surface.rolling_friction, number)?;
        fields.set("twisting_friction", &mut surface.twisting_friction, number)?;
        fields.set("restitution_threshold", &mut surface.restitution_threshold, number)?;
        fields.set("density", &mut material.density, number)?;
        Ok(material)
    };
    entries.iter().map(read).collect()
}

fn view(top: &Fields) -> Result<View, ParseError> {
    let fields = Fields::new(top.get("view"), "view", &["eye", "target", "fov", "color"])?;
    Ok(View {
        eye: fields.optional("eye", vector)?,
        target: fields.optional("target", vector)?,
        fov: fields.optional("fov", number)?,
        color: fields.optional("color", string)?,
    })
}

fn fill(node: &Node, path: &str, materials: &[Material], open: Open) -> Result<Fill, ParseError> {
    const SHAPES: [&str; 5] = ["random", "lattice", "at", "file", "source"];
    const MOTIONS: [&str; 3] = ["temperature", "speed_uniform", "velocity"];
    let known: Vec<&str> = SHAPES.into_iter().chain(MOTIONS).chain(["material", "fixed", "inside"]).collect();
    let fields = Fields::new(Some(node), path, &known)?;
    let shape = match one_of(&fields, node, path, &SHAPES)? {
        Some("random") => Shape::Random(random(&fields)?),
        Some("lattice") => Shape::Lattice(lattice(&fields)?),
        Some("at") => Shape::At(at(&fields)?),
        Some("source") => Shape::Source(source(&fields)?),
        Some(_) => {
            let name =
                fields.required("file", "\"grains.csv\"", |node, path| Ok((string(node, path)?, node)))?;
            let (file, node) = name;
            Shape::At(open(&file, materials).map_err(|problem| ParseError {
                span: node.span.clone(),
                problem,
                remedy: "the spheres of this group are read from it".into(),
            })?)
        }
        None => {
            return Err(ParseError {
                span: node.span.clone(),
                problem: format!("{path} does not say where its spheres are"),
                remedy: format!("expected one of {}", SHAPES.join(", ")),
            });
        }
    };
    let mut fill = Fill::from(shape);
    fill.motion = match one_of(&fields, node, path, &MOTIONS)? {
        Some("temperature") => Motion::Temperature(fields.required("temperature", "1.0", number)?),
        Some("speed_uniform") => Motion::Speed(fields.required("speed_uniform", "1.0", number)?),
        Some(_) => Motion::Velocity(fields.required("velocity", "[0, 0, 0]", vector)?),
        None => Motion::Kept,
    };
    fields.set("material", &mut fill.material, string)?;
    fields.set("fixed", &mut fill.fixed, boolean)?;
    fill.inside = fields.optional("inside", string)?;
    Ok(fill)
}

fn random(fields: &Fields) -> Result<Random, ParseError> {
    let path = fields.path("random");
    let known = ["count", "volume_fraction", "diameter", "diameters", "min", "max"];
    let node = fields.get("random");
    let inner = Fields::new(node, &path, &known)?;
    let diameters = diameters(&inner, node, &path)?;
    let region = match (inner.optional("min", vector)?, inner.optional("max", vector)?) {
        (Some(min), Some(max)) => Some((min, max)),
        (None, None) => None,
        (Some(_), None) => return Err(inner.missing("max", "[10, 10, 10]")),
        (None, Some(_)) => return Err(inner.missing("min", "[0, 0, 0]")),
    };
    Ok(Random {
        count: inner.optional("count", whole)?,
        volume_fraction: inner.optional("volume_fraction", number)?,
        diameters,
        region,
    })
}

/// The diameter of all, or those of shares, in a table called `path`.
pub(super) fn diameters(
    inner: &Fields,
    node: Option<&Node>,
    path: &str,
) -> Result<Vec<(f64, f64)>, ParseError> {
    if let Some(node) = node {
        one_of(inner, node, path, &["diameter", "diameters"])?;
    }
    let mut diameters = vec![(1.0, 1.0)];
    inner.set("diameter", &mut diameters, |node, path| Ok(vec![(number(node, path)?, 1.0)]))?;
    inner.set("diameters", &mut diameters, |node, path| {
        let expected = "a list of [diameter, share], as in [[1.0, 0.5], [0.5, 0.5]]";
        let pairs = list(node, path, expected)?;
        pairs
            .iter()
            .enumerate()
            .map(|(index, pair)| match &pair.value {
                Value::Array(two) if two.len() == 2 => {
                    let path = format!("{path}[{index}]");
                    Ok((number(&two[0], &path)?, number(&two[1], &path)?))
                }
                _ => Err(mismatch(pair, &format!("{path}[{index}]"), expected)),
            })
            .collect()
    })?;
    Ok(diameters)
}

fn lattice(fields: &Fields) -> Result<Lattice, ParseError> {
    let known = ["kind", "count", "spacing", "origin", "diameter"];
    let inner = Fields::new(fields.get("lattice"), &fields.path("lattice"), &known)?;
    let kinds =
        [("cubic", LatticeKind::Cubic), ("fcc", LatticeKind::Fcc), ("triangular", LatticeKind::Triangular)];
    let mut lattice = Lattice {
        kind: LatticeKind::Cubic,
        count: inner.required("count", "[10, 10, 10]", |node, path| {
            let expected = "[nx, ny, nz], or [nx, ny] in 2D";
            let numbers = list(node, path, expected)?;
            let mut count = [1; 3];
            if !(2..=3).contains(&numbers.len()) {
                return Err(mismatch(node, path, expected));
            }
            for (axis, number) in numbers.iter().enumerate() {
                count[axis] = whole(number, &format!("{path}[{axis}]"))?;
            }
            Ok(count)
        })?,
        spacing: inner.required("spacing", "1.1", number)?,
        origin: glam::DVec3::ZERO,
        diameter: 1.0,
    };
    inner.set("kind", &mut lattice.kind, |node, path| choice(node, path, &kinds))?;
    inner.set("origin", &mut lattice.origin, vector)?;
    inner.set("diameter", &mut lattice.diameter, number)?;
    Ok(lattice)
}

fn at(fields: &Fields) -> Result<Vec<Placed>, ParseError> {
    let known = ["id", "position", "velocity", "spin", "radius", "mass", "material", "fixed"];
    let nodes = fields.required("at", "[{ position = [0, 0, 0] }]", |node, path| {
        list(node, path, "a list like [{ position = [0, 0, 0], radius = 0.5 }]")
    })?;
    let read = |(index, node): (usize, &Node)| {
        let inner = Fields::new(Some(node), &format!("{}[{index}]", fields.path("at")), &known)?;
        let mut placed = Placed {
            id: inner.optional("id", whole)?,
            position: inner.required("position", "[0, 0, 0]", vector)?,
            mass: inner.optional("mass", number)?,
            material: inner.optional("material", string)?,
            ..Placed::default()
        };
        inner.set("velocity", &mut placed.velocity, vector)?;
        inner.set("spin", &mut placed.spin, vector)?;
        inner.set("radius", &mut placed.radius, number)?;
        inner.set("fixed", &mut placed.fixed, boolean)?;
        Ok(placed)
    };
    nodes.iter().enumerate().map(read).collect()
}

/// The tables of a list like `[[spheres]]`, each with its path.
fn tables<'a>(top: &Fields<'a>, name: &str) -> Result<Vec<(&'a Node, String)>, ParseError> {
    let nodes =
        top.optional(name, |node, path| list(node, path, &format!("a list of tables: [[{name}]]")))?;
    let nodes = nodes.unwrap_or(&[]).iter().enumerate();
    Ok(nodes.map(|(index, node)| (node, format!("{name}[{index}]"))).collect())
}

fn two_names(node: &Node, path: &str) -> Result<[String; 2], ParseError> {
    match list(node, path, "two names")? {
        [a, b] => Ok([string(a, path)?, string(b, path)?]),
        _ => Err(mismatch(node, path, "two names")),
    }
}
