//! Ctrl-C and a request to terminate: the step ends, the requested files are written, and the exit code is 130.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::harness::{Place, Ran};

fn signal_after_some_rows(signal: &str, place: &Place, arguments: &[&str]) -> Ran {
    let mut child = place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // With --json the table goes to stderr; a few lines show that the run has started.
    let mut reader = BufReader::new(child.stderr.take().unwrap());
    let mut stderr = String::new();
    while stderr.lines().count() < 6 {
        assert_ne!(reader.read_line(&mut stderr).unwrap(), 0, "ended early: {stderr}");
    }
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    std::io::Read::read_to_string(&mut reader, &mut stderr).unwrap();
    let mut output = child.wait_with_output().unwrap();
    output.stderr = stderr.into_bytes();
    Ran::new(arguments, output)
}

#[test]
fn ctrl_c_finishes_the_step_and_writes_the_requested_files() {
    interrupted_run_is_a_shorter_run("cpu", "-INT");
}

#[test]
fn so_does_a_request_to_terminate() {
    interrupted_run_is_a_shorter_run("cpu", "-TERM");
}

// The step in flight on the device adds one step. Needs an adapter.
#[cfg(feature = "gpu")]
#[test]
fn ctrl_c_finishes_the_steps_in_flight_on_a_device() {
    interrupted_run_is_a_shorter_run("gpu", "-INT");
}

fn interrupted_run_is_a_shorter_run(backend: &str, signal: &str) {
    let place = Place::new();
    let run = ["run", "gas.toml", "--backend", backend];
    let endless =
        ["--steps", "100000000", "--log-every", "1", "--json", "--out", "out", "--metrics", "m.csv"];
    let arguments = [&run[..], &endless].concat();
    let ran = signal_after_some_rows(signal, &place, &arguments).expect(130).says("interrupted after step");
    let object = ran.object();
    let steps = object["steps"].as_u64().unwrap();
    assert!((1..100_000_000).contains(&steps));
    assert_eq!(place.read("m.csv").lines().count() as u64, steps + 1);
    let checkpoint = format!("checkpoint-{steps:08}.safetensors");
    assert_eq!(place.names("out"), [&checkpoint, "final.csv", "final.xyz"]);
    // The run goes on from its checkpoint, and the interruption leaves no trace.
    let resume = ["run", "--resume", &format!("out/{checkpoint}"), "--steps", "3", "--json"];
    let resumed = place.carom(&resume).expect(0).object();
    let longer = (steps + 3).to_string();
    let whole = place.carom(&[&run[..], &["--steps", &longer, "--json"]].concat()).expect(0).object();
    assert_eq!(resumed["state_hash"], whole["state_hash"]);
    // The state equals that of a run with the same number of steps.
    let steps = steps.to_string();
    let again = [&run[..], &["--steps", &steps, "--json"]].concat();
    assert_eq!(place.carom(&again).expect(0).object()["state_hash"], object["state_hash"]);
}
