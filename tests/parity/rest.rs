//! Stage `rest` against its twin: resting contacts, before the launch and after the rounds; their order, and their warm start.

use std::ops::Range;

use glam::DVec3;

use super::{
    Case, PRESENT, Slip, Total, agrees, before, notices, run_substep, runs,
    starts::{Start, start},
};
use crate::{
    Sphere,
    gpu::buffer_layout::BufferLayout,
    gpu::layout::{
        AHEAD, ASLEEP_COUNT, BLOCK_WORDS, COLOURS, CONSTRAINT_COLOURS, CONSTRAINT_COUNT, CONSTRAINT_WORDS,
        IMPULSE_PLACE, LAST_IN_CONTACT, MOST_STAGED, RANK_WORDS, TURNED, WARM_START_HEAD,
    },
    state::constants::{ITERATION_BATCHES, SLEEP, STILL},
    step::schedule::Pass,
    verify::contacts::ACTIVE_FIRST,
};

/// Sleep timer of the sphere of this index, given the one at which a sphere sleeps.
type Calm = fn(usize, u32) -> u32;

// The spheres move as in the start, which is not calm: only the contacts depend on the sleep timers.
const LULLS: [(&str, Calm); 4] = [
    ("asleep", |_, limit| limit),
    ("falling asleep", |i, limit| if i % 5 == 0 { limit - 1 } else { limit }),
    ("nearly asleep", |_, limit| limit / 2 + 1),
    ("woken by some", |i, limit| if i % 50 == 7 { 3 } else { limit }),
];

// A pass of contacts where the sleep timers were set before the substep.
fn lulled(start: &Start, sleep_timer: Calm, pass: Pass) -> Case {
    let mut harness = before(start, Pass::SolveFirst);
    let core = &mut harness.twin.core;
    for i in 0..core.state.len() {
        let is_fixed = core.state.inverse_mass(i) == 0.0;
        core.sleep.sleep_timer[i] = if is_fixed { STILL } else { sleep_timer(i, SLEEP) };
        // A calm sphere has had no impact for long.
        if core.sleep.sleep_timer[i] > 0 {
            core.state.spin[i].w = core.state.spin[i].w.min(-1.0);
        }
    }
    if runs(&harness.twin, pass) {
        run_substep(&mut harness.twin, Some(pass));
    }
    Case::new(start, harness, pass)
}

fn awake(pass: Pass) -> impl Fn(&Start) -> Case {
    move |start| lulled(start, |_, _| 0, pass)
}

// The solve after the rounds where every sphere has just had an impact, so that all blocks are active.
fn struck(start: &Start) -> Case {
    let mut harness = before(start, Pass::SolveFirst);
    run_substep(&mut harness.twin, Some(Pass::SolveAfter));
    harness.twin.core.state.spin.iter_mut().for_each(|spin| spin.w = 0.0);
    Case::new(start, harness, Pass::SolveAfter)
}

// Marks of the blocks that the first batch after the rounds solves.
fn marks(layout: &BufferLayout) -> Range<usize> {
    let first = layout.active_blocks as usize;
    first..first + COLOURS as usize * layout.slots as usize
}

fn order(start: &Start) -> Case {
    Case::of(start, Pass::OrderContacts)
}

#[test]
fn rest_agrees_with_its_twin() {
    agrees("rest before", awake(Pass::SolveFirst));
    agrees("rest after", awake(Pass::SolveAfter));
}

// Heavy spheres on light ones, pulled so hard that they run into each other in turn after turn.
#[test]
fn every_turn_agrees_with_its_twin() {
    for size in [65, 1500, 10_007] {
        let mut start = start("pile", size);
        start.system.gravity *= 100.0;
        let top = start.system.spheres.iter().map(|s| s.position.z).fold(0.0, f64::max);
        for sphere in &mut start.system.spheres {
            sphere.mass *= if sphere.position.z > 0.5 * top { 1000.0 } else { 1.0 };
        }
        let case = awake(Pass::SolveAfter)(&start);
        let output = case.run();
        assert_eq!(output.work[LAST_IN_CONTACT as usize], ITERATION_BATCHES + 1, "turns of {size} spheres");
        Total::new().add(&case.name, case.findings(&output));
    }
}

