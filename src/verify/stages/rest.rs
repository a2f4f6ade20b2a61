//! The comparisons of `rest`: the order of contact constraints, their solution before the launch and after the rounds, and
//! the warm start for the next substep.

use std::collections::{BTreeMap, HashMap};

use glam::Vec3;

use super::{
    Bindings, Comparison, Findings, Memory, OVERALL, PRESENT, Pass, Scatter, Site, Tolerances, Twin, columns,
};
use crate::verify::contacts::{
    ACTIVE_FIRST, feature_hits_of, flags_of, key_of, put_warm_start, rank_head, wall_hits_of,
};
use crate::{
    cpu::{constraints::ContactConstraint, rest::unsettled_speed},
    gpu::{
        buffer_layout::BufferLayout,
        encode::{self, Solving},
        layout::{
            AHEAD, ASLEEP_COUNT, CLOSING_PLACE, CODE_MASK, CONSTRAINED, HITS, IMPULSE_COUNT, IMPULSE_PLACE,
            IMPULSE_WORDS, INDEX_MASK, INNER_COLOURS, LAST_IN_CONTACT, MOMENT_PLACE, PARTNER_PLACE, PAST_H,
            RESTED, STIRRED, SURFACE_BITS, SURFACE_PLACE, TURNED, WALL, constraint_words,
        },
    },
    state::{
        constants::{COLOURS, ITERATION_BATCHES, SHORTEST, SLEEP},
        warm_start::ContactImpulse,
    },
};

/// Tolerance of solved velocities and impulses, as a share of the speeds that meet and of what gravity adds: sums of a
/// dozen terms in each of up to nine sweeps over contacts that hang together, each term good to 6e-8. The scatter of
/// repetitions covers the iterations of later batches, and the error of closing speeds.
const SOLVED: f32 = 2e-5;

/// Rounding of a distance of two spheres that touch, as a share of it: four units in the last place of an f32.
const GAP: f32 = 4.0 * f32::EPSILON;

/// Difference between the velocity change of a block and the limit of unsettled ones, as a share of the limit, below which the
/// two sides may disagree.
const NEAR_LIMIT: f32 = 0.02;

/// Tolerance of the time at rest, as a share of the substep.
const RESTING: f32 = 2e-6;

pub const ORDER: Comparison = Comparison {
    pass: Pass::OrderContacts,
    bindings: Bindings::Order,
    input: |site, twin| {
        let mut input = Memory::of(site, twin);
        let layout = &site.layout;
        let end = (layout.order + 2 * layout.sphere_count) as usize;
        input.work[layout.slot_starts as usize..end].fill(0);
        input
    },
    // The twin orders its contacts with its spheres.
    twin: |_| (),
    dispatches: |_, all| encode_order(all),
    compare: order,
};

pub const BEFORE: Comparison = Comparison {
    pass: Pass::SolveFirst,
    bindings: Bindings::Rest,
    input: |site, twin| {
        let mut input = Memory::of(site, twin);
        input.begin_substep(&site.layout);
        input
    },
    twin: Twin::rest_before,
    dispatches: |site, all| solving(site, all).before(),
    compare: |site, input, twin, output, findings| {
        solve_first(site, twin, output, &Scatter::default(), findings);
        turns(site, input, twin, output, findings);
    },
};

pub const AFTER: Comparison = Comparison {
    pass: Pass::SolveAfter,
    bindings: Bindings::Rest,
    input: |site, twin| Memory::of(site, twin),
    twin: Twin::rest_after,
    dispatches: |site, all| solving(site, all).after(),
    compare: |site, _, twin, output, findings| solve(site, twin, output, &Scatter::default(), findings),
};

pub const KEEP: Comparison = Comparison {
    pass: Pass::KeepContacts,
    bindings: Bindings::Rest,
    input: |site, twin| {
        let mut input = Memory::of(site, twin);
        input.warm_start[IMPULSE_COUNT as usize] = 0;
        input
    },
    twin: Twin::advance_sleep_timers,
    dispatches: |_, all| encode::keep(all).to_vec(),
    compare: keep,
};

