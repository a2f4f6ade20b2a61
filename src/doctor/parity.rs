//! Section `parity`: every stage on the device and on its CPU twin, with equal input, for small systems that need all
//! properties for which shaders are specialised.

use super::{Examination, Table, Target, Value, compile, systems};
use crate::{
    Error, System,
    gpu::host_mirror::HostMirror,
    state::columns::NEVER,
    verify::{self, Lockstep, StageAgreement},
};

/// Steps of the cpu engine before a system is compared again: its spheres have met by then, and grains lie.
const LATER: u64 = 20;

/// Runs the section.
pub fn run(examination: &mut Examination, target: &Target) -> Result<(), Error> {
    let mut all: Vec<StageAgreement> = vec![];
    let mut table = Table::new("systems", &["system", "variant", "spheres", "values", "near_ties", "worst"]);
    let kinds = systems::kinds();
    let total = kinds.len();
    for (k, (name, system)) in kinds.into_iter().enumerate() {
        if examination.is_over(|| format!("{} of {total} systems were not compared", total - k)) {
            break;
        }
        let system = system.map_err(|error| Error::Invalid(format!("{name}: {error}")))?;
        let variant = HostMirror::for_first_step(&system, |_| NEVER).0.variant();
        let count = system.spheres.len();
        let mut stages = verify::first_stages(&system, &target.context, target.tolerance)?;
        if !examination.clock.is_over() {
            StageAgreement::add_all(&mut stages, later(system, target)?);
        }
        for mismatch in stages.iter().filter_map(|stage| stage.mismatch.as_ref()) {
            examination.fail(format!("{name}: {mismatch}"));
        }
        let sum = |of: fn(&StageAgreement) -> u64| stages.iter().map(of).sum::<u64>();
        let worst = stages.iter().map(|stage| stage.worst).fold(0.0, f64::max);
        let variant = compile::describe(variant);
        let figures = [sum(|stage| stage.values), sum(|stage| stage.near_ties)].map(Value::from);
        let [values, near_ties] = figures;
        table.row(vec![name.into(), variant.into(), count.into(), values, near_ties, worst.into()]);
        StageAgreement::add_all(&mut all, stages);
    }
    examination.table(stages_table(&all));
    examination.table(table);
    examination.table(Table::record("tolerance", vec![("relative", target.tolerance.into())]));
    Ok(())
}

// The stages after some steps; none where a lockstep refuses the system.
fn later(system: System, target: &Target) -> Result<Vec<StageAgreement>, Error> {
    let mut lockstep = match Lockstep::new(system, target.context.clone(), 0, target.tolerance) {
        Err(Error::Unsupported(_)) => return Ok(vec![]),
        other => other?,
    };
    lockstep.skip(LATER)?;
    lockstep.stages()
}

fn stages_table(stages: &[StageAgreement]) -> Table {
    let mut table =
        Table::new("stages", &["stage", "passes", "values", "near_ties", "worst", "not_compared"]);
    for stage in stages {
        table.row(vec![
            stage.stage.into(),
            stage.passes.into(),
            stage.values.into(),
            stage.near_ties.into(),
            stage.worst.into(),
            stage.halted.into(),
        ]);
    }
    table
}
