//! Subcommands and options of the command line.

use std::path::PathBuf;

use carom::OnLoss;
use carom::files::WRITTEN_ENDINGS;
use clap::{Args, Parser, Subcommand, ValueEnum};

use super::analyze::AnalyzeArguments;
use super::completions::CompletionsArguments;
use super::convert::ConvertArguments;
use super::examples;
use super::info::InfoArguments;
use super::output::DEFAULT_FORMATS;

const EXIT_CODES: &str = "\
Exit codes:
  0    ok
  1    the run failed: non-finite state, capacity, no progress, device lost; or bench found wrong physics
  2    the command line or the scene is invalid, or the scene is missing
  3    no adapter, or no display
  4    an output file could not be written
  5    verify found a difference between the gpu and the cpu backend, or a section of doctor failed,
     or a case of validate did not pass
  130  interrupted";

const SCHEMA_EXAMPLE: &str = "\
Editors with Taplo support, for example VS Code with Even Better TOML, complete and check a scene that begins with the line
  #:schema ./scene.schema.json

Examples:
  carom schema > scene.schema.json";

const DOCTOR_HELP: &str = "\
Sections, in their order:
  machine      processor, adapters, limits, the largest system that fits, what is missing
  litmus       memory between invocations, accuracy of arithmetic, what the shader compiler does to sums
  costs        the costs of a dispatch, a barrier, an atomic operation, a copy and a load
  compile      the time to compile the pipelines of the built-in scenes, without and with the pipeline cache
  parity       each stage on the gpu and the cpu backend with equal input
  steps        whole steps of the built-in scenes on both backends
  determinism  the same run several times, in other orders and with other buffers
  physics      energy and pressure of a gas, piles that come to rest, walls that hold
  speed        milliseconds per step of gases and piles, with the cpu backend beside
  soak         a longer run, and the loss of a device";

/// Simulate colliding spheres: gases, grains, billiards. Collisions are resolved in order, and fast spheres do not tunnel.
#[derive(Debug, Parser)]
#[command(name = "carom", version, after_help = format!("{EXIT_CODES}\n\n{}", examples::CAROM), disable_help_subcommand = true)]
pub struct Arguments {
    /// Print log messages on stderr: with -v the backend, the files written and the loss of a device; with -vv also decisions of the engines.
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scene and report the results.
    Run(RunArguments),
    /// List the built-in scenes, or show one.
    Scenes(ScenesArguments),
    /// Print the JSON schema of scene files: their keys with meaning, unit, range and default.
    #[command(after_help = SCHEMA_EXAMPLE)]
    Schema,
    /// List the adapters that the gpu backend can run on.
    Adapters(AdaptersArguments),
    /// Measure structure, speeds, contacts, displacement and flow in the files that a run has written.
    Analyze(AnalyzeArguments),
    /// Measure the speed of scenes, and print and check physical results beside it.
    Bench(BenchArguments),
    /// Open a window on a scene.
    #[cfg(feature = "viewer")]
    View(ViewArguments),
    /// Run the gpu and the cpu backend in lockstep and name the first step, stage and sphere that differ.
    Verify(VerifyArguments),
    /// Examine the gpu backend on this machine: whether it works, how fast it is, and what is wrong if it does not work.
    #[command(after_help = format!("{DOCTOR_HELP}\n\n{}", examples::DOCTOR))]
    Doctor(DoctorArguments),
    /// Compare the engine with physics that is known from elsewhere, and write a report.
    Validate(ValidateArguments),
    /// Draw pictures or a film of a scene, without a display.
    Render(RenderArguments),
    /// Print a script that completes the command line in a shell.
    Completions(CompletionsArguments),
    /// Convert a file of spheres to another format.
    Convert(ConvertArguments),
    /// Describe a file of spheres: frames, box, radii, energy.
    Info(InfoArguments),
}

/// A backend, as named by the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendChoice {
    /// gpu if there is a GPU, otherwise cpu.
    Auto,
    /// A GPU or a software adapter, f32.
    Gpu,
    /// All CPU cores, f32.
    Cpu,
    /// One core, f64, event by event: the reference for small systems.
    Exact,
}

/// Reaction to the loss of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnLossChoice {
    /// The run fails with exit code 1.
    Stop,
    /// The run goes on on the cpu backend from a copy of the state that is about ten seconds old.
    Cpu,
}

