//! `carom analyze`: measurements of the files of a run.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::harness::Place;

// A gas whose states and metrics were written.
fn gas() -> Place {
    let place = Place::new();
    let run = [
        "run",
        "gas.toml",
        "--backend",
        "cpu",
        "--out",
        "out",
        "--every",
        "5",
        "--metrics",
        "m.csv",
        "--quiet",
    ];
    place.carom(&run).expect(0);
    place
}

fn number(object: &Value, section: &str, key: &str) -> f64 {
    object[section][key].as_f64().unwrap_or_else(|| panic!("no number {section}.{key} in {object}"))
}

// The columns of a table, by name.
fn column(place: &Place, name: &str, column: &str) -> Vec<f64> {
    let text = place.read(name);
    let at = text.lines().next().unwrap().split(',').position(|found| found == column).unwrap();
    text.lines().skip(1).map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect()
}

#[test]
fn a_gas_is_measured_from_its_files() {
    let place = gas();
    let states = [
        "out/state-00000020.xyz",
        "out/state-00000005.xyz",
        "out/final.xyz",
        "out/state-00000010.xyz",
        "out/state-00000015.xyz",
    ];
    let arguments: Vec<&str> =
        ["analyze"].into_iter().chain(states).chain(["m.csv", "--json", "--out", "a"]).collect();
    let object = place.carom(&arguments).expect(0).object();
    // The last state is also `final`; it counts once.
    assert_eq!((&object["states"], &object["sphere_count"]), (&Value::from(4), &Value::from(200)));
    assert!((number(&object, "packing", "packing_fraction") - 0.1).abs() < 1e-9);
    // The scene divides the energy by 200 spheres; the drift takes the freedom of one.
    assert!((number(&object, "speeds", "temperature") * 199.0 / 200.0 - 1.0).abs() < 1e-5);
    assert_eq!(number(&object, "coordination", "spheres"), 200.0);
    assert!((number(&object, "msd", "longest_lag") - 0.3).abs() < 1e-9);
    // Three dimensions of velocity variance 1 for a time of 0.3, less by collisions.
    assert!((0.15..0.28).contains(&number(&object, "msd", "msd_at_longest_lag")), "{object}");
    assert!(
        (number(&object, "energy", "kinetic_energy_last")
            / number(&object, "energy", "kinetic_energy_first")
            - 1.0)
            .abs()
            < 1e-6
    );
    assert!(object.get("forces").is_none() && object.get("flow").is_none());
    let names = place.names("a");
    for stem in ["rdf", "speeds", "packing", "coordination", "msd", "energy"] {
        for ending in ["csv", "svg", "png"] {
            assert!(names.contains(&format!("{stem}.{ending}")), "{names:?}");
        }
        assert!(place.read(&format!("a/{stem}.svg")).starts_with("<svg"));
        assert!(std::fs::read(place.path(&format!("a/{stem}.png"))).unwrap().starts_with(b"\x89PNG"));
    }
    assert_eq!(names.len(), 19, "{names:?}");
    let written: Value = serde_json::from_str(&place.read("a/summary.json")).unwrap();
    assert_eq!(written, object);
    // Nothing is nearer than a diameter, and the neighbours add up to the pairs.
    let (r, g) = (column(&place, "a/rdf.csv", "r"), column(&place, "a/rdf.csv", "g"));
    assert!(r.iter().zip(&g).all(|(r, g)| *r > 0.98 || *g == 0.0));
    let neighbors = column(&place, "a/rdf.csv", "neighbors");
    assert_eq!(neighbors[neighbors.len() - 1], number(&object, "rdf", "pairs") / 100.0);
    // Without --json the same figures are a table.
    let table = place.carom(&["analyze", "out/final.xyz", "--what", "packing"]).expect(0);
    assert!(table.stdout.contains("packing_fraction  0.100000"), "{}", table.stdout);
}

#[test]
fn the_tables_do_not_depend_on_the_number_of_threads_or_the_order_of_files() {
    let place = gas();
    let run = |threads: &str, states: [&str; 2], out: &str| {
        let arguments = [
            "analyze",
            states[0],
            states[1],
            "--frames",
            "all",
            "--threads",
            threads,
            "--out",
            out,
            "--json",
        ];
        place.carom(&arguments).expect(0).stdout
    };
    let states = ["out/state-00000005.xyz", "out/state-00000015.xyz"];
    let one = run("1", states, "one");
    assert_eq!(one, run("2", [states[1], states[0]], "two"));
    for name in place.names("one") {
        let read = |folder: &str| std::fs::read(place.path(&format!("{folder}/{name}"))).unwrap();
        assert!(read("one") == read("two"), "{name}");
    }
}

