//! A run that resumes from a checkpoint takes the same steps as the run that went on, to the bit, on every backend.

use carom::{
    Backend, Options, Simulation, StepReport, System,
    files::{builtin, parse_scene, read_checkpoint, write_checkpoint},
};

use crate::support::{gas, options};

/// Figures that depend on the machine, or on the buffers of a device.
fn comparable(report: &StepReport) -> StepReport {
    StepReport {
        wall_seconds: 0.0,
        stage_seconds: vec![],
        overflow: 0,
        dispatches: 0,
        submits: 0,
        blocking_reads: 0,
        downloads: 0,
        ..report.clone()
    }
}

fn scene(name: &str, settings: &[&str]) -> System {
    let settings: Vec<_> = settings.iter().map(|setting| (*setting).to_owned()).collect();
    let text = builtin(name).expect("a built-in scene").text;
    let built = parse_scene(text, name, None, &settings).unwrap().build().unwrap();
    built
}

/// Takes a checkpoint after each of the steps `at`, and compares the next `count` steps of the resumed run with those of the first
/// run. Returns the last report of the first run.
fn compare(system: &System, options: &Options, at: &[u64], count: u64) -> StepReport {
    let mut whole = Simulation::new(system.clone(), options.clone()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut checkpoints = vec![];
    let mut trace = vec![];
    let last = at.iter().max().unwrap() + count;
    for step in 0..=last {
        if at.contains(&step) {
            let path = folder.path().join(format!("{step}.safetensors"));
            write_checkpoint(&path, &whole.checkpoint().unwrap()).unwrap();
            checkpoints.push(read_checkpoint(&path).unwrap());
        }
        if step < last {
            let report = comparable(whole.step().unwrap());
            trace.push((whole.state_hash(), report));
        }
    }
    for checkpoint in checkpoints {
        let from = checkpoint.steps();
        let mut resumed = Simulation::resume(checkpoint, options.clone()).unwrap();
        for (hash, report) in &trace[from as usize..(from + count) as usize] {
            let found = comparable(resumed.step().unwrap());
            let what = format!("resumed after step {from}, step {}", report.step);
            assert_eq!(resumed.state_hash(), *hash, "{what}");
            assert_eq!(found, *report, "{what}");
        }
    }
    comparable(whole.report())
}

fn of_a_gas(backend: Backend) {
    let report = compare(&gas(2000, 3), &options(backend), &[0, 1, 2, 40], 30);
    assert!(report.pair_impacts > 100, "{report:?}");
}

#[test]
fn of_a_gas_on_exact() {
    of_a_gas(Backend::Exact);
}

#[test]
fn of_a_gas_on_cpu() {
    of_a_gas(Backend::Cpu);
}

#[cfg(feature = "gpu")]
#[test]
fn of_a_gas_on_gpu() {
    of_a_gas(Backend::Gpu);
}

// Sources, sinks and resting contacts.
fn of_a_hopper(backend: Backend, at: &[u64], count: u64) {
    let report = compare(&scene("hopper", &[]), &options(backend), at, count);
    assert!(report.pair_impacts > 0, "{report:?}");
}

#[test]
fn of_a_hopper_on_cpu() {
    of_a_hopper(Backend::Cpu, &[0, 1, 150], 60);
}

// Walls that turn and swing.
fn of_moving_walls(backend: Backend, count: u64) {
    for name in ["drum", "sieve", "brazil_nut"] {
        if builtin(name).is_some() {
            compare(&scene(name, &[]), &options(backend), &[3, 20], count);
        }
    }
}

#[test]
fn of_moving_walls_on_cpu() {
    of_moving_walls(Backend::Cpu, 12);
}

// Checkpoints while spheres fall, come to rest, fall asleep, and after all of them sleep.
fn of_a_sleeping_heap(backend: Backend, at: &[u64], count: u64) {
    let report = compare(&scene("heap", &["spheres.1.random.count=400"]), &options(backend), at, count);
    println!("{} asleep", report.asleep);
}

#[test]
fn of_a_sleeping_heap_on_cpu() {
    of_a_sleeping_heap(Backend::Cpu, &[100, 300, 500, 700, 900], 60);
}
