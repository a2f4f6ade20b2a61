//! Scenes with an error: one message with the location, and never a panic.

use crate::harness::{GAS, PAIR, Place};

#[test]
fn an_error_is_shown_with_its_line_and_a_caret() {
    let place = Place::new();
    let cases: [(&str, &str, &str, &str); 22] = [
        // Text to replace, replacement, line shown, and a word of the message.
        ("dt = 0.02", "dtt = 0.02", "dtt = 0.02", "dt"),
        ("dt = 0.02", "dt = \"fast\"", "dt = \"fast\"", "number"),
        ("dt = 0.02", "dt = 0", "dt = 0", "dt"),
        ("dt = 0.02", "dt = -0.02", "dt = -0.02", "dt"),
        ("dt = 0.02", "dt = nan", "dt = nan", "dt"),
        ("dt = 0.02", "dt = inf", "dt = inf", "dt"),
        ("dt = 0.02", "", "[world]", "dt"),
        ("steps = 20", "steps = -20", "steps = -20", ""),
        ("steps = 20", "steps = 1.5", "steps = 1.5", ""),
        ("seed = 7", "seed = 7 7", "seed = 7 7", ""),
        ("[bounds]", "[bound]", "[bound]", "bounds"),
        ("x = \"periodic\"", "x = \"periodical\"", "x = \"periodical\"", "periodic"),
        ("x = \"periodic\"", "x = 3", "x = 3", ""),
        ("diameter = 1.0", "diameter = -1.0", "diameter = -1.0", "diameter"),
        ("diameter = 1.0", "diameter = 0.0", "diameter = 0.0", "diameter"),
        ("diameter = 1.0", "diamter = 1.0", "diamter = 1.0", "diameter"),
        ("count = 200", "count = -200", "count = -200", "count"),
        ("volume_fraction = 0.1", "volume_fraction = 0.9", "volume_fraction = 0.9", "fraction"),
        ("volume_fraction = 0.1", "volume_fraction = -0.1", "volume_fraction = -0.1", "fraction"),
        ("temperature = 1.0", "temperature = -1.0", "temperature = -1.0", "temperature"),
        ("temperature = 1.0", "temperature = 1.0\nmaterial = \"steel\"", "material = \"steel\"", "steel"),
        (
            "temperature = 1.0",
            "temperature = 1.0\n[materials.default]\nrestitution = 1.5",
            "restitution = 1.5",
            "1",
        ),
    ];
    for (old, new, shown, word) in cases {
        assert!(GAS.contains(old));
        place.write("slip.toml", &GAS.replace(old, new));
        let ran = place
            .carom(&["run", "slip.toml"])
            .expect(2)
            .silent()
            .says("slip.toml")
            .says(shown)
            .says("^")
            .says(word);
        drop(ran);
    }
}

#[test]
fn invalid_spheres_are_refused() {
    let place = Place::new();
    for (old, new, word) in [
        ("radius = 0.5, mass = 1.0 },\n]", "radius = -0.5, mass = 1.0 },\n]", "radius"),
        ("radius = 0.5, mass = 1.0 },\n]", "radius = 0, mass = 1.0 },\n]", "radius"),
        ("radius = 0.5, mass = 1.0 },\n]", "radius = 0.5, mass = 0 },\n]", "mass"),
        ("radius = 0.5, mass = 1.0 },\n]", "radius = 0.5, mass = -1 },\n]", "mass"),
        ("radius = 0.5, mass = 1.0 },\n]", "radius = inf, mass = 1 },\n]", "radius"),
        ("velocity = [1, 0, 0]", "velocity = [nan, 0, 0]", "velocity"),
        ("position = [1.2, 0, 0]", "position = [1.2, nan, 0]", "position"),
        ("position = [1.2, 0, 0]", "position = [1.2]", "position"),
        // Deeper than the 1% overlap allowed at the start.
        ("position = [1.2, 0, 0]", "position = [0.9, 0, 0]", "overlap"),
        ("[world]", "[bounds]\nmin = [0, 0, 0]\nmax = [-9, 9, 9]\nx = \"wall\"\n[world]", "max"),
        (
            "[world]",
            "[bounds]\nmin = [-9, -0.9, -9]\nmax = [9, 0.9, 9]\ny = \"periodic\"\n[world]",
            "periodic",
        ),
        (
            "[world]",
            "[bounds]\nmin = [-9, -9, -9]\nmax = [9, 9, 9]\nz = \"periodic\"\n[world]\ngravity = [0, 0, -1]",
            "gravity",
        ),
    ] {
        assert!(PAIR.contains(old), "{old}");
        place.write("slip.toml", &PAIR.replace(old, new));
        place.carom(&["run", "slip.toml", "--out", "out"]).expect(2).silent().says(word);
    }
    assert_eq!(place.names("."), ["gas.toml", "pair.toml", "slip.toml"]);
}

