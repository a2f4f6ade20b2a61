//! Contacts that rest as they lie on the device, and their stage compared with its twin.

use std::collections::BTreeMap;

use glam::{IVec3, Vec3};

use super::{
    super::{
        host::Host,
        layout::{
            ASLEEP_COUNT, DEMOTED, HELD, HITS, INDEX_MASK, INNER_COLOURS, LAST_CARRIED, LOAD_COUNT,
            LOAD_WORDS, LOADS_HEAD, PAST_H, RANK_WORDS, RESTED, ROUSED, ROW_COUNT, UNREST, WALL, row_words,
        },
        places::Places,
    },
    PRESENT,
    findings::Findings,
    memory::{Memory, rows as state_rows},
    twin::Twin,
};
use crate::cpu::{
    blocks::{Axis, COLOURS},
    event,
    neighbors::COUNTED_PLANES,
    rows::Load,
};

/// Of velocities and loads that were solved for, as a share of the speeds that meet and of what gravity adds: sums of a dozen
/// terms in each of up to five passes over contacts in a row, each term good to 6e-8.
const SOLVED: f32 = 2e-5;

/// Of gaps and speeds that decide whether a contact rests, as a share of the limit.
const RIM: f32 = 2e-6;

/// Puts down the order of the contacts, the rows of the substep, and what those of the one before hand on.
pub fn put(twin: &Twin, host: &Host, places: &Places, memory: &mut Memory) {
    put_order(twin, places, memory);
    put_loads(twin, host, memory);
    put_rows(twin, places, memory);
    if twin.has_lists {
        put_flags(twin, places, memory);
    }
}

/// Where the cell of each sphere is in the order of contacts, as `key_of` of shaders/shared/blocks.wgsl says it.
fn key_of(twin: &Twin, places: &Places, cell: IVec3) -> usize {
    let grid = &twin.core.grid;
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
        (mixed & (places.slots - 1)) as usize
    };
    (colour * places.slots as usize + slot) * INNER_COLOURS as usize + inner
}

fn put_order(twin: &Twin, places: &Places, memory: &mut Memory) {
    let (grid, starts) = (&twin.core.grid, &twin.core.starts);
    let cell = |i: usize| twin.core.state.cell[i].truncate();
    let mut heads: Vec<(usize, usize, usize)> = vec![];
    for i in (0..twin.core.state.len()).filter(|_| twin.has_starts) {
        let bucket = grid.bucket(grid.row(cell(i).y, cell(i).z), cell(i).x);
        let spheres = grid.range(starts, bucket);
        let (begin, end) = (spheres.start as usize, spheres.end as usize);
        if (begin..i).all(|k| cell(k) != cell(i)) {
            heads.push((key_of(twin, places, cell(i)), i, end));
        }
    }
    heads.sort_unstable();
    let keys = COLOURS * places.slots as usize * INNER_COLOURS as usize;
    for key in 0..=keys {
        let start = heads.partition_point(|head| head.0 < key);
        memory.work[places.slot_starts as usize + key] = start as u32;
    }
    for (k, (_, begin, end)) in heads.into_iter().enumerate() {
        memory.put(places.order + 2 * k as u32, &[begin as u32, end as u32]);
    }
}

fn put_loads(twin: &Twin, host: &Host, memory: &mut Memory) {
    let core = &twin.core;
    let rank = |i: usize| host.ids.binary_search(&core.state.id[i]).expect("an id of the system");
    let mut rested = vec![false; core.state.len()];
    for i in 0..core.state.len() {
        for row in core.rows.handed_on(i).0.iter().filter(|row| row.load.normal > 0.0) {
            rested[i] = true;
            if row.j & WALL == 0 {
                rested[row.j as usize] = true;
            }
        }
    }
    let first_load = rank_head(core.state.len());
    let mut total = 0;
    for (i, &rested) in rested.iter().enumerate() {
        let rows = core.rows.handed_on(i).0;
        let head = rank_head(rank(i));
        memory.loads[head] = total as u32;
        memory.loads[head + 2] = core.sleep.calm[i];
        memory.loads[head + 1] = rows.len() as u32 | if rested { RESTED } else { 0 };
        for row in rows {
            let at = first_load + total * LOAD_WORDS as usize;
            let partner = if row.j & WALL == 0 { rank(row.j as usize) as u32 } else { row.j };
            memory.loads[at] = partner;
            memory.loads[at + 1..at + 8].copy_from_slice(&words_of(&row.load));
            total += 1;
        }
    }
    memory.loads[PAST_H as usize] = core.rows.handed_on(0).1.to_bits();
    memory.loads[LOAD_COUNT as usize] = total as u32;
}

