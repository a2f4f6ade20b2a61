//! Stage 9 against its twin: contacts that rest, before the launch and after the rounds; their order, and what they keep.

use super::{
    super::{
        buffers::Buffers,
        effort::Effort,
        encode::{self, Encoder, Solving},
        layout::{
            ASLEEP_COUNT, INNER_COLOURS, LAST_CARRIED, LOAD_COUNT, LOADS_HEAD, RANK_WORDS, ROW_COUNT,
            ROW_WORDS, WALL,
        },
    },
    Case, PRESENT, Rig, Slip, Verdict, agrees, contacts,
    findings::Findings,
    memory::Memory,
    notices,
    starts::{Start, start},
    twin::Twin,
};
use crate::cpu::{
    blocks::{Axis, COLOURS},
    rest::TURNS,
    rows::Row,
    sleep::{SLEEP, STILL},
};

// Hands what lockstep finds on to the verdict.
fn judge(verdict: &mut Verdict, find: impl FnOnce(&mut Findings), twin: &Twin) {
    let mut findings = Findings::new(&twin.core.state.id, twin.core.units, 1.0);
    find(&mut findings);
    verdict.compared += 8 * twin.core.rows.count as u64 + twin.core.state.len() as u64;
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

fn lull(rig: &mut Rig, calm: Calm) {
    let core = &mut rig.twin.core;
    for i in 0..core.state.len() {
        let is_fixed = core.state.inverse_mass(i) == 0.0;
        core.sleep.calm[i] = if is_fixed { STILL } else { calm(i, SLEEP) };
        // What is calm has long had no contact.
        if core.sleep.calm[i] > 0 {
            core.state.spin[i].w = core.state.spin[i].w.min(-1.0);
        }
    }
}

fn before(start: &Start) -> Case {
    before_lulled(start, awake)
}

fn before_lulled(start: &Start, calm: Calm) -> Case {
    let mut rig = Rig::before_substep(start);
    lull(&mut rig, calm);
    let mut input = rig.memory();
    input.begin_substep(&rig.places);
    rig.twin.rest_before();
    solved(rig, input, true)
}

fn after(start: &Start) -> Case {
    after_lulled(start, awake)
}

fn after_lulled(start: &Start, calm: Calm) -> Case {
    let mut rig = Rig::before_substep(start);
    lull(&mut rig, calm);
    rig.twin.rest_before();
    rig.twin.launch();
    rig.twin.sweep();
    rig.twin.finish_rounds();
    let input = rig.memory();
    rig.twin.rest_after();
    solved(rig, input, false)
}

fn solved(rig: Rig, input: Memory, is_first: bool) -> Case {
    let (slots, places) = (rig.places.slots, rig.places);
    let solving = Solving { sphere_count: places.sphere_count, slots, all: rig.all(), turns: TURNS };
    let dispatches = match (slots, is_first) {
        (0, _) => vec![],
        (_, true) => solving.before(),
        (_, false) => solving.after(),
    };
    let Rig { site, twin } = rig;
    let host = site.host.clone();
    let rows = |of: fn(&Row) -> bool| {
        (0..twin.core.state.len()).flat_map(|i| twin.core.rows.of(i)).filter(|row| of(row)).count() as u64
    };
    let loaded = rows(|row| row.load.normal > 0.0);
    let sliding = rows(|row| {
        let most = row.friction * row.load.normal;
        row.load.normal > 0.0 && row.load.tangent.length() > 0.999 * most
    });
    let on_planes = rows(|row| row.j & WALL != 0);
    Case::new(site, input, dispatches, false, move |output, verdict| {
        if slots == 0 {
            return;
        }
        verdict.saw("contacts", twin.core.rows.count as u64);
        verdict.saw("loaded", loaded);
        verdict.saw("sliding", sliding);
        verdict.saw("on planes", on_planes);
        judge(verdict, |findings| contacts::rest(&host, &places, &twin, output, findings), &twin);
    })
}

fn keep(start: &Start) -> Case {
    keep_lulled(start, awake)
}

fn keep_lulled(start: &Start, calm: Calm) -> Case {
    let mut rig = Rig::before_substep(start);
    lull(&mut rig, calm);
    rig.twin.rest_before();
    rig.twin.launch();
    rig.twin.sweep();
    rig.twin.finish_rounds();
    rig.twin.rest_after();
    rig.twin.advance();
    let mut input = rig.memory();
    if rig.places.slots > 0 {
        input.loads[LOAD_COUNT as usize] = 0;
        rig.twin.count_on();
    }
    let (places, all) = (rig.places, rig.all());
    let dispatches = if places.slots > 0 { encode::keep(all).to_vec() } else { vec![] };
    let Rig { site, twin } = rig;
    let host = site.host.clone();
    Case::new(site, input, dispatches, false, move |output, verdict| {
        if places.slots > 0 {
            judge(verdict, |findings| contacts::keep(&host, &places, &twin, output, findings), &twin);
        }
    })
}

// What the scan is in between needs buffers of its own: the dispatches as a step has them.
fn order(kind: &'static str) -> Verdict {
    let mut verdict = Verdict::new(kind);
    let mut rig = Rig::new(&start(kind, 10_007));
    rig.twin.broad_phase();
    let (context, places) = (super::context(), rig.places);
    let pipelines = super::pipelines(&rig.host);
    let mut buffers = Buffers::new(context, &pipelines, places, None).unwrap();
    let mut input = rig.memory();
    input.work[places.slot_starts as usize..][..8].fill(0);
    input.upload(context, &buffers);
    buffers.write_frames(context, &pipelines, &[rig.frame]).unwrap();
    let effort = Effort::new(context);
    let mut encoder = Encoder::new(&context.device, &pipelines, &buffers, PRESENT, effort, None);
    encoder.order(0, 1 - PRESENT, rig.all());
    context.queue.submit([encoder.encoder.finish()]);
    let output = Memory::download(context, &buffers, &places).unwrap();
    let axes = Axis::of(&rig.host.grid);
    let cell = |i: usize| rig.twin.core.state.cell[i].truncate();
    let mut seen = vec![0; places.sphere_count as usize];
    let mut slots = std::collections::HashMap::new();
    let keys = COLOURS * places.slots as usize * INNER_COLOURS as usize;
    let starts = output.get(places.slot_starts, keys + 1);
    for key in 0..keys {
        for k in starts[key]..starts[key + 1] {
            let head = output.get(places.order + 2 * k, 2);
            let at = cell(head[0] as usize);
            (head[0]..head[1]).filter(|&i| cell(i as usize) == at).for_each(|i| seen[i as usize] += 1);
            // The same as the twin makes of it: its colours, and one place for each block.
            let (mut colour, mut inner, mut block) = (0, 0, [0; 3]);
            for axis in (0..3).rev() {
                block[axis] = axes[axis].block(at[axis]);
                colour = 2 * colour + block[axis].rem_euclid(2) as usize;
                inner = 3 * inner + ((at[axis] - block[axis] * axes[axis].edge) % 3) as usize;
            }
            let per_colour = places.slots as usize * INNER_COLOURS as usize;
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
        assert_eq!(output.work[LAST_CARRIED as usize], TURNS + 1, "turns of {size} spheres");
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
        for (what, calm) in LULLS {
            for make in [before_lulled, after_lulled, keep_lulled] {
                let case = make(&start, calm);
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
        ("who is calm", |m, places, _| {
            for rank in 0..places.sphere_count {
                m.loads[(LOADS_HEAD + RANK_WORDS * rank + 2) as usize] = 1 << 20;
            }
        }),
        ("what was kept", |m, places, _| {
            let first = (LOADS_HEAD + RANK_WORDS * places.sphere_count) as usize;
            for word in &mut m.loads[first..] {
                *word = 0;
            }
        }),
    ];
    let of_output: &[Slip] = &[
        ("a velocity", |m, _, _| m.bodies[PRESENT][12].velocity.x += 1e-3),
        ("a row", |m, places, _| {
            let heads = places.row_heads as usize;
            let owner = (0..places.sphere_count as usize).find(|i| m.work[heads + 2 * i + 1] > 0).unwrap();
            m.work[heads + 2 * owner + 1] -= 1;
        }),
        ("a load", |m, places, _| {
            let loads = (0..m.work[ROW_COUNT as usize]).map(|row| places.rows + row * ROW_WORDS + 8);
            let at = loads.map(|at| at as usize).find(|&at| f32::from_bits(m.pool[at]) > 0.0).unwrap();
            m.pool[at] = (1.01 * f32::from_bits(m.pool[at])).to_bits();
        }),
        ("who sleeps", |m, _, _| m.work[ASLEEP_COUNT as usize] += 1),
        ("a time at rest", |m, places, _| m.work[places.rested as usize + 3] ^= 1 << 22),
        ("what holds a pair", |m, places, _| m.work[places.flags as usize] ^= 4),
    ];
    notices(&start("pile", 65), before, of_input, of_output);
    let of_input: &[Slip] = &[("a clock", |m, _, _| {
        m.nodes.iter_mut().find(|node| node.clock > 0.0).unwrap().clock *= 0.5;
    })];
    notices(&start("pile", 65), after, of_input, &of_output[..3]);
}