impl From<OnLossChoice> for OnLoss {
    fn from(choice: OnLossChoice) -> Self {
        match choice {
            OnLossChoice::Stop => Self::Stop,
            OnLossChoice::Cpu => Self::Cpu,
        }
    }
}

#[derive(Args, Debug)]
#[command(after_help = examples::RUN)]
pub struct RunArguments {
    /// A scene file (TOML), or the name of a built-in scene; see `carom scenes`.
    #[arg(required_unless_present = "resume")]
    pub scene: Option<String>,
    /// Backend that simulates the scene.
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: BackendChoice,
    /// Part of the name of the adapter for the gpu backend; see `carom adapters`.
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
    /// Number of threads of the cpu backend; 0 = one for each core. The result does not depend on the number.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = thread_count)]
    pub threads: usize,
    /// Number of steps; default: world.steps of the scene.
    #[arg(long, value_name = "N", conflicts_with = "time")]
    pub steps: Option<u64>,
    /// Simulated time to run, rounded up to whole steps.
    #[arg(long, value_name = "T", allow_negative_numbers = true, value_parser = positive)]
    pub time: Option<f64>,
    /// Seed of the scene's random numbers; replaces world.seed.
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Replace a value of the scene, as in `--set world.dt=0.001`; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    pub settings: Vec<String>,
    /// Write the final state to DIR as final.csv and final.xyz, or in the formats of --format.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Formats of the states in --out, by the endings of their files; see docs/files.md.
    #[arg(long = "format", value_name = "A,B", value_delimiter = ',', default_value = DEFAULT_FORMATS,
        value_parser = WRITTEN_ENDINGS)]
    pub formats: Vec<String>,
    /// With --out: also write the state after every N-th step.
    #[arg(long, value_name = "N", requires = "out", value_parser = clap::value_parser!(u64).range(1..))]
    pub every: Option<u64>,
    /// With --out: write a checkpoint after every N-th step and after the last one, and keep the last two.
    #[arg(long, value_name = "N", requires = "out", value_parser = clap::value_parser!(u64).range(1..))]
    pub checkpoint_every: Option<u64>,
    /// Go on from a checkpoint, which holds the scene and its settings. --steps and --time count from there; without them the
    /// run goes on to the step at which the first run was to end.
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Print a row of figures every N steps; default: about 20 rows in total.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub log_every: Option<u64>,
    /// Write the figures of every step to FILE (.csv or .jsonl).
    #[arg(long, value_name = "FILE", value_parser = metrics_path)]
    pub metrics: Option<PathBuf>,
    /// For every step, write to FILE (.csv) the force and the torque on each wall and the power that the wall supplies.
    /// Needs the cpu or the gpu backend.
    #[arg(long, value_name = "FILE", value_parser = contacts_path)]
    pub walls: Option<PathBuf>,
    /// Write the resting contacts at the end of the last step, with their forces, to FILE (.csv). Needs the cpu or the
    /// gpu backend.
    #[arg(long, value_name = "FILE", value_parser = contacts_path)]
    pub contacts: Option<PathBuf>,
    /// Write each impact to FILE (.csv, or .bin for NumPy): time, ids, point, normal, impulse; see docs/command.md.
    #[arg(long, value_name = "FILE", value_parser = events_path)]
    pub events: Option<PathBuf>,
    /// Take a few steps, and print what the run would take: memory, time and size of the output. No file is written.
    #[arg(long)]
    pub dry_run: bool,
    /// What to do if the device of the gpu backend is lost (driver reset, unplugged).
    #[arg(long, value_enum, default_value = "stop")]
    pub on_loss: OnLossChoice,
    /// Print one JSON object with the figures of the run on stdout; all other output goes to stderr.
    #[arg(long)]
    pub json: bool,
    /// Print only errors (and the JSON object, with --json).
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Args, Debug)]
#[command(after_help = examples::SCENES)]
pub struct ScenesArguments {
    /// Print the file of this built-in scene, as a start for a scene of your own.
    #[arg(long, value_name = "NAME")]
    pub show: Option<String>,
}