// `Device::run` encodes the passes of the order, which need bindings of their own; only the workgroups count.
fn encode_order(all: u32) -> Vec<encode::Dispatch> {
    vec![("rest_hand", 0, all)]
}

fn solving(site: &Site, all: u32) -> Solving {
    let BufferLayout { sphere_count, slots, .. } = site.layout;
    Solving { sphere_count, slots, all, batches: ITERATION_BATCHES }
}

// Whether the device notes which spins it has changed in the first solve. The twin does not tell, because the limit is far below the
// tolerance of spins.
fn turns(site: &Site, input: &Memory, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let core = &twin.core;
    let world = &core.domain.world;
    let least = world.sleep_speed * (world.sleep_ticks(twin.frame.h) as f32 / SLEEP as f32);
    for i in 0..core.state.len() {
        let [before, after] = [input, output].map(|memory| memory.tags[PRESENT][i].spin);
        let change = (after - before).length() * core.state.radius(i);
        let is_near = (change - least).abs() < 0.01 * least;
        let is_supported = output.work[site.layout.rested as usize + i] != 0;
        if core.sleep.count() == 0 && core.state.inverse_mass(i) > 0.0 && is_supported && !is_near {
            let has_turned = output.work[site.layout.stirred as usize + i] & TURNED != 0;
            findings.flag("whether its spin has changed", i, has_turned, change > least);
        }
    }
}

/// Compares the first solve, with the scatter of its repetitions.
pub fn solve_first(site: &Site, twin: &Twin, output: &Memory, scatter: &Scatter, findings: &mut Findings) {
    solve(site, twin, output, scatter, findings);
    unsettled_blocks(&site.layout, twin, output, findings);
}

/// Compares a solve, with the scatter of its repetitions.
pub fn solve(site: &Site, twin: &Twin, output: &Memory, scatter: &Scatter, findings: &mut Findings) {
    saw(twin, findings);
    let gain = twin.core.domain.world.gravity.length() * twin.frame.h;
    let velocities = (0..twin.core.state.len()).map(|i| twin.core.state.velocity(i).length());
    let fastest = velocities.fold(gain, f32::max);
    let impulses = constraints(&site.layout, twin, output, (fastest, scatter), findings);
    let core = &twin.core;
    let asleep = (output.work[ASLEEP_COUNT as usize], core.sleep.count() as u32);
    findings.equal("spheres that sleep", OVERALL, asleep.0, asleep.1);
    for i in 0..core.state.len() {
        let is_woken = output.work[site.layout.stirred as usize + i] & STIRRED != 0;
        findings.flag("whether it is woken", i, is_woken, core.sleep.is_woken(i));
    }
    if !findings.is_clean() {
        return;
    }
    let (bodies, tags) = columns(&core.state, &site.host);
    for i in 0..bodies.len() {
        let [velocity, spin] = scatter.of_sphere(i);
        let tolerances = Tolerances {
            offset: Vec3::ZERO,
            velocity: velocity.max(SOLVED * fastest),
            rim: (spin * bodies[i].radius).max(SOLVED * fastest),
        };
        let mut found = (output.bodies[PRESENT][i], output.tags[PRESENT][i]);
        let rested = f32::from_bits(output.work[site.layout.rested as usize + i]);
        let can_fly = bodies[i].inverse_mass > 0.0 && !core.sleep.contains(i);
        let is_tie = can_fly
            && (rested > 0.0) != (core.rested[i] > 0.0)
            && impulses[i] * bodies[i].inverse_mass <= SOLVED * fastest;
        if is_tie {
            // Rounding decides whether any impulse is left, hence whether the sphere is supported or flies. The velocity at
            // the end is the same: see src/cpu/rest.rs.
            found.0.velocity += twin.core.domain.world.gravity * (0.5 * (core.rested[i] - rested));
            findings.near_ties += 1;
        }
        findings.sphere(i, found, (bodies[i], tags[i]), tolerances);
        if is_tie {
            continue;
        }
        let pressed = output.work[site.layout.pressed as usize + i];
        findings.equal("pressed contacts before the sweep", i, pressed, core.pressed.spheres(i).into());
        findings.near("time at rest", findings.units.time, i, rested, core.rested[i], RESTING * twin.frame.h);
    }
    contact_flags(&site.layout, twin, output, findings);
}

