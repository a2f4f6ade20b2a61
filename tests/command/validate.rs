//! `carom validate`: selection of cases, reports, exit codes.

use serde_json::Value;

use crate::harness::Place;

#[test]
fn a_case_is_printed_and_written_as_pages_and_json() {
    let place = Place::new();
    let arguments = ["validate", "--case", "pi,pi", "--backend", "cpu,exact,cpu"];
    let ran = place
        .carom(&[&arguments[..], &["--json", "--report", "report", "--keep", "scenes"]].concat())
        .expect(0);
    let object = ran.object();
    assert_eq!(serde_json::from_str::<Value>(&place.read("report/report.json")).unwrap(), object);
    let cases = object["cases"].as_array().unwrap();
    let backends: Vec<&Value> = cases.iter().map(|case| &case["backend"]).collect();
    assert_eq!(backends, ["cpu", "exact"]);
    assert_eq!(object["passed"], object["checks"]);
    assert_eq!(cases[0]["checks"].as_array().unwrap().len(), 4);
    let (html, markdown) = (place.read("report/index.html"), place.read("report/report.md"));
    for text in ["collisions at a mass ratio of 100", "passed", "derived"] {
        assert!(html.contains(text) && markdown.contains(text) && ran.stderr.contains(text), "{text}");
    }
    let links = html.replace("http://www.w3.org/2000/svg", "");
    assert!(!links.contains("http://") && !links.contains("https://") && !links.contains("src="));
    assert!(html.contains("<svg") && markdown.contains("(charts/pi-cpu-1.svg)"));
    assert!(place.read("report/charts/pi-cpu-1.svg").contains("<svg"));
    // The kept scene gives the result of the case.
    let ran = place.carom(&["run", "scenes/pi/ratio-10000.toml", "--backend", "exact", "--json"]);
    assert_eq!(ran.expect(0).object()["impacts"], 314);
}

#[test]
fn the_list_names_all_cases_and_runs_none() {
    let place = Place::new();
    let listed = place.carom(&["validate", "--list", "--json"]).expect(0).object();
    let text = place.carom(&["validate", "--list"]).expect(0).stdout;
    let names: Vec<&str> =
        listed["cases"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(text.lines().count(), names.len() + 1);
    assert!(names.iter().all(|name| text.contains(name)));
    assert!(carom::validate::cases().map(|case| case.name).eq(names));
}

#[test]
fn what_cannot_run_is_refused_by_name() {
    let place = Place::new();
    let ran = place.carom(&["validate", "--case", "cradle,nonsense"]).expect(2);
    assert!(ran.stderr.contains("`nonsense`") && ran.stderr.contains("cradle"), "{}", ran.stderr);
    let ran = place.carom(&["validate", "--quick", "--full"]).expect(2);
    assert!(ran.stderr.contains("--full"), "{}", ran.stderr);
    place.write("report", "a file, no folder");
    let ran = place.carom(&["validate", "--case", "cradle", "--report", "report"]).expect(4);
    assert!(ran.stderr.contains("report") && ran.stdout.is_empty(), "{}", ran.stderr);
}

// This test takes more than a minute, but belongs to the default tier: it checks the physics of every change.
#[test]
fn the_quick_cases_pass_on_cpu() {
    quick_cases_pass("cpu");
}

tier!(long "2 min": the_quick_cases_pass_on_exact = quick_cases_pass("exact"));
#[cfg(feature = "gpu")]
tier!(campaign "hours": the_quick_cases_pass_on_gpu = quick_cases_pass("gpu"));

fn quick_cases_pass(backend: &str) {
    let object =
        Place::new().carom(&["validate", "--quick", "--json", "--backend", backend]).expect(0).object();
    let cases = object["cases"].as_array().unwrap();
    let runs = |case: &&carom::validate::Case| case.quick && (case.exact || backend != "exact");
    assert_eq!(cases.len(), carom::validate::cases().filter(runs).count());
    assert!(cases.iter().all(|case| case["passed"] == true), "{object}");
}
