//! Checkpoints of a run, and runs that resume from them.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use carom::files::{read_checkpoint, write_checkpoint};
use carom::{Backend, Checkpoint, Simulation};

use super::arguments::{BackendChoice, RunArguments};
use super::atomic_file::cannot_write;
use super::command_error::CommandError;

/// Ending of the names of checkpoints.
const ENDING: &str = "safetensors";
/// Checkpoints that stay: if the disk fills up while the last one is written, the one before is still there.
const KEPT: usize = 2;
/// Labels of a checkpoint: the scene of the run, the values that replaced those of the scene, and the step at which it ends.
const SCENE: &str = "scene";
const SETTINGS: &str = "settings";
const END: &str = "end";

/// Writes the checkpoints of a run into the folder of `--out`.
pub struct Checkpoints {
    folder: PathBuf,
    every: Option<u64>,
    scene: String,
    settings: String,
    end: u64,
    /// The checkpoints of this run, the oldest first.
    written: VecDeque<PathBuf>,
}

impl Checkpoints {
    /// The checkpoints that the arguments ask for, of a run of this scene up to step `end`.
    pub fn of(arguments: &RunArguments, run: &RunLabels, end: u64) -> Option<Self> {
        Some(Self {
            folder: arguments.out.clone()?,
            every: arguments.checkpoint_every,
            scene: run.scene.clone(),
            settings: run.settings.clone(),
            end,
            written: arguments.resume.as_deref().map(earlier).unwrap_or_default(),
        })
    }

    /// Number of steps from step `step` to the next checkpoint; `None` without checkpoints.
    pub fn steps_to_next(&self, step: u64) -> Option<u64> {
        self.every.map(|every| every - step % every)
    }

    /// Writes a checkpoint if one is due after this step.
    pub fn write_if_due(&mut self, simulation: &mut Simulation) -> Result<(), CommandError> {
        let is_due = self.every.is_some_and(|every| simulation.steps().is_multiple_of(every));
        if is_due { self.write(simulation).map(drop) } else { Ok(()) }
    }

    /// Writes the checkpoint at the end of a run, if checkpoints were asked for or the run was interrupted. Returns its path.
    pub fn write_last(
        &mut self,
        simulation: &mut Simulation,
        is_interrupted: bool,
    ) -> Result<Option<PathBuf>, CommandError> {
        let is_wanted = self.every.is_some() || is_interrupted;
        if is_wanted { self.write(simulation).map(Some) } else { Ok(None) }
    }

    fn write(&mut self, simulation: &mut Simulation) -> Result<PathBuf, CommandError> {
        let path = self.folder.join(format!("checkpoint-{:08}.{ENDING}", simulation.steps()));
        if self.written.back() == Some(&path) {
            return Ok(path);
        }
        let mut checkpoint = simulation.checkpoint()?;
        let labels =
            [(SCENE, self.scene.clone()), (SETTINGS, self.settings.clone()), (END, self.end.to_string())];
        checkpoint.labels.extend(labels.map(|(key, value)| (key.to_owned(), value)));
        write_checkpoint(&path, &checkpoint).map_err(|error| cannot_write(&path, &error))?;
        self.written.retain(|written| *written != path);
        self.written.push_back(path.clone());
        while self.written.len() > KEPT {
            // A checkpoint that cannot be removed does no harm.
            let _ = self.written.pop_front().map(fs::remove_file);
        }
        Ok(path)
    }
}

// The checkpoints beside the one from which a run resumes, up to that one: they are those of the same run.
fn earlier(resumed: &Path) -> VecDeque<PathBuf> {
    let folder = resumed.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_one = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        name.starts_with("checkpoint-") && name.ends_with(ENDING) && path.file_name() <= resumed.file_name()
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries.map(|entry| entry.path()).filter(is_one).collect();
    found.sort_unstable();
    found.into()
}

/// What a checkpoint says of the run that wrote it.
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

/// A note where a run resumes on another backend.
pub fn note(backend: Backend, checkpoint: &Checkpoint) -> Option<String> {
    (backend.name() != checkpoint.backend()).then(|| {
        format!(
            "note: the checkpoint is of the backend {}; on {} the run goes on from the same state, but not with the same bits",
            checkpoint.backend(),
            backend.name()
        )
    })
}
