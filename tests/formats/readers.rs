//! Readers of other programs find in our files what was written: ids, radii, positions, box, time.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use carom::files::{Frame, write_frames, write_series};

use crate::support::{ENDINGS, frame};

tier!(long "2 min": other_programs_read_the_same);

/// Runs a command; panics with its output and `remedy` if it fails.
fn run(command: &mut Command, remedy: &str) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; {remedy}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (shown, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?} ended with {}; {remedy}\n{shown}{errors}", output.status);
    shown
}

/// The Python of an environment with the readers of `requirements.txt`; it is kept for later runs.
fn python(readers: &Path) -> PathBuf {
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readers");
    let python = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !python.exists() {
        let remedy =
            "this test needs Python 3.11 or later with the module venv (on Debian the package python3-venv)";
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment), remedy);
    }
    let requirements = readers.join("requirements.txt");
    let remedy = "this test installs packages from PyPI, some 500 MB, and needs access to it";
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "-r"]).arg(requirements), remedy);
    python
}

fn other_programs_read_the_same() {
    let readers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers");
    let folder = tempfile::tempdir().unwrap();
    let state = frame(1000, 8);
    for ending in ENDINGS {
        let path = folder.path().join(format!("state.{ending}"));
        write_frames(&path, std::slice::from_ref(&state)).unwrap();
    }
    let element = |material: &Option<String>| if material.as_deref() == Some("glass") { "Si" } else { "Fe" };
    let mut elements = state.clone();
    elements.spheres.iter_mut().for_each(|s| s.material = Some(element(&s.material).to_owned()));
    for ending in ["xyz", "lammpstrj"] {
        let path = folder.path().join(format!("elements.{ending}"));
        write_frames(&path, std::slice::from_ref(&elements)).unwrap();
    }
    write_frames(&folder.path().join("first.vtp"), &[Frame { time: Some(0.0), ..frame(1000, 9) }]).unwrap();
    let files = [(0.0, "first.vtp".to_owned()), (state.time.unwrap(), "state.vtp".to_owned())];
    write_series(&folder.path().join("states.pvd"), &files).unwrap();

    let spheres = || state.spheres.iter();
    let bounds = state.bounds.unwrap();
    let expected = serde_json::json!({
        "time": state.time,
        "step": state.step,
        "box": {
            "min": bounds.min.to_array(),
            "max": bounds.max.to_array(),
            "periodic": bounds.periodic,
        },
        "ids": spheres().map(|s| s.id).collect::<Vec<_>>(),
        "position": spheres().map(|s| s.position.to_array()).collect::<Vec<_>>(),
        "velocity": spheres().map(|s| s.velocity.to_array()).collect::<Vec<_>>(),
        "spin": spheres().map(|s| s.spin.to_array()).collect::<Vec<_>>(),
        "radius": spheres().map(|s| s.radius).collect::<Vec<_>>(),
        "mass": spheres().map(|s| s.mass).collect::<Vec<_>>(),
        "material": spheres().map(|s| s.material.clone()).collect::<Vec<_>>(),
        "element": elements.spheres.iter().map(|s| s.material.clone()).collect::<Vec<_>>(),
        "fixed": spheres().map(|s| u8::from(s.fixed)).collect::<Vec<_>>(),
    });
    fs::write(folder.path().join("expected.json"), expected.to_string()).unwrap();

    let python = python(&readers);
    let shown = run(
        Command::new(&python).arg(readers.join("read.py")).arg(folder.path()),
        "a reader found something else than was written, or failed",
    );
    println!("{shown}");
    // One line for each pair of file and reader.
    assert_eq!((shown.lines().count(), shown.matches("the same").count()), (14, 14), "{shown}");

    // A radius that differs is noticed by every reader that keeps radii.
    let mut other = expected;
    other["radius"][17] = (state.spheres[17].radius * 1.0001).into();
    fs::write(folder.path().join("expected.json"), other.to_string()).unwrap();
    let output = Command::new(python).arg(readers.join("read.py")).arg(folder.path()).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success());
    assert_eq!(shown.matches("WRONG: radius").count(), 12, "{shown}");
}
