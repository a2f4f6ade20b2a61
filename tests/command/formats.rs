//! States in several formats: written by runs, converted, described, and read again.

use carom::files::read_frames;
use serde_json::Value;

use crate::harness::{Place, Ran};

#[test]
fn a_run_writes_every_format_that_is_asked_for() {
    let place = Place::new();
    let formats = "csv,xyz.gz,lammpstrj,vtp,npz,ply";
    place.carom(&["run", "gas.toml", "--out", "out", "--every", "10", "--format", formats]).expect(0);
    let endings = ["csv", "lammpstrj", "npz", "ply", "vtp", "xyz.gz"];
    let mut expected: Vec<String> = ["final", "state-00000010", "state-00000020"]
        .iter()
        .flat_map(|stem| endings.iter().map(move |ending| format!("{stem}.{ending}")))
        .collect();
    expected.push("states.pvd".to_owned());
    assert_eq!(place.names("out"), expected);
    let csv = read_frames(&place.path("out/final.csv")).unwrap().remove(0);
    for ending in &endings[1..] {
        let mut frame = read_frames(&place.path(&format!("out/final.{ending}"))).unwrap().remove(0);
        assert_eq!((frame.step, frame.spheres.len()), (Some(20), 200), "{ending}");
        assert!((frame.time.unwrap() - 0.4).abs() < 1e-12);
        assert_eq!(frame.bounds.unwrap().periodic, [true; 3]);
        // The only material has no column in CSV.
        frame.spheres.iter_mut().for_each(|sphere| sphere.material = None);
        assert_eq!(frame.spheres, csv.spheres, "{ending}");
    }
}

#[test]
fn the_series_lists_each_state_once_with_its_time() {
    let place = Place::new();
    let files = |series: &str| -> Vec<(f64, String)> {
        let text = place.read(series);
        let document = roxmltree::Document::parse(&text).unwrap();
        let sets = document.descendants().filter(|node| node.has_tag_name("DataSet"));
        let pair = |node: roxmltree::Node| {
            (node.attribute("timestep").unwrap().parse().unwrap(), node.attribute("file").unwrap().to_owned())
        };
        sets.map(pair).collect()
    };
    place.carom(&["run", "gas.toml", "--out", "a", "--every", "10", "--format", "vtp"]).expect(0);
    let names: Vec<String> = files("a/states.pvd").into_iter().map(|(_, file)| file).collect();
    // The final state is that of step 20.
    assert_eq!(names, ["state-00000010.vtp", "state-00000020.vtp"]);
    place.carom(&["run", "gas.toml", "--out", "b", "--every", "8", "--format", "vtp"]).expect(0);
    let found = files("b/states.pvd");
    let names: Vec<&str> = found.iter().map(|(_, file)| &**file).collect();
    assert_eq!(names, ["state-00000008.vtp", "state-00000016.vtp", "final.vtp"]);
    assert!((found[0].0 - 0.16).abs() < 1e-12 && (found[2].0 - 0.4).abs() < 1e-12, "{found:?}");
    // Without intermediate states there is no series.
    place.carom(&["run", "gas.toml", "--out", "c", "--format", "vtp"]).expect(0);
    assert_eq!(place.names("c"), ["final.vtp"]);
}

#[test]
fn an_unknown_format_is_refused_with_the_known_ones() {
    let place = Place::new();
    let ran = place.carom(&["run", "gas.toml", "--out", "out", "--format", "vtk"]).expect(2).silent();
    assert!(ran.stderr.contains("vtk") && ran.stderr.contains("vtp"), "{}", ran.stderr);
    assert_eq!(place.names("."), ["gas.toml", "pair.toml"]);
}

#[test]
fn every_format_starts_a_run() {
    let place = Place::new();
    let formats = "csv,xyz,xyz.gz,lammpstrj,dump.gz,vtp,npz,ply";
    place.carom(&["run", "gas.toml", "--out", "out", "--format", formats]).expect(0);
    let bounds = read_frames(&place.path("out/final.npz")).unwrap()[0].bounds.unwrap();
    let hash = |ending: &str| -> Value {
        let text = format!(
            "[world]\ndt = 0.02\nsteps = 5\n[bounds]\nmin = {:?}\nmax = {:?}\nx = \"periodic\"\ny = \"periodic\"\n\
             z = \"periodic\"\n[[spheres]]\nfile = \"out/final.{ending}\"\n",
            bounds.min.to_array(),
            bounds.max.to_array()
        );
        place.write("rest.toml", &text);
        place.carom(&["run", "rest.toml", "--backend", "cpu", "--json"]).expect(0).object()["state_hash"]
            .clone()
    };
    let expected = hash("csv");
    assert!(expected.is_string());
    for ending in formats.split(',') {
        assert_eq!(hash(ending), expected, "{ending}");
    }
}