// What is known of a rank; beyond the last the loads begin.
fn rank_head(rank: usize) -> usize {
    LOADS_HEAD as usize + RANK_WORDS as usize * rank
}

fn words_of(load: &Load) -> [u32; 7] {
    let Load { normal, tangent: a, turn: b } = *load;
    [normal, a.x, a.y, a.z, b.x, b.y, b.z].map(f32::to_bits)
}

fn put_rows(twin: &Twin, places: &Places, memory: &mut Memory) {
    let core = &twin.core;
    let row_words = row_words(places.scenery.has_shapes);
    let mut total = 0;
    for i in 0..core.state.len() {
        let rows = core.rows.of(i);
        memory.put(places.row_heads + 2 * i as u32, &[total, rows.len() as u32]);
        for row in rows {
            let at = (places.rows + total * row_words) as usize;
            let n = row.normal;
            let words = [n.x, n.y, n.z, row.closing, row.share, row.masses[0]].map(f32::to_bits);
            memory.pool[at] = row.j;
            memory.pool[at + 1] = row.code;
            memory.pool[at + 2..at + 8].copy_from_slice(&words);
            memory.pool[at + 8..at + 15].copy_from_slice(&words_of(&row.load));
            let rough = [row.friction, row.resistance[0], row.resistance[1]].map(f32::to_bits);
            memory.pool[at + 15..at + 18].copy_from_slice(&rough);
            if let Some(drive) = core.rows.drive_of(i, row)
                && let Some(mover) = mover_of(twin, row.j)
            {
                memory.pool[at + 18..at + 21].copy_from_slice(&drive.to_array().map(f32::to_bits));
                memory.pool[at + 21] = mover + 1;
            }
            total += 1;
        }
        memory.work[places.rested as usize + i] = core.rested[i].to_bits();
    }
    for i in 0..core.state.len() {
        for row in core.rows.of(i).iter().filter(|row| row.load.normal > 0.0) {
            memory.work[LAST_CARRIED as usize] = 1;
            memory.work[places.carried as usize + i] = 1;
            if row.j & WALL == 0 {
                memory.work[(places.carried + row.j) as usize] = 1;
            }
        }
    }
    memory.work[ROW_COUNT as usize] = total;
    memory.work[ASLEEP_COUNT as usize] = core.sleep.count() as u32;
    memory.work[UNREST as usize] = if core.sleep.is_roused() { ROUSED } else { 0 };
    memory.work[DEMOTED as usize] = u32::from(core.demoted.count() > 0);
}

fn put_flags(twin: &Twin, places: &Places, memory: &mut Memory) {
    let core = &twin.core;
    for i in 0..core.state.len() {
        let (range, entries) = memory.list(i);
        let flags: Vec<u32> = entries.iter().map(|entry| flags_of(twin, i, entry & INDEX_MASK)).collect();
        for (at, flags) in range.zip(flags) {
            let k = at - places.entries as usize;
            memory.work[places.flags as usize + k / 8] |= flags << (4 * (k % 8));
        }
        let (range, patches, _) = memory.patches(places, i);
        let hits: Vec<u32> = patches.iter().map(|&patch| patch_hits_of(twin, i, patch)).collect();
        for (at, hits) in range.zip(hits) {
            let k = at - places.entries as usize;
            memory.work[places.flags as usize + k / 8] |= hits << (4 * (k % 8));
        }
        memory.work[places.wall_hits as usize + i] = wall_hits_of(twin, i);
    }
}

