//! Valid and invalid command lines, and their exit codes.

use crate::harness::Place;

#[test]
fn help_and_version_go_to_stdout() {
    let place = Place::new();
    for arguments in [
        &["--help"][..],
        &["run", "--help"],
        &["scenes", "--help"],
        &["schema", "--help"],
        &["bench", "--help"],
        &["adapters", "--help"],
        &["verify", "--help"],
        &["render", "--help"],
    ] {
        let ran = place.carom(arguments).expect(0);
        assert!(ran.stdout.contains("Usage:") && ran.stderr.is_empty());
    }
    let version = place.carom(&["--version"]).expect(0);
    assert_eq!(version.stdout, format!("carom {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_command_lines_end_with_2() {
    let place = Place::new();
    for arguments in [
        &["dance"][..],
        &["run"],
        &["run", "pair.toml", "--dance"],
        &["run", "pair.toml", "--backend", "abacus"],
        &["run", "pair.toml", "--threads", "many"],
        &["run", "pair.toml", "--threads", "-1"],
        &["run", "pair.toml", "--threads", "1000000"],
        &["run", "pair.toml", "--steps", "-1"],
        &["run", "pair.toml", "--steps", "1", "--time", "1"],
        &["run", "pair.toml", "--time", "0"],
        &["run", "pair.toml", "--time", "-1"],
        &["run", "pair.toml", "--time", "nan"],
        &["run", "pair.toml", "--time", "1e300"],
        &["run", "pair.toml", "--seed", "x"],
        &["run", "pair.toml", "--set", "world.dt"],
        &["run", "pair.toml", "--set", "=1"],
        &["run", "pair.toml", "--every", "1"],
        &["run", "pair.toml", "--out", "out", "--every", "0"],
        &["run", "pair.toml", "--log-every", "0"],
        &["run", "pair.toml", "--metrics", "m.txt"],
        &["scenes", "--show"],
        &["schema", "gas"],
        &["adapters", "--dance"],
        &["run", "pair.toml", "--adapter"],
        &["bench", "--sizes", "none"],
        &["bench", "--sizes", "1.5"],
        &["bench", "--seconds", "0"],
        &["bench", "--steps", "0"],
    ] {
        place.carom(arguments).expect(2).silent();
    }
    assert_eq!(place.names("."), ["gas.toml", "pair.toml"]);
}

#[cfg(not(feature = "gpu"))]
#[test]
fn without_the_gpu_feature_gpu_is_refused_with_3_and_auto_is_cpu() {
    let place = Place::new();
    place.carom(&["run", "pair.toml", "--backend", "gpu"]).expect(3).silent().says("no gpu backend");
    place.carom(&["bench", "--scenes", "pair.toml", "--backends", "gpu"]).expect(3).silent();
    place.carom(&["adapters"]).expect(3).silent().says("no gpu backend");
    let ran = place.carom(&["run", "pair.toml", "--json"]).expect(0).says("no gpu backend");
    assert_eq!(ran.object()["backend"], "cpu");
}

#[test]
fn quiet_prints_nothing() {
    let place = Place::new();
    let ran = place.carom(&["run", "pair.toml", "--quiet"]).expect(0).silent();
    assert_eq!(ran.stderr, "");
}

#[test]
fn steps_and_time_set_the_length_of_a_run() {
    let place = Place::new();
    let steps = |extra: &[&str]| {
        let arguments = [&["run", "gas.toml", "--json", "--quiet"], extra].concat();
        place.carom(&arguments).expect(0).object()["steps"].as_u64().unwrap()
    };
    assert_eq!(steps(&[]), 20);
    assert_eq!(steps(&["--steps", "3"]), 3);
    assert_eq!(steps(&["--steps", "0"]), 0);
    // 0.1/0.02 may or may not round to above 5: 5 steps in both cases.
    assert_eq!(steps(&["--time", "0.1"]), 5);
    assert_eq!(steps(&["--time", "0.101"]), 6);
    assert_eq!(steps(&["--set", "world.steps=4"]), 4);
    assert_eq!(steps(&["--set", "world.dt=0.01", "--time", "0.1"]), 10);
}

#[test]
fn without_json_a_table_and_a_summary_are_printed() {
    let place = Place::new();
    let ran = place.carom(&["run", "gas.toml", "--log-every", "5"]).expect(0);
    let rows: Vec<&str> = ran.stdout.lines().collect();
    let header = rows.iter().position(|r| r.trim_start().starts_with("step ")).expect("a header");
    for name in ["time", "kinetic", "energy", "impacts", "rounds", "late", "crowded", "overlap/d", "ms/step"]
    {
        assert!(rows[header].contains(name), "{name}");
    }
    let steps: Vec<&str> =
        rows[header + 1..header + 5].iter().map(|r| r.split_whitespace().next().unwrap()).collect();
    assert_eq!(steps, ["5", "10", "15", "20"]);
    let columns = rows[header].split_whitespace().count();
    assert!(rows[header + 1..header + 5].iter().all(|r| r.split_whitespace().count() == columns));
    assert!(ran.stdout.contains("sphere-steps/s") && ran.stdout.contains("\nstate "));
}

#[test]
fn a_closed_pipe_is_no_error() {
    use std::io::Read;
    use std::process::Stdio;
    let place = Place::new();
    for arguments in
        [&["scenes", "--show", "gas"][..], &["run", "gas.toml", "--steps", "2000", "--log-every", "1"]]
    {
        let mut child =
            place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 1];
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut first).unwrap();
        drop(stdout);
        let ran = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(ran.stderr).unwrap();
        assert!(ran.status.success() && !stderr.contains("panicked"), "{:?}: {stderr}", ran.status);
    }
}