#[derive(Args, Debug)]
#[command(after_help = examples::ADAPTERS)]
pub struct AdaptersArguments {
    /// Print one JSON object on stdout.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = examples::BENCH)]
pub struct BenchArguments {
    /// Scenes to measure: names of built-in scenes, or scene files.
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "gas")]
    pub scenes: Vec<String>,
    /// Numbers of spheres in the random fills, as 1e4 or 10000. The box, the regions and the walls are scaled to keep the
    /// volume fraction. Default: the numbers in the scene.
    #[arg(long, value_name = "N,M", value_delimiter = ',', value_parser = sphere_count)]
    pub sizes: Vec<u32>,
    /// Backends to measure.
    #[arg(long, value_name = "A,B", value_enum, value_delimiter = ',', default_value = "cpu")]
    pub backends: Vec<BackendChoice>,
    /// Part of the name of the adapter for the gpu backend; see `carom adapters`.
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
    /// Numbers of threads of the cpu backend; 0 = one for each core.
    #[arg(long, value_name = "N,M", value_delimiter = ',', default_value = "0", value_parser = thread_count)]
    pub threads: Vec<usize>,
    /// Largest number of measured steps for each row of the table.
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: u64,
    /// Longest measurement for each row of the table, in seconds; at least one step is measured.
    #[arg(long, value_name = "S", default_value_t = 10.0, allow_negative_numbers = true, value_parser = positive)]
    pub seconds: f64,
    /// Number of steps that warm up caches, buffers and branch predictors before the measurement.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub warm_up: u64,
    /// Write the rows of the table to FILE as JSON. With `-` the JSON goes to stdout and the table to stderr.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Draw the time per sphere and step against the number of spheres in FILE (.svg), a line for each scene, backend and
    /// number of threads.
    #[arg(long, value_name = "FILE", value_parser = svg_path)]
    pub svg: Option<PathBuf>,
    /// Append the rows of the table to FILE as JSON lines, each with date, version and machine.
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = examples::VERIFY)]
pub struct VerifyArguments {
    /// A scene file (TOML), or the name of a built-in scene; see `carom scenes`.
    pub scene: String,
    /// Number of steps; every step starts from the same state on both backends.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: u64,
    /// Allowed difference of positions, as a fraction of a length: the sum of four times the largest diameter
    /// and the path of the sphere in the step. All other tolerances are derived from this one. Default: 5e-7,
    /// which covers the rounding of f32.
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = positive)]
    pub tolerance: Option<f64>,
    /// In every step, also go through all stages, each on equal input on both backends, and print the largest difference of
    /// each stage as a share of the allowed one.
    #[arg(long)]
    pub stages: bool,
    /// Part of the name of the adapter for the gpu backend; see `carom adapters`.
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
    /// Number of threads of the cpu backend; 0 = one for each core.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = thread_count)]
    pub threads: usize,
    /// Seed of the scene's random numbers; replaces world.seed.
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Replace a value of the scene, as in `--set world.dt=0.001`; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    pub settings: Vec<String>,
    /// Print one JSON object with the figures on stdout; all other output goes to stderr.
    #[arg(long)]
    pub json: bool,
    /// Print only errors (and the JSON object, with --json).
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Args, Debug)]
pub struct DoctorArguments {
    /// Part of the name of the adapter; see `carom adapters`.
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
    /// Time for all sections, as in 30s, 8m or 1h. A section that needs more than its share ends early and says so.
    #[arg(long, value_name = "TIME", default_value = "8m", value_parser = time_span)]
    pub budget: std::time::Duration,
    /// Write the report to FILE as JSON, again after every section.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Sections to run; default: all.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub section: Vec<String>,
    /// Tolerance of the sections parity and steps, as in `carom verify`. Default: 5e-7, or more if the arithmetic of the
    /// adapter is less accurate than usual.
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = positive)]
    pub tolerance: Option<f64>,
    /// Print the report as one JSON object on stdout; all other output goes to stderr.
    #[arg(long)]
    pub json: bool,
    /// Print only errors (and the JSON object, with --json).
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Args, Debug)]
#[command(after_help = examples::VALIDATE)]
pub struct ValidateArguments {
    /// The short form of the cases, under 3 minutes on 2 cores (default).
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// All cases in their long form, under an hour on 2 cores.
    #[arg(long)]
    pub full: bool,
    /// Backends, one after the other. exact runs only the cases that it supports.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "auto,exact")]
    pub backend: Vec<BackendChoice>,
    /// Part of the name of the adapter for gpu; see `carom adapters`.
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
    /// CPU threads; 0 = one for each core.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Cases to run, also ones that are not quick; default: all of the depth.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub case: Vec<String>,
    /// List all cases and exit.
    #[arg(long, conflicts_with_all = ["case", "keep", "report"])]
    pub list: bool,
    /// Write the scene of every run to DIR/CASE/RUN.toml, for `carom run`.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Write the report to DIR: index.html (self-contained), report.md with its charts, report.json. A
    /// report that is there already is replaced.
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    /// Print the report as one JSON object on stdout; all other output goes to stderr.
    #[arg(long)]
    pub json: bool,
    /// Print only errors (and the JSON object, with --json).
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Args, Debug)]
#[command(after_help = examples::RENDER)]
pub struct RenderArguments {
    /// A scene file (TOML), or the name of a built-in scene; see `carom scenes`.
    pub scene: String,
    /// Output: a folder for frame-00001.png and so on, or a file that ends in .gif, .mp4 (needs ffmpeg) or .png (one frame).
    #[arg(long, value_name = "DIR|FILE", default_value = "frames")]
    pub out: PathBuf,
    /// Number of frames; default: 150, or 1 for a .png.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..100_000))]
    pub frames: Option<u64>,
    /// Frames per second of film.
    #[arg(long, value_name = "F", default_value_t = 25.0, allow_negative_numbers = true, value_parser = frame_rate)]
    pub fps: f64,
    /// Width and height in pixels.
    #[arg(long, value_name = "WxH", default_value = "960x540", value_parser = picture_size)]
    pub size: PictureSize,
    /// Camera: scene (the camera that the scene sets), iso, front, back, left, right, top, bottom, orbit (slow rotation;
    /// orbit:30 for 30 degrees per second of film), or EYE:TARGET[:FOV], as in 9,-20,8:0,0,0:35.
    #[arg(long, value_name = "CAMERA", default_value = "scene", allow_hyphen_values = true)]
    pub camera: String,
    /// Simulated time per second of film. Each frame shows the last whole step at or before its time. Default: one step per
    /// frame.
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = positive)]
    pub speed: Option<f64>,
    /// Number of steps from one frame to the next.
    #[arg(long, value_name = "N", conflicts_with = "speed", value_parser = clap::value_parser!(u64).range(1..))]
    pub steps_per_frame: Option<u64>,
    /// Simulated time of the first frame.
    #[arg(long, value_name = "T", default_value_t = 0.0, allow_negative_numbers = true, value_parser = not_negative)]
    pub start: f64,
    /// Quantity shown by colour: speed, radius, material, id, impacts, overlap, spin, contacts, force. Default: the quantity that the scene sets,
    /// or speed.
    #[arg(long, value_name = "NAME")]
    pub color: Option<String>,
    /// Colour map: viridis, turbo, grey.
    #[arg(long, value_name = "NAME")]
    pub map: Option<String>,
    /// Values at the two ends of the colour map, as in 0,5; default: the range of each frame.
    #[arg(long, value_name = "LOW,HIGH", allow_hyphen_values = true, value_parser = range)]
    pub range: Option<(f64, f64)>,
    /// Draw the contacts as lines, as wide as their forces, over everything else.
    #[arg(long)]
    pub chains: bool,
    /// Hide the spheres on one side of a plane: z:2 hides those with z > 2, -y:0 those with y < 0.
    #[arg(long, value_name = "AXIS:AT", allow_hyphen_values = true)]
    pub clip: Option<String>,
    /// Parts to leave out of the picture.
    #[arg(long, value_name = "A,B", value_enum, value_delimiter = ',')]
    pub hide: Vec<Hidden>,
    /// Plot this quantity against time below the picture.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub plot: Option<Plotted>,
    /// Backend that simulates the scene. An adapter draws the pictures with every backend.
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: BackendChoice,
    /// Part of the name of the adapter; see `carom adapters`.
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
    /// Number of threads of the cpu backend; 0 = one for each core.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = thread_count)]
    pub threads: usize,
    /// Seed of the scene's random numbers; replaces world.seed.
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Replace a value of the scene, as in `--set world.dt=0.001`; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    pub settings: Vec<String>,
    /// Print errors only.
    #[arg(long, short)]
    pub quiet: bool,
}

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureSize(pub [u32; 2]);

