//! `carom bench`.

use serde_json::Value;

use crate::harness::Place;

fn rows(object: &Value) -> &Vec<Value> {
    object["rows"].as_array().unwrap()
}

#[test]
fn rows_are_scenes_x_sizes_x_backends_x_threads() {
    let place = Place::new();
    let arguments = [
        "bench",
        "--scenes",
        "gas.toml",
        "--sizes",
        "1e2,400",
        "--backends",
        "cpu,exact",
        "--threads",
        "1,2",
    ];
    let arguments = [&arguments[..], &["--steps", "3", "--warm-up", "1", "--json", "-"]].concat();
    let ran = place.carom(&arguments).expect(0).says("median ms").says("M sphere-steps/s").says("dE/E");
    let object = ran.object();
    let told: Vec<(u64, &str, u64)> = rows(&object)
        .iter()
        .map(|row| {
            (
                row["sphere_count"].as_u64().unwrap(),
                row["backend"].as_str().unwrap(),
                row["threads"].as_u64().unwrap(),
            )
        })
        .collect();
    let mut expected = vec![];
    for size in [100, 400] {
        expected.extend([(size, "cpu", 1), (size, "cpu", 2), (size, "exact", 1)]);
    }
    assert_eq!(told, expected);
    for row in rows(&object) {
        let number = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("{name} in {row}"));
        assert_eq!(number("steps"), 3.0);
        assert!(number("median_ms") > 0.0 && number("p95_ms") >= number("median_ms"));
        assert!(number("sphere_steps_per_second") > 0.0 && number("bytes_per_sphere") > 0.0);
        // The physics: elastic, periodic, at the volume fraction of the scene, for every size.
        assert!(number("energy_error").abs() < 1e-5 && number("compressibility") >= 1.0);
        assert_eq!(row["stage_ms"].is_object(), row["backend"] == "cpu");
        assert!(row["device"].is_null() && row["stage_bytes_per_second"].is_null());
    }
}

#[test]
fn sizes_keep_the_volume_fraction() {
    let place = Place::new();
    // A larger gas at the same volume fraction has the same collision rate per sphere, within its scatter.
    let arguments = [
        "bench",
        "--scenes",
        "gas.toml",
        "--sizes",
        "500,4000",
        "--steps",
        "50",
        "--warm-up",
        "0",
        "--json",
        "b.json",
    ];
    let ran = place.carom(&arguments).expect(0);
    assert!(ran.stdout.contains("median ms"));
    let object: Value = serde_json::from_str(&place.read("b.json")).unwrap();
    let rate = |i: usize| rows(&object)[i]["collision_rate"].as_f64().unwrap();
    assert!((rate(0) / rate(1) - 1.0).abs() < 0.15, "{} against {}", rate(0), rate(1));
}

#[test]
fn a_scene_without_a_random_fill_has_no_other_size() {
    let place = Place::new();
    place.carom(&["bench", "--scenes", "pair.toml", "--sizes", "100"]).expect(2).silent().says("random");
    place.carom(&["bench", "--scenes", "pair.toml", "--steps", "2"]).expect(0);
}

// A wall that descends on two spheres with resting contact, until it crushes them against the floor.
const PRESS: &str = r#"
[world]
gravity = [0, 0, -1]
dt = 0.1

[materials.default]
restitution = 0.5

[[walls]]
plane = { point = [0, 0, 0], normal = [0, 0, 1] }

[[walls]]
plane = { point = [0, 0, 2], normal = [0, 0, -1] }
velocity = [0, 0, -1]

[[spheres]]
at = [{ position = [0, 0, 0.7] }, { position = [3, 0, 0.7] }]
"#;