#[test]
fn tables_of_spheres_take_the_box_from_the_scene() {
    let place = gas();
    let alone = place.carom(&["analyze", "out/final.csv", "--json"]).expect(0);
    assert!(
        alone.stderr.contains("packing left out") && alone.stderr.contains("--scene"),
        "{}",
        alone.stderr
    );
    let box_of_scene = ["analyze", "out/final.csv", "--scene", "gas.toml", "--json", "--what", "rdf,packing"];
    let with_scene = place.carom(&box_of_scene).expect(0).object();
    let of_file =
        place.carom(&["analyze", "out/final.xyz", "--json", "--what", "rdf,packing"]).expect(0).object();
    assert_eq!(with_scene["rdf"], of_file["rdf"]);
    assert_eq!(with_scene["packing"], of_file["packing"]);
}

/// Three spheres on top of each other, and a sink that takes a fourth.
const PILE: &str = r#"
[world]
gravity = [0, 0, -10]
dt = 0.01
steps = 100
[bounds]
min = [0, 0, 0]
max = [4, 4, 4]
x = "wall"
y = "wall"
z = "wall"
[materials.default]
restitution = 0.5
friction = 0.5
[[spheres]]
at = [
    { id = 1, position = [1, 1, 0.5], mass = 2.0 },
    { id = 2, position = [1, 1, 1.5], mass = 2.0 },
    { id = 3, position = [1, 1, 2.5], mass = 2.0 },
    { id = 4, position = [3, 3, 3.0], mass = 2.0 },
]
[[sinks]]
name = "trap, one"
min = [2, 2, 0]
max = [4, 4, 1]
"#;

#[test]
fn contacts_and_flow_are_measured_from_their_files() {
    let place = Place::new();
    place.write("pile.toml", PILE);
    for metrics in ["m.csv", "m.jsonl"] {
        let run = [
            "run",
            "pile.toml",
            "--backend",
            "cpu",
            "--out",
            "o",
            "--contacts",
            "c.csv",
            "--metrics",
            metrics,
            "--quiet",
        ];
        place.carom(&run).expect(0);
        let object = place
            .carom(&["analyze", "o/final.xyz", "c.csv", metrics, "--json", "--scene", "pile.toml"])
            .expect(0)
            .object();
        let forces = &object["forces"];
        assert_eq!(
            (&forces["sphere_contacts"], &forces["wall_contacts"]),
            (&Value::from(2), &Value::from(1)),
            "{object}"
        );
        // The lower contact carries two spheres, the upper one.
        assert!((number(&object, "forces", "mean_normal_force") - 30.0).abs() < 0.1);
        assert!((number(&object, "forces", "largest_over_mean") - 4.0 / 3.0).abs() < 1e-3);
        assert_eq!(forces["coordination"], Value::from(5.0 / 3.0));
        assert!((number(&object, "forces", "anisotropy") - 1.0).abs() < 1e-6);
        // (60 * 0.5 + 40 + 20) / 64.
        assert!((forces["stress"][2].as_f64().unwrap() - 90.0 / 64.0).abs() < 0.02, "{object}");
        assert_eq!(object["flow_removed_trap__one"]["total"], Value::from(1));
        assert_eq!(number(&object, "energy", "steps"), 100.0);
    }
}

#[test]
fn two_dimensions_are_recognized() {
    let place = Place::new();
    let disc = |k: u32| {
        format!("{k},{},{},0,0.5,{}\n", 1.0 + f64::from(k % 4), 1.0 + f64::from(k / 4), f64::from(k) - 7.0)
    };
    let rows: String = (0..16).map(disc).collect();
    place.write("discs.csv", &format!("id,x,y,z,radius,vx\n{rows}"));
    let object =
        place.carom(&["analyze", "discs.csv", "--json", "--what", "coordination,speeds"]).expect(0).object();
    // A square lattice of 16 discs has 24 contacts; 3 contacts hold a disc.
    assert_eq!(
        (&object["coordination"]["contacts"], &object["coordination"]["least_contacts"]),
        (&Value::from(24), &Value::from(3))
    );
    // Discs of equal density: mass 1 at diameter 1. The variance of 0 to 15 over 15 of 16 spheres and two dimensions.
    assert!((number(&object, "speeds", "temperature") - 340.0 / 30.0).abs() < 1e-9, "{object}");
    let three = ["analyze", "discs.csv", "--json", "--what", "coordination", "--dimensions", "3"];
    assert_eq!(place.carom(&three).expect(0).object()["coordination"]["least_contacts"], Value::from(4));
}