// Compares which blocks the first solve leaves unsettled. Blocks whose change is within the tolerance of the limit may differ.
fn unsettled_blocks(layout: &BufferLayout, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let limit = unsettled_speed(twin.frame);
    for block in 0..twin.core.blocks.numbers().count() as u32 {
        let change = twin.rest.change_of(block);
        let found = output.work[(layout.active_blocks + block) as usize];
        let expected = if twin.rest.is_unsettled(block, twin.frame) { ACTIVE_FIRST } else { 0 };
        if (change - limit).abs() > NEAR_LIMIT * limit {
            findings.equal("mark of an unsettled block", OVERALL, found, expected);
        }
    }
    let blocks = output.get(layout.active_blocks, twin.core.blocks.numbers().count());
    let solves = output.work[AHEAD as usize] != 0;
    findings.flag("whether the first batch solves", OVERALL, solves, blocks.iter().any(|&mark| mark != 0));
}

// Counts the contact constraints of all kinds.
fn saw(twin: &Twin, findings: &mut Findings) {
    let surfaces = &twin.core.domain.world.surfaces;
    let count = |is: &dyn Fn(&ContactConstraint) -> bool| {
        let all = (0..twin.core.state.len()).flat_map(|i| twin.core.constraints.of(i));
        all.filter(|constraint| is(constraint)).count() as u64
    };
    findings.saw("contacts", count(&|_| true));
    findings.saw("in contact", count(&|constraint| constraint.impulse.normal > 0.0));
    findings.saw(
        "sliding",
        count(&|constraint| {
            let most = surfaces[constraint.surface as usize].friction * constraint.impulse.normal;
            constraint.impulse.normal > 0.0 && constraint.impulse.tangent.length() > 0.999 * most
        }),
    );
    findings.saw("on walls", count(&|constraint| constraint.j & WALL != 0));
}

/// A contact constraint on the device.
struct Found {
    normal: Vec3,
    closing: f32,
    impulse: ContactImpulse,
}

// The contact constraints of a sphere by partner and code.
fn found(output: &Memory, layout: &BufferLayout, i: usize) -> BTreeMap<(u32, u32), Found> {
    let head = output.get(layout.constraint_heads + 2 * i as u32, 2);
    let constraint = |k: u32| {
        let words_of_constraint = constraint_words(layout.static_world.has_shapes);
        let at = (layout.constraints + k * words_of_constraint) as usize;
        let words = &output.pool[at..at + words_of_constraint as usize];
        let f = |k: u32| f32::from_bits(words[k as usize]);
        let v = |k: u32| Vec3::new(f(k), f(k + 1), f(k + 2));
        let (normal, tangent) = (f(IMPULSE_PLACE), v(IMPULSE_PLACE + 1));
        let impulse = ContactImpulse { normal, tangent, moment: v(MOMENT_PLACE) };
        let code = words[SURFACE_PLACE as usize] >> SURFACE_BITS & CODE_MASK;
        let key = (words[PARTNER_PLACE as usize], code);
        (key, Found { normal: v(0), closing: f(CLOSING_PLACE), impulse })
    };
    (head[0]..head[0] + head[1]).map(constraint).collect()
}

