//! Messages for errors in a scene: the line, the caret, the expected value, the nearest name.

use std::path::Path;

use carom::{
    files::{SceneError, SceneErrorKind, load_scene, parse_scene},
    scene::Scene,
};

pub fn parse(text: &str, overrides: &[&str]) -> Result<Scene, SceneError> {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    parse_scene(text, "test.toml", Some(Path::new("/nowhere")), &overrides)
}

/// The result of reading and, if that succeeds, building.
pub fn message(text: &str, overrides: &[&str]) -> String {
    match parse(text, overrides) {
        Err(error) => error.to_string(),
        Ok(scene) => scene.build().expect_err("should be refused").to_string(),
    }
}

#[test]
fn a_message_shows_the_line_and_a_caret() {
    let text = "# a comment\n[world]\n\tdt = -0.1   # backwards\n";
    let expected = "\
world.dt is -0.1
 --> test.toml:3:7
  |
3 |     dt = -0.1   # backwards
  |          ^^^^ a step is finite and > 0";
    assert_eq!(message(text, &[]), expected);
    assert_eq!(message(&text.replace('\n', "\r\n"), &[]), expected);
}

pub const W: &str = "[world]\ndt = 0.1\n";

mod slips {
    // The scene after `[world] dt = 0.1`, the message, the location, and the remedy.
    pub const SLIPS: &[(&str, &str, &str, &str)] = &[
        ("stepps = 5", "unknown field `stepps` in world", "3:1", "^^^^^^ did you mean `steps`?"),
        (
            "zzz = 5",
            "unknown field `zzz` in world",
            "3:1",
            "^^^ expected one of dimensions, gravity, dt, steps, seed",
        ),
        ("[wrld]", "unknown field `wrld` in the scene", "3:2", "^^^^ did you mean `world`?"),
        ("steps = \"many\"", "world.steps is a string", "3:9", "^^^^^^ expected a whole number"),
        ("steps = 1.5", "world.steps is a float", "3:9", "^^^ expected a whole number"),
        ("seed = -1", "world.seed is -1", "3:8", "^^ expected a whole number from 0 to 18446744073709551615"),
        (
            "seed = 18446744073709551616",
            "world.seed is 18446744073709551616",
            "3:8",
            "^ expected a whole number from 0 to 18446744073709551615",
        ),
        ("dimensions = 4", "world.dimensions is 4", "3:14", "^ expected 2 or 3"),
        ("gravity = 9.81", "world.gravity is a float", "3:11", "^^^^ expected [x, y, z], or [x, y] in 2D"),
        ("gravity = [1]", "world.gravity has 1 components", "3:11", "^^^ expected [x, y, z]"),
        ("gravity = [0, 0, \"down\"]", "world.gravity[2] is a string", "3:18", "^^^^^^ expected a number"),
        (
            "gravity = [0, 0, nan]",
            "world.gravity has the z component NaN",
            "3:11",
            "^ every component is a finite number",
        ),
        (
            "[solver]\nstrict_order = 1",
            "solver.strict_order is an integer",
            "4:16",
            "^ expected true or false",
        ),
        ("[solver]\nsubsteps = 5000000000", "solver.substeps is 5000000000", "4:12", "from 0 to 4294967295"),
        (
            "[solver]\nmax_initial_overlap = 1",
            "solver.max_initial_overlap is 1",
            "4:23",
            "^ a part of the mean diameter",
        ),
        (
            "[bounds]\nx = \"perodic\"",
            "bounds.x is \"perodic\"",
            "4:5",
            "expected one of \"periodic\", \"wall\", \"open\"",
        ),
        (
            "[bounds]\nmax = [1, 1, -1]\nz = \"wall\"",
            "bounds run from 0 to -1 in z",
            "4:7",
            "bounds.max is above bounds.min",
        ),
        (
            "[bounds]\nz = \"wall\"",
            "bounds.z is bounded but bounds.max is missing",
            "3:2",
            "^^^^^^ give bounds.max",
        ),
        (
            "[bounds]\nmaterial = \"oak\"",
            "there is no material \"oak\"",
            "4:12",
            "^^^^^ the materials are default",
        ),
        (
            "[materials.a]\nrestitution = 1.5",
            "materials.a.restitution is 1.5",
            "4:15",
            "^^^ a restitution is between 0 and 1",
        ),
        ("[materials.a]\nrestitution = -0.1", "materials.a.restitution is -0.1", "4:15", "between 0 and 1"),
        ("[materials.a]\ndensity = 0", "materials.a.density is 0", "4:11", "^ a density is finite and > 0"),
        (
            "[materials.a]\nrestituton = 1",
            "unknown field `restituton` in materials.a",
            "4:1",
            "did you mean `restitution`?",
        ),
        (
            "[materials.a]\nrolling = 0.5",
            "unknown field `rolling` in materials.a",
            "4:1",
            "expected one of restitution, friction, rolling_friction, twisting_friction, restitution_threshold, density",
        ),
        (
            "[materials.a]\nfricton = 0.5",
            "unknown field `fricton` in materials.a",
            "4:1",
            "did you mean `friction`?",
        ),
        (
            "[materials.a]\nfriction = -0.5",
            "materials.a.friction is -0.5",
            "4:12",
            "^^^^ a coefficient of friction is between 0 and 1000",
        ),
        (
            "[materials.a]\ntwisting_friction = inf",
            "materials.a.twisting_friction is inf",
            "4:21",
            "^^^ a coefficient of friction is between 0 and 1000",
        ),
        (
            "[materials.a]\nrestitution_threshold = nan",
            "materials.a.restitution_threshold is NaN",
            "4:25",
            "^^^ a speed is finite and >= 0",
        ),
        (
            "[[pairs]]\nbetween = [\"default\", \"default\"]\nrolling_friction = -1",
            "pairs[0].rolling_friction is -1",
            "5:20",
            "^^ a coefficient of friction is between 0 and 1000",
        ),
        (
            "[[pairs]]\nbetween = [\"default\", \"default\"]",
            "pairs[0] gives no surface property",
            "3:1",
            "give one or more of restitution, friction, rolling_friction, twisting_friction, restitution_threshold",
        ),
        (
            "[[pairs]]\nbetween = [\"default\", \"default\"]\nfriktion = 0.5",
            "unknown field `friktion` in pairs[0]",
            "5:1",
            "did you mean `friction`?",
        ),
        (
            "[[pairs]]\nbetween = [\"a\"]\nrestitution = 1",
            "pairs[0].between is an array",
            "4:11",
            "expected two names",
        ),
        (
            "[[pairs]]\nbetween = [\"default\", \"b\"]\nrestitution = 1",
            "there is no material \"b\"",
            "4:11",
            "the materials are default",
        ),
        (
            "[[pairs]]\nrestitution = 1",
            "pairs[0].between is missing",
            "3:1",
            "expected between = [\"steel\", \"glass\"]",
        ),
        (
            "[[walls]]\nmaterial = \"default\"",
            "walls[0] has no shape",
            "3:1",
            "expected one of plane, box, cylinder",
        ),
        (
            "[[walls]]\nbox = { center = [0, 0, 0], size = [1, 0, 1] }",
            "walls[0].box.size.y is 0",
            "4:",
            "a length is finite and > 0",
        ),
        (
            "[[walls]]\ncylinder = { from = [0, 0, 0], to = [0, 0, 0], radius = 1 }",
            "walls[0].cylinder.to is",
            "4:",
            "a direction is not zero",
        ),
        (
            "[[walls]]\ncone = { from = [0, 0, 0], to = [0, 0, 1], radii = [1, -1] }",
            "walls[0].cone.radii[1] is -1",
            "4:",
            "a radius is finite and >= 0",
        ),
        (
            "[[walls]]\ndisc = { center = [0, 0, 0], normal = [0, 0, 1], radius = 1, hole = 2 }",
            "walls[0].disc.hole is 2",
            "4:",
            "smaller than the radius",
        ),
        (
            "[[walls]]\nsphere = { center = [0, 0, 0], radius = 1, angle = 4 }",
            "walls[0].sphere.angle is 4",
            "4:",
            "at most pi",
        ),
        (
            "[[walls]]\nplane = { point = [0, 0, 0], normal = [0, 0, 1] }\nrotation = { point = [0, 0, 0], axis = [1, 0, 0], speed = 1 }",
            "turns about an axis that is not its normal",
            "5:",
            "use a box or a disc",
        ),
        (
            "[[walls]]\nplane = { point = [0, 0, 0], normal = [0, 0, 1] }\nfrom = 2.0\nuntil = 1.0",
            "walls[0].until is 1",
            "6:",
            "gone after it has appeared",
        ),
        (
            "[[walls]]\nplane = { point = [0, 0, 0], normal = [0, 0, 1] }\noscillation = { amplitude = [0, 0, 1], frequency = 0 }",
            "walls[0].oscillation.frequency is 0",
            "5:",
            "a frequency is finite and > 0",
        ),
        (
            "[[walls]]\nplane = { point = [0, 0, 0], normal = [0, 0, 1] }\nbox = { center = [0, 0, 0], size = [1, 1, 1] }",
            "walls[0] has both plane and box",
            "5:1",
            "expected only one of plane, box",
        ),
        (
            "[[walls]]\nname = \"silo\"\ncylinder = { from = [0, 0, 0], to = [0, 0, 9], radius = 3 }\n[[spheres]]\nlattice = { count = [3, 3, 3], spacing = 1.1 }\ninside = \"sile\"",
            "there is no wall \"sile\"",
            "8:",
            "the walls that spheres can be inside of are silo",
        ),
        (
            "[[walls]]\nplane = { point = [0, 0, 0], normal = [0, 0, 0] }",
            "walls[0].plane.normal is zero",
            "4:39",
            "^^^^^^^^^ give the direction",
        ),
        (
            "[[walls]]\nplane = [[0, 0, 0], [0, 0, 1]]",
            "walls[0].plane is an array",
            "4:9",
            "^ expected a table",
        ),
        (
            "[[pairs]]\nbetween = [\"default\", \"default\", \"default\"]\nrestitution = 1",
            "pairs[0].between is an array",
            "4:11",
            "expected two names",
        ),
        ("[spheres]\nat = []", "spheres is a table", "3:1", "expected a list of tables: [[spheres]]"),
        (
            "[[spheres]]\nmaterial = \"default\"",
            "spheres[0] does not say where its spheres are",
            "3:1",
            "expected one of random, lattice, at, file",
        ),
        (
            "[[spheres]]\nat = []\nfile = \"a.csv\"",
            "spheres[0] has both at and file",
            "5:1",
            "expected only one of",
        ),
        (
            "[[spheres]]\nat = []\nvelocity = [0, 0, 0]\ntemperature = 1",
            "spheres[0] has both temperature and velocity",
            "5:1",
            "^^^^^^^^ expected only one of",
        ),
        ("[[spheres]]\nsource = 1", "spheres[0].source is an integer", "4:10", "expected a table"),
        (
            "[[spheres]]\nat = [{ radius = 1 }]",
            "spheres[0].at[0].position is missing",
            "4:7",
            "expected position = [0, 0, 0]",
        ),
        (
            "[[spheres]]\nat = [{ position = [0, 0, 0], radius = -1 }]",
            "spheres[0].at[0].radius is -1",
            "4:40",
            "^^ a radius is finite and > 0",
        ),
        (
            "[[spheres]]\nat = [{ position = [0, 0, 0], radius = 0 }]",
            "spheres[0].at[0].radius is 0",
            "4:40",
            "^ a radius is finite and > 0",
        ),
        (
            "[[spheres]]\nat = [{ position = [0, 0, 0], mass = 0 }]",
            "spheres[0].at[0].mass is 0",
            "4:38",
            "^ a mass is finite and > 0",
        ),
        (
            "[[spheres]]\nat = [{ position = [0, inf, 0] }]",
            "position has the y component inf",
            "4:20",
            "every component is a finite number",
        ),
        (
            "[[spheres]]\nat = [{ position = [0, 0, 0] }, { position = [0.5, 0, 0] }]",
            "spheres 0 and 1 overlap by 0.500",
            "4:33",
            "^ move them apart; overlap up to 0.01",
        ),
        (
            "[[spheres]]\nat = [{ position = [0, 0, 0], id = 1 }, { position = [5, 0, 0], id = 1 }]",
            "two spheres have the id 1",
            "4:41",
            "every sphere has a unique id",
        ),
        (
            "[[spheres]]\nrandom = { count = 10 }",
            "spheres[0].random does not say how large a box to fill",
            "4:10",
            "give bounds.min and bounds.max",
        ),
        (
            "[[spheres]]\nrandom = { volum_fraction = 0.1 }",
            "unknown field `volum_fraction`",
            "4:12",
            "did you mean `volume_fraction`?",
        ),
        (
            "[[spheres]]\nrandom = { count = 10, min = [0, 0, 0] }",
            "spheres[0].random.max is missing",
            "4:10",
            "expected max =",
        ),
        (
            "[[spheres]]\nrandom = { count = 9, volume_fraction = 0.6 }",
            "more spheres than the volume holds",
            "4:10",
            "random fills reach 0.50",
        ),
        (
            "[[spheres]]\nrandom = { count = 9, diameters = [1, 2] }",
            "spheres[0].random.diameters[0] is an integer",
            "4:36",
            "[diameter, share]",
        ),
        (
            "[[spheres]]\nlattice = { count = [2, 2, 2] }",
            "spheres[0].lattice.spacing is missing",
            "4:11",
            "expected spacing = 1.1",
        ),
        (
            "[[spheres]]\nlattice = { count = [2, 2, 2], spacing = 1, kind = \"hex\" }",
            "lattice.kind is \"hex\"",
            "4:52",
            "\"cubic\", \"fcc\", \"triangular\"",
        ),
        (
            "gravity = [0, 0, -1]\n[bounds]\nmax = [9, 9, 9]\nz = \"periodic\"",
            "gravity acts along z, and z is periodic",
            "3:11",
            "make bounds.z \"wall\" or \"open\"",
        ),
        (
            "[bounds]\nmax = [2, 9, 9]\nx = \"periodic\"\n[[spheres]]\nat = [{ position = [0, 0, 0] }]",
            "the period 2 in x is too short",
            "5:5",
            "^ it must be at least 2.1",
        ),
        (
            "[bounds]\nmax = [9, 9, 9]\nz = \"wall\"\n[[spheres]]\nat = [{ position = [0, 0, -2] }]",
            "sphere 0 lies behind the wall z-min",
            "7:7",
            "move it to the free side",
        ),
        ("[view]\nfov = \"wide\"", "view.fov is a string", "4:7", "expected a number"),
        ("dt = 0.2", "duplicate key", "3:1", "this is not TOML"),
        ("[solver", "unclosed table", "3:8", "this is not TOML"),
    ];
}

