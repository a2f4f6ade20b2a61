//! Writes the twin's contact constraints, contact flags and warm start into a copy of the device's memory, in the device's
//! layout.

use glam::IVec3;

use super::{memory::Memory, twin::Twin};
use crate::gpu::{
    buffer_layout::BufferLayout,
    host_mirror::HostMirror,
    layout::{
        AHEAD, ASLEEP_COUNT, CONSTRAINED, CONSTRAINT_COUNT, CONVERTED, HITS, IMPULSE_COUNT, IMPULSE_PLACE,
        IMPULSE_WORDS, INDEX_MASK, INNER_COLOURS, LAST_IN_CONTACT, MASS_PLACE, MOMENT_PLACE, PARTNER_PLACE,
        PAST_H, RANK_WORDS, RESTED, STIRRED, SURFACE_BITS, SURFACE_PLACE, TURNED, WALL, WALL_VELOCITY_PLACE,
        WARM_START_HEAD, constraint_words,
    },
};
use crate::state::{
    constants::{self, COLOURS, COUNTED_PLANES},
    warm_start::ContactImpulse,
};

/// Writes the order of the contact constraints, those of the substep, and the warm start from the substep before.
pub fn put(twin: &Twin, host: &HostMirror, layout: &BufferLayout, memory: &mut Memory) {
    put_order(twin, layout, memory);
    put_warm_start(twin, host, memory);
    put_constraints(twin, layout, memory);
    if twin.has_lists {
        put_flags(twin, layout, memory);
    }
}

/// Place of a cell in the order of contact constraints, as `key_of` of shaders/shared/blocks.wgsl, and its block.
pub fn key_of(twin: &Twin, cell: IVec3) -> (usize, IVec3) {
    let numbers = twin.core.blocks.numbers();
    let block = numbers.block(cell);
    let number = numbers.number(&twin.core.domain.grid, block) as usize;
    (number * INNER_COLOURS as usize + numbers.inner_colour(cell), block)
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
            heads.push((key_of(twin, cell(i)).0, i, end));
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

/// Writes the warm start that the twin hands on to the next substep.
pub fn put_warm_start(twin: &Twin, host: &HostMirror, memory: &mut Memory) {
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
    let first_impulse = rank_head(core.state.len());
    let mut total = 0;
    for (i, &rested) in rested.iter().enumerate() {
        let constraints = core.constraints.handed_on(i).0;
        let head = rank_head(rank(i));
        memory.warm_start[head] = total as u32;
        memory.warm_start[head + 2] = core.sleep.sleep_timer[i];
        memory.warm_start[head + 1] = constraints.len() as u32 | if rested { RESTED } else { 0 };
        for constraint in constraints {
            let at = first_impulse + total * IMPULSE_WORDS as usize;
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

/// Mark of a block that the first batch after the rounds solves.
pub const ACTIVE_FIRST: u32 = 2;

/// Word of the head of a rank; the contact impulses begin after the last head.
pub fn rank_head(rank: usize) -> usize {
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
            let mut put = |place: u32, words: &[u32]| {
                let at = at + place as usize;
                memory.pool[at..at + words.len()].copy_from_slice(words);
            };
            let impulse = words_of(&constraint.impulse);
            put(0, &[n.x, n.y, n.z, constraint.closing].map(f32::to_bits));
            put(IMPULSE_PLACE, &impulse[..4]);
            put(MASS_PLACE, &[constraint.mass, constraint.share].map(f32::to_bits));
            put(SURFACE_PLACE, &[surface_number(twin, i, constraint.j) | constraint.code() << SURFACE_BITS]);
            put(MOMENT_PLACE, &impulse[4..]);
            put(PARTNER_PLACE, &[constraint.j]);
            if let Some(wall_velocity) = core.constraints.wall_velocity_of(i, constraint)
                && let Some(mover) = mover_of(twin, constraint.j)
            {
                put(WALL_VELOCITY_PLACE, &wall_velocity.to_array().map(f32::to_bits));
                put(WALL_VELOCITY_PLACE + 3, &[mover + 1]);
            }
            total += 1;
        }
        memory.work[layout.rested as usize + i] = core.rested[i].to_bits();
        memory.work[layout.pressed as usize + i] = core.pressed.spheres(i).into();
        let flags = [(core.sleep.is_woken(i), STIRRED), (core.sleep.has_turned(i), TURNED)];
        memory.work[layout.stirred as usize + i] =
            flags.into_iter().filter(|flag| flag.0).map(|flag| flag.1).sum();
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
    for block in 0..core.blocks.numbers().count() as u32 {
        if twin.rest.is_unsettled(block, twin.frame) {
            memory.work[(layout.active_blocks + block) as usize] = ACTIVE_FIRST;
            memory.work[AHEAD as usize] = 1.0f32.to_bits();
        }
    }
    memory.work[CONSTRAINT_COUNT as usize] = total;
    memory.work[ASLEEP_COUNT as usize] = core.sleep.count() as u32;
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

/// Impacts of a sphere on a wall feature, as far as they are counted.
pub fn feature_hits_of(twin: &Twin, i: usize, feature: u32) -> u32 {
    let partner = WALL | (twin.core.domain.world.walls.len() as u32 + feature);
    u32::from(twin.core.lists.hits(i, partner)).min(HITS)
}

// Number of the pair of materials of a sphere and its partner.
fn surface_number(twin: &Twin, i: usize, partner: u32) -> u32 {
    let (world, state) = (&twin.core.domain.world, &twin.core.state);
    let wall = || {
        let wall = constants::wall_of(partner);
        match world.walls.get(wall) {
            Some(plane) => plane.material,
            None => world.features.all[wall - world.walls.len()].material,
        }
    };
    let theirs = if partner & WALL == 0 { state.material(partner as usize).into() } else { wall() };
    (usize::from(state.material(i)) * world.material_count + theirs) as u32
}

// The mover of the wall of a contact constraint.
fn mover_of(twin: &Twin, partner: u32) -> Option<u32> {
    let world = &twin.core.domain.world;
    let wall = constants::wall_of(partner);
    match world.walls.get(wall) {
        Some(plane) => plane.mover,
        None => world.features.mover_number(world.features.all[wall - world.walls.len()].wall),
    }
}

/// Impacts of a sphere on planes, two bits each.
pub fn wall_hits_of(twin: &Twin, i: usize) -> u32 {
    let hits = |plane: usize| u32::from(twin.core.lists.hits(i, WALL | plane as u32)).min(HITS);
    let planes = twin.core.domain.world.walls.len().min(COUNTED_PLANES);
    (0..planes).fold(0, |bits, plane| bits | hits(plane) << (2 * plane))
}

/// Contact flags of a pair.
pub fn flags_of(twin: &Twin, i: usize, j: u32) -> u32 {
    let core = &twin.core;
    let contact_flags = core.constraints.contains(&core.state.id, i, j);
    u32::from(core.lists.hits(i, j)).min(HITS) | if contact_flags { CONSTRAINED } else { 0 }
}