/// Parts that can be left out of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Hidden {
    Legend,
    Bounds,
    Ground,
    Shadow,
    /// Ambient occlusion, which darkens enclosed places.
    Occlusion,
}

/// Quantities plotted against time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Plotted {
    /// Kinetic and total energy, relative to their values at the start.
    Energy,
    /// Number of impacts in each step.
    Impacts,
}

#[cfg(feature = "viewer")]
#[derive(Args, Debug)]
#[command(after_help = examples::VIEW)]
pub struct ViewArguments {
    /// A scene file (TOML), or the name of a built-in scene; see `carom scenes`. Default: marbles, on a GPU as many as the
    /// first steps show to run in real time.
    pub scene: Option<String>,
    /// Backend that simulates the scene. The window can switch to another backend.
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: BackendChoice,
    /// Part of the name of the adapter, which draws the window and runs the gpu backend; see `carom adapters`.
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
    /// Number of threads of the cpu backend; 0 = one for each core.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = thread_count)]
    pub threads: usize,
    /// Seed of the scene's random numbers; replaces world.seed.
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Replace a value of the scene, as in `--set world.dt=0.001`; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    pub settings: Vec<String>,
    /// Width and height of the window.
    #[arg(long, value_name = "WxH", default_value = "1280x800", value_parser = window_size)]
    pub size: [u32; 2],
    /// Start paused; Space resumes.
    #[arg(long)]
    pub paused: bool,
    /// Write a line of JSON to FILE for every event (opened, drawn, paused, shot, ...); `-` = stdout.
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
}