#[test]
fn every_error_is_shown_at_its_position() {
    for (rest, problem, place, remedy) in slips::SLIPS {
        let found = message(&format!("{W}{rest}\n"), &[]);
        let lines: Vec<&str> = found.lines().collect();
        assert_eq!(lines.len(), 5, "{found}");
        assert!(lines[0].contains(problem), "expected {problem:?} in: {found}");
        let at = format!("test.toml:{place}");
        let is_there = if place.ends_with(':') { lines[1].contains(&at) } else { lines[1].ends_with(&at) };
        assert!(is_there, "expected {place} in: {found}");
        assert!(lines[4].contains(remedy) && lines[4].contains('^'), "expected {remedy:?} in: {found}");
    }
}

#[test]
fn the_step_is_required() {
    for (text, place) in [("[world]\nsteps = 1\n", "1:1"), ("[solver]\n", "1:1"), ("", "1:1")] {
        let found = message(text, &[]);
        assert!(found.starts_with("world.dt is missing\n"), "{found}");
        assert!(found.contains(place) && found.contains("expected dt = 0.0166667"), "{found}");
    }
    for dt in ["0", "-1", "nan", "inf", "-0.0"] {
        assert!(message(&format!("[world]\ndt = {dt}\n"), &[]).contains("a step is finite and > 0"));
    }
    assert!(message("[world]\ndt = \"fast\"\n", &[]).contains("world.dt is a string"));
}