fn patch_hits_of(twin: &Twin, i: usize, patch: u32) -> u32 {
    let partner = WALL | (twin.core.world.walls.len() as u32 + patch);
    u32::from(twin.core.lists.hits(i, partner)).min(HITS)
}

// What moves the wall of a row.
fn mover_of(twin: &Twin, partner: u32) -> Option<u32> {
    let world = &twin.core.world;
    let wall = event::wall_of(partner);
    match world.walls.get(wall) {
        Some(plane) => plane.mover,
        None => world.patches.mover_number(world.patches.all[wall - world.walls.len()].wall),
    }
}

fn wall_hits_of(twin: &Twin, i: usize) -> u32 {
    let hits = |plane: usize| u32::from(twin.core.lists.hits(i, WALL | plane as u32)).min(HITS);
    let planes = twin.core.world.walls.len().min(COUNTED_PLANES);
    (0..planes).fold(0, |bits, plane| bits | hits(plane) << (2 * plane))
}

fn flags_of(twin: &Twin, i: usize, j: u32) -> u32 {
    let core = &twin.core;
    let held = core.rows.contains(&core.state.id, i, j);
    u32::from(core.lists.hits(i, j)).min(HITS) | if held { HELD } else { 0 }
}

/// A row on the device.
struct Found {
    normal: Vec3,
    closing: f32,
    load: Load,
}

fn found(output: &Memory, places: &Places, i: usize) -> BTreeMap<(u32, u32), Found> {
    let head = output.get(places.row_heads + 2 * i as u32, 2);
    let row = |k: u32| {
        let words_of_row = row_words(places.scenery.has_shapes);
        let at = (places.rows + k * words_of_row) as usize;
        let words = &output.pool[at..at + words_of_row as usize];
        let f = |k: usize| f32::from_bits(words[k]);
        let v = |k: usize| Vec3::new(f(k), f(k + 1), f(k + 2));
        let load = Load { normal: f(8), tangent: v(9), turn: v(12) };
        ((words[0], words[1]), Found { normal: v(2), closing: f(5), load })
    };
    (head[0]..head[0] + head[1]).map(row).collect()
}

/// Stage 9, before the launch or after the rounds.
pub fn rest(host: &Host, places: &Places, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let core = &twin.core;
    let gain = core.world.gravity.length() * twin.frame.h;
    let fastest = (0..core.state.len()).fold(gain, |most, i| most.max(core.state.velocity(i).length()));
    for i in 0..core.state.len() {
        let mut rows = found(output, places, i);
        for row in core.rows.of(i) {
            let Some(found) = rows.remove(&(row.j, row.code)) else {
                findings.differ("rests on", i, vec![], vec![name_of(twin, row.j)], 0.0);
                continue;
            };
            let unit = findings.units.length / findings.units.time;
            let mass = row.masses[0];
            findings.near_vector("normal of a contact", 1.0, i, (found.normal, row.normal), SOLVED);
            findings.near("speed that closes a gap", unit, i, found.closing, row.closing, SOLVED * fastest);
            let loads = (found.load, row.load);
            let tolerance = SOLVED * fastest * mass;
            findings.near("load of a contact", unit, i, loads.0.normal, loads.1.normal, tolerance);
            let tangents = (loads.0.tangent, loads.1.tangent);
            findings.near_vector("friction of a contact", unit, i, tangents, tolerance);
            let tolerance = tolerance * core.state.radius(i);
            findings.near_vector("moment of a contact", unit, i, (loads.0.turn, loads.1.turn), tolerance);
        }
        if let Some(&(j, _)) = rows.keys().next() {
            findings.differ("rests on", i, vec![name_of(twin, j)], vec![], 0.0);
        }
    }
    let none = usize::MAX;
    findings.equal("spheres that sleep", none, output.work[ASLEEP_COUNT as usize], core.sleep.count() as u32);
    let roused = output.work[UNREST as usize] & ROUSED != 0;
    findings.equal("whether all are woken", none, u32::from(roused), u32::from(core.sleep.is_roused()));
    if !findings.is_clean() {
        return;
    }
    let (bodies, tags) = state_rows(&core.state, host);
    for i in 0..bodies.len() {
        let found = (output.bodies[PRESENT][i], output.tags[PRESENT][i]);
        findings.sphere(i, found, (bodies[i], tags[i]), [0.0, SOLVED * fastest, SOLVED * fastest]);
        let rested = f32::from_bits(output.work[places.rested as usize + i]);
        findings.near("time at rest", findings.units.time, i, rested, core.rested[i], RIM * twin.frame.h);
    }
    flags(places, twin, output, findings);
}

