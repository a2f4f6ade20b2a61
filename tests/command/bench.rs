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
    // Each step has one submit, and the idle host waits only for the last.
    assert_eq!(number(&device["submits_per_step"]), 1.0);
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
