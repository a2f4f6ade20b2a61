//! `carom scenes` and the built-in scenes.

use crate::harness::Place;

// The scenes that the documentation guarantees.
const PROMISED: [&str; 14] = [
    "gas",
    "gas_box",
    "mixture",
    "bounce",
    "cradle",
    "break",
    "bullets",
    "balls_in_a_box",
    "cooling",
    "marbles",
    "rolling",
    "heap",
    "pile50",
    "packing",
];

fn listed(place: &Place) -> Vec<(String, u64)> {
    let table = place.carom(&["scenes"]).expect(0).stdout;
    let mut lines = table.lines();
    let header: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header[..2], ["name", "spheres"]);
    lines
        .take_while(|line| !line.is_empty())
        .map(|line| {
            let cells: Vec<&str> = line.split_whitespace().collect();
            assert!(cells.len() > 3, "a scene without a summary: {line}");
            (cells[0].to_owned(), cells[1].parse().unwrap())
        })
        .collect()
}

#[test]
fn the_list_holds_every_scene_of_the_examples_folder() {
    let place = Place::new();
    let mut names: Vec<String> = listed(&place).into_iter().map(|(name, _)| name).collect();
    names.sort();
    assert!(PROMISED.iter().all(|name| names.iter().any(|n| n == name)), "{names:?}");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scenes");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    assert_eq!(names, files);
}

#[test]
fn every_built_in_scene_takes_a_step_and_has_the_spheres_listed() {
    let place = Place::new();
    for (name, spheres) in listed(&place) {
        let object = place.carom(&["run", &name, "--steps", "1", "--json"]).expect(0).object();
        assert_eq!(object["sphere_count"], spheres, "{name}");
        assert_eq!(object["nonfinite"], 0, "{name}");
    }
}

#[test]
fn show_prints_the_file_and_the_file_runs() {
    let place = Place::new();
    let text = place.carom(&["scenes", "--show", "cradle"]).expect(0).stdout;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scenes/cradle.toml");
    assert_eq!(text, std::fs::read_to_string(path).unwrap());
    place.write("copy.toml", &text);
    let run = |scene: &str| place.carom(&["run", scene, "--json"]).expect(0).object()["state_hash"].clone();
    assert_eq!(run("copy.toml"), run("cradle"));
}

#[test]
fn schema_prints_the_json_schema_and_an_example() {
    let place = Place::new();
    let schema = place.carom(&["schema"]).expect(0).object();
    assert_eq!(schema["required"], serde_json::json!(["world"]));
    assert_eq!(schema["$defs"]["World"]["properties"]["dt"]["exclusiveMinimum"], 0);
    assert!(place.carom(&["schema", "--help"]).expect(0).stdout.contains("carom schema > scene.schema.json"));
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let place = Place::new();
    place.carom(&["run", "cradel"]).expect(2).silent().says("cradel").says("`cradle`");
    place.carom(&["scenes", "--show", "gass"]).expect(2).silent().says("`gas`");
    place.carom(&["bench", "--scenes", "gas_bix"]).expect(2).silent().says("`gas_box`");
    place.carom(&["run", "zzzzzzzzzzzz"]).expect(2).silent().says("carom scenes");
}

#[test]
fn settings_reach_built_in_scenes() {
    let place = Place::new();
    let run =
        |extra: &[&str]| place.carom(&[&["run", "cradle", "--json"], extra].concat()).expect(0).object();
    let shorter = run(&["--set", "world.dt=0.001", "--steps", "3"]);
    assert!((shorter["time"].as_f64().unwrap() - 0.003).abs() < 1e-12);
}
