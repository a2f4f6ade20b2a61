//! `carom adapters`, and how a run chooses its adapter. Needs an adapter: without one most of these tests fail.

use serde_json::Value;

use crate::harness::{Place, Ran};

// Leaves no driver for the Vulkan loader, and allows no other backend.
const NO_ADAPTER: [(&str, &str); 3] =
    [("VK_DRIVER_FILES", "/nonexistent"), ("VK_ICD_FILENAMES", "/nonexistent"), ("WGPU_BACKEND", "vulkan")];

fn carom(place: &Place, environment: &[(&str, &str)], arguments: &[&str]) -> Ran {
    let mut command = place.command(arguments);
    // The preferences of the caller's environment must not affect the tests.
    for name in ["WGPU_ADAPTER_NAME", "WGPU_POWER_PREF"] {
        command.env_remove(name);
    }
    command.envs(environment.iter().copied());
    Ran::new(arguments, command.output().unwrap())
}

fn rows(place: &Place) -> Vec<Value> {
    let object = carom(place, &[], &["adapters", "--json"]).expect(0).object();
    let rows = object["adapters"].as_array().unwrap().clone();
    assert!(!rows.is_empty());
    rows
}

fn name(row: &Value) -> &str {
    row["adapter"].as_str().unwrap()
}

fn is_hardware(row: &Value) -> bool {
    matches!(row["adapter_type"].as_str(), Some("discrete" | "integrated" | "virtual"))
}

#[test]
fn adapters_are_listed_as_a_table_and_as_an_object() {
    let place = Place::new();
    let rows = rows(&place);
    let table = carom(&place, &[], &["adapters"]).expect(0).stdout;
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 1 + rows.len(), "{table}");
    for column in ["name", "kind", "backend", "driver", "largest buffer", "auto"] {
        assert!(lines[0].contains(column), "{table}");
    }
    for (line, row) in lines[1..].iter().zip(&rows) {
        for value in ["adapter", "adapter_type", "backend", "driver"] {
            assert!(line.contains(row[value].as_str().unwrap()), "{value}: {line}");
        }
        // WebGPU guarantees this everywhere.
        assert!(row["largest_buffer"].as_u64().unwrap() >= 128 << 20);
        assert_eq!(line.ends_with("yes"), row["auto"] == true, "{line}");
    }
    // auto chooses the first GPU, and never a software adapter.
    let taken: Vec<usize> = (0..rows.len()).filter(|&i| rows[i]["auto"] == true).collect();
    let first: Vec<usize> = (0..rows.len()).filter(|&i| is_hardware(&rows[i])).take(1).collect();
    assert_eq!(taken, first);
}

#[test]
fn auto_is_gpu_on_a_gpu_and_cpu_with_a_note_elsewhere() {
    let place = Place::new();
    for row in rows(&place) {
        let environment = [("WGPU_ADAPTER_NAME", name(&row))];
        let ran = carom(&place, &environment, &["run", "pair.toml", "--json"]).expect(0);
        let object = ran.object();
        if is_hardware(&row) {
            assert_eq!((&object["backend"], &object["adapter"]), (&"gpu".into(), &row["adapter"]));
        } else {
            assert_eq!((&object["backend"], &object["adapter"]), (&"cpu".into(), &Value::Null));
            let notes: Vec<&str> = ran.stderr.lines().filter(|l| l.starts_with("note:")).collect();
            assert!(notes.len() == 1 && notes[0].contains(name(&row)), "{}", ran.stderr);
        }
        let quiet = carom(&place, &environment, &["run", "pair.toml", "--quiet"]).expect(0).silent();
        assert_eq!(quiet.stderr, "");
    }
}

#[test]
fn gpu_runs_on_every_adapter_and_calls_software_by_its_name() {
    let place = Place::new();
    let cpu = carom(&place, &[], &["run", "pair.toml", "--backend", "cpu", "--json"]).expect(0).object();
    let fields = |object: &Value| object.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for row in rows(&place) {
        let arguments = ["run", "pair.toml", "--backend", "gpu", "--adapter", name(&row), "--json"];
        let ran = carom(&place, &[], &arguments).expect(0);
        let object = ran.object();
        assert_eq!(fields(&object), fields(&cpu));
        assert_eq!(object["backend"], "gpu");
        assert_eq!(object["adapter"], row["adapter"]);
        assert_eq!(object["adapter_type"], row["adapter_type"]);
        let said = ran.stderr.matches("is a software adapter, not a GPU").count();
        assert_eq!(said, usize::from(row["adapter_type"] == "software"), "{}", ran.stderr);
    }
}