#[test]
fn wrong_physics_fails_after_the_figures_are_written() {
    let place = Place::new();
    place.write("press.toml", PRESS);
    let arguments = ["bench", "--scenes", "gas.toml,press.toml", "--threads", "1", "--warm-up", "0"];
    let files = ["--json", "b.json", "--svg", "b.svg", "--history", "h.jsonl"];
    let arguments = [&arguments[..], &files].concat();
    // The wall reaches the spheres after 10 steps.
    place.carom(&[&arguments[..], &["--steps", "8"]].concat()).expect(0);
    let ran = place.carom(&[&arguments[..], &["--steps", "12"]].concat()).expect(1);
    assert!(ran.stdout.contains("median ms"), "{}", ran.stdout);
    let ran = ran.says("error: the physics is wrong, 1 check failed");
    let ran = ran.says("press.toml, 2 spheres, cpu, 1 thread: deepest_overlap is 0.1").says("beyond 0.0200");
    assert!(!ran.stderr.contains("gas.toml, 200 spheres, cpu, 1 thread:"), "{}", ran.stderr);
    let object: Value = serde_json::from_str(&place.read("b.json")).unwrap();
    let failed = |row: &Value| row["failed_checks"].as_array().unwrap().len();
    assert_eq!(rows(&object).iter().map(failed).collect::<Vec<_>>(), [0, 1]);
    let lines: Vec<Value> = place.read("h.jsonl").lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.iter().map(failed).collect::<Vec<_>>(), [0, 0, 0, 1]);
}

#[test]
fn the_chart_has_a_line_for_each_series() {
    let place = Place::new();
    let arguments = ["bench", "--scenes", "gas.toml", "--steps", "2", "--warm-up", "0", "--svg", "b.svg"];
    let several = ["--sizes", "100,200,400", "--backends", "cpu,exact", "--threads", "1,2"];
    place.carom(&[&arguments[..], &several].concat()).expect(0);
    let text = place.read("b.svg");
    let document = roxmltree::Document::parse(&text).unwrap();
    let named = |name: &'static str| document.descendants().filter(move |node| node.has_tag_name(name));
    // Axes and grid are grey.
    let is_grey = |color: &str| color[1..3] == color[3..5] && color[3..5] == color[5..7];
    let lines = named("polyline").filter(|node| !is_grey(node.attribute("stroke").unwrap()));
    let points: Vec<usize> =
        lines.map(|node| node.attribute("points").unwrap().split_whitespace().count()).collect();
    assert_eq!(points, [3, 3, 3]);
    let texts: Vec<&str> = named("text").map(|node| node.text().unwrap().trim()).collect();
    let labels = ["spheres", "median time per sphere and step (ns)"];
    let legend = ["gas.toml, cpu, 1 thread", "gas.toml, cpu, 2 threads", "gas.toml, exact, 1 thread"];
    for text in labels.iter().chain(&legend) {
        assert!(texts.contains(text), "no `{text}` in {texts:?}");
    }
    assert!(texts.iter().any(|text| text.starts_with("carom ")), "{texts:?}");

    // A single size gives a point without a line.
    place.carom(&arguments).expect(0);
    assert!(place.read("b.svg").contains("<circle"));
    place.carom(&["bench", "--svg", "b.png"]).expect(2).silent().says(".svg");
}

