//! Stage 9 against its twin: contacts that rest, before the launch and after the rounds; their order, and what they keep.

use super::{
    Case, Harness, PRESENT, Slip, Verdict, agrees, contacts,
    findings::Findings,
    memory::Memory,
    notices,
    starts::{Start, start},
    twin::Twin,
};
use crate::gpu::{
    buffers::Buffers,
    dispatch_budget::DispatchBudget,
    encode::{self, Encoder, Solving},
    layout::{
        ASLEEP_COUNT, CONSTRAINT_COUNT, CONSTRAINT_WORDS, IMPULSE_COUNT, INNER_COLOURS, LAST_IN_CONTACT,
        RANK_WORDS, WALL, WARM_START_HEAD,
    },
};
use crate::{
    cpu::{blocks::Axis, constraints::ContactConstraint},
    state::constants::{COLOURS, ITERATION_BATCHES, SLEEP, STILL},
};

// Hands what the shared comparison finds on to the verdict.
fn judge(verdict: &mut Verdict, find: impl FnOnce(&mut Findings), twin: &Twin) {
    let mut findings = Findings::new(&twin.core.state.id, twin.core.domain.units, 1.0);
    find(&mut findings);
    verdict.compared += 8 * twin.core.constraints.count as u64 + twin.core.state.len() as u64;
    if let Some(difference) = findings.first() {
        verdict.fail(|| format!("{difference:?}"));
    }
}

/// For how long a sphere of this index has been calm, where so long is enough to sleep.
type Calm = fn(usize, u32) -> u32;

fn awake(_: usize, _: u32) -> u32 {
    0
}

// What the spheres do meanwhile is that of the start, which is anything but calm: only the contacts go by it.
const LULLS: [(&str, Calm); 4] = [
    ("asleep", |_, limit| limit + 3),
    ("falling asleep", |i, limit| if i % 5 == 0 { limit - 1 } else { limit }),
    ("drowsy", |_, limit| limit / 2 + 1),
    ("stirred", |i, limit| if i % 50 == 7 { 3 } else { limit }),
];

fn lull(harness: &mut Harness, sleep_timer: Calm) {
    let core = &mut harness.twin.core;
    for i in 0..core.state.len() {
        let is_fixed = core.state.inverse_mass(i) == 0.0;
        core.sleep.sleep_timer[i] = if is_fixed { STILL } else { sleep_timer(i, SLEEP) };
        // What is calm has long had no contact.
        if core.sleep.sleep_timer[i] > 0 {
            core.state.spin[i].w = core.state.spin[i].w.min(-1.0);
        }
    }
}

fn before(start: &Start) -> Case {
    before_lulled(start, awake)
}

fn before_lulled(start: &Start, sleep_timer: Calm) -> Case {
    let mut harness = Harness::before_substep(start);
    lull(&mut harness, sleep_timer);
    let mut input = harness.memory();
    input.begin_substep(&harness.layout);
    harness.twin.rest_before();
    solved(harness, input, true)
}

fn after(start: &Start) -> Case {
    after_lulled(start, awake)
}

fn after_lulled(start: &Start, sleep_timer: Calm) -> Case {
    let mut harness = Harness::before_substep(start);
    lull(&mut harness, sleep_timer);
    harness.twin.rest_before();
    harness.twin.launch();
    harness.twin.sweep();
    harness.twin.finish_rounds();
    let input = harness.memory();
    harness.twin.rest_after();
    solved(harness, input, false)
}

fn solved(harness: Harness, input: Memory, is_first: bool) -> Case {
    let (slots, layout) = (harness.layout.slots, harness.layout);
    let solving =
        Solving { sphere_count: layout.sphere_count, slots, all: harness.all(), batches: ITERATION_BATCHES };
    let dispatches = match (slots, is_first) {
        (0, _) => vec![],
        (_, true) => solving.before(),
        (_, false) => solving.after(),
    };
    let Harness { site, twin } = harness;
    let host = site.host.clone();
    let constraints = |of: fn(&ContactConstraint) -> bool| {
        (0..twin.core.state.len())
            .flat_map(|i| twin.core.constraints.of(i))
            .filter(|constraint| of(constraint))
            .count() as u64
    };
    let in_contact = constraints(|constraint| constraint.impulse.normal > 0.0);
    let sliding = constraints(|constraint| {
        let most = constraint.friction * constraint.impulse.normal;
        constraint.impulse.normal > 0.0 && constraint.impulse.tangent.length() > 0.999 * most
    });
    let on_planes = constraints(|constraint| constraint.j & WALL != 0);
    Case::new(site, input, dispatches, false, move |output, verdict| {
        if slots == 0 {
            return;
        }
        verdict.saw("contacts", twin.core.constraints.count as u64);
        verdict.saw("loaded", in_contact);
        verdict.saw("sliding", sliding);
        verdict.saw("on planes", on_planes);
        judge(verdict, |findings| contacts::rest(&host, &layout, &twin, output, findings), &twin);
    })
}

fn keep(start: &Start) -> Case {
    keep_lulled(start, awake)
}

fn keep_lulled(start: &Start, sleep_timer: Calm) -> Case {
    let mut harness = Harness::before_substep(start);
    lull(&mut harness, sleep_timer);
    harness.twin.rest_before();
    harness.twin.launch();
    harness.twin.sweep();
    harness.twin.finish_rounds();
    harness.twin.rest_after();
    harness.twin.advance();
    let mut input = harness.memory();
    if harness.layout.slots > 0 {
        input.warm_start[IMPULSE_COUNT as usize] = 0;
        harness.twin.advance_sleep_timers();
    }
    let (layout, all) = (harness.layout, harness.all());
    let dispatches = if layout.slots > 0 { encode::keep(all).to_vec() } else { vec![] };
    let Harness { site, twin } = harness;
    let host = site.host.clone();
    Case::new(site, input, dispatches, false, move |output, verdict| {
        if layout.slots > 0 {
            judge(verdict, |findings| contacts::keep(&host, &layout, &twin, output, findings), &twin);
        }
    })
}

