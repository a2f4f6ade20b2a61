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
    parse_scene(text, name, None, &settings).unwrap().build().unwrap()
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

tier!(of_a_gas_on_exact = of_a_gas(Backend::Exact));
tier!(of_a_gas_on_cpu = of_a_gas(Backend::Cpu));
#[cfg(feature = "gpu")]
tier!(of_a_gas_on_gpu = of_a_gas(Backend::Gpu));

/// Grains pour onto a plate that swings, come to rest and run off over its edges into a sink. The scene begins without spheres.
const POURED: &str = r#"
[world]
gravity = [0, 0, -1]
dt = 0.05

[materials.default]
restitution = 0.3
friction = 0.5
rolling_friction = 0.02

[[walls]]
name = "plate"
disc = { center = [0, 0, 0], normal = [0, 0, 1], radius = 4 }
oscillation = { amplitude = [0.05, 0, 0], frequency = 0.3 }

[[spheres]]
source = { min = [-2, -2, 6], max = [2, 2, 8], rate = 12, diameters = [[0.9, 0.5], [1.1, 0.5]] }
velocity = [0, 0, -1]

[[sinks]]
min = [-100, -100, -8]
max = [100, 100, -4]
"#;

fn of_sources_and_sinks(backend: Backend, at: &[u64], count: u64) {
    let system = parse_scene(POURED, "poured", None, &[]).unwrap().build().unwrap();
    let report = compare(&system, &options(backend), at, count);
    assert!(report.substeps > 0, "{report:?}");
}

tier!(of_sources_and_sinks_on_cpu = of_sources_and_sinks(Backend::Cpu, &[0, 1, 60, 200, 211, 300, 420], 80));
#[cfg(feature = "gpu")]
tier!(of_sources_and_sinks_on_gpu = of_sources_and_sinks(Backend::Gpu, &[0, 200, 211], 40));

// A shaken vessel, and a box that shrinks.
fn of_moving_walls(backend: Backend, at: &[u64], count: u64) {
    for name in ["brazil_nut", "compress"] {
        let group = if name == "compress" { 0 } else { 1 };
        let count_setting = format!("spheres.{group}.random.count=300");
        compare(&scene(name, &[&count_setting]), &options(backend), at, count);
    }
}

tier!(of_moving_walls_on_cpu = of_moving_walls(Backend::Cpu, &[3, 100, 400], 50));
#[cfg(feature = "gpu")]
tier!(of_moving_walls_on_gpu = of_moving_walls(Backend::Gpu, &[3, 60], 20));

// The cylinder around sleeping grains disappears in step 600.
#[test]
fn of_a_wall_that_disappears_on_cpu() {
    let settings = [
        "spheres.0.random.count=300",
        "walls.1.cylinder.radius=3",
        "spheres.0.random.min=[-3,-3,0]",
        "spheres.0.random.max=[3,3,30]",
    ];
    let system = scene("column_collapse", &settings);
    let before = compare(&system, &options(Backend::Cpu), &[560], 39);
    assert!(before.asleep > 250, "{before:?}");
    let after = compare(&system, &options(Backend::Cpu), &[599, 600, 602], 50);
    assert!(after.asleep < 50 && after.kinetic_energy > 1.0, "{after:?}");
}

// Grains that fall, come to rest and fall asleep.
fn of_a_heap(backend: Backend, at: &[u64], count: u64) {
    let report = compare(&scene("heap", &["spheres.1.random.count=400"]), &options(backend), at, count);
    // The last checkpoint is one of a heap at rest.
    assert!(at.iter().max() < Some(&900) || report.asleep > 300, "{report:?}");
}

tier!(of_a_heap_on_cpu = of_a_heap(Backend::Cpu, &[100, 300, 500, 700, 900], 60));
#[cfg(feature = "gpu")]
tier!(long "about 300 s": of_a_heap_on_gpu = of_a_heap(Backend::Gpu, &[100, 500, 900], 40));
