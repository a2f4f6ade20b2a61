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
        // The physics: elastic, periodic, at the volume fraction of the scene, whatever the size.
        assert!(number("energy_error").abs() < 1e-5 && number("compressibility") >= 1.0);
        assert_eq!(row["stage_ms"].is_object(), row["backend"] == "cpu");
    }
}

#[test]
fn sizes_keep_the_volume_fraction() {
    let place = Place::new();
    // A larger gas at the same volume fraction collides as often: the rate per sphere agrees within its scatter.
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
