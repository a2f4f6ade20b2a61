//! Runs the command in a temporary folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A small periodic gas.
pub const GAS: &str = r#"
[world]
dt = 0.02
steps = 20
seed = 7

[bounds]
x = "periodic"
y = "periodic"
z = "periodic"

[[spheres]]
random = { count = 200, volume_fraction = 0.1, diameter = 1.0 }
temperature = 1.0
"#;

/// Two spheres, e = 1, in a plane without walls; the impact is at t = 0.2.
pub const PAIR: &str = r#"
[world]
dt = 0.5
steps = 2

[[spheres]]
at = [
    { position = [0, 0, 0], velocity = [1, 0, 0], radius = 0.5, mass = 1.0 },
    { position = [1.2, 0, 0], radius = 0.5, mass = 1.0 },
]
"#;

/// A folder with scenes, in which commands run.
pub struct Place {
    folder: TempDir,
}

impl Place {
    /// A folder that holds `gas.toml` and `pair.toml`.
    pub fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        place.write("gas.toml", GAS);
        place.write("pair.toml", PAIR);
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Names of all files below `folder`, sorted.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.path(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The command, ready to start in this folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        command(self.folder.path(), arguments)
    }

    /// Runs the command until it exits.
    pub fn carom(&self, arguments: &[&str]) -> Ran {
        Ran::new(arguments, self.command(arguments).output().unwrap())
    }
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_carom"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).env("RUST_BACKTRACE", "1");
    command
}

/// An exited command.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    line: String,
}

impl Ran {
    pub fn new(arguments: &[&str], output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        Self {
            code: output.status.code().expect("ended by itself"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            line: arguments.join(" "),
        }
    }

    /// Asserts that the command exited with `code` and without a panic; an error is a single message.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        let Self { line, stdout, stderr, .. } = &self;
        assert_eq!(self.code, code, "carom {line}\nstdout: {stdout}\nstderr: {stderr}");
        assert!(!stderr.contains("panicked"), "carom {line}\n{stderr}");
        let errors = stderr.lines().filter(|l| l.starts_with("error:")).count();
        assert_eq!(errors, usize::from(code != 0 && code != 130), "carom {line}\n{stderr}");
        self
    }

    /// Asserts that stderr contains `text`.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "carom {}: no `{text}` in\n{}", self.line, self.stderr);
        self
    }

    /// Asserts that stdout is empty.
    #[track_caller]
    pub fn silent(self) -> Self {
        assert_eq!(self.stdout, "", "carom {}", self.line);
        self
    }

    /// The only JSON object on stdout.
    #[track_caller]
    pub fn object(&self) -> Value {
        let mut values = serde_json::Deserializer::from_str(&self.stdout).into_iter::<Value>();
        let object = values.next().expect("an object on stdout").expect("stdout is JSON");
        assert!(object.is_object(), "{object}");
        assert!(values.next().is_none(), "more than one value on stdout: {}", self.stdout);
        object
    }
}
