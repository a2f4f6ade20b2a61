//! Writes states into the folder given by `--out`, on a thread of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use carom::files::{Snapshot, write_series, write_snapshot};
use carom::{Simulation, Sphere};

use super::arguments::RunArguments;
use super::atomic_file::cannot_write;
use super::command_error::CommandError;

/// Formats of states without `--format`: CSV for tables and as input, extended XYZ for other viewers.
pub const DEFAULT_FORMATS: &str = "csv,xyz";

// States that wait for the thread. With the state that is being written and the one that the run holds, there are at most
// three copies of the state in memory; a run that is faster than its files waits.
const QUEUE: usize = 1;
// Shortest time between two versions of the series of intermediate states, which grows with each of them.
const SERIES_PAUSE: Duration = Duration::from_secs(1);

/// A state on its way to the files.
struct Task {
    stem: String,
    in_series: bool,
    snapshot: Snapshot,
}

/// A folder for states, and the thread that writes them.
pub struct Output {
    every: Option<u64>,
    queue: Option<SyncSender<Task>>,
    thread: Option<JoinHandle<Result<(), CommandError>>>,
    has_failed: Arc<AtomicBool>,
}

impl Output {
    /// The output that the arguments ask for, if any.
    pub fn of(arguments: &RunArguments) -> Result<Option<Self>, CommandError> {
        let RunArguments { out, every, formats, .. } = arguments;
        out.as_deref().map(|folder| Self::create(folder, *every, formats)).transpose()
    }

    /// Creates the folder if it does not exist, and starts the thread.
    fn create(folder: &Path, every: Option<u64>, formats: &[String]) -> Result<Self, CommandError> {
        std::fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
        let mut files = Files {
            folder: folder.to_owned(),
            formats: formats.to_vec(),
            series: every.filter(|_| formats.iter().any(|format| format == "vtp")).map(|_| Series::default()),
        };
        let (queue, tasks) = sync_channel(QUEUE);
        let has_failed = Arc::new(AtomicBool::new(false));
        let failed = Arc::clone(&has_failed);
        let work = move || {
            let outcome = files.write_all(&tasks);
            failed.store(outcome.is_err(), Ordering::Relaxed);
            outcome
        };
        let thread = thread::Builder::new().name("output".to_owned()).spawn(work);
        let thread =
            thread.map_err(|error| CommandError::files(format!("cannot start a thread: {error}")))?;
        Ok(Self { every, queue: Some(queue), thread: Some(thread), has_failed })
    }

    /// Number of steps from step `step` to the next intermediate state; `None` without intermediate states.
    pub fn steps_to_next(&self, step: u64) -> Option<u64> {
        self.every.map(|every| every - step % every)
    }

    /// Name of the state after step `step`, if it is to be written.
    pub fn name_between(&self, step: u64) -> Option<String> {
        // Eight digits: names sort in the order of the steps for all practical lengths of a run.
        let wanted = self.every.is_some_and(|every| step.is_multiple_of(every));
        wanted.then(|| format!("state-{step:08}"))
    }

    /// Whether a file could not be written; shared with the thread.
    pub fn failure_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.has_failed)
    }

    /// Hands a state to the thread; waits while the queue is full. An error may be that of an earlier state.
    pub fn write(
        &mut self,
        stem: &str,
        simulation: &Simulation,
        spheres: Vec<Sphere>,
    ) -> Result<(), CommandError> {
        let snapshot =
            Snapshot::new(simulation.system(), simulation.time(), spheres).after(simulation.steps());
        let task = Task { stem: stem.to_owned(), in_series: stem != "last-good", snapshot };
        let is_sent = self.queue.as_ref().is_some_and(|queue| queue.send(task).is_ok());
        // The thread ends early only after an error.
        if is_sent { Ok(()) } else { self.finish() }
    }

    /// Waits until all states are written.
    pub fn finish(&mut self) -> Result<(), CommandError> {
        self.queue = None;
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(outcome)) => outcome,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }
}

impl Drop for Output {
    /// Waits for the files that are being written: a process that ended before would leave temporary files.
    fn drop(&mut self) {
        self.queue = None;
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// The files of the states, as the thread writes them.
struct Files {
    folder: PathBuf,
    formats: Vec<String>,
    series: Option<Series>,
}

/// The series of the intermediate states for ParaView, which gives the files their times.
#[derive(Default)]
struct Series {
    files: Vec<(f64, String)>,
    written: Option<Instant>,
}

impl Files {
    fn write_all(&mut self, tasks: &Receiver<Task>) -> Result<(), CommandError> {
        while let Ok(task) = tasks.recv() {
            for format in &self.formats {
                let path = self.folder.join(format!("{}.{format}", task.stem));
                write_snapshot(&path, &task.snapshot).map_err(|e| cannot_write(&path, &e))?;
                tracing::info!("wrote {}", path.display());
            }
            if let Some(series) = self.series.as_mut().filter(|_| task.in_series) {
                series.add(task.snapshot.time, format!("{}.vtp", task.stem));
                if series.written.is_none_or(|at| at.elapsed() > SERIES_PAUSE) {
                    self.write_series()?;
                }
            }
        }
        self.write_series()
    }

    fn write_series(&mut self) -> Result<(), CommandError> {
        let Some(series) = &mut self.series else { return Ok(()) };
        let path = self.folder.join("states.pvd");
        write_series(&path, &series.files).map_err(|e| cannot_write(&path, &e))?;
        series.written = Some(Instant::now());
        Ok(())
    }
}

impl Series {
    /// Adds a state. The final state is left out if the last intermediate state is the same.
    fn add(&mut self, time: f64, file: String) {
        if self.files.last().is_none_or(|(last, _)| *last < time) {
            self.files.push((time, file));
        }
    }
}
