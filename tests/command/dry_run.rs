//! `--dry-run`, `completions` and log messages.

use crate::harness::Place;

#[test]
fn a_dry_run_estimates_and_writes_nothing() {
    let place = Place::new();
    let run = [
        "run",
        "gas.toml",
        "--backend",
        "cpu",
        "--steps",
        "1000",
        "--out",
        "out",
        "--every",
        "10",
        "--metrics",
        "m.csv",
        "--events",
        "e.csv",
        "--dry-run",
    ];
    let ran = place.carom(&run).expect(0);
    for word in ["200 spheres", "steps on cpu", "memory", "time", "output", "101 states"] {
        assert!(ran.stdout.contains(word), "no {word} in {}", ran.stdout);
    }
    assert_eq!(place.names("."), ["gas.toml", "pair.toml"]);
    let object = place.carom(&[&run[..], &["--json"]].concat()).expect(0).object();
    assert_eq!(
        (&object["dry_run"], &object["steps"], &object["states"]),
        (&true.into(), &1000.into(), &101.into())
    );
    assert!(object["memory_bytes"].as_u64().unwrap() > 200 * 50, "{object}");
    assert!(object["seconds"].as_f64().unwrap() > 0.0, "{object}");
    // The size of the states is that of the states which a run writes, up to the digits of the numbers.
    place.carom(&["run", "gas.toml", "--backend", "cpu", "--steps", "1", "--out", "out"]).expect(0);
    let size = |name: &str| std::fs::metadata(place.path(name)).unwrap().len() as f64;
    let written = size("out/final.csv") + size("out/final.xyz");
    let estimated = object["state_bytes"].as_f64().unwrap();
    assert!((estimated / written - 1.0).abs() < 0.1, "{estimated} estimated, {written} written");
}

#[test]
fn every_shell_gets_a_script() {
    let place = Place::new();
    for (shell, word) in [
        ("bash", "_carom"),
        ("zsh", "#compdef carom"),
        ("fish", "complete -c carom"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion"),
    ] {
        let ran = place.carom(&["completions", shell]).expect(0);
        assert!(ran.stdout.contains(word) && ran.stdout.contains("dry-run"), "{shell}: {}", ran.stdout);
    }
    place.carom(&["completions", "cmd"]).expect(2).silent();
}

#[test]
fn messages_appear_on_stderr_only_when_asked_for() {
    let place = Place::new();
    let run = ["run", "gas.toml", "--backend", "cpu", "--quiet", "--out", "out"];
    assert_eq!(place.carom(&run).expect(0).silent().stderr, "");
    let ran = place.carom(&[&run[..], &["-v"]].concat()).expect(0).silent();
    let ran = ran.says("INFO").says("the backend is cpu").says("wrote out/final.csv");
    assert!(!ran.stderr.contains("DEBUG"), "{}", ran.stderr);
    let poured = "[world]\ndt = 0.1\nsteps = 5\n[[spheres]]\nsource = { min = [0, 0, 0], max = [9, 9, 9], rate = 20 }\n";
    place.write("poured.toml", poured);
    let ran = place.carom(&["run", "poured.toml", "--backend", "cpu", "--quiet", "-vv"]).expect(0).silent();
    drop(ran.says("DEBUG").says("step 1: 0 spheres leave, 2 arrive"));
    // The place of the option does not matter.
    place.carom(&[&["-v"], &run[..]].concat()).expect(0).silent().says("INFO");
}
