//! Output files: contents, location, and cases without output.

use crate::harness::Place;

#[test]
fn out_holds_the_final_state_and_the_intermediate_ones() {
    let place = Place::new();
    place.carom(&["run", "gas.toml", "--out", "a/b", "--every", "8"]).expect(0);
    assert_eq!(
        place.names("a/b"),
        [
            "final.csv",
            "final.xyz",
            "state-00000008.csv",
            "state-00000008.xyz",
            "state-00000016.csv",
            "state-00000016.xyz"
        ]
    );
    let last = place.read("a/b/final.csv");
    let mut lines = last.lines();
    assert!(lines.next().unwrap().starts_with("id,x,y,z,vx,vy,vz,radius,mass"));
    let ids: Vec<u32> = lines.map(|l| l.split(',').next().unwrap().parse().unwrap()).collect();
    assert_eq!(ids, (0..200).collect::<Vec<u32>>());
    assert_eq!(place.read("a/b/final.xyz").lines().next(), Some("200"));
    // The intermediate state equals the final state of a shorter run.
    place.carom(&["run", "gas.toml", "--steps", "8", "--out", "short"]).expect(0);
    assert_eq!(place.read("a/b/state-00000008.csv"), place.read("short/final.csv"));
    assert_ne!(place.read("a/b/final.csv"), place.read("short/final.csv"));
}

#[test]
fn a_run_continues_from_a_written_state() {
    let place = Place::new();
    place.carom(&["run", "pair.toml", "--steps", "1", "--out", "half"]).expect(0);
    place.write("rest.toml", "[world]\ndt = 0.5\nsteps = 1\n[[spheres]]\nfile = \"half/final.csv\"\n");
    place.carom(&["run", "rest.toml", "--out", "rest"]).expect(0);
    place.carom(&["run", "pair.toml", "--out", "whole"]).expect(0);
    // Not to the last bit: each start is rounded to its own cells.
    let (rest, whole) = (place.read("rest/final.csv"), place.read("whole/final.csv"));
    assert_eq!(rest.lines().next(), whole.lines().next());
    let numbers = |text: &str| -> Vec<f64> {
        text.lines().skip(1).flat_map(|l| l.split(',')).map(|cell| cell.parse().unwrap()).collect()
    };
    let (rest, whole) = (numbers(&rest), numbers(&whole));
    assert_eq!((rest.len(), whole.len()), (18, 18));
    assert!(rest.iter().zip(&whole).all(|(a, b)| (a - b).abs() <= 1e-6), "{rest:?} {whole:?}");
}

#[test]
fn metrics_hold_a_line_for_every_step() {
    let place = Place::new();
    let object = place.carom(&["run", "gas.toml", "--metrics", "m.csv", "--json"]).expect(0).object();
    let text = place.read("m.csv");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let impacts = names.iter().position(|n| *n == "pair_impacts").unwrap();
    let rows: Vec<Vec<f64>> = lines.map(|l| l.split(',').map(|c| c.parse().unwrap()).collect()).collect();
    assert_eq!(rows.len(), 20);
    assert!(rows.iter().enumerate().all(|(i, row)| row.len() == names.len() && row[0] == (i + 1) as f64));
    assert_eq!(rows.iter().map(|row| row[impacts]).sum::<f64>(), object["impacts"].as_f64().unwrap());

    place.carom(&["run", "gas.toml", "--metrics", "m.jsonl"]).expect(0);
    let text = place.read("m.jsonl");
    let objects: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(objects.len(), 20);
    for (object, row) in objects.iter().zip(&rows) {
        assert_eq!(object.as_object().unwrap().len(), names.len());
        assert_eq!(
            object["kinetic_energy"].as_f64().unwrap(),
            row[names.iter().position(|n| *n == "kinetic_energy").unwrap()]
        );
    }
    assert_eq!(place.names("."), ["gas.toml", "m.csv", "m.jsonl", "pair.toml"]);
}

#[test]
fn a_scene_error_writes_nothing() {
    let place = Place::new();
    place.write("bad.toml", "[world]\ndt = -1\n");
    place
        .carom(&["run", "bad.toml", "--out", "out", "--every", "1", "--metrics", "m.csv", "--json"])
        .expect(2)
        .silent();
    place.carom(&["run", "missing.toml", "--out", "out", "--metrics", "m.csv"]).expect(2).silent();
    place.carom(&["run", "gas.toml", "--set", "world.dt=no", "--out", "out"]).expect(2).silent();
    assert_eq!(place.names("."), ["bad.toml", "gas.toml", "pair.toml"]);
}

#[test]
fn an_unwritable_path_ends_with_4_before_any_step() {
    let place = Place::new();
    place.write("occupied", "a file, not a folder");
    place.carom(&["run", "gas.toml", "--out", "occupied", "--json"]).expect(4).silent().says("occupied");
    place.carom(&["run", "gas.toml", "--out", "occupied/below", "--json"]).expect(4).silent();
    place
        .carom(&["run", "gas.toml", "--metrics", "no/such/m.csv", "--json"])
        .expect(4)
        .silent()
        .says("m.csv");
    std::fs::create_dir(place.path("m.csv")).unwrap();
    place.carom(&["run", "gas.toml", "--metrics", "m.csv", "--json"]).expect(4).silent().says("directory");
    place.carom(&["bench", "--scenes", "gas.toml", "--json", "no/such/b.json"]).expect(4);
    assert_eq!(place.read("occupied"), "a file, not a folder");
    assert_eq!(place.names("."), ["gas.toml", "m.csv", "occupied", "pair.toml"]);
}

#[test]
fn files_of_an_earlier_run_are_replaced_whole() {
    let place = Place::new();
    place.carom(&["run", "gas.toml", "--out", "out", "--metrics", "m.csv"]).expect(0);
    let before = place.read("out/final.csv");
    place.carom(&["run", "pair.toml", "--out", "out", "--metrics", "m.csv"]).expect(0);
    assert_ne!(place.read("out/final.csv"), before);
    assert_eq!(place.read("out/final.csv").lines().count(), 3);
    assert_eq!(place.read("m.csv").lines().count(), 3);
    assert_eq!(place.names("out"), ["final.csv", "final.xyz"]);
}