// A large sphere on small ones has more contacts than there are colours, and its block has more spheres than the memory of a
// workgroup holds.
#[test]
fn a_sphere_with_many_contacts_agrees_with_its_twin() {
    let mut start = start("heap", 1500);
    let spheres = &mut start.system.spheres;
    let top = spheres.iter().map(|s| s.position.z).fold(0.0, f64::max);
    let middle = spheres.iter().map(|s| s.position).sum::<DVec3>() / spheres.len() as f64;
    let id = spheres.iter().map(|s| s.id).max().unwrap() + 1;
    let (radius, mass) = (600.0, 1000.0);
    spheres.push(Sphere { id, position: middle.with_z(top + 0.5 + radius), radius, mass, ..spheres[0] });
    let after = struck(&start);
    for (pass, case) in [(Pass::SolveFirst, awake(Pass::SolveFirst)(&start)), (Pass::SolveAfter, after)] {
        let output = case.run();
        let layout = &case.harness.site.layout;
        let blocks =
            &output.pool[layout.ordered_blocks as usize..][..(BLOCK_WORDS * COLOURS * layout.slots) as usize];
        let most =
            |word: usize| blocks.chunks_exact(BLOCK_WORDS as usize).map(|block| block[word]).max().unwrap();
        let (colours, spheres) = (most(0), most(1));
        assert!(colours > CONSTRAINT_COLOURS && spheres > MOST_STAGED, "{pass:?}: {colours} {spheres}");
        Total::new().add(&case.name, case.findings(&output));
    }
}

// In a pile that comes down some blocks are settled by the first solve and others are not; impacts and unsettled contacts make some
// of the blocks active after the rounds.
#[test]
fn blocks_are_active_only_where_something_changes() {
    let start = Start { substeps: 6, ..start("pile", 10_007) };
    for pass in [Pass::SolveFirst, Pass::SolveAfter] {
        let case = awake(pass)(&start);
        let output = case.run();
        Total::new().add(&case.name, case.findings(&output));
        let marks = &output.work[marks(&case.harness.site.layout)];
        let active = marks.iter().filter(|&&mark| mark > 0).count();
        assert!(active > 0 && active < marks.len(), "{pass:?}: {active} of {}", marks.len());
    }
    let of_output: &[Slip] = &[
        ("an active block", |m, layout, _| {
            let block = marks(layout).find(|&block| m.work[block] == 0).unwrap();
            m.work[block] = ACTIVE_FIRST;
        }),
        ("whether the first batch solves", |m, _, _| m.work[AHEAD as usize] = 0),
    ];
    notices(&start, awake(Pass::SolveFirst), &[], of_output);
}

#[test]
fn what_contacts_keep_agrees_with_the_twin() {
    agrees("rest kept", awake(Pass::KeepContacts));
}

#[test]
fn what_sleeps_agrees_with_the_twin() {
    let (mut asleep, mut total) = (0, Total::new());
    for start in [start("pile", 65), start("pile", 10_007), start("heap", 10_007), start("drum", 1_331)] {
        for (what, sleep_timer) in LULLS {
            for pass in [Pass::SolveFirst, Pass::SolveAfter, Pass::KeepContacts] {
                let case = lulled(&start, sleep_timer, pass);
                let output = case.run();
                asleep += u64::from(output.work[ASLEEP_COUNT as usize]);
                total.add(&format!("{}, {what}", case.name), case.findings(&output));
            }
        }
    }
    assert!(asleep > 40_000, "{asleep}");
}

