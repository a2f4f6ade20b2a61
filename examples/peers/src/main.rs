//! The same drop of spheres into a box in carom, Rapier and Box3D, one after the other.
//!
//! `cargo run --release --manifest-path examples/peers/Cargo.toml`
//!
//! Only the steps are timed. After every step the same code measures the deepest overlap from the positions of each engine.

mod box3d;
mod carom_engine;
mod drop;
mod overlap;
mod rapier;

use std::time::Instant;

use clap::{Parser, ValueEnum};
use glam::DVec3;

use self::drop::Drop;

/// An engine in the middle of a drop.
trait Engine {
    /// Advances the spheres by a step of `Drop::dt`.
    fn step(&mut self);

    /// Replaces `centers` with the present centres of all spheres.
    fn centers(&self, centers: &mut Vec<DVec3>);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    Carom,
    Rapier,
    Box3d,
}

impl Name {
    fn engine(self, drop: &Drop, threads: usize) -> Box<dyn Engine> {
        match self {
            Self::Carom => Box::new(carom_engine::Carom::new(drop, threads)),
            Self::Rapier => Box::new(rapier::Rapier::new(drop, threads)),
            Self::Box3d => Box::new(box3d::Box3d::new(drop, threads)),
        }
    }
}

/// Drops the same spheres into a box in several engines and compares speed and overlap
#[derive(Parser)]
struct Arguments {
    /// Spheres along each edge of the block that falls
    #[arg(long, default_value_t = 32)]
    edge: usize,
    /// Number of steps of 1/60 s
    #[arg(long, default_value_t = 300)]
    steps: u32,
    /// Threads of each engine
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Engines, in the order in which they run
    #[arg(long, value_delimiter = ',', default_values = ["carom", "rapier", "box3d"])]
    engines: Vec<Name>,
    /// Runs of each engine; the table shows the median, with the fastest and the slowest run
    #[arg(long, default_value_t = 1)]
    repeat: usize,
    /// Prints one JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Also divides the step of each engine by 2, 4, 8 and 16 until its deepest overlap is under 1%
    #[arg(long)]
    refine: bool,
}

/// Figures of one run.
#[derive(Clone, Copy)]
struct Run {
    /// Wall-clock time of all steps, in seconds.
    seconds: f64,
    /// Deepest overlap after any step, and after the last one, in diameters.
    deepest: f64,
    last: f64,
}

fn run(name: Name, drop: &Drop, steps: u32, threads: usize) -> Run {
    let mut engine = name.engine(drop, threads);
    let mut run = Run { seconds: 0.0, deepest: 0.0, last: 0.0 };
    let mut centers = vec![];
    for _ in 0..steps {
        let start = Instant::now();
        engine.step();
        run.seconds += start.elapsed().as_secs_f64();
        engine.centers(&mut centers);
        run.last = overlap::deepest(&centers, drop);
        run.deepest = run.deepest.max(run.last);
    }
    run
}

/// The runs of an engine with one step length, in the order of their times.
struct Row {
    name: String,
    division: u32,
    dt: f64,
    steps: u32,
    runs: Vec<Run>,
}

impl Row {
    fn median(&self) -> Run {
        self.runs[self.runs.len() / 2]
    }

    fn simulated_per_wall(&self) -> f64 {
        self.dt * f64::from(self.steps) / self.median().seconds
    }

    fn print(&self) {
        let ms = |run: &Run| 1e3 * run.seconds / f64::from(self.steps / self.division);
        println!(
            "{:7} {:>9} {:>9.1} {:>7.1} {:>7.1} {:>11.3} {:>10.2}% {:>9.2}%",
            self.name,
            format!("1/{}", 60 * self.division),
            ms(&self.median()),
            ms(&self.runs[0]),
            ms(&self.runs[self.runs.len() - 1]),
            self.simulated_per_wall(),
            100.0 * self.median().deepest,
            100.0 * self.median().last,
        );
    }

    fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "name": self.name,
            "dt": self.dt,
            "ms_per_step": 1e3 * self.median().seconds / f64::from(self.steps),
            "simulated_per_wall": self.simulated_per_wall(),
            "deepest_overlap": self.median().deepest,
            "deepest_overlap_final": self.median().last,
        })
    }
}

fn main() {
    let arguments = Arguments::parse();
    let Arguments { steps, threads, .. } = arguments;
    let drop = Drop::new(arguments.edge, 1.0 / 60.0);
    if !arguments.json {
        println!("{} spheres, {steps} steps of 1/60 s, {threads} threads", drop.centers.len());
        println!("engine         dt   ms/frame    best   worst  x real time    deepest   at the end");
    }
    let mut rows = vec![];
    let divisions: &[u32] = if arguments.refine { &[1, 2, 4, 8, 16] } else { &[1] };
    for division in divisions {
        let fine = Drop { dt: drop.dt / f64::from(*division), ..drop.clone() };
        let mut runs: Vec<(Name, Vec<Run>)> = arguments.engines.iter().map(|&name| (name, vec![])).collect();
        // In turns: the speed of a shared machine drifts.
        for _ in 0..arguments.repeat.max(1) {
            for (name, runs) in &mut runs {
                runs.push(run(*name, &fine, steps * division, threads));
            }
        }
        for (name, mut runs) in runs {
            runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
            let name = format!("{name:?}").to_lowercase();
            let row = Row { name, division: *division, dt: fine.dt, steps: steps * division, runs };
            if !arguments.json {
                row.print();
            }
            rows.push(row);
        }
    }
    if arguments.json {
        let engines: Vec<_> = rows.iter().map(Row::json).collect();
        let report = serde_json::json!({
            "spheres": drop.centers.len(), "steps": steps, "threads": threads, "engines": engines,
        });
        println!("{report}");
    }
}