// What the scan is in between needs buffers of its own: the dispatches as a step has them.
fn order(kind: &'static str) -> Verdict {
    let mut verdict = Verdict::new(kind);
    let mut harness = Harness::new(&start(kind, 10_007));
    harness.twin.broad_phase();
    let (context, layout) = (super::context(), harness.layout);
    let pipelines = super::pipelines(&harness.host);
    let mut buffers = Buffers::new(context, &pipelines, layout, None).unwrap();
    let mut input = harness.memory();
    input.work[layout.slot_starts as usize..][..8].fill(0);
    input.upload(context, &buffers);
    buffers.write_frames(context, &pipelines, &[harness.frame]).unwrap();
    let dispatch_budget = DispatchBudget::new(context);
    let mut encoder =
        Encoder::new(&context.device, &pipelines, &buffers, PRESENT, dispatch_budget, None, false);
    encoder.order(0, 1 - PRESENT, harness.all());
    context.queue.submit([encoder.encoder.finish()]);
    let output = Memory::download(context, &buffers, &layout).unwrap();
    let axes = Axis::of(&harness.host.domain.grid);
    let cell = |i: usize| harness.twin.core.state.cell[i].truncate();
    let mut seen = vec![0; layout.sphere_count as usize];
    let mut slots = std::collections::HashMap::new();
    let keys = COLOURS * layout.slots as usize * INNER_COLOURS as usize;
    let starts = output.get(layout.slot_starts, keys + 1);
    for key in 0..keys {
        for k in starts[key]..starts[key + 1] {
            let head = output.get(layout.order + 2 * k, 2);
            let at = cell(head[0] as usize);
            (head[0]..head[1]).filter(|&i| cell(i as usize) == at).for_each(|i| seen[i as usize] += 1);
            // The same as the twin makes of it: its colours, and one place for each block.
            let (mut colour, mut inner, mut block) = (0, 0, [0; 3]);
            for axis in (0..3).rev() {
                block[axis] = axes[axis].block(at[axis]);
                colour = 2 * colour + block[axis].rem_euclid(2) as usize;
                inner = 3 * inner + ((at[axis] - block[axis] * axes[axis].edge) % 3) as usize;
            }
            let per_colour = layout.slots as usize * INNER_COLOURS as usize;
            verdict.equal(
                "colours of the cell of",
                head[0] as usize,
                (key / per_colour, key % 27),
                (colour, inner),
            );
            let slot = key % per_colour / INNER_COLOURS as usize;
            let first = *slots.entry(block).or_insert(slot);
            verdict.equal("slot of the block of", head[0] as usize, slot, first);
        }
    }
    for (i, seen) in seen.into_iter().enumerate() {
        verdict.equal("places in the order of", i, seen, 1);
    }
    verdict
}

#[test]
fn rest_agrees_with_its_twin() {
    agrees("rest before", before);
    agrees("rest after", after);
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
        let case = after(&start);
        let output = case.run();
        assert_eq!(output.work[LAST_IN_CONTACT as usize], ITERATION_BATCHES + 1, "turns of {size} spheres");
        case.verdict(&output).assert_clean();
    }
}

#[test]
fn what_contacts_keep_agrees_with_the_twin() {
    agrees("rest kept", keep);
}

#[test]
fn what_sleeps_agrees_with_the_twin() {
    let mut asleep = 0;
    for start in [start("pile", 65), start("pile", 10_007), start("heap", 10_007)] {
        for (what, sleep_timer) in LULLS {
            for make in [before_lulled, after_lulled, keep_lulled] {
                let case = make(&start, sleep_timer);
                let output = case.run();
                asleep += u64::from(output.work[ASLEEP_COUNT as usize]);
                let mut verdict = case.verdict(&output);
                verdict.name = format!("{}, {what}", verdict.name);
                verdict.assert_clean();
            }
        }
    }
    assert!(asleep > 40_000, "{asleep}");
}

#[test]
fn every_sphere_is_once_in_the_order_of_contacts() {
    for kind in ["pile", "heap", "strewn"] {
        let verdict = order(kind);
        verdict.assert_clean();
        verdict.report();
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
                .map(|constraint| layout.constraints + constraint * CONSTRAINT_WORDS + 8);
            let at = impulses.map(|at| at as usize).find(|&at| f32::from_bits(m.pool[at]) > 0.0).unwrap();
            m.pool[at] = (1.01 * f32::from_bits(m.pool[at])).to_bits();
        }),
        ("who sleeps", |m, _, _| m.work[ASLEEP_COUNT as usize] += 1),
        ("a time at rest", |m, layout, _| m.work[layout.rested as usize + 3] ^= 1 << 22),
        ("what holds a pair", |m, layout, _| m.work[layout.flags as usize] ^= 4),
    ];
    notices(&start("pile", 65), before, of_input, of_output);
    let of_input: &[Slip] = &[("a clock", |m, _, _| {
        m.nodes.iter_mut().find(|node| node.clock > 0.0).unwrap().clock *= 0.5;
    })];
    notices(&start("pile", 65), after, of_input, &of_output[..3]);
}