// The panel does not fit into smaller windows; larger sizes are typing errors.
#[cfg(feature = "viewer")]
const WINDOW_SIDES: std::ops::RangeInclusive<u32> = 320..=16384;

#[cfg(feature = "viewer")]
fn window_size(text: &str) -> Result<[u32; 2], String> {
    let sides = text.split_once('x').map(|(width, height)| [width, height].map(str::parse::<u32>));
    match sides {
        Some([Ok(width), Ok(height)]) if [width, height].iter().all(|n| WINDOW_SIDES.contains(n)) => {
            Ok([width, height])
        }
        _ => Err(format!(
            "expected WIDTHxHEIGHT, as 1280x800; each from {} to {}",
            WINDOW_SIDES.start(),
            WINDOW_SIDES.end()
        )),
    }
}

// More threads than any machine has would only fail later, inside the thread pool.
const THREADS_MAX: usize = 1024;

pub fn thread_count(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(count) if count <= THREADS_MAX => Ok(count),
        _ => Err(format!("expected a whole number from 0 to {THREADS_MAX}")),
    }
}

pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("expected a finite number above 0".to_owned()),
    }
}

fn time_span(text: &str) -> Result<std::time::Duration, String> {
    let wrong = || "expected a number of seconds, minutes or hours above 0, as in 30s, 8m or 1h".to_owned();
    let (number, unit) = match text.trim().char_indices().next_back() {
        Some((at, 's')) => (&text.trim()[..at], 1.0),
        Some((at, 'm')) => (&text.trim()[..at], 60.0),
        Some((at, 'h')) => (&text.trim()[..at], 3600.0),
        _ => return Err(wrong()),
    };
    let seconds = number.parse::<f64>().map_err(|_| wrong())? * unit;
    // A year is a typing error; a millisecond is good for tests.
    if (1e-3..3e7).contains(&seconds) {
        Ok(std::time::Duration::from_secs_f64(seconds))
    } else {
        Err(wrong())
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("expected a finite number, 0 or above".to_owned()),
    }
}

// Rates outside this range are typing errors: no screen shows more than 1000 frames per second.
fn frame_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (1e-3..=1e3).contains(&value) => Ok(value),
        _ => Err("expected a number from 0.001 to 1000".to_owned()),
    }
}

