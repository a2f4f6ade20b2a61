//! `carom verify`. Needs an adapter: without one most of these tests fail.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::harness::{Place, Ran};

const NO_ADAPTER: [(&str, &str); 3] =
    [("VK_DRIVER_FILES", "/nonexistent"), ("VK_ICD_FILENAMES", "/nonexistent"), ("WGPU_BACKEND", "vulkan")];

// Nothing rests in a gas.
const STAGES_OF_A_GAS: [&str; 11] = [
    "bin",
    "scan",
    "scatter",
    "neighbors",
    "launch",
    "sweep",
    "select",
    "collide",
    "advance",
    "relax",
    "audit",
];

const FLAT: &str = r#"
[world]
dimensions = 2
gravity = [0, -3]
dt = 0.02

[bounds]
x = "periodic"
y = "wall"

[[spheres]]
random = { count = 300, volume_fraction = 0.3, diameter = 1.0 }
temperature = 2.0
"#;

// Falling spheres make adapters fuse products with sums that otherwise round as the processor does.
const FALL: &str = r#"
[world]
gravity = [0, 0, -9]
dt = 0.03
seed = 5

[bounds]
x = "periodic"
y = "periodic"
z = "wall"

[[spheres]]
random = { count = 300, volume_fraction = 0.3, diameter = 1.0 }
temperature = 3.0
"#;

#[test]
fn engines_that_agree_end_with_0_and_the_worst_difference() {
    let place = Place::new();
    place.write("flat.toml", FLAT);
    for scene in ["gas.toml", "flat.toml", "pair.toml"] {
        let ran = place.carom(&["verify", scene, "--steps", "8", "--json"]).expect(0);
        let object = ran.object();
        assert_eq!((&object["agreed"], &object["steps"]), (&true.into(), &8.into()), "{object}");
        assert!(object["mismatch"].is_null());
        assert!(object["adapter"].is_string() && object["adapter_type"].is_string());
        let number = |name: &str| object[name].as_f64().unwrap_or_else(|| panic!("{name}: {object}"));
        assert!((0.0..=1.0).contains(&number("worst")));
        assert!(number("impacts") > 0.0 && number("near_ties") <= 1.0 + number("impacts") / 500.0);
        assert_eq!(number("tolerance"), 5e-7);
    }
    let table = place.carom(&["verify", "gas.toml", "--steps", "8", "--threads", "2"]).expect(0).stdout;
    for text in ["gpu and cpu", "near-ties", "agreed    8 steps"] {
        assert!(table.contains(text), "no {text} in {table}");
    }
    let quiet = place.carom(&["verify", "pair.toml", "--steps", "1", "--quiet"]).expect(0).silent();
    assert_eq!(quiet.stderr, "");
}

#[test]
fn the_stages_are_printed_with_their_worst_differences() {
    let place = Place::new();
    let ran = place.carom(&["verify", "gas.toml", "--steps", "2", "--stages", "--json"]).expect(0);
    let object = ran.object();
    let stages = object["stages"].as_array().unwrap();
    assert!(stages.iter().map(|stage| stage["stage"].as_str().unwrap()).eq(STAGES_OF_A_GAS));
    for stage in stages {
        assert_eq!(stage["agrees"], true);
        assert!((0.0..=1.0).contains(&stage["worst"].as_f64().unwrap()), "{stage}");
        assert!(stage["passes"].as_u64().unwrap() >= 2 && stage["values"].as_u64().unwrap() > 0);
    }
    assert!(ran.stderr.contains("worst share  not compared"), "{}", ran.stderr);
    let object = place.carom(&["verify", "gas.toml", "--steps", "1", "--json"]).expect(0).object();
    assert!(object["stages"].is_null());
}

#[test]
fn engines_that_differ_end_with_5_and_the_first_step_and_stage() {
    let place = Place::new();
    // A tolerance below the rounding error.
    place.write("fall.toml", FALL);
    let arguments = ["verify", "fall.toml", "--steps", "20", "--tolerance", "1e-9", "--json"];
    let ran = place.carom(&arguments).expect(5);
    let object = ran.object();
    assert_eq!(object["agreed"], false);
    let mismatch = &object["mismatch"];
    let (step, stage) = (mismatch["step"].as_u64().unwrap(), mismatch["stage"].as_str().unwrap());
    assert_eq!(object["steps"].as_u64().unwrap(), step - 1);
    assert!(carom::schedule::STAGES.iter().any(|s| s.name == stage), "{mismatch}");
    // A mismatch in a sum has no sphere.
    let place = match mismatch["sphere"].as_u64() {
        Some(sphere) => {
            assert!((0..300).contains(&sphere));
            format!("step {step}, stage {stage}, sphere {sphere}: ")
        }
        None => format!("step {step}, stage {stage}, "),
    };
    let (gpu, cpu) = (mismatch["gpu"].as_array().unwrap(), mismatch["cpu"].as_array().unwrap());
    assert!(gpu != cpu && !gpu.is_empty() && !mismatch["what"].as_str().unwrap().is_empty());
    ran.says(&place);
}

#[test]
fn invalid_scenes_and_options_of_verify_are_refused() {
    let place = Place::new();
    place.carom(&["verify", "gsa"]).expect(2).silent().says("did you mean `gas`");
    place.carom(&["verify", "missing.toml"]).expect(2).silent();
    place.carom(&["verify", "gas.toml", "--set", "world.dt=-1"]).expect(2).silent();
    for arguments in [
        &["verify"][..],
        &["verify", "gas.toml", "--steps", "0"],
        &["verify", "gas.toml", "--steps", "-1"],
        &["verify", "gas.toml", "--tolerance", "0"],
        &["verify", "gas.toml", "--tolerance", "-1"],
        &["verify", "gas.toml", "--tolerance", "nan"],
        &["verify", "gas.toml", "--backend", "cpu"],
    ] {
        place.carom(arguments).expect(2).silent();
    }
    place.carom(&["verify", "gas.toml", "--adapter", "abacus"]).expect(3).silent().says("abacus");
    let arguments = ["verify", "gas.toml", "--steps", "1"];
    let output = place.command(&arguments).envs(NO_ADAPTER).output().unwrap();
    let ran = Ran::new(&arguments, output).expect(3).silent().says("no adapter found");
    assert!(!ran.stderr.contains("--backend"), "there is no such choice here: {}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn ctrl_c_finishes_the_step_and_names_the_last_one() {
    let place = Place::new();
    let arguments = ["verify", "gas.toml", "--steps", "1000000", "--json"];
    // A terminal would show a progress bar; here the first line shows that the run has started.
    let mut child = place.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(child.stderr.take().unwrap());
    let mut stderr = String::new();
    while !stderr.contains("near-ties") {
        assert_ne!(reader.read_line(&mut stderr).unwrap(), 0, "ended early: {stderr}");
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    std::io::Read::read_to_string(&mut reader, &mut stderr).unwrap();
    let mut output = child.wait_with_output().unwrap();
    output.stderr = stderr.into_bytes();
    let ran = Ran::new(&arguments, output).expect(130).says("interrupted after step");
    assert_eq!(ran.object()["agreed"], true);
}