#[test]
fn files_are_converted_and_described() {
    let place = Place::new();
    place.carom(&["run", "gas.toml", "--out", "out", "--format", "lammpstrj"]).expect(0);
    let describe = |file: &str| place.carom(&["info", file, "--json"]).expect(0).object();
    let first = describe("out/final.lammpstrj");
    for ending in ["xyz", "vtp", "npz", "ply", "dump.gz"] {
        let target = format!("a.{ending}");
        let ran = place.carom(&["convert", "out/final.lammpstrj", &target]).expect(0);
        assert_eq!(ran.stdout, format!("{target}: 1 frame, 200 spheres\n"));
        let again = describe(&target);
        for key in
            ["time", "step", "spheres", "id_min", "id_max", "radius", "mass", "kinetic_energy", "momentum"]
        {
            assert_eq!(again[key], first[key], "{ending}: {key}");
        }
        assert_eq!(again["box"]["periodic"], first["box"]["periodic"]);
    }
    let run = place.carom(&["run", "gas.toml", "--json"]).expect(0).object();
    let energy = |object: &Value| object["kinetic_energy"].as_f64().unwrap();
    assert!((energy(&first) - energy(&run)).abs() < 1e-6 * energy(&run));
    let text = place.carom(&["info", "a.vtp"]).expect(0).stdout;
    for line in [
        "format    VTK poly data\n",
        "spheres   200 spheres\n",
        "ids       0 to 199, unique\n",
        "radii     0.500000 each\n",
    ] {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
    let none = place.carom(&["info", "a.vtp", "--frame", "1"]).expect(2);
    none.says("a.vtp: there is no frame 1; the frames are 0 to 0, or -1 to -1");
}

#[test]
fn a_frame_of_a_trajectory_is_chosen() {
    let place = Place::new();
    let frame = |x: u32| format!("1\nProperties=pos:R:3:radius:R:1 Time={x}\n{x} 0 0 0.5\n");
    place.write("a.xyz", &(frame(1) + &frame(2) + &frame(3)));
    place.carom(&["convert", "a.xyz", "b.lammpstrj"]).expect(0);
    assert_eq!(place.carom(&["info", "b.lammpstrj", "--json"]).expect(0).object()["frames"], 3);
    place
        .carom(&["convert", "a.xyz", "b.npz"])
        .expect(2)
        .says("3 frames do not fit into a file of one frame");
    for (frame, time) in [("0", 1.0), ("2", 3.0), ("-1", 3.0), ("-3", 1.0)] {
        place.carom(&["convert", "a.xyz", "b.npz", "--frame", frame]).expect(0);
        assert_eq!(place.carom(&["info", "b.npz", "--json"]).expect(0).object()["time"], time);
    }
    place.carom(&["convert", "a.xyz", "b.npz", "--frame", "-4"]).expect(2).says("or -3 to -1");
}

#[test]
fn a_conversion_that_fails_keeps_the_files() {
    let place = Place::new();
    place.write("a.csv", "x,y,radius\n0,0,1\n");
    place.write("old.vtp", "old");
    place.carom(&["convert", "b.csv", "old.vtp"]).expect(2).says("cannot read b.csv");
    place.carom(&["convert", "a.csv", "no/such.vtp"]).expect(4).says("cannot write no/such.vtp");
    place.carom(&["convert", "a.csv", "new.data"]).expect(2).says("spheres are written as .csv, .xyz");
    place
        .carom(&["convert", "gas.toml", "old.vtp"])
        .expect(2)
        .says("spheres are read from files with the endings");
    place.write("a.csv", "x,y,radius\n0,0,-1\n");
    place
        .carom(&["convert", "a.csv", "old.vtp"])
        .expect(2)
        .says("a.csv:2: radius is -1; expected a number > 0");
    assert_eq!(place.read("old.vtp"), "old");
    assert_eq!(place.names("."), ["a.csv", "gas.toml", "old.vtp", "pair.toml"]);
}

// A limit of the size of files stands for a full disk: the write fails in the same manner.
#[cfg(unix)]
#[test]
fn a_full_disk_ends_the_run_with_4_and_leaves_no_part_of_a_file() {
    use std::process::{Command, Stdio};

    let place = Place::new();
    for formats in ["csv", "vtp", "npz", "csv,xyz.gz,npz,ply"] {
        let arguments = [
            "run",
            "gas.toml",
            "--steps",
            "100000000",
            "--backend",
            "cpu",
            "--out",
            "out",
            "--every",
            "2",
            "--format",
            formats,
        ];
        let command = place.command(&arguments);
        // Blocks of 512 or 1024 bytes: the states of 200 spheres are larger.
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -f 4; exec \"$@\"", "sh"]).arg(command.get_program());
        shell.args(command.get_args()).current_dir(place.path(".")).stdin(Stdio::null());
        let ran = Ran::new(&arguments, shell.output().unwrap()).expect(4).says("cannot write out");
        assert!(ran.stderr.contains("state-00000002"), "{}", ran.stderr);
        // Smaller files of the same state may be there; they are whole.
        for name in place.names("out") {
            assert!(name.starts_with("state-00000002."), "{name}");
            assert_eq!(read_frames(&place.path(&format!("out/{name}"))).unwrap()[0].spheres.len(), 200);
        }
        std::fs::remove_dir_all(place.path("out")).unwrap();
    }
}
