//! Contacts that rest as they lie on the device, and their stage compared with its twin.

use std::collections::BTreeMap;

use glam::{IVec3, Vec3};

use super::{
    PRESENT,
    findings::Findings,
    memory::{Memory, constraints as state_rows},
    twin::Twin,
};
use crate::gpu::{
    buffer_layout::BufferLayout,
    host_mirror::HostMirror,
    layout::{
        ALL_WOKEN, ASLEEP_COUNT, CONSTRAINED, CONSTRAINT_COUNT, CONVERTED, HITS, IMPULSE_COUNT,
        IMPULSE_WORDS, INDEX_MASK, INNER_COLOURS, LAST_IN_CONTACT, PAST_H, RANK_WORDS, RESTED, WAKE_STATE,
        WALL, WARM_START_HEAD, constraint_words,
    },
};
use crate::{
    cpu::blocks::Axis,
    state::{
        constants::{self, COLOURS, COUNTED_PLANES},
        warm_start::ContactImpulse,
    },
};

/// Of velocities and loads that were solved for, as a share of the speeds that meet and of what gravity adds: sums of a dozen
/// terms in each of up to five passes over contacts in a row, each term good to 6e-8.
const SOLVED: f32 = 2e-5;

/// Of gaps and speeds that decide whether a contact rests, as a share of the limit.
const RIM: f32 = 2e-6;

/// Puts down the order of the contacts, the rows of the substep, and what those of the one before hand on.
pub fn put(twin: &Twin, host: &HostMirror, layout: &BufferLayout, memory: &mut Memory) {
    put_order(twin, layout, memory);
    put_warm_start(twin, host, memory);
    put_constraints(twin, layout, memory);
    if twin.has_lists {
        put_flags(twin, layout, memory);
    }
}

/// Where the cell of each sphere is in the order of contacts, as `key_of` of shaders/shared/blocks.wgsl says it.
fn key_of(twin: &Twin, layout: &BufferLayout, cell: IVec3) -> usize {
    let grid = &twin.core.domain.grid;
    let axes = Axis::of(grid);
    let (mut colour, mut inner, mut block) = (0, 0, [0; 3]);
    for axis in (0..3).rev() {
        let c = cell[axis];
        let at = axes[axis].block(c);
        colour = 2 * colour + at.rem_euclid(2) as usize;
        inner = 3 * inner + ((c - at * axes[axis].edge) % 3) as usize;
        block[axis] = at;
    }
    let slot = if grid.direct {
        let half = axes.map(|axis| (axis.blocks + 1) / 2);
        ((block[2] / 2 * half[1] + block[1] / 2) * half[0] + block[0] / 2) as usize
    } else {
        // Any function of the block will do.
        let mixed = block.iter().fold(0_u32, |h, &b| (h ^ b as u32).wrapping_mul(0x9e37_79b1).rotate_left(7));
        (mixed & (layout.slots - 1)) as usize
    };
    (colour * layout.slots as usize + slot) * INNER_COLOURS as usize + inner
}

fn put_order(twin: &Twin, layout: &BufferLayout, memory: &mut Memory) {
    let (grid, starts) = (&twin.core.domain.grid, &twin.core.starts);
    let cell = |i: usize| twin.core.state.cell[i].truncate();
    let mut heads: Vec<(usize, usize, usize)> = vec![];
    for i in (0..twin.core.state.len()).filter(|_| twin.has_starts) {
        let bucket = grid.bucket(grid.row(cell(i).y, cell(i).z), cell(i).x);
        let spheres = grid.range(starts, bucket);
        let (begin, end) = (spheres.start as usize, spheres.end as usize);
        if (begin..i).all(|k| cell(k) != cell(i)) {
            heads.push((key_of(twin, layout, cell(i)), i, end));
        }
    }
    heads.sort_unstable();
    let keys = COLOURS * layout.slots as usize * INNER_COLOURS as usize;
    for key in 0..=keys {
        let start = heads.partition_point(|head| head.0 < key);
        memory.work[layout.slot_starts as usize + key] = start as u32;
    }
    for (k, (_, begin, end)) in heads.into_iter().enumerate() {
        memory.put(layout.order + 2 * k as u32, &[begin as u32, end as u32]);
    }
}