#[test]
fn every_sphere_is_once_in_the_order_of_contacts() {
    for kind in ["pile", "heap", "strewn"] {
        let case = order(&start(kind, 10_007));
        let mut total = Total::new();
        total.add(&case.name, case.findings(&case.run()));
        total.report(kind, &[]);
        assert!(total.0.compared > 10_007, "{kind}: {} compared", total.0.compared);
    }
}

#[test]
fn a_slip_in_rest_is_noticed() {
    let of_input: &[Slip] = &[
        ("a velocity", |m, _, _| m.bodies[PRESENT][30].velocity.z -= 1e-3),
        ("a spin", |m, _, _| m.tags[PRESENT][30].spin.x += 0.1),
        ("an inverse mass", |m, _, _| m.bodies[PRESENT][7].inverse_mass *= 1.1),
        ("who is calm", |m, layout, _| {
            for rank in 0..layout.sphere_count {
                m.warm_start[(WARM_START_HEAD + RANK_WORDS * rank + 2) as usize] = 1 << 20;
            }
        }),
        ("what was kept", |m, layout, _| {
            let first = (WARM_START_HEAD + RANK_WORDS * layout.sphere_count) as usize;
            for word in &mut m.warm_start[first..] {
                *word = 0;
            }
        }),
    ];
    let of_output: &[Slip] = &[
        ("a velocity", |m, _, _| m.bodies[PRESENT][12].velocity.x += 1e-3),
        ("a row", |m, layout, _| {
            let heads = layout.constraint_heads as usize;
            let owner = (0..layout.sphere_count as usize).find(|i| m.work[heads + 2 * i + 1] > 0).unwrap();
            m.work[heads + 2 * owner + 1] -= 1;
        }),
        ("a load", |m, layout, _| {
            let impulses = (0..m.work[CONSTRAINT_COUNT as usize])
                .map(|constraint| layout.constraints + constraint * CONSTRAINT_WORDS + IMPULSE_PLACE);
            let at = impulses.map(|at| at as usize).find(|&at| f32::from_bits(m.pool[at]) > 0.0).unwrap();
            m.pool[at] = (1.01 * f32::from_bits(m.pool[at])).to_bits();
        }),
        ("who sleeps", |m, _, _| m.work[ASLEEP_COUNT as usize] += 1),
        ("whose spin has changed", |m, layout, _| {
            m.work[layout.stirred as usize..][..layout.sphere_count as usize]
                .iter_mut()
                .for_each(|flags| *flags ^= TURNED);
        }),
        ("a time at rest", |m, layout, _| m.work[layout.rested as usize + 3] ^= 1 << 22),
        ("what holds a pair", |m, layout, _| m.work[layout.flags as usize] ^= 4),
    ];
    // After a few substeps the contacts have impulses to keep.
    let pressed = Start { substeps: 6, ..start("pile", 65) };
    notices(&pressed, awake(Pass::SolveFirst), of_input, of_output);
    let of_input: &[Slip] = &[("a clock", |m, _, _| {
        m.nodes.iter_mut().for_each(|node| node.clock *= 0.5);
    })];
    notices(&start("pile", 65), awake(Pass::SolveAfter), of_input, &of_output[..3]);
    let of_output: &[Slip] = &[("a cell in the order", |m, layout, _| m.work[layout.order as usize] += 1)];
    notices(&start("pile", 65), order, &[], of_output);
    let of_output: &[Slip] = &[
        ("a sleep timer", |m, _, _| m.warm_start[WARM_START_HEAD as usize + 2] += 1),
        ("a number of contacts", |m, _, _| m.warm_start[WARM_START_HEAD as usize + 1] ^= 1 << 31),
        ("a contact impulse", |m, layout, _| {
            m.warm_start[(WARM_START_HEAD + RANK_WORDS * layout.sphere_count + 1) as usize] += 1;
        }),
    ];
    notices(&start("pile", 65), awake(Pass::KeepContacts), &[], of_output);
}
