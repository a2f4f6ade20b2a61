//! Section `determinism`: the same input gives the same bits, however a run is taken.

use std::ops::ControlFlow;

use super::{Examination, Table, Target, litmus::Numbers, systems};
use crate::{
    Error, System,
    gpu::{buffer_layout::Capacities, engine::GpuEngine},
    simulation::hash_of,
    state::columns::NEVER,
    step::engine::Engine,
};

/// Steps of a run.
const STEPS: u64 = 24;

/// How a run is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Each step is submitted before the report of the one before.
    Ahead,
    Singly,
    /// With the spheres in another order at the start.
    Shuffled,
    /// With buffers that are too small, so that steps are repeated.
    Cramped,
}

const WAYS: [(&str, Way); 5] = [
    ("ahead", Way::Ahead),
    ("ahead, again", Way::Ahead),
    ("shuffled", Way::Shuffled),
    ("step by step", Way::Singly),
    ("small buffers", Way::Cramped),
];

/// Runs the section.
pub fn run(examination: &mut Examination, target: &Target) -> Result<(), Error> {
    let mut table = Table::new("runs", &["system", "way", "steps", "state_hash", "repeats", "equal"]);
    'systems: for (name, system) in [("gas", systems::gas(2000, 81)?), ("pile", systems::pile([4, 4])?)] {
        let mut first = None;
        for (label, way) in WAYS {
            if examination.is_over(|| format!("{name}, {label}")) {
                break 'systems;
            }
            let (hash, repeats) = take(way, &system, target)?;
            let expected = *first.get_or_insert(hash);
            let is_equal = hash == expected;
            let hash = format!("{hash:016x}");
            table.row(vec![
                name.into(),
                label.into(),
                STEPS.into(),
                hash.clone().into(),
                repeats.into(),
                is_equal.into(),
            ]);
            examination.expect(is_equal, || {
                format!("{name}: a run taken otherwise ({label}) ends in another state, {hash} and not {expected:016x}")
            });
            if way == Way::Cramped && repeats == 0 {
                examination.note(format!("{name}: no step was repeated with small buffers"));
            }
        }
    }
    examination.table(table);
    Ok(())
}

// The hash of the last state, and the number of repetitions with larger buffers.
fn take(way: Way, system: &System, target: &Target) -> Result<(u64, u64), Error> {
    let mut system = system.clone();
    if way == Way::Cramped {
        return cramped(&mut system, target);
    }
    if way == Way::Shuffled {
        let mut numbers = Numbers(3);
        for k in (1..system.spheres.len()).rev() {
            system.spheres.swap(k, (numbers.next() % (k as u64 + 1)) as usize);
        }
    }
    let mut simulation = target.simulation(system)?;
    let mut repeats = 0;
    if way == Way::Singly {
        for _ in 0..STEPS {
            repeats += simulation.step()?.overflow;
        }
    } else {
        simulation.run(STEPS, |report| {
            repeats += report.overflow;
            ControlFlow::Continue(())
        })?;
    }
    Ok((simulation.try_state_hash()?, repeats))
}

fn cramped(system: &mut System, target: &Target) -> Result<(u64, u64), Error> {
    system.spheres.sort_by_key(|sphere| sphere.id);
    let context = target.context.clone();
    let mut engine = GpuEngine::with(system, context, Capacities::tiny(), false, |_| NEVER, 0.0)?;
    let mut repeats = 0;
    let mut time = 0.0;
    for _ in 0..STEPS {
        repeats += engine.step(time, None, false)?.overflow;
        time += system.dt;
    }
    let mut spheres = system.spheres.clone();
    engine.read(&mut spheres)?;
    Ok((hash_of(&spheres), repeats))
}