fn put_warm_start(twin: &Twin, host: &HostMirror, memory: &mut Memory) {
    let core = &twin.core;
    let rank = |i: usize| host.ids.binary_search(&core.state.id[i]).expect("an id of the system");
    let mut rested = vec![false; core.state.len()];
    for i in 0..core.state.len() {
        for constraint in
            core.constraints.handed_on(i).0.iter().filter(|constraint| constraint.impulse.normal > 0.0)
        {
            rested[i] = true;
            if constraint.j & WALL == 0 {
                rested[constraint.j as usize] = true;
            }
        }
    }
    let first_load = rank_head(core.state.len());
    let mut total = 0;
    for (i, &rested) in rested.iter().enumerate() {
        let constraints = core.constraints.handed_on(i).0;
        let head = rank_head(rank(i));
        memory.warm_start[head] = total as u32;
        memory.warm_start[head + 2] = core.sleep.sleep_timer[i];
        memory.warm_start[head + 1] = constraints.len() as u32 | if rested { RESTED } else { 0 };
        for constraint in constraints {
            let at = first_load + total * IMPULSE_WORDS as usize;
            let partner =
                if constraint.j & WALL == 0 { rank(constraint.j as usize) as u32 } else { constraint.j };
            memory.warm_start[at] = partner;
            memory.warm_start[at + 1..at + 8].copy_from_slice(&words_of(&constraint.impulse));
            total += 1;
        }
    }
    memory.warm_start[PAST_H as usize] = core.constraints.handed_on(0).1.to_bits();
    memory.warm_start[IMPULSE_COUNT as usize] = total as u32;
}

// What is known of a rank; beyond the last the loads begin.
fn rank_head(rank: usize) -> usize {
    WARM_START_HEAD as usize + RANK_WORDS as usize * rank
}

fn words_of(impulse: &ContactImpulse) -> [u32; 7] {
    let ContactImpulse { normal, tangent: a, moment: b } = *impulse;
    [normal, a.x, a.y, a.z, b.x, b.y, b.z].map(f32::to_bits)
}

fn put_constraints(twin: &Twin, layout: &BufferLayout, memory: &mut Memory) {
    let core = &twin.core;
    let constraint_words = constraint_words(layout.static_world.has_shapes);
    let mut total = 0;
    for i in 0..core.state.len() {
        let constraints = core.constraints.of(i);
        memory.put(layout.constraint_heads + 2 * i as u32, &[total, constraints.len() as u32]);
        for constraint in constraints {
            let at = (layout.constraints + total * constraint_words) as usize;
            let n = constraint.normal;
            let words =
                [n.x, n.y, n.z, constraint.closing, constraint.share, constraint.masses[0]].map(f32::to_bits);
            memory.pool[at] = constraint.j;
            memory.pool[at + 1] = constraint.code;
            memory.pool[at + 2..at + 8].copy_from_slice(&words);
            memory.pool[at + 8..at + 15].copy_from_slice(&words_of(&constraint.impulse));
            let rough =
                [constraint.friction, constraint.resistance[0], constraint.resistance[1]].map(f32::to_bits);
            memory.pool[at + 15..at + 18].copy_from_slice(&rough);
            if let Some(wall_velocity) = core.constraints.wall_velocity_of(i, constraint)
                && let Some(mover) = mover_of(twin, constraint.j)
            {
                memory.pool[at + 18..at + 21].copy_from_slice(&wall_velocity.to_array().map(f32::to_bits));
                memory.pool[at + 21] = mover + 1;
            }
            total += 1;
        }
        memory.work[layout.rested as usize + i] = core.rested[i].to_bits();
    }
    for i in 0..core.state.len() {
        for constraint in core.constraints.of(i).iter().filter(|constraint| constraint.impulse.normal > 0.0) {
            memory.work[LAST_IN_CONTACT as usize] = 1;
            memory.work[layout.in_contact as usize + i] = 1;
            if constraint.j & WALL == 0 {
                memory.work[(layout.in_contact + constraint.j) as usize] = 1;
            }
        }
    }
    memory.work[CONSTRAINT_COUNT as usize] = total;
    memory.work[ASLEEP_COUNT as usize] = core.sleep.count() as u32;
    memory.work[WAKE_STATE as usize] = if core.sleep.all_are_woken() { ALL_WOKEN } else { 0 };
    memory.work[CONVERTED as usize] = u32::from(core.converted.count() > 0);
}

