//! A history of benchmarks: JSON lines, one for each row, to which every run appends.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::machine;
use super::measure::Row;
use crate::cli::atomic_file::cannot_write;
use crate::cli::command_error::CommandError;

const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

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

// A time in UTC, to the second: `2026-02-28T23:59:59Z`.
fn rfc3339(time: SystemTime) -> String {
    // A clock before 1970 is not set.
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let (year, month, day) = date(seconds / SECONDS_PER_DAY);
    let second = seconds % SECONDS_PER_DAY;
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

// Year, month and day from the days since 1970-01-01. Years begin in March here, so that a leap day is the last of its year;
// 400 years have 146,097 days. (Hinnant, "chrono-Compatible Low-Level Date Algorithms", 2013, civil_from_days.)
fn date(days: u64) -> (u64, u64, u64) {
    // Days since 0000-03-01.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // 0 is March. Five months from March on, and again from August on, have 153 days.
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (400 * era + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"date":"2026-01-01T00:00:00Z","median_ms":1.5}"#;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_772_323_200, "2026-03-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }

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
