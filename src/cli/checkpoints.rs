//! Checkpoints of a run, and runs that resume from them.

use std::fs;
use std::path::{Path, PathBuf};

use carom::files::{read_checkpoint, write_checkpoint};
use carom::{Checkpoint, Error, Simulation};

use super::adapters::Chosen;
use super::arguments::{BackendChoice, RunArguments};
use super::atomic_file::cannot_write;
use super::command_error::CommandError;

/// Start and ending of the names of checkpoints; the step is between them.
const STEM: &str = "checkpoint-";
const ENDING: &str = "safetensors";
/// Checkpoints that stay: if the disk fills up while the last one is written, the one before is still there.
const KEPT: usize = 2;
/// Labels of a checkpoint: the scene of the run, the values that replaced those of the scene, the step at which it
/// ends, and the version and the backend that took the steps.
const SCENE: &str = "scene";
const SETTINGS: &str = "settings";
const END: &str = "end";
const ORIGIN: &str = "origin";

/// Writes the checkpoints of a run into the folder of `--out`.
pub struct Checkpoints {
    folder: PathBuf,
    every: Option<u64>,
    labels: RunLabels,
    origin: String,
    end: u64,
    /// Steps of the checkpoints of this run in the folder, ascending.
    written: Vec<u64>,
    /// Why a checkpoint could not be written. The other outputs of the run are finished all the same.
    failure: Option<CommandError>,
}

impl Checkpoints {
    /// The checkpoints that the arguments ask for, of a run of this scene up to step `end`.
    pub fn of(arguments: &RunArguments, chosen: &Chosen, labels: &RunLabels, end: u64) -> Option<Self> {
        let folder = arguments.out.clone()?;
        let written = arguments.resume.as_deref().map(|resumed| earlier(resumed, &folder));
        let labels = labels.clone();
        Some(Self {
            folder,
            every: arguments.checkpoint_every,
            labels,
            origin: origin(chosen),
            end,
            written: written.unwrap_or_default(),
            failure: None,
        })
    }

    /// A note about checkpoints of another run in the folder, which stay.
    pub fn note(&self) -> Option<String> {
        let others = steps_in(&self.folder).into_iter().filter(|step| !self.written.contains(step)).count();
        (self.every.is_some() && others > 0)
            .then(|| format!("note: {} holds checkpoints of another run; they stay", self.folder.display()))
    }

    /// Number of steps from step `step` to the next checkpoint; `None` without checkpoints.
    pub fn steps_to_next(&self, step: u64) -> Option<u64> {
        self.every.map(|every| every - step % every)
    }

    /// Writes a checkpoint if one is due after the last step.
    ///
    /// # Errors
    /// The errors of the simulation. [`fail`](Self::fail) returns an error of the file later.
    pub fn write_if_due(&mut self, simulation: &mut Simulation) -> Result<(), Error> {
        match self.every {
            Some(every) if simulation.steps().is_multiple_of(every) => self.write(simulation),
            _ => Ok(()),
        }
    }

    /// Writes the checkpoint at the end of a run, if checkpoints were asked for or the run was interrupted.
    ///
    /// # Errors
    /// As [`write_if_due`](Self::write_if_due).
    pub fn write_last(&mut self, simulation: &mut Simulation, is_interrupted: bool) -> Result<(), Error> {
        let is_wanted = self.failure.is_none() && (self.every.is_some() || is_interrupted);
        if is_wanted { self.write(simulation) } else { Ok(()) }
    }

    /// Whether a checkpoint could not be written.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Why a checkpoint could not be written, if so.
    pub fn fail(&mut self) -> Option<CommandError> {
        self.failure.take()
    }

    /// Path of the checkpoint of a step, if there is one.
    pub fn path_of(&self, step: u64) -> Option<PathBuf> {
        self.written.contains(&step).then(|| self.folder.join(name(step)))
    }

    fn write(&mut self, simulation: &mut Simulation) -> Result<(), Error> {
        if !self.written.contains(&simulation.steps()) {
            let checkpoint = simulation.checkpoint()?;
            self.failure = self.store(checkpoint).err();
        }
        Ok(())
    }

    // Writes a checkpoint and removes the oldest ones.
    fn store(&mut self, mut checkpoint: Checkpoint) -> Result<(), CommandError> {
        let step = checkpoint.steps();
        let path = self.folder.join(name(step));
        let RunLabels { scene, settings } = &self.labels;
        let labels = [
            (SCENE, scene.clone()),
            (SETTINGS, settings.clone()),
            (END, self.end.to_string()),
            (ORIGIN, self.origin.clone()),
        ];
        checkpoint.labels.extend(labels.map(|(key, value)| (key.to_owned(), value)));
        write_checkpoint(&path, &checkpoint).map_err(|error| cannot_write(&path, &error))?;
        self.written.retain(|written| *written < step);
        self.written.push(step);
        let old = self.written.len().saturating_sub(KEPT);
        for step in self.written.drain(..old) {
            // A checkpoint that cannot be removed does no harm.
            let _ = fs::remove_file(self.folder.join(name(step)));
        }
        Ok(())
    }
}