#[test]
fn materials_have_their_own_distributions() {
    let place = Place::new();
    let site = |k: u32| {
        format!("{},{},{},0.5,{}\n", k % 4, k / 4 % 4, k / 16, if k.is_multiple_of(2) { "a/b" } else { "c" })
    };
    let rows: String = (0..64).map(site).collect();
    place.write("two.csv", &format!("x,y,z,radius,material\n{rows}"));
    let run = ["analyze", "two.csv", "--what", "rdf", "--partial", "--range", "1.5", "--json", "--out", "a"];
    let object = place.carom(&run).expect(0).object();
    let pairs = |key: &str| object[key]["pairs"].as_u64().unwrap();
    assert_eq!(pairs("rdf"), pairs("rdf_0_a_b_0_a_b") + pairs("rdf_0_a_b_1_c") + pairs("rdf_1_c_1_c"));
    assert!(place.names("a").contains(&"rdf_0_a_b_1_c.csv".to_owned()));
}

#[test]
fn bad_input_is_named_with_its_place() {
    let place = gas();
    let analyze = |arguments: &[&str]| {
        let all: Vec<&str> = ["analyze"].into_iter().chain(arguments.iter().copied()).collect();
        place.carom(&all)
    };
    analyze(&[]).expect(2);
    analyze(&["absent.xyz"]).expect(2).silent().says("absent.xyz");
    analyze(&["absent.csv"]).expect(2).silent().says("absent.csv");
    place.write("bad.csv", "x,y,radius\n1,2,0.5\n1,nan,0.5\n");
    analyze(&["bad.csv"]).expect(2).silent().says("bad.csv:3:").says("finite");
    let header = "sphere,partner_sphere,partner_wall,x,y,z,nx,ny,nz,fx,fy,fz,tx,ty,tz,bx,by,bz,gap";
    place.write(
        "c.csv",
        &format!("{header}\n1,2,,0,0,0,0,0,1,0,0,1,0,0,0,0,0,1,0\n1,,,0,0,0,0,0,1,0,0,1,0,0,0,0,0,1,0\n"),
    );
    analyze(&["c.csv"]).expect(2).silent().says("c.csv:3:").says("partner");
    place.write("c.csv", &format!("{header}\n1,2,,0,0,0,0,0,9,0,0,1,0,0,0,0,0,1,0\n"));
    analyze(&["c.csv"]).expect(2).silent().says("c.csv:2:").says("length 9");
    place.write("c.csv", &format!("{header}\n1,2,,0,0\n"));
    analyze(&["c.csv"]).expect(2).silent().says("c.csv:2:").says("5 values");
    place.write("m.jsonl", "{\"time\": 1}\n");
    analyze(&["m.jsonl"]).expect(2).silent().says("m.jsonl:1:").says("kinetic_energy");
    place.write("m.jsonl", "not json\n");
    analyze(&["m.jsonl"]).expect(2).silent().says("m.jsonl:1:");
    place.write("w.csv", "step,time,wall,fx,fy,fz,tx,ty,tz,power\n");
    analyze(&["w.csv"]).expect(2).silent().says("walls");
    analyze(&["m.csv", "m.csv"]).expect(2).silent().says("second file");
    analyze(&["out/final.xyz", "--what", "msd"]).expect(2).silent().says("two states");
    analyze(&["out/final.xyz", "--what", "forces"]).expect(2).silent().says("--contacts");
    analyze(&["m.csv", "--what", "flow"]).expect(2).silent().says("sinks");
    analyze(&["out/final.xyz", "--what", "rdf", "--range", "50"])
        .expect(2)
        .silent()
        .says("half of the period");
    analyze(&["out/final.csv", "out/state-00000005.csv", "--what", "msd"]).expect(2).silent().says("time");
    analyze(&["out/final.xyz", "--fit", "0.5,2"]).expect(2).silent().says("--fit");
    analyze(&["out/final.xyz", "--set", "world.dt=1"]).expect(2).silent().says("--scene");
    // A file stands where the folder should be.
    analyze(&["out/final.xyz", "--out", "m.csv"]).expect(4).silent().says("m.csv");
}

// The command's results against freud's, on the states of a gas, a packing and a lattice.
fn freud_measures_the_same() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("freud");
    let run = |command: &mut Command| {
        let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{command:?}\n{out}\n{error}");
        out.into_owned()
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(&venv));
    let requirements = root.join("tests/analysis/requirements.txt");
    run(Command::new(venv.join("bin/pip")).args(["install", "--quiet", "-r"]).arg(requirements));
    let place = Place::new();
    let script = root.join("tests/analysis/freud_check.py");
    let python = venv.join("bin/python");
    let text = run(Command::new(python).arg(script).arg(env!("CARGO_BIN_EXE_carom")).arg(place.path(".")));
    println!("{text}");
    assert!(text.lines().filter(|line| line.starts_with("ok ")).count() >= 8, "{text}");
}

tier!(long "2 min": freud_measures_the_same);