#[test]
fn a_wrong_setting_names_its_key() {
    let place = Place::new();
    for (setting, word) in [
        ("world.dt=no", "world.dt"),
        ("world.dt=-1", "dt"),
        ("world.dtt=1", "dtt"),
        ("wordl.dt=1", "wordl"),
        ("world.seed=-1", "seed"),
        ("world.dt.x=1", "dt"),
        ("nothing=1", "nothing"),
    ] {
        place.carom(&["run", "gas.toml", "--set", setting]).expect(2).silent().says(word);
    }
}

#[test]
fn text_that_is_no_scene_is_refused() {
    let place = Place::new();
    std::fs::create_dir(place.path("folder.toml")).unwrap();
    std::fs::write(place.path("bytes.toml"), [0xff, 0xfe, 0, 1, 2]).unwrap();
    place.write("empty.toml", "");
    for name in ["missing.toml", "folder.toml", "bytes.toml", "empty.toml", "no/such/scene.toml", ""] {
        place.carom(&["run", name]).expect(2).silent().says(name);
    }
}

#[test]
fn a_sphere_file_that_is_missing_or_wrong_is_named() {
    let place = Place::new();
    let scene = |file: &str| format!("[world]\ndt = 0.1\nsteps = 1\n[[spheres]]\nfile = \"{file}\"\n");
    let header = "id,x,y,z,vx,vy,vz,radius,mass\n";
    for (name, text, word) in [
        ("short.csv", format!("{header}0,0,0,0,0,0,0,0.5\n"), "short.csv:2"),
        ("word.csv", format!("{header}0,0,zero,0,0,0,0,0.5,1\n"), "zero"),
        ("twice.csv", format!("{header}0,0,0,0,0,0,0,0.5,1\n0,5,0,0,0,0,0,0.5,1\n"), "id"),
        ("negative.csv", format!("{header}0,0,0,0,0,0,0,-0.5,1\n"), "radius"),
        ("nan.csv", format!("{header}0,nan,0,0,0,0,0,0.5,1\n"), "nan.csv:2: x"),
        ("header.csv", "a,b\n1,2\n".to_owned(), "header.csv"),
        ("none.csv", String::new(), "none.csv"),
    ] {
        place.write(name, &text);
        place.write("scene.toml", &scene(name));
        place.carom(&["run", "scene.toml"]).expect(2).silent().says(word);
    }
    place.write("scene.toml", &scene("missing.csv"));
    place.carom(&["run", "scene.toml"]).expect(2).silent().says("missing.csv");
    place.write("scene.toml", &scene("missing.docx"));
    place.carom(&["run", "scene.toml"]).expect(2).silent().says("docx");
}

// A generator of low quality, but identical on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

fn mangle(text: &str, rng: &mut Dice) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let at = rng.below(characters.len());
    match rng.below(6) {
        0 => drop(characters.drain(at..(at + 1 + rng.below(12)).min(text.len()))),
        1 => characters.truncate(at),
        2 => characters
            .insert(at, ['"', '[', ']', '{', '}', '=', '\u{0}', '\u{7}', 'é', '-', '.', ','][rng.below(12)]),
        3 => {
            let other = rng.below(characters.len());
            characters.swap(at, other);
        }
        4 => {
            let mut lines: Vec<&str> = text.lines().collect();
            let line = lines[rng.below(lines.len())];
            lines.insert(rng.below(lines.len()), line);
            return lines.join("\n");
        }
        _ => {
            // Replaces everything from one line on by a value that no field accepts.
            let value = ["nan", "-1e400", "\"\"", "[]", "{}", "true", "1979-05-27"][rng.below(7)];
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let start = rng.below(lines.len());
            if let Some(line) = lines[start..].iter_mut().find(|line| line.contains('=')) {
                *line = format!("{}= {value}", &line[..line.find('=').unwrap()]);
            }
            return lines.join("\n");
        }
    }
    characters.into_iter().collect()
}

#[test]
fn mangled_scenes_are_refused_or_run_and_never_panic() {
    let place = Place::new();
    let mut refused = 0;
    for seed in 0..80 {
        let text = mangle(if seed % 2 == 0 { GAS } else { PAIR }, &mut Dice(seed * 7919 + 1));
        place.write("mangled.toml", &text);
        let ran = place.carom(&["run", "mangled.toml", "--steps", "1", "--quiet"]);
        // A gap in a comment or a number may leave a valid scene.
        let code = ran.code;
        assert!(code == 0 || code == 2, "seed {seed}: exit code {code}\n{text}\n{}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "seed {seed}\n{text}\n{}", ran.stderr);
        assert_eq!(ran.stderr.is_empty(), code == 0, "seed {seed}\n{text}\n{}", ran.stderr);
        ran.silent();
        refused += u32::from(code == 2);
    }
    assert!(refused > 40, "only {refused} of 80 were refused: the mangling is too kind");
}