// Eight digits: names sort in the order of the steps for all practical lengths of a run.
fn name(step: u64) -> String {
    format!("{STEM}{step:08}.{ENDING}")
}

// The step in the name of a checkpoint.
fn step_of(path: &Path) -> Option<u64> {
    let file = path.file_name()?.to_str()?;
    let step = file.strip_prefix(STEM)?.strip_suffix(ENDING)?.strip_suffix('.')?.parse().ok()?;
    (name(step) == file).then_some(step)
}

// Steps of the checkpoints in a folder, ascending.
fn steps_in(folder: &Path) -> Vec<u64> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut steps: Vec<u64> = entries.filter_map(|entry| step_of(&entry.path())).collect();
    steps.sort_unstable();
    steps
}

// Steps of the checkpoints beside the one from which a run resumes, up to that one, if the run goes on in the same folder: they
// are those of the same run.
fn earlier(resumed: &Path, out: &Path) -> Vec<u64> {
    let folder = resumed.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_same =
        fs::canonicalize(folder).ok().is_some_and(|folder| fs::canonicalize(out).ok() == Some(folder));
    let Some(last) = step_of(resumed).filter(|_| is_same) else { return vec![] };
    steps_in(out).into_iter().filter(|step| *step <= last).collect()
}

/// The scene and the settings of the run that wrote a checkpoint.
#[derive(Clone)]
pub struct RunLabels {
    pub scene: String,
    pub settings: String,
}

impl RunLabels {
    /// The labels of a run that begins with these arguments.
    pub fn of(arguments: &RunArguments, scene: &str) -> Self {
        let seed = arguments.seed.map(|seed| format!("world.seed={seed}"));
        let settings: Vec<_> = arguments.settings.iter().cloned().chain(seed).collect();
        Self { scene: scene.to_owned(), settings: settings.join("\n") }
    }
}

/// A checkpoint from which a run resumes.
pub struct Resumed {
    pub checkpoint: Checkpoint,
    pub labels: RunLabels,
    /// Step at which the run that wrote the checkpoint was to end.
    pub end: Option<u64>,
}

/// Reads the checkpoint of `--resume`. A scene that is given too must be that of the checkpoint.
pub fn resumed(path: &Path, arguments: &RunArguments) -> Result<Resumed, CommandError> {
    let checkpoint = read_checkpoint(path).map_err(|error| CommandError::usage(error.to_string()))?;
    let label = |key: &str| checkpoint.labels.get(key).cloned().unwrap_or_default();
    let labels = RunLabels { scene: label(SCENE), settings: label(SETTINGS) };
    if let Some(scene) = &arguments.scene {
        let given = RunLabels::of(arguments, scene);
        let differs = |what: &str, there: &str, here: &str| {
            let said =
                |text: &str| if text.is_empty() { "none".to_owned() } else { text.replace('\n', ", ") };
            CommandError::usage(format!(
                "{}: the checkpoint is of a run with the {what} {}, not {}; leave the scene and --set out, as the checkpoint holds them",
                path.display(),
                said(there),
                said(here)
            ))
        };
        if labels.scene != given.scene {
            return Err(differs("scene", &labels.scene, &given.scene));
        }
        if labels.settings != given.settings {
            return Err(differs("settings", &labels.settings, &given.settings));
        }
    }
    if arguments.scene.is_none() && (arguments.seed.is_some() || !arguments.settings.is_empty()) {
        return Err(CommandError::usage(
            "--resume goes on with the values of the checkpoint; leave out --set and --seed",
        ));
    }
    let end = label(END).parse().ok();
    Ok(Resumed { checkpoint, labels, end })
}

/// The backend for a resumed run: that of the checkpoint, unless another one is asked for.
pub fn backend(asked: BackendChoice, checkpoint: &Checkpoint) -> Result<BackendChoice, CommandError> {
    match (asked, checkpoint.backend()) {
        (BackendChoice::Auto, "cpu") => Ok(BackendChoice::Cpu),
        (BackendChoice::Auto, "gpu") => Ok(BackendChoice::Gpu),
        (BackendChoice::Auto, "exact") => Ok(BackendChoice::Exact),
        (BackendChoice::Auto, other) => Err(CommandError::usage(format!(
            "the checkpoint is of the backend {other}, which this carom does not have; choose another one with --backend"
        ))),
        (asked, _) => Ok(asked),
    }
}

// The version and the backend, with the device, of a run.
fn origin(chosen: &Chosen) -> String {
    format!("carom {} on {}", env!("CARGO_PKG_VERSION"), chosen.describe())
}

/// A note where a run resumes on another backend or device, or with another version.
pub fn note(chosen: &Chosen, checkpoint: &Checkpoint) -> Option<String> {
    let (now, unknown) = (origin(chosen), format!("the backend {}", checkpoint.backend()));
    let before = checkpoint.labels.get(ORIGIN).unwrap_or(&unknown);
    let is_same = *before == now || (*before == unknown && chosen.backend.name() == checkpoint.backend());
    (!is_same).then(|| {
        format!(
            "note: the checkpoint is of {before}; with {now} the run goes on from the same state, but not with the same bits"
        )
    })
}
