//! The object of `--json`.

use serde_json::Value;

use crate::harness::Place;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    Null,
    Integer,
    Number,
    NumberOrNull,
    Hash,
}
use Kind::*;

// Field names that the command guarantees to scripts.
const SCHEMA: [(&str, Kind); 36] = [
    ("backend", Text),
    ("adapter", Null),
    ("adapter_type", Null),
    ("sphere_count", Integer),
    ("poured", Integer),
    ("waiting", Integer),
    ("removed", Integer),
    ("steps", Integer),
    ("substeps", Integer),
    ("time", Number),
    ("wall_seconds", Number),
    ("sphere_steps_per_second", Number),
    ("impacts", Integer),
    ("impacts_per_second", Number),
    ("rounds_max", Integer),
    ("late", Integer),
    ("crowded", Integer),
    ("event_driven", Integer),
    ("cpu_steps", Integer),
    ("device_lost", Null),
    ("unresolved", Integer),
    ("stopped", Integer),
    ("nonfinite", Integer),
    ("deepest_overlap", Number),
    ("deepest_overlap_final", Number),
    ("kinetic_energy", Number),
    ("total_energy", Number),
    ("energy_error", NumberOrNull),
    ("ledger_error", Number),
    ("momentum_error", NumberOrNull),
    ("compressibility", NumberOrNull),
    ("compression", Null),
    ("packing_fraction", Null),
    ("pressure", Null),
    ("collision_rate", Number),
    ("state_hash", Hash),
];

fn is(kind: Kind, value: &Value) -> bool {
    match kind {
        Text => value.is_string(),
        Null => value.is_null(),
        Integer => value.is_u64(),
        Number => value.is_f64() || value.is_u64(),
        NumberOrNull => value.is_null() || value.is_f64() || value.is_u64(),
        Hash => value.as_str().is_some_and(|h| {
            h.len() == 16 && h.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        }),
    }
}

#[test]
fn the_object_has_exactly_the_documented_fields() {
    let place = Place::new();
    for backend in ["cpu", "exact"] {
        for scene in ["gas.toml", "pair.toml"] {
            let object = place.carom(&["run", scene, "--backend", backend, "--json"]).expect(0).object();
            let mut names: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
            let mut promised: Vec<&str> = SCHEMA.iter().map(|(name, _)| *name).collect();
            names.sort_unstable();
            promised.sort_unstable();
            assert_eq!(names, promised);
            for (name, kind) in SCHEMA {
                assert!(is(kind, &object[name]), "{name} should be {kind:?}: {}", object[name]);
            }
            assert_eq!(object["backend"], backend);
        }
    }
}

#[test]
fn the_figures_are_those_of_the_run() {
    let place = Place::new();
    for backend in ["cpu", "exact"] {
        let object = place.carom(&["run", "pair.toml", "--backend", backend, "--json"]).expect(0).object();
        let number = |name: &str| object[name].as_f64().unwrap();
        assert_eq!(number("sphere_count"), 2.0);
        assert_eq!(number("steps"), 2.0);
        assert_eq!(number("time"), 1.0);
        assert_eq!(number("impacts"), 1.0);
        assert_eq!(number("nonfinite") + number("late") + number("unresolved") + number("stopped"), 0.0);
        assert!((number("kinetic_energy") - 0.5).abs() < 1e-6);
        assert!(number("energy_error").abs() < 1e-6 && number("momentum_error") < 1e-6);
        // Each impact counts for both spheres: 2 collisions in 2 sphere-times.
        assert!((number("collision_rate") - 1.0).abs() < 1e-12);
        // The pair has no box, hence no pressure.
        assert!(object["compressibility"].is_null());
        let rate = number("sphere_steps_per_second") * number("wall_seconds");
        assert!((rate - 4.0).abs() < 1e-9);
    }
}

#[test]
fn figures_that_do_not_apply_are_null() {
    let place = Place::new();
    place.write("lossy.toml", &format!("{}\n[materials.default]\nrestitution = 0.9\n", crate::harness::GAS));
    let elastic = place.carom(&["run", "gas.toml", "--json"]).expect(0).object();
    let lossy = place.carom(&["run", "lossy.toml", "--json"]).expect(0).object();
    assert!(elastic["energy_error"].is_number() && elastic["compressibility"].is_number());
    assert!(lossy["energy_error"].is_null() && lossy["compressibility"].is_number());
    place.write("box.toml", &crate::harness::GAS.replace("periodic", "wall"));
    let boxed = place.carom(&["run", "box.toml", "--json"]).expect(0).object();
    assert!(boxed["momentum_error"].is_null() && boxed["compressibility"].is_null());
}

#[test]
fn stdout_holds_the_object_alone_and_the_table_goes_to_stderr() {
    let place = Place::new();
    let ran = place.carom(&["run", "gas.toml", "--json"]).expect(0).says("ms/step").says("sphere-steps/s");
    ran.object();
    let quiet = place.carom(&["run", "gas.toml", "--json", "--quiet"]).expect(0);
    quiet.object();
    assert_eq!(quiet.stderr, "");
}