// A size beyond the textures of every adapter is a typing error.
fn picture_size(text: &str) -> Result<PictureSize, String> {
    let sides: Vec<u32> = text.split('x').filter_map(|n| n.parse().ok()).collect();
    match sides[..] {
        [width, height]
            if text.matches('x').count() == 1 && sides.iter().all(|n| (16..=16_384).contains(n)) =>
        {
            Ok(PictureSize([width, height]))
        }
        _ => Err("expected WIDTHxHEIGHT as in 960x540, each from 16 to 16384".to_owned()),
    }
}

pub fn range(text: &str) -> Result<(f64, f64), String> {
    let ends: Vec<f64> = text.split(',').filter_map(|n| n.trim().parse().ok()).collect();
    match ends[..] {
        [low, high]
            if text.matches(',').count() == 1 && low < high && low.is_finite() && high.is_finite() =>
        {
            Ok((low, high))
        }
        _ => Err("expected LOW,HIGH as in 0,5, the lower one first".to_owned()),
    }
}

fn sphere_count(text: &str) -> Result<u32, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 1.0 && value <= f64::from(u32::MAX) && value.fract() == 0.0 => Ok(value as u32),
        _ => Err(format!("expected a whole number from 1 to {}, as 10000 or 1e4", u32::MAX)),
    }
}

pub fn assignment(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((key, _)) if !key.trim().is_empty() => Ok(text.to_owned()),
        _ => Err("expected KEY=VALUE, as in world.dt=0.001".to_owned()),
    }
}

fn metrics_path(text: &str) -> Result<PathBuf, String> {
    path_with_ending(text, &["csv", "jsonl"])
}

fn contacts_path(text: &str) -> Result<PathBuf, String> {
    path_with_ending(text, &["csv"])
}

fn events_path(text: &str) -> Result<PathBuf, String> {
    path_with_ending(text, &["csv", "bin"])
}

fn svg_path(text: &str) -> Result<PathBuf, String> {
    path_with_ending(text, &["svg"])
}

fn path_with_ending(text: &str, endings: &[&str]) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().and_then(|e| e.to_str()) {
        Some(ending) if endings.contains(&ending) => Ok(path),
        _ => Err(format!("expected a name that ends in .{}", endings.join(" or ."))),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    // The words of the examples at the end of a help text, without comments and redirections.
    fn examples_of(help: &str) -> Vec<Vec<String>> {
        let lines = help.rsplit_once("Examples:\n").map_or("", |(_, examples)| examples).lines();
        let command = |line: &str| {
            let line = line.strip_prefix("  ")?;
            // Two blanks separate a comment.
            let line = line.split("  ").next()?.split(['>', '|']).next()?;
            line.starts_with("carom").then(|| line.split_whitespace().map(str::to_owned).collect())
        };
        lines.filter_map(command).collect()
    }

    #[test]
    fn every_help_ends_with_examples_that_parse() {
        let mut whole = Arguments::command();
        whole.build();
        let names: Vec<Option<String>> = std::iter::once(None)
            .chain(whole.get_subcommands().map(|c| Some(c.get_name().to_owned())))
            .collect();
        assert!(names.len() > 9, "{names:?}");
        for name in names {
            let command = name.as_ref().map_or(&whole, |name| whole.find_subcommand(name).unwrap());
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples = examples_of(&help);
            assert!(!examples.is_empty(), "{name:?} has no examples at the end of its help");
            let last = help.lines().last().unwrap();
            assert!(last.starts_with("  carom"), "{name:?} ends with {last:?}");
            // Examples before the last one may be runs that prepare it.
            assert!(name.as_ref().is_none_or(|name| examples.last().unwrap()[1] == *name), "{examples:?}");
            for words in examples {
                Arguments::try_parse_from(&words).unwrap_or_else(|error| panic!("{words:?}: {error}"));
            }
        }
    }

    #[test]
    fn a_time_has_a_unit() {
        for (text, seconds) in [("30s", 30.0), ("8m", 480.0), ("0.5h", 1800.0), ("1e-2s", 0.01)] {
            assert_eq!(time_span(text).map(|time| time.as_secs_f64()), Ok(seconds));
        }
        for text in ["", "8", "s", "-1s", "0s", "nans", "1d", "1e9h"] {
            assert!(time_span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_may_be_written_with_an_exponent() {
        assert_eq!(sphere_count("1e4"), Ok(10_000));
        assert!(sphere_count("1.5").is_err() && sphere_count("0").is_err() && sphere_count("nan").is_err());
    }
}