// Compares the contact constraints. Returns the largest normal impulse on each sphere, of either side.
fn constraints(
    layout: &BufferLayout,
    twin: &Twin,
    output: &Memory,
    (fastest, scatter): (f32, &Scatter),
    findings: &mut Findings,
) -> Vec<f32> {
    let core = &twin.core;
    let (unit, length) = (findings.units.velocity(), findings.units.length);
    let of_impulse = findings.units.mass * unit;
    // Id of a sphere, or number of a wall.
    let name = |partner: u32| {
        f64::from(if partner & WALL == 0 { core.state.id[partner as usize] } else { partner & !WALL })
    };
    let mut impulses = vec![0.0f32; core.state.len()];
    for i in 0..core.state.len() {
        let mut on_device = found(output, layout, i);
        for constraint in core.constraints.of(i) {
            let Some(found) = on_device.remove(&(constraint.j, constraint.code())) else {
                findings.differ("contact with", i, vec![], vec![name(constraint.j)], 0.0);
                continue;
            };
            let normals = (found.normal, constraint.normal);
            findings.near_vector("normal of a contact", 1.0, i, normals, Vec3::splat(SOLVED));
            let speed = SOLVED * fastest + closing_error(twin, i, constraint);
            let what = "speed that closes a gap";
            findings.near(what, unit, i, found.closing, constraint.closing, speed);
            let (device, expected) = (found.impulse, constraint.impulse);
            let larger = device.normal.max(expected.normal);
            impulses[i] = impulses[i].max(larger);
            if constraint.j & WALL == 0 {
                let other = &mut impulses[constraint.j as usize];
                *other = other.max(larger);
            }
            let [normal, tangent, moment] = scatter.of_contact(i, constraint.j, constraint.code());
            let tolerance = SOLVED * fastest * constraint.mass;
            findings.near(
                "normal impulse of a contact",
                of_impulse,
                i,
                device.normal,
                expected.normal,
                tolerance.max(normal),
            );
            let tangents = (device.tangent, expected.tangent);
            let of_friction = Vec3::splat(tolerance.max(tangent));
            findings.near_vector("friction of a contact", of_impulse, i, tangents, of_friction);
            let moments = (device.moment, expected.moment);
            let of_moment = Vec3::splat((tolerance * core.state.radius(i)).max(moment));
            findings.near_vector("moment of a contact", of_impulse * length, i, moments, of_moment);
        }
        if let Some(&(j, _)) = on_device.keys().next() {
            findings.differ("contact with", i, vec![name(j)], vec![], 0.0);
        }
    }
    impulses
}

// Error of the speed that closes a gap: the rounding of the distance over the time that is left. The time is short after an
// impact late in the substep.
fn closing_error(twin: &Twin, i: usize, constraint: &ContactConstraint) -> f32 {
    let (core, h) = (&twin.core, twin.frame.h);
    let is_wall = constraint.j & WALL != 0;
    let of_partner =
        |values: &dyn Fn(usize) -> f32| if is_wall { 0.0 } else { values(constraint.j as usize) };
    let distance = core.state.radius(i) + of_partner(&|j| core.state.radius(j));
    let clock = core.clock[i].max(of_partner(&|j| core.clock[j]));
    GAP * distance / (h - clock).max(SHORTEST * h)
}