fn put_flags(twin: &Twin, layout: &BufferLayout, memory: &mut Memory) {
    let core = &twin.core;
    for i in 0..core.state.len() {
        let (range, entries) = memory.list(i);
        let flags: Vec<u32> = entries.iter().map(|entry| flags_of(twin, i, entry & INDEX_MASK)).collect();
        for (at, flags) in range.zip(flags) {
            let k = at - layout.entries as usize;
            memory.work[layout.flags as usize + k / 8] |= flags << (4 * (k % 8));
        }
        let (range, features, _) = memory.features(layout, i);
        let hits: Vec<u32> = features.iter().map(|&feature| feature_hits_of(twin, i, feature)).collect();
        for (at, hits) in range.zip(hits) {
            let k = at - layout.entries as usize;
            memory.work[layout.flags as usize + k / 8] |= hits << (4 * (k % 8));
        }
        memory.work[layout.wall_hits as usize + i] = wall_hits_of(twin, i);
    }
}

fn feature_hits_of(twin: &Twin, i: usize, feature: u32) -> u32 {
    let partner = WALL | (twin.core.domain.world.walls.len() as u32 + feature);
    u32::from(twin.core.lists.hits(i, partner)).min(HITS)
}

// What moves the wall of a row.
fn mover_of(twin: &Twin, partner: u32) -> Option<u32> {
    let world = &twin.core.domain.world;
    let wall = constants::wall_of(partner);
    match world.walls.get(wall) {
        Some(plane) => plane.mover,
        None => world.features.mover_number(world.features.all[wall - world.walls.len()].wall),
    }
}

fn wall_hits_of(twin: &Twin, i: usize) -> u32 {
    let hits = |plane: usize| u32::from(twin.core.lists.hits(i, WALL | plane as u32)).min(HITS);
    let planes = twin.core.domain.world.walls.len().min(COUNTED_PLANES);
    (0..planes).fold(0, |bits, plane| bits | hits(plane) << (2 * plane))
}

fn flags_of(twin: &Twin, i: usize, j: u32) -> u32 {
    let core = &twin.core;
    let contact_flags = core.constraints.contains(&core.state.id, i, j);
    u32::from(core.lists.hits(i, j)).min(HITS) | if contact_flags { CONSTRAINED } else { 0 }
}

/// A row on the device.
struct Found {
    normal: Vec3,
    closing: f32,
    impulse: ContactImpulse,
}

fn found(output: &Memory, layout: &BufferLayout, i: usize) -> BTreeMap<(u32, u32), Found> {
    let head = output.get(layout.constraint_heads + 2 * i as u32, 2);
    let constraint = |k: u32| {
        let words_of_constraint = constraint_words(layout.static_world.has_shapes);
        let at = (layout.constraints + k * words_of_constraint) as usize;
        let words = &output.pool[at..at + words_of_constraint as usize];
        let f = |k: usize| f32::from_bits(words[k]);
        let v = |k: usize| Vec3::new(f(k), f(k + 1), f(k + 2));
        let impulse = ContactImpulse { normal: f(8), tangent: v(9), moment: v(12) };
        ((words[0], words[1]), Found { normal: v(2), closing: f(5), impulse })
    };
    (head[0]..head[0] + head[1]).map(constraint).collect()
}

