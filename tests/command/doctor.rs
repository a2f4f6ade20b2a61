//! `carom doctor`. Needs an adapter: without one most of these tests fail.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use carom::doctor::SECTIONS;
use serde_json::Value;

use crate::harness::{Place, Ran};

const NO_ADAPTER: [(&str, &str); 3] =
    [("VK_DRIVER_FILES", "/nonexistent"), ("VK_ICD_FILENAMES", "/nonexistent"), ("WGPU_BACKEND", "vulkan")];

fn section<'a>(object: &'a Value, name: &str) -> &'a Value {
    let sections = object["sections"].as_array().expect("sections");
    sections.iter().find(|section| section["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

fn assert_names_all_sections(object: &Value) {
    let sections = object["sections"].as_array().expect("sections");
    let names: Vec<&str> = sections.iter().map(|section| section["name"].as_str().unwrap()).collect();
    assert_eq!(names, SECTIONS);
    for section in sections {
        let status = section["status"].as_str().unwrap();
        assert!(["ok", "failed", "cut_short", "skipped"].contains(&status), "{section}");
        let is_noted = !section["notes"].as_array().unwrap().is_empty();
        assert!(is_noted || status == "ok" || status == "failed", "cut short silently: {section}");
        assert!(section["seconds"].as_f64().unwrap() >= 0.0 && section["failures"].is_array());
    }
}

#[test]
fn a_short_examination_names_all_sections_on_the_screen_and_in_the_report() {
    let place = Place::new();
    let ran = place.carom(&["doctor", "--budget", "0.5s", "--json", "--out", "report.json"]).expect(0);
    let object = ran.object();
    assert_names_all_sections(&object);
    for name in SECTIONS {
        assert!(ran.stderr.contains(&format!("\n{name}: ")), "{name}: {}", ran.stderr);
    }
    assert_eq!(serde_json::from_str::<Value>(&place.read("report.json")).unwrap(), object);
    assert_eq!(object["carom"], env!("CARGO_PKG_VERSION"));
    assert!(
        object["machine"]["cores"].as_u64().unwrap() > 0 && object["date"].as_str().unwrap().ends_with('Z')
    );
    let kind = object["adapter"]["kind"].as_str().unwrap();
    assert_eq!(object["adapter"]["is_gpu"], ["discrete", "integrated", "virtual"].contains(&kind));
    let machine = section(&object, "machine");
    let largest = machine["largest"].as_array().unwrap();
    assert!(largest.iter().all(|row| row["spheres"].as_u64().unwrap() > 100_000), "{machine}");
    assert_eq!(section(&object, "litmus")["tolerances"]["scale"], 1.0);
}

#[test]
fn only_the_sections_that_are_asked_for_run() {
    let place = Place::new();
    let ran = place.carom(&["doctor", "--section", "machine,costs", "--budget", "20s"]).expect(0);
    for text in ["\nmachine: ok", "\ncosts: ok", "\nparity: skipped", "empty dispatch", "not asked for"] {
        assert!(ran.stdout.contains(text), "no {text} in {}", ran.stdout);
    }
    place.carom(&["doctor", "--section", "machine", "--quiet"]).expect(0).silent();
}

#[test]
fn a_section_that_fails_is_named_with_exit_code_5() {
    let place = Place::new();
    let arguments = ["doctor", "--section", "parity", "--budget", "10s", "--tolerance", "1e-9", "--json"];
    let ran = place.carom(&arguments).expect(5);
    let object = ran.object();
    assert_names_all_sections(&object);
    let parity = section(&object, "parity");
    assert_eq!(parity["status"], "failed");
    assert!(parity["failures"][0].as_str().unwrap().contains("stage "), "{parity}");
    ran.says("failed: parity; ");
}

#[test]
fn without_an_adapter_the_machine_is_described_all_the_same() {
    let place = Place::new();
    let arguments = ["doctor", "--budget", "5s", "--json", "--out", "report.json"];
    let output = place.command(&arguments).envs(NO_ADAPTER).output().unwrap();
    let ran = Ran::new(&arguments, output).expect(3).says("no adapter found");
    let object = ran.object();
    assert_names_all_sections(&object);
    assert!(object["adapter"].is_null());
    let machine = section(&object, "machine");
    assert_eq!(machine["status"], "failed");
    assert!(machine["failures"][0].as_str().unwrap().contains("no adapter found"), "{machine}");
    if cfg!(target_os = "linux") {
        assert!(machine["notes"].to_string().contains("apt-get install"), "{machine}");
    }
    assert_eq!(section(&object, "speed")["status"], "skipped");
    place.carom(&["doctor", "--adapter", "abacus"]).expect(3).says("abacus");
}

#[test]
fn invalid_options_of_doctor_are_refused() {
    let place = Place::new();
    for arguments in [
        &["doctor", "--section", "lithmus"][..],
        &["doctor", "--budget", "8"],
        &["doctor", "--budget", "0s"],
        &["doctor", "--tolerance", "0"],
        &["doctor", "gas"],
    ] {
        place.carom(arguments).expect(2).silent();
    }
    place.carom(&["doctor", "--section", "lithmus"]).expect(2).says("the sections are machine, litmus");
    place.carom(&["doctor", "--section", "machine", "--out", "absent/report.json"]).expect(4).silent();
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_section_and_leaves_a_report() {
    let place = Place::new();
    let arguments = ["doctor", "--section", "steps,soak", "--budget", "1h", "--out", "report.json"];
    let mut child = place.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(child.stderr.take().unwrap());
    let mut stderr = String::new();
    while !stderr.contains("steps: at most") {
        assert_ne!(reader.read_line(&mut stderr).unwrap(), 0, "ended early: {stderr}");
    }
    // The section begins after its announcement, and takes minutes.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    std::io::Read::read_to_string(&mut reader, &mut stderr).unwrap();
    let mut output = child.wait_with_output().unwrap();
    output.stderr = stderr.into_bytes();
    Ran::new(&arguments, output).expect(130);
    let object: Value = serde_json::from_str(&place.read("report.json")).unwrap();
    assert_names_all_sections(&object);
    assert_eq!(section(&object, "steps")["status"], "cut_short");
    assert_eq!(section(&object, "soak")["notes"][0], "interrupted");
}
