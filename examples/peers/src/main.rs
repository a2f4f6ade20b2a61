//! The same spheres in carom, Rapier and Box3D, one engine after the other: a block that drops into a box, or a gas in a box.
//!
//! `cargo run --release --manifest-path examples/peers/Cargo.toml -- --case gas`
//!
//! Only the steps are timed. After every step the same code measures the state of each engine.

mod box3d;
mod carom_engine;
mod case;
mod measure;
mod rapier;
mod report;

use std::{path::PathBuf, time::Instant};

use carom::Backend;
use clap::{CommandFactory, Parser, ValueEnum, error::ErrorKind};
use glam::DVec3;

use self::{
    case::Case,
    report::{Row, Run, Table},
};

/// An engine in the middle of a case.
trait Engine {
    /// Advances the spheres by a step of `Case::dt`.
    fn step(&mut self);

    /// Replaces the vectors with the present centres and velocities of all spheres.
    fn state(&self, centers: &mut Vec<DVec3>, velocities: &mut Vec<DVec3>);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    Carom,
    Rapier,
    Box3d,
    /// The event-driven backend of carom, on one thread; in the gas only
    Exact,
}

impl Name {
    fn engine(self, case: &Case, threads: usize, ccd: bool) -> Box<dyn Engine> {
        match self {
            Self::Carom => Box::new(carom_engine::Carom::new(case, threads, Backend::Cpu)),
            Self::Exact => Box::new(carom_engine::Carom::new(case, threads, Backend::Exact)),
            Self::Rapier => Box::new(rapier::Rapier::new(case, threads, ccd)),
            Self::Box3d => Box::new(box3d::Box3d::new(case, threads, ccd)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CaseName {
    /// A block of spheres falls into an open box
    Drop,
    /// Elastic spheres in a closed box, without gravity and friction
    Gas,
}

/// Moves the same spheres in several engines and compares speed, overlap and, in the gas, energy
#[derive(Parser)]
struct Arguments {
    #[arg(long, value_enum, default_value_t = CaseName::Drop)]
    case: CaseName,
    /// The cube of this is the number of spheres; in the drop, spheres along each edge of the block
    #[arg(long, default_value_t = 32)]
    edge: usize,
    /// Volume of the spheres of the gas over the volume of the box
    #[arg(long, default_value_t = 0.2)]
    volume_fraction: f64,
    /// Number of steps of 1/60 s [default: 300 in the drop, 100 in the gas]
    #[arg(long)]
    steps: Option<u32>,
    /// Threads of each engine
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Engines, in the order in which they run [default: carom,rapier,box3d, in the gas also exact]
    #[arg(long, value_delimiter = ',')]
    engines: Vec<Name>,
    /// Runs of each engine; the table shows the median, with the fastest and the slowest run
    #[arg(long, default_value_t = 1)]
    repeat: usize,
    /// Turns on continuous collision between spheres in Rapier and the bullet flag of all spheres in Box3D
    #[arg(long)]
    ccd: bool,
    /// Prints one JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Also divides the step of each engine by 2, 4, 8 and 16 until its deepest overlap is under 1%
    #[arg(long)]
    refine: bool,
    /// Writes the start as CSV (id,x,y,z,vx,vy,vz) to this file and runs nothing
    #[arg(long, value_name = "FILE")]
    write_start: Option<PathBuf>,
}

impl Arguments {
    fn case(&self) -> Case {
        let dt = 1.0 / 60.0;
        match self.case {
            CaseName::Drop => Case::drop(self.edge, dt),
            CaseName::Gas => Case::gas(self.edge, self.volume_fraction, dt)
                .unwrap_or_else(|error| refuse(ErrorKind::ValueValidation, &error.to_string())),
        }
    }

    fn engines(&self) -> Vec<Name> {
        let in_gas = self.case == CaseName::Gas;
        if !in_gas && self.engines.contains(&Name::Exact) {
            refuse(ErrorKind::ArgumentConflict, "the engine exact has no friction; use --case gas");
        }
        match &self.engines[..] {
            [] if in_gas => vec![Name::Carom, Name::Rapier, Name::Box3d, Name::Exact],
            [] => vec![Name::Carom, Name::Rapier, Name::Box3d],
            given => given.to_vec(),
        }
    }
}

fn refuse(kind: ErrorKind, message: &str) -> ! {
    Arguments::command().error(kind, message).exit()
}

fn run(mut engine: Box<dyn Engine>, case: &Case, steps: u32) -> Run {
    let start_energy = measure::energy(&case.centers, &case.velocities, case);
    let mut run = Run::default();
    let (mut centers, mut velocities) = (vec![], vec![]);
    for _ in 0..steps {
        let start = Instant::now();
        engine.step();
        run.seconds += start.elapsed().as_secs_f64();
        engine.state(&mut centers, &mut velocities);
        run.last_overlap = measure::deepest_overlap(&centers, case);
        run.deepest_overlap = run.deepest_overlap.max(run.last_overlap);
        run.last_energy_error = measure::energy(&centers, &velocities, case) / start_energy - 1.0;
        if run.last_energy_error.abs() > run.energy_error.abs() {
            run.energy_error = run.last_energy_error;
        }
    }
    run.left = measure::left(&centers, case);
    run
}

fn main() {
    let arguments = Arguments::parse();
    let (case, engines) = (arguments.case(), arguments.engines());
    if let Some(path) = &arguments.write_start {
        if let Err(error) = case.write_start(path) {
            refuse(ErrorKind::Io, &format!("{}: {error}", path.display()));
        }
        return;
    }
    let is_gas = arguments.case == CaseName::Gas;
    let steps = arguments.steps.unwrap_or(if is_gas { 100 } else { 300 });
    let mut table = Table {
        sphere_count: case.centers.len(),
        steps,
        threads: arguments.threads,
        gas: is_gas.then_some((arguments.volume_fraction, arguments.ccd)),
        rows: vec![],
    };
    if !arguments.json {
        table.print_head();
    }
    let divisions: &[u32] = if arguments.refine { &[1, 2, 4, 8, 16] } else { &[1] };
    let mut runs: Vec<(Name, Vec<Run>)> = engines.iter().map(|&name| (name, vec![])).collect();
    for division in divisions {
        let fine = Case { dt: case.dt / f64::from(*division), ..case.clone() };
        // In turns: the speed of a shared machine drifts.
        for _ in 0..arguments.repeat.max(1) {
            for (name, runs) in &mut runs {
                let engine = name.engine(&fine, arguments.threads, arguments.ccd);
                runs.push(run(engine, &fine, steps * division));
            }
        }
        let first = table.rows.len();
        for (name, runs) in &mut runs {
            let mut runs = std::mem::take(runs);
            runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
            let name = format!("{name:?}").to_lowercase();
            table.rows.push(Row { name, division: *division, dt: fine.dt, steps: steps * division, runs });
        }
        if !arguments.json {
            table.rows[first..].iter().for_each(|row| table.print(row));
        }
        let mut rows = table.rows[first..].iter();
        runs.retain(|_| rows.next().is_some_and(|row| row.median().deepest_overlap >= 0.01));
    }
    if arguments.json {
        println!("{}", table.json());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGINES: [Name; 4] = [Name::Carom, Name::Rapier, Name::Box3d, Name::Exact];

    /// A single sphere in the box of a gas.
    fn single(center: DVec3, velocity: DVec3) -> Case {
        let gas = Case::gas(4, 0.2, 1.0 / 60.0).unwrap();
        Case { centers: vec![center], velocities: vec![velocity], ..gas }
    }

    fn state(engine: &dyn Engine) -> (DVec3, DVec3) {
        let (mut centers, mut velocities) = (vec![], vec![]);
        engine.state(&mut centers, &mut velocities);
        (centers[0], velocities[0])
    }

    #[test]
    fn the_first_step_moves_a_free_sphere_by_v_dt() {
        let case = single(DVec3::new(2.0, 3.0, 2.5), DVec3::new(1.0, -2.0, 0.5));
        for name in ENGINES {
            for ccd in [false, true] {
                let mut engine = name.engine(&case, 1, ccd);
                engine.step();
                let (center, velocity) = state(&*engine);
                assert!(center.distance(case.centers[0] + case.dt * case.velocities[0]) < 1e-6, "{name:?}");
                assert!(velocity.distance(case.velocities[0]) < 1e-6, "{name:?}");
            }
        }
    }

    #[test]
    fn a_slow_impact_on_any_face_of_the_gas_is_elastic() {
        for axis in 0..3 {
            for sign in [-1.0, 1.0] {
                let middle = DVec3::splat(0.5 * single(DVec3::ZERO, DVec3::ZERO).width);
                let mut case = single(middle, DVec3::ZERO);
                case.centers[0][axis] += sign * (middle.x - 0.51);
                case.velocities[0][axis] = sign * 0.1;
                for name in ENGINES {
                    let mut engine = name.engine(&case, 1, false);
                    (0..30).for_each(|_| engine.step());
                    let velocity = state(&*engine).1;
                    assert!(velocity.distance(-case.velocities[0]) < 1e-3, "{name:?}: {velocity}");
                }
            }
        }
    }

    #[test]
    fn a_run_measures_every_engine() {
        let case = Case::gas(6, 0.2, 1.0 / 60.0).unwrap();
        for name in ENGINES {
            let run = run(name.engine(&case, 1, false), &case, 20);
            assert!(run.seconds > 0.0);
            assert!(run.deepest_overlap >= run.last_overlap);
            assert!(run.energy_error.abs() >= run.last_energy_error.abs());
            if matches!(name, Name::Carom | Name::Exact) {
                assert!(
                    run.deepest_overlap < 1e-4 && run.energy_error.abs() < 1e-5 && run.left == 0,
                    "{name:?}"
                );
            }
        }
    }
}
