//! Writes one line of JSON per event, for scripts.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
    time::Instant,
};

use serde_json::{Map, Value, json};

use super::{ViewerError, shared_state::Counters};

/// Writer of the event log.
pub struct EventLog {
    out: Option<Box<dyn Write>>,
    start: Instant,
    path: String,
    failed: Option<ViewerError>,
}

impl EventLog {
    /// Opens the log in a file, or on standard output for `-`; without a path the log writes nothing.
    ///
    /// # Errors
    /// [`ViewerError::Events`] if the file cannot be created.
    pub fn open(path: Option<&Path>) -> Result<Self, ViewerError> {
        let name = path.map_or(String::new(), |path| path.display().to_string());
        let out: Option<Box<dyn Write>> = match path {
            None => None,
            Some(path) if path == Path::new("-") => Some(Box::new(io::stdout())),
            Some(path) => Some(Box::new(File::create(path).map_err(|error| cannot(&name, &error))?)),
        };
        Ok(Self { out, start: Instant::now(), path: name, failed: None })
    }

    /// Writes an event with its additional fields (an object).
    pub fn write(&mut self, event: &str, frames: u64, at: &Counters, with: Value) {
        let Some(out) = &mut self.out else { return };
        let mut line = Map::new();
        line.insert("event".to_owned(), event.into());
        let counters = json!({
            "seconds": self.start.elapsed().as_secs_f64(),
            "frames": frames,
            "step": at.step,
            "time": at.time,
            "spheres": at.sphere_count,
            "backend": at.backend.name(),
            "paused": at.paused,
            "blocking_reads": at.blocking_reads,
        });
        for object in [counters, with] {
            if let Value::Object(fields) = object {
                line.extend(fields);
            }
        }
        // One write per line, so that concurrent readers of the file see whole lines.
        let text = format!("{}\n", Value::Object(line));
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            self.failed = Some(cannot(&self.path, &error));
            self.out = None;
        }
    }

    /// Reports the first failure to write.
    ///
    /// # Errors
    /// [`ViewerError::Events`].
    pub fn finish(self) -> Result<(), ViewerError> {
        self.failed.map_or(Ok(()), Err)
    }
}

fn cannot(path: &str, error: &io::Error) -> ViewerError {
    ViewerError::Events(format!("cannot write the events to {path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_an_object_on_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut event_log = EventLog::open(Some(&path)).unwrap();
        let at = Counters { step: 7, sphere_count: 3, paused: true, ..Counters::default() };
        event_log.write("paused", 12, &at, json!({}));
        event_log.write("refused", 13, &at, json!({ "message": "two\nlines" }));
        event_log.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [paused, refused] = &lines[..] else { panic!("{text}") };
        assert_eq!(paused["event"], "paused");
        assert_eq!(
            (&paused["frames"], &paused["step"], &paused["spheres"]),
            (&12.into(), &7.into(), &3.into())
        );
        assert_eq!((&paused["backend"], &paused["paused"]), (&"cpu".into(), &true.into()));
        assert_eq!(refused["message"], "two\nlines");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let failure = EventLog::open(Some(folder.path())).map(|_| ()).unwrap_err();
        assert!(
            matches!(&failure, ViewerError::Events(text) if text.contains("cannot write")),
            "{failure:?}"
        );
        EventLog::open(None).unwrap().finish().unwrap();
    }
}