/// Stage 9, before the launch or after the rounds.
pub fn rest(host: &HostMirror, layout: &BufferLayout, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let core = &twin.core;
    let gain = core.domain.world.gravity.length() * twin.frame.h;
    let fastest = (0..core.state.len()).fold(gain, |most, i| most.max(core.state.velocity(i).length()));
    for i in 0..core.state.len() {
        let mut constraints = found(output, layout, i);
        for constraint in core.constraints.of(i) {
            let Some(found) = constraints.remove(&(constraint.j, constraint.code)) else {
                findings.differ("rests on", i, vec![], vec![name_of(twin, constraint.j)], 0.0);
                continue;
            };
            let unit = findings.units.length / findings.units.time;
            let mass = constraint.masses[0];
            findings.near_vector("normal of a contact", 1.0, i, (found.normal, constraint.normal), SOLVED);
            findings.near(
                "speed that closes a gap",
                unit,
                i,
                found.closing,
                constraint.closing,
                SOLVED * fastest,
            );
            let impulses = (found.impulse, constraint.impulse);
            let tolerance = SOLVED * fastest * mass;
            findings.near("load of a contact", unit, i, impulses.0.normal, impulses.1.normal, tolerance);
            let tangents = (impulses.0.tangent, impulses.1.tangent);
            findings.near_vector("friction of a contact", unit, i, tangents, tolerance);
            let tolerance = tolerance * core.state.radius(i);
            findings.near_vector(
                "moment of a contact",
                unit,
                i,
                (impulses.0.moment, impulses.1.moment),
                tolerance,
            );
        }
        if let Some(&(j, _)) = constraints.keys().next() {
            findings.differ("rests on", i, vec![name_of(twin, j)], vec![], 0.0);
        }
    }
    let none = usize::MAX;
    findings.equal("spheres that sleep", none, output.work[ASLEEP_COUNT as usize], core.sleep.count() as u32);
    let all_woken = output.work[WAKE_STATE as usize] & ALL_WOKEN != 0;
    findings.equal(
        "whether all are woken",
        none,
        u32::from(all_woken),
        u32::from(core.sleep.all_are_woken()),
    );
    if !findings.is_clean() {
        return;
    }
    let (bodies, tags) = state_rows(&core.state, host);
    for i in 0..bodies.len() {
        let found = (output.bodies[PRESENT][i], output.tags[PRESENT][i]);
        findings.sphere(i, found, (bodies[i], tags[i]), [0.0, SOLVED * fastest, SOLVED * fastest]);
        let rested = f32::from_bits(output.work[layout.rested as usize + i]);
        findings.near("time at rest", findings.units.time, i, rested, core.rested[i], RIM * twin.frame.h);
    }
    flags(layout, twin, output, findings);
}

/// Which pairs contacts hold, and which collided too often: what a sweep asks for.
pub fn flags(layout: &BufferLayout, twin: &Twin, output: &Memory, findings: &mut Findings) {
    for i in 0..twin.core.state.len() {
        let (range, entries) = output.list(i);
        for (at, entry) in range.zip(entries) {
            let k = at - layout.entries as usize;
            let flags = output.work[layout.flags as usize + k / 8] >> (4 * (k % 8)) & 15;
            let expected = flags_of(twin, i, entry & INDEX_MASK);
            findings.equal("impacts of a pair", i, flags & HITS, expected & HITS);
            // After the rounds there are more of them, and nobody asks.
            if output.work[LAST_IN_CONTACT as usize] <= 1 {
                findings.equal("what holds a pair", i, flags & CONSTRAINED, expected & CONSTRAINED);
            }
        }
        let (range, features, _) = output.features(layout, i);
        for (at, &feature) in range.zip(features) {
            let k = at - layout.entries as usize;
            let flags = output.work[layout.flags as usize + k / 8] >> (4 * (k % 8)) & HITS;
            findings.equal("impacts on a patch", i, flags, feature_hits_of(twin, i, feature));
        }
        let hits = output.work[layout.wall_hits as usize + i];
        let expected = wall_hits_of(twin, i);
        findings.equal("impacts on planes", i, hits, expected);
    }
}

/// What is kept for the next substep.
pub fn keep(host: &HostMirror, layout: &BufferLayout, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let mut expected = Memory::new(layout);
    put_warm_start(twin, host, &mut expected);
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
        findings.equal("contacts kept, and whether any carried", i, found.0, wanted.0);
        let sleep_timer = [output, &expected].map(|memory| memory.warm_start[rank_head(rank) + 2]);
        findings.equal("time of calm", i, sleep_timer[0], sleep_timer[1]);
        let differ = found.1.iter().zip(&wanted.1).filter(|(a, b)| a != b).count();
        findings.equal("words of loads that differ", i, differ as f64, 0.0);
    }
    let (found, wanted) = (output.warm_start[PAST_H as usize], expected.warm_start[PAST_H as usize]);
    findings.equal("length of the substep, bits", usize::MAX, found, wanted);
}

// Id of a sphere, or number of a plane.
fn name_of(twin: &Twin, partner: u32) -> f64 {
    f64::from(if partner & WALL == 0 { twin.core.state.id[partner as usize] } else { partner & !WALL })
}