/// Which pairs contacts hold, and which collided too often: what a sweep asks for.
pub fn flags(places: &Places, twin: &Twin, output: &Memory, findings: &mut Findings) {
    for i in 0..twin.core.state.len() {
        let (range, entries) = output.list(i);
        for (at, entry) in range.zip(entries) {
            let k = at - places.entries as usize;
            let flags = output.work[places.flags as usize + k / 8] >> (4 * (k % 8)) & 15;
            let expected = flags_of(twin, i, entry & INDEX_MASK);
            findings.equal("impacts of a pair", i, flags & HITS, expected & HITS);
            // After the rounds there are more of them, and nobody asks.
            if output.work[LAST_CARRIED as usize] <= 1 {
                findings.equal("what holds a pair", i, flags & HELD, expected & HELD);
            }
        }
        let (range, patches, _) = output.patches(places, i);
        for (at, &patch) in range.zip(patches) {
            let k = at - places.entries as usize;
            let flags = output.work[places.flags as usize + k / 8] >> (4 * (k % 8)) & HITS;
            findings.equal("impacts on a patch", i, flags, patch_hits_of(twin, i, patch));
        }
        let hits = output.work[places.wall_hits as usize + i];
        let expected = wall_hits_of(twin, i);
        findings.equal("impacts on planes", i, hits, expected);
    }
}

/// What is kept for the next substep.
pub fn keep(host: &Host, places: &Places, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let mut expected = Memory::new(places);
    put_loads(twin, host, &mut expected);
    let first = rank_head(twin.core.state.len());
    let mut by_rank: Vec<usize> = (0..twin.core.state.len()).collect();
    by_rank.sort_unstable_by_key(|&i| twin.core.state.id[i]);
    let of = |memory: &Memory, rank: usize| -> (u32, Vec<u32>) {
        let head = rank_head(rank);
        let (start, count) = (memory.loads[head] as usize, (memory.loads[head + 1] & !RESTED) as usize);
        let words = LOAD_WORDS as usize;
        let loads = memory.loads[first + start * words..][..count * words].to_vec();
        (memory.loads[head + 1], loads)
    };
    for (rank, &i) in by_rank.iter().enumerate() {
        let (found, wanted) = (of(output, rank), of(&expected, rank));
        findings.equal("contacts kept, and whether any carried", i, found.0, wanted.0);
        let calm = [output, &expected].map(|memory| memory.loads[rank_head(rank) + 2]);
        findings.equal("time of calm", i, calm[0], calm[1]);
        let differ = found.1.iter().zip(&wanted.1).filter(|(a, b)| a != b).count();
        findings.equal("words of loads that differ", i, differ as f64, 0.0);
    }
    let (found, wanted) = (output.loads[PAST_H as usize], expected.loads[PAST_H as usize]);
    findings.equal("length of the substep, bits", usize::MAX, found, wanted);
}

// Id of a sphere, or number of a plane.
fn name_of(twin: &Twin, partner: u32) -> f64 {
    f64::from(if partner & WALL == 0 { twin.core.state.id[partner as usize] } else { partner & !WALL })
}
