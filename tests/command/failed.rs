//! Runs that cannot continue.

use crate::harness::Place;

// Exceeds the cell numbers of one engine, and the f32 energies of the other.
const RUNAWAY: &str = r#"
[world]
dt = 0.5
steps = 3

[[spheres]]
at = [{ position = [0, 0, 0], velocity = [1e30, 0, 0] }, { position = [3, 0.1, 0] }]
"#;

#[test]
fn a_run_that_cannot_continue_ends_with_1_and_keeps_its_results() {
    let place = Place::new();
    place.write("runaway.toml", RUNAWAY);
    for backend in ["cpu", "exact"] {
        let ran = place
            .carom(&[
                "run",
                "runaway.toml",
                "--backend",
                backend,
                "--json",
                "--out",
                backend,
                "--metrics",
                "m.csv",
            ])
            .expect(1)
            .says("sphere 0");
        assert_eq!(ran.object()["steps"], 0);
        assert_eq!(place.read("m.csv").lines().count(), 1);
        // A state that is not finite is never written, and no state is written under the name of a final one.
        for name in place.names(backend) {
            assert!(name.starts_with("last-good."), "{name}");
            assert!(!place.read(&format!("{backend}/{name}")).contains("NaN"));
        }
    }
}

#[test]
fn the_last_good_state_is_the_one_before_the_step_that_failed() {
    let place = Place::new();
    place.write("runaway.toml", RUNAWAY);
    place.carom(&["run", "runaway.toml", "--backend", "exact", "--out", "out"]).expect(1);
    assert_eq!(place.names("out"), ["last-good.csv", "last-good.xyz"]);
    let text = place.read("out/last-good.csv");
    let cells: Vec<f64> = text.lines().nth(1).unwrap().split(',').map(|c| c.parse().unwrap()).collect();
    assert_eq!((cells[1], cells[4]), (0.0, 1e30));
}

#[test]
fn a_state_that_is_not_finite_is_counted_and_named_with_the_last_good_step() {
    let place = Place::new();
    place.write("runaway.toml", RUNAWAY);
    let ran = place.carom(&["run", "runaway.toml", "--backend", "cpu", "--json"]).expect(1);
    assert!(ran.object()["nonfinite"].as_u64().unwrap() >= 1);
    ran.says("sphere 0").says("last good step is 0");
}

#[test]
fn a_failed_bench_names_the_scene() {
    let place = Place::new();
    place.write("runaway.toml", RUNAWAY);
    place.carom(&["bench", "--scenes", "runaway.toml", "--json", "b.json"]).expect(1).says("runaway.toml");
    assert!(!place.path("b.json").exists());
}