/// Compares the contact flags: which pairs hold a contact constraint, and which collided too often.
pub fn contact_flags(layout: &BufferLayout, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let flags = |at: usize| {
        let k = at - layout.entries as usize;
        output.work[layout.flags as usize + k / 8] >> (4 * (k % 8))
    };
    for i in 0..twin.core.state.len() {
        let mut equal = |what, found, expected| {
            if found != expected {
                findings.equal(what, i, found, expected);
            }
        };
        let (range, entries) = output.list(i);
        for (at, entry) in range.zip(entries) {
            let expected = flags_of(twin, i, entry & INDEX_MASK);
            equal("impacts of a pair", flags(at) & HITS, expected & HITS);
            // After the rounds more pairs are in contact, but no pass asks for them.
            if output.work[LAST_IN_CONTACT as usize] <= 1 {
                equal("contact of a pair", flags(at) & CONSTRAINED, expected & CONSTRAINED);
            }
        }
        let (range, features, _) = output.features(layout, i);
        for (at, &feature) in range.zip(features) {
            equal("impacts on a wall feature", flags(at) & HITS, feature_hits_of(twin, i, feature));
        }
        equal("impacts on planes", output.work[layout.wall_hits as usize + i], wall_hits_of(twin, i));
    }
}

fn keep(site: &Site, _: &Memory, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let mut expected = Memory::new(&site.layout);
    put_warm_start(twin, &site.host, &mut expected);
    let first = rank_head(twin.core.state.len());
    let mut by_rank: Vec<usize> = (0..twin.core.state.len()).collect();
    by_rank.sort_unstable_by_key(|&i| twin.core.state.id[i]);
    let of = |memory: &Memory, rank: usize| -> (u32, Vec<u32>) {
        let head = rank_head(rank);
        let (start, count) =
            (memory.warm_start[head] as usize, (memory.warm_start[head + 1] & !RESTED) as usize);
        let words = IMPULSE_WORDS as usize;
        let warm_start = memory.warm_start[first + start * words..][..count * words].to_vec();
        (memory.warm_start[head + 1], warm_start)
    };
    for (rank, &i) in by_rank.iter().enumerate() {
        let (found, wanted) = (of(output, rank), of(&expected, rank));
        findings.equal("contacts kept, and whether any is in contact", i, found.0, wanted.0);
        let sleep_timer = [output, &expected].map(|memory| memory.warm_start[rank_head(rank) + 2]);
        findings.equal("sleep timer", i, sleep_timer[0], sleep_timer[1]);
        let differ = found.1.iter().zip(&wanted.1).filter(|(a, b)| a != b).count();
        findings.equal("words of the warm start that differ", i, differ as u32, 0);
    }
    let (found, wanted) = (output.warm_start[PAST_H as usize], expected.warm_start[PAST_H as usize]);
    findings.equal("length of the substep, bits", OVERALL, found, wanted);
}

// Every sphere is once in the order, in a cell with the twin's colours, and a block has one slot.
fn order(site: &Site, _: &Memory, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let layout = &site.layout;
    let per_colour = layout.slots as usize * INNER_COLOURS as usize;
    let keys = COLOURS * per_colour;
    let starts = output.get(layout.slot_starts, keys + 1);
    let cell = |i: u32| twin.core.state.cell[i as usize].truncate();
    let mut seen = vec![0_u32; layout.sphere_count as usize];
    let mut slots = HashMap::new();
    for key in 0..keys {
        for k in starts[key]..starts[key + 1] {
            let head = output.get(layout.order + 2 * k, 2);
            let (first, end) = (head[0], head[1].min(layout.sphere_count));
            if first >= end {
                findings.equal("begin of a cell in the order", OVERALL, first, end);
                continue;
            }
            (first..end).filter(|&i| cell(i) == cell(first)).for_each(|i| seen[i as usize] += 1);
            let (expected, block) = key_of(twin, cell(first));
            let colours = |key: usize| [(key / per_colour) as u32, key as u32 % INNER_COLOURS];
            for (found, expected) in colours(key).into_iter().zip(colours(expected)) {
                findings.equal("colour of its cell", first as usize, found, expected);
            }
            let slot = (key % per_colour) as u32 / INNER_COLOURS;
            let of_block = *slots.entry(block).or_insert(slot);
            findings.equal("slot of its block", first as usize, slot, of_block);
        }
    }
    for (i, seen) in seen.into_iter().enumerate() {
        findings.equal("places in the order of contact constraints", i, seen, 1);
    }
}
