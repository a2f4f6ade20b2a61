//! A history of benchmarks: JSON lines, one for each row, to which every run appends.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};

use super::machine;
use super::measure::Row;
use crate::cli::atomic_file::cannot_write;
use crate::cli::command_error::CommandError;
use crate::cli::date::rfc3339;

/// A history file that accepts lines.
pub struct History {
    path: PathBuf,
    file: File,
}

impl History {
    /// Opens or creates the file. Refuses a file with lines other than those of a history, so that no other file is changed.
    pub fn open(path: &Path) -> Result<Self, CommandError> {
        let failed = |e| cannot_write(path, &e);
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
        let mut bytes = vec![];
        file.read_to_end(&mut bytes).map_err(failed)?;
        match foreign_line(&bytes) {
            None => Ok(Self { path: path.to_owned(), file }),
            Some(line) => Err(CommandError::files(format!(
                "{}, line {line}: not a line of a benchmark history; nothing was changed",
                path.display()
            ))),
        }
    }

    /// Appends the lines of the rows.
    ///
    /// One write in append mode never touches the earlier lines, so they survive the death of the process at any moment, and a
    /// history that is a link or has other owners stays what it is. A copy with a final rename would also lose the lines that
    /// another process appends in the meantime.
    pub fn append(mut self, rows: &[Row], time: SystemTime) -> Result<(), CommandError> {
        let mut text = String::new();
        for row in rows {
            text.push_str(&format!("{}\n", line(row, time)));
        }
        self.write(&text).map_err(|e| cannot_write(&self.path, &e))
    }

    fn write(&mut self, text: &str) -> std::io::Result<()> {
        // Some file systems have no locks. Then two processes at once may both end the last line, which leaves a blank one.
        let is_locked = match self.file.lock() {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::Unsupported => false,
            Err(error) => return Err(error),
        };
        let length = self.file.seek(SeekFrom::End(0))?;
        let mut last = [b'\n'];
        if length > 0 {
            self.file.seek(SeekFrom::End(-1))?;
            self.file.read_exact(&mut last)?;
        }
        let text = if last == [b'\n'] { text.to_owned() } else { format!("\n{text}") };
        let result = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        if result.is_err() && is_locked {
            // A full disk may have taken a part of the text. The error to report is that of the write.
            let _ = self.file.set_len(length);
        }
        result
    }
}

// The first line, counted from 1, that is not a JSON object of a history. Blank lines are accepted.
fn foreign_line(bytes: &[u8]) -> Option<usize> {
    let is_foreign = |line: &[u8]| {
        let object: Option<Value> = serde_json::from_slice(line).ok();
        !line.trim_ascii().is_empty()
            && !object.is_some_and(|line| line["date"].is_string() && line["median_ms"].is_number())
    };
    bytes.split(|byte| *byte == b'\n').position(is_foreign).map(|k| k + 1)
}

// docs/bench/README.md describes the line.
fn line(row: &Row, time: SystemTime) -> Value {
    let mut line = json!({ "date": rfc3339(time), "carom": env!("CARGO_PKG_VERSION") });
    // Without a build script only the environment of the build can name the commit.
    if let Some(commit) = option_env!("CAROM_COMMIT") {
        line["commit"] = commit.into();
    }
    line["machine"] = machine::json();
    let figures = json!({
        "adapter": row.adapter,
        "adapter_type": row.adapter_type,
        "scene": row.scene,
        "sphere_count": row.sphere_count,
        "backend": row.backend,
        "threads": row.threads,
        "steps": row.steps,
        "median_ms": row.median_ms,
        "p95_ms": row.p95_ms,
        "sphere_steps_per_second": row.sphere_steps_per_second,
        "impacts_per_second": row.impacts_per_second,
        "bytes_per_sphere": row.bytes_per_sphere,
    });
    let figures = figures.as_object().cloned().unwrap_or_default();
    for (name, value) in figures.into_iter().chain(row.physics.json()) {
        line[name] = value;
    }
    line["failed_checks"] = json!(row.failed_checks);
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"date":"2026-01-01T00:00:00Z","median_ms":1.5}"#;

    #[test]
    fn lines_of_other_files_are_foreign() {
        for (text, line) in [
            ("", None),
            ("\n", None),
            (LINE, None),
            (&format!("{LINE}\r\n\n{LINE}\n"), None),
            (&format!("{LINE}\nstep,time\n"), Some(2)),
            (&format!("{LINE}\n{}", &LINE[..20]), Some(2)),
            ("[1, 2]", Some(1)),
            (r#"{"step":1}"#, Some(1)),
        ] {
            assert_eq!(foreign_line(text.as_bytes()), line, "{text}");
        }
        assert_eq!(foreign_line(b"\xff\xfe"), Some(1));
    }

    #[test]
    fn a_last_line_without_its_end_is_completed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.jsonl");
        std::fs::write(&path, LINE).unwrap();
        for _ in 0..2 {
            History::open(&path).unwrap().write(&format!("{LINE}\n")).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{LINE}\n{LINE}\n{LINE}\n"));
    }
}