#[test]
fn a_missing_file_is_distinguished_from_an_invalid_one() {
    let missing = load_scene(Path::new("/nowhere/scene.toml"), &[]).unwrap_err();
    assert_eq!(missing.kind(), SceneErrorKind::Missing);
    assert!(missing.to_string().contains("cannot read the scene /nowhere/scene.toml"));
    let spheres = parse(&format!("{W}[[spheres]]\nfile = \"grains.csv\"\n"), &[]).unwrap_err();
    assert_eq!(spheres.kind(), SceneErrorKind::Missing);
    let text = spheres.to_string();
    assert!(text.contains("cannot read /nowhere/grains.csv") && text.contains("test.toml:4:8"), "{text}");
    assert_eq!(parse("", &[]).unwrap_err().kind(), SceneErrorKind::Invalid);
    let builtin = parse_scene(&format!("{W}[[spheres]]\nfile = \"a.csv\"\n"), "x", None, &[]).unwrap_err();
    assert_eq!(builtin.kind(), SceneErrorKind::Missing);
}

// Scenes truncated at any byte, or with any one byte changed, are read or rejected without a panic.
#[test]
fn damaged_scenes_do_not_panic() {
    let text = carom::files::builtin("break").unwrap().text;
    for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
        if let Ok(scene) = parse(&text[..end], &[]) {
            drop(scene.build());
        }
    }
    for at in 0..text.len() {
        for new in [b'9', b'-', b'"', b']', b'.', b'\n'] {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] = new;
            if let Ok(scene) =
                String::from_utf8(bytes).map_err(drop).and_then(|text| parse(&text, &[]).map_err(drop))
            {
                drop(scene.build());
            }
        }
    }
}
