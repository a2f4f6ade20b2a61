//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

const EXIT_CODES: &str = "\
Exit codes:
  0    ok
  1    the run failed: non-finite state, capacity, no progress, device lost
  2    command line or scene wrong or missing
  3    no adapter, no display
  4    another file could not be written
  130  interrupted";

/// Collides spheres: gases, grains, billiards; in order, and nothing tunnels.
#[derive(Debug, Parser)]
#[command(name = "carom", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scene and report what happened.
    Run(RunArguments),
    /// List the built-in scenes, or show one.
    Scenes(ScenesArguments),
    /// List the adapters that the gpu backend can run on.
    Adapters(AdaptersArguments),
    /// Measure speed, with the physics beside it.
    Bench(BenchArguments),
    /// Open a window on a scene.
    #[cfg(feature = "viewer")]
    View(ViewArguments),
}

/// A backend by the name the user gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendChoice {
    /// gpu where there is a GPU, cpu elsewhere.
    Auto,
    /// A GPU, f32; also a software adapter.
    Gpu,
    /// All CPU cores, f32.
    Cpu,
    /// One core, f64, event by event: the yardstick for small systems.
    Exact,
}

#[derive(Args, Debug)]
pub struct RunArguments {
    /// A scene file (TOML), or the name of a built-in scene; see `carom scenes`.
    pub scene: String,
    /// Who computes.
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: BackendChoice,
    /// A part of the name of the adapter for the gpu backend; see `carom adapters`.
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
    /// Threads of the cpu backend; 0 = one for each core. The result does not depend on it.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = thread_count)]
    pub threads: usize,
    /// Number of outer steps; default: world.steps of the scene.
    #[arg(long, value_name = "N", conflicts_with = "time")]
    pub steps: Option<u64>,
    /// Simulated time to run, rounded up to whole steps.
    #[arg(long, value_name = "T", allow_negative_numbers = true, value_parser = positive)]
    pub time: Option<f64>,
    /// Seed of what the scene draws at random; replaces world.seed.
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Replace a value of the scene, as in `--set world.dt=0.001`; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    pub settings: Vec<String>,
    /// Write the final state to DIR as final.csv and final.xyz.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// With --out: also write the state after every N-th step.
    #[arg(long, value_name = "N", requires = "out", value_parser = clap::value_parser!(u64).range(1..))]
    pub every: Option<u64>,
    /// Print a row of figures every N steps; default: 20 rows a run.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub log_every: Option<u64>,
    /// Write the figures of every step to FILE (.csv or .jsonl).
    #[arg(long, value_name = "FILE", value_parser = metrics_path)]
    pub metrics: Option<PathBuf>,
    /// Print one JSON object with the figures of the run on stdout; all else goes to stderr.
    #[arg(long)]
    pub json: bool,
    /// Print errors only (and the object of --json).
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Args, Debug)]
pub struct ScenesArguments {
    /// Print the file of a built-in scene, to copy and change.
    #[arg(long, value_name = "NAME")]
    pub show: Option<String>,
}

#[derive(Args, Debug)]
pub struct AdaptersArguments {
    /// Print one JSON object on stdout.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct BenchArguments {
    /// Scenes, built-in names or files.
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "gas")]
    pub scenes: Vec<String>,
    /// Numbers of spheres, as 1e4 or 10000: random fills are rescaled at their volume fraction. Default: as
    /// the scene says.
    #[arg(long, value_name = "N,M", value_delimiter = ',', value_parser = sphere_count)]
    pub sizes: Vec<u32>,
    /// Backends.
    #[arg(long, value_name = "A,B", value_enum, value_delimiter = ',', default_value = "cpu")]
    pub backends: Vec<BackendChoice>,
    /// A part of the name of the adapter for the gpu backend; see `carom adapters`.
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
    /// Numbers of threads of the cpu backend; 0 = one for each core.
    #[arg(long, value_name = "N,M", value_delimiter = ',', default_value = "0", value_parser = thread_count)]
    pub threads: Vec<usize>,
    /// Most measured steps of a row.
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: u64,
    /// Most measured seconds of a row; at least one step is measured.
    #[arg(long, value_name = "S", default_value_t = 10.0, allow_negative_numbers = true, value_parser = positive)]
    pub seconds: f64,
    /// Steps taken before measuring: caches, buffers and branch predictors settle.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub warm_up: u64,
    /// Write the rows to FILE as JSON; `-` = stdout, the tables then go to stderr.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

#[cfg(feature = "viewer")]
#[derive(Args, Debug)]
#[command(after_help = "In the window, ? lists keys and mouse.")]
pub struct ViewArguments {
    /// A scene file (TOML), or the name of a built-in scene; see `carom scenes`.
    pub scene: String,
    /// Who computes; can be changed in the window.
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: BackendChoice,
    /// A part of the name of the adapter that draws, and that the gpu backend runs on; see `carom adapters`.
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
    /// Threads of the cpu backend; 0 = one for each core.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = thread_count)]
    pub threads: usize,
    /// Seed of what the scene draws at random; replaces world.seed.
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Replace a value of the scene, as in `--set world.dt=0.001`; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    pub settings: Vec<String>,
    /// Width and height of the window.
    #[arg(long, value_name = "WxH", default_value = "1280x800", value_parser = window_size)]
    pub size: [u32; 2],
    /// Stand still at first; Space goes on.
    #[arg(long)]
    pub paused: bool,
    /// Write a line of JSON to FILE for everything that happens (opened, drawn, paused, shot, ...); `-` = stdout.
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
}

// Smaller windows have no room for the panel, larger ones are a slip of the pen.
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

// More threads than any machine has would only fail inside the thread pool.
const THREADS_MAX: usize = 1024;

fn thread_count(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(count) if count <= THREADS_MAX => Ok(count),
        _ => Err(format!("expected a whole number from 0 to {THREADS_MAX}")),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("expected a finite number above 0".to_owned()),
    }
}

fn sphere_count(text: &str) -> Result<u32, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 1.0 && value <= f64::from(u32::MAX) && value.fract() == 0.0 => Ok(value as u32),
        _ => Err(format!("expected a whole number from 1 to {}, as 10000 or 1e4", u32::MAX)),
    }
}

fn assignment(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((key, _)) if !key.trim().is_empty() => Ok(text.to_owned()),
        _ => Err("expected KEY=VALUE, as in world.dt=0.001".to_owned()),
    }
}

fn metrics_path(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().and_then(|e| e.to_str()) {
        Some("csv" | "jsonl") => Ok(path),
        _ => Err("expected a name that ends in .csv or .jsonl".to_owned()),
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

    #[test]
    fn sizes_may_be_written_with_an_exponent() {
        assert_eq!(sphere_count("1e4"), Ok(10_000));
        assert!(sphere_count("1.5").is_err() && sphere_count("0").is_err() && sphere_count("nan").is_err());
    }
    #[cfg(feature = "viewer")]
    #[test]
    fn a_window_has_two_sides() {
        assert_eq!(window_size("640x480"), Ok([640, 480]));
        for wrong in ["640", "640x", "x480", "640x480x3", "0x480", "-1x5", "99999x480"] {
            assert!(window_size(wrong).is_err(), "{wrong}");
        }
    }
}
