//! Values passed between the invocations of a workgroup.

use super::{Examination, Table, Target};
use crate::{
    Error,
    doctor::kernel::{Kernel, LANES, storage},
};

const SHADER: &str = include_str!("../../../shaders/doctor/barriers.wgsl");

/// Values that each invocation passes in a dispatch; a driver may end loops that run for too long.
const TURNS: u32 = 512;

/// Dispatches, and workgroups of each, enough to fill a GPU; fewer on the processor.
const TIMES: u32 = 8;
const GROUPS: [u32; 2] = [1024, 32];

/// Sizes of workgroups: those of most stages, and those of the rounds of a substep.
const SIZES: [u32; 2] = [LANES, 256];

pub fn run(examination: &mut Examination, target: &Target) -> Result<(), Error> {
    let context = &target.context;
    let groups = GROUPS[usize::from(target.is_software())];
    let coherent = wgpu::Features::MEMORY_DECORATION_COHERENT;
    let has_coherent = context.device.features().contains(coherent);
    let mut table = Table::new("barriers", &["through", "invocations", "reads", "stale"]);
    for lanes in SIZES {
        for (through, entry, attribute, is_needed) in [
            ("storage", "through_storage", "", true),
            ("storage, @coherent", "through_storage", "@coherent", false),
            ("workgroup memory", "through_workgroup", "", true),
        ] {
            if !attribute.is_empty() && !has_coherent {
                continue;
            }
            let head = format!("const LANES = {lanes}u;\nconst TURNS = {TURNS}u;\n");
            let text = head + &SHADER.replace("/*ATTRIBUTE*/", attribute);
            let kernel = Kernel::new(context, "barriers", &text, entry)?;
            let rows = storage(context, &vec![0; (4 * lanes * groups) as usize])?;
            let counts = storage(context, &[0; 4])?;
            let buffers = [(0, &rows), (1, &counts)];
            // The entry for workgroup memory does not use the rows.
            let buffers = if entry == "through_storage" { &buffers[..] } else { &buffers[1..] };
            let mut found = vec![];
            for _ in 0..TIMES {
                found = kernel.run(context, buffers, groups)?;
            }
            let (stale, reads) = (u64::from(found[0]), u64::from(found[1]));
            table.row(vec![through.into(), lanes.into(), reads.into(), stale.into()]);
            let expected = u64::from(TIMES * groups * TURNS) * u64::from(lanes);
            examination.expect(reads == expected, || {
                format!("{reads} values were read through {through}, and not {expected}")
            });
            examination.expect(!is_needed || stale == 0, || {
                format!("{stale} of {reads} reads through {through} found an old value after a barrier")
            });
        }
    }
    if !has_coherent {
        examination.note("the adapter does not offer @coherent storage");
    }
    examination.table(table);
    Ok(())
}