#[test]
fn a_bench_on_a_software_adapter_is_marked_as_software() {
    let place = Place::new();
    let arguments =
        ["bench", "--scenes", "gas.toml", "--backends", "cpu,gpu", "--steps", "2", "--warm-up", "1"];
    let ran = carom(&place, &[], &[&arguments[..], &["--json", "b.json"]].concat()).expect(0);
    let object: Value = serde_json::from_str(&place.read("b.json")).unwrap();
    let rows = object["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert!(rows[0]["adapter"].is_null() && rows[0]["threads"].is_u64());
    let gpu = &rows[1];
    assert!(gpu["backend"] == "gpu" && gpu["adapter"].is_string() && gpu["threads"].is_null(), "{gpu}");
    let software = gpu["adapter_type"] == "software";
    assert_eq!(ran.stdout.contains("gpu (software)"), software, "{}", ran.stdout);
    assert_eq!(ran.stdout.contains("a software adapter"), software, "{}", ran.stdout);
}

#[test]
fn an_unknown_adapter_name_ends_with_3_and_lists_the_adapters() {
    let place = Place::new();
    let first = rows(&place).swap_remove(0);
    let nonsense = [("WGPU_ADAPTER_NAME", "abacus")];
    let run = ["run", "pair.toml", "--backend", "gpu"];
    carom(&place, &nonsense, &run)
        .expect(3)
        .silent()
        .says("abacus")
        .says("WGPU_ADAPTER_NAME")
        .says(name(&first));
    for backend in ["gpu", "auto"] {
        // A name on the command line is mandatory, even if auto would fall back to the processor.
        let arguments = ["run", "pair.toml", "--backend", backend, "--adapter", "abacus"];
        carom(&place, &[], &arguments).expect(3).silent().says("abacus").says(name(&first));
    }
    let bench = ["bench", "--scenes", "pair.toml", "--backends", "gpu", "--adapter", "abacus"];
    carom(&place, &[], &bench).expect(3).silent().says(name(&first));
    // The command line overrides the environment.
    let adapter = ["run", "pair.toml", "--adapter", name(&first)];
    carom(&place, &nonsense, &adapter).expect(0);
    // The environment only states a preference: auto continues without that adapter.
    let ran = carom(&place, &nonsense, &["run", "pair.toml", "--json"]).expect(0).says("abacus");
    assert_eq!(ran.object()["backend"], "cpu");
    // `carom adapters` still lists all adapters.
    let ran = carom(&place, &nonsense, &["adapters"]).expect(0).says("abacus");
    assert!(ran.stdout.contains(name(&first)));
}

#[test]
fn no_adapter_ends_with_3_and_names_the_package() {
    let place = Place::new();
    for arguments in [
        &["adapters"][..],
        &["adapters", "--json"],
        &["run", "pair.toml", "--backend", "gpu"],
        &["run", "pair.toml", "--backend", "gpu", "--adapter", "abacus"],
        &["bench", "--scenes", "pair.toml", "--backends", "cpu,gpu"],
    ] {
        let ran = carom(&place, &NO_ADAPTER, arguments).expect(3).silent().says("no adapter found");
        if cfg!(target_os = "linux") {
            ran.says("mesa-vulkan-drivers").says("Vulkan").says("--backend cpu");
        }
    }
    // An invalid scene is reported without an adapter too.
    carom(&place, &NO_ADAPTER, &["run", "gsa", "--backend", "gpu"]).expect(2);
}

#[test]
fn without_an_adapter_auto_is_cpu_with_a_note() {
    let place = Place::new();
    let ran = carom(&place, &NO_ADAPTER, &["run", "pair.toml", "--json"]).expect(0);
    assert_eq!(ran.object()["backend"], "cpu");
    let notes: Vec<&str> = ran.stderr.lines().filter(|l| l.contains("gpu")).collect();
    assert_eq!(notes.len(), 1, "{}", ran.stderr);
}

#[test]
fn a_backend_of_another_system_is_named() {
    let place = Place::new();
    let foreign = if cfg!(target_os = "macos") { "dx12" } else { "metal" };
    carom(&place, &[("WGPU_BACKEND", foreign)], &["adapters"]).expect(3).silent().says(foreign);
}
