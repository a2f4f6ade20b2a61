//! Section `costs`: the costs of primitive operations, by the clock of the host and by timestamps.

use super::{Examination, Table, Target, Value};
use crate::{
    Error,
    doctor::kernel::{Kernel, LANES, Timed, storage, words},
};

const SHADER: &str = include_str!("../../shaders/doctor/costs.wgsl");

/// Repetitions of the operation in a dispatch; a driver may end loops that run for too long.
const TURNS: u32 = 1024;

/// Links of the chain of dependent loads: 4 MiB, more than the first caches of a GPU hold.
const LINKS: u32 = 1 << 20;

/// Measurements, of which the fastest counts.
const MEASUREMENTS: u32 = 5;

/// An operation to time.
struct Cost {
    name: &'static str,
    entry: &'static str,
    groups: u32,
    /// Dispatches in a submit.
    times: u32,
    /// Operations that one dispatch does one after the other.
    operations: f64,
    /// The first word of the results after one dispatch.
    result: u32,
}

/// Runs the section.
pub fn run(examination: &mut Examination, target: &Target) -> Result<(), Error> {
    let context = &target.context;
    let copy = context.copy_bandwidth()?;
    examination.table(Table::record("copy", vec![("bytes_per_second", copy.into())]));
    let chain = chain();
    let chain_end = (0..TURNS).fold(0, |at, _| chain[at as usize]);
    let chain_buffer = storage(context, &chain)?;
    let few = if target.is_software() { 4 } else { 64 };
    let turns = f64::from(TURNS);
    let one =
        |name, entry, groups, operations, result| Cost { name, entry, groups, times: 4, operations, result };
    let on_one = few * LANES * TURNS;
    let costs = [
        Cost { name: "empty dispatch", entry: "nothing", groups: 1, times: 256, operations: 1.0, result: 1 },
        one("storageBarrier", "storage_barriers", 1, turns, TURNS),
        one("workgroupBarrier", "workgroup_barriers", 1, turns, TURNS),
        one("atomics, each address apart", "atomics_apart", few, f64::from(on_one), 0),
        one("atomics, one address", "atomics_on_one", few, f64::from(on_one), on_one),
        one("dependent load", "dependent_loads", 1, turns, chain_end),
    ];
    let mut table = Table::new("primitives", &["operation", "ns_host", "ns_device", "operations"]);
    for cost in costs {
        if examination.is_over(|| format!("the cost of: {}", cost.name)) {
            break;
        }
        let timed = measure(examination, target, &cost, &chain_buffer)?;
        let each = 1e9 / (f64::from(cost.times) * cost.operations);
        let device = timed.device.map(|seconds| seconds * each);
        table.row(vec![cost.name.into(), (timed.wall * each).into(), device.into(), cost.operations.into()]);
    }
    if table.rows.iter().all(|row| row[2] == Value::None) {
        examination.note("the device writes no timestamps");
    }
    examination.table(table);
    Ok(())
}

// One cycle through all links, in jumps that no cache foresees.
fn chain() -> Vec<u32> {
    // The multiplier leaves the remainder 1 when divided by 4, and the increment is odd: the period is the number of links.
    (0..LINKS).map(|k| k.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) % LINKS).collect()
}

fn measure(
    examination: &mut Examination,
    target: &Target,
    cost: &Cost,
    chain: &wgpu::Buffer,
) -> Result<Timed, Error> {
    let context = &target.context;
    let text = format!("const LANES = {LANES}u;\nconst TURNS = {TURNS}u;\n{SHADER}");
    let kernel = Kernel::new(context, "costs", &text, cost.entry)?;
    let results = storage(context, &vec![0; (1 + cost.groups * LANES) as usize])?;
    let loads = [(0, &results), (1, chain)];
    let buffers = if cost.entry == "dependent_loads" { &loads[..] } else { &loads[..1] };
    // The first run may compile, and its result is checked.
    kernel.time(context, buffers, cost.groups, 1)?;
    let found = words(context, &results)?;
    let is_right = found[0] == cost.result
        && (cost.entry != "atomics_apart"
            || found[1..=(cost.groups * LANES) as usize].iter().all(|&count| count == TURNS));
    examination
        .expect(is_right, || format!("{}: the result is {}, and not {}", cost.name, found[0], cost.result));
    let mut best = Timed { wall: f64::INFINITY, device: None };
    for _ in 0..MEASUREMENTS {
        let timed = kernel.time(context, buffers, cost.groups, cost.times)?;
        best.wall = best.wall.min(timed.wall);
        best.device = match (best.device, timed.device) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if examination.clock.is_over() {
            break;
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_passes_every_link_once() {
        let chain = chain();
        let mut at = 0;
        for _ in 1..LINKS {
            at = chain[at as usize];
            assert_ne!(at, 0);
        }
        assert_eq!(chain[at as usize], 0);
    }
}