#[test]
fn every_run_appends_to_the_history() {
    let place = Place::new();
    let arguments = ["bench", "--scenes", "gas.toml", "--sizes", "100,200", "--threads", "1"];
    let arguments = [&arguments[..], &["--steps", "2", "--warm-up", "0", "--history", "h.jsonl"]].concat();
    place.carom(&arguments).expect(0);
    let first = place.read("h.jsonl");
    place.write("h.jsonl", first.trim_end());
    place.carom(&arguments).expect(0);
    let both = place.read("h.jsonl");
    assert!(both.starts_with(&first) && both.ends_with('\n'), "{both}");
    let lines: Vec<Value> = both.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sizes: Vec<u64> = lines.iter().map(|line| line["sphere_count"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [100, 200, 100, 200]);
    for line in &lines {
        let date = line["date"].as_str().unwrap();
        assert!(date.len() == 20 && date.as_bytes()[10] == b'T' && date.ends_with('Z'), "{date}");
        assert_eq!((&line["scene"], &line["backend"]), (&"gas.toml".into(), &"cpu".into()));
        assert_eq!((&line["threads"], &line["steps"]), (&1.into(), &2.into()));
        assert_eq!(line["carom"], env!("CARGO_PKG_VERSION"));
        assert!(line["machine"]["cores"].as_u64() >= Some(1) && line["adapter"].is_null());
        for figure in [
            "median_ms",
            "p95_ms",
            "sphere_steps_per_second",
            "impacts_per_second",
            "bytes_per_sphere",
            "energy_error",
            "ledger_error",
            "momentum_error",
            "compressibility",
            "deepest_overlap",
            "late",
        ] {
            assert!(line[figure].is_number(), "{figure} in {line}");
        }
    }
}

#[test]
fn a_foreign_file_is_no_history() {
    let place = Place::new();
    for text in ["step,time\n1,0.1\n", "{\"step\":1}\n", "{\"date\":\"2026-01-01T00:00:00Z\",\"median"] {
        place.write("other", text);
        let ran = place.carom(&["bench", "--scenes", "gas.toml", "--history", "other"]).expect(4).silent();
        // Refused before the measurement, which announces each case.
        let ran = ran.says("other, line 1: not a line of a benchmark history");
        assert!(!ran.stderr.contains("1 of 1"), "{}", ran.stderr);
        assert_eq!(place.read("other"), text);
    }
}

// Needs an adapter and fails without one.
#[cfg(feature = "gpu")]
#[test]
fn a_row_on_a_device_says_what_the_device_did() {
    use carom::schedule::STAGES;
    let place = Place::new();
    let arguments = ["bench", "--scenes", "gas.toml", "--backends", "gpu", "--steps", "20", "--warm-up", "2"];
    let ran = place.carom(&[&arguments[..], &["--json", "-"]].concat()).expect(0);
    let object = ran.object();
    let row = &rows(&object)[0];
    let number = |of: &Value| of.as_f64().unwrap_or_else(|| panic!("{of} in {row}"));
    let device = &row["device"];
    assert_eq!(row["steps"], 20);
    // A busy machine divides steps; the idle host waits only for the last.
    assert!(number(&device["submits_per_step"]) >= 1.0);
    assert_eq!(number(&device["blocking_reads_per_step"]), 1.0 / 20.0);
    assert!(number(&device["dispatches_per_step"]) >= STAGES.len() as f64);
    // Every step reads and writes at least both copies of 200 spheres of 64 bytes.
    let bytes = number(&device["least_bytes_per_step"]);
    assert!(bytes >= 200.0 * 128.0, "{bytes}");
    let seconds = 20.0 * 200.0 / number(&row["sphere_steps_per_second"]);
    let rate = number(&device["bytes_per_second"]);
    assert!((rate * seconds / (20.0 * bytes) - 1.0).abs() < 1e-6, "{rate} of {bytes} in {seconds}");
    assert!(number(&device["copy_bytes_per_second"]) > rate);
    for text in ["per step on the device", "dispatches", "of plain copy", "a plain copy on"] {
        assert!(ran.stderr.contains(text), "no `{text}` in\n{}", ran.stderr);
    }
    if row["stage_ms"].is_null() {
        assert!(ran.stderr.contains("no times by stage"), "{}", ran.stderr);
        return;
    }
    let stages: Vec<&str> = row["stage_ms"].as_object().unwrap().keys().map(String::as_str).collect();
    assert!(stages.iter().copied().eq(STAGES.iter().map(|stage| stage.name)), "{stages:?}");
    for stage in ["neighbors", "sweep", "advance", "audit"] {
        assert!(number(&row["stage_ms"][stage]) > 0.0, "{stage}: {row}");
        assert!(number(&row["stage_bytes_per_second"][stage]) > 0.0, "{stage}: {row}");
    }
    // Timestamps slow steps down, so timed steps are excluded from the figures.
    assert!(number(&row["stage_steps"]) > 0.0 && row["stage_steps"] != row["steps"]);
    let software = row["adapter_type"] == "software";
    assert_eq!(ran.stderr.contains("copy on gpu (software)"), software, "{}", ran.stderr);
}

#[test]
fn two_outputs_in_one_file_are_refused_and_the_file_stays() {
    let place = Place::new();
    let bench = ["bench", "--scenes", "gas.toml", "--steps", "2", "--warm-up", "0", "--history", "h.svg"];
    place.carom(&bench).expect(0);
    let before = place.read("h.svg");
    place.carom(&[&bench[..], &["--svg", "h.svg"]].concat()).expect(2).silent().says("same file");
    assert_eq!(place.read("h.svg"), before);
}
