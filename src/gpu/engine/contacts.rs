//! Contacts that rest, from what they keep on the device.

use super::GpuEngine;
use crate::{
    Contact, Error, Partner,
    cpu::event::wall_of,
    gpu::{
        layout::{LOAD_COUNT, LOAD_WORDS, LOADS_HEAD, PAST_H, RANK_WORDS, RESTED, WALL},
        places::Capacities,
        readback::download,
    },
    model::contacts::{Ground, Kept, Load, Loads, Other, sort},
};

/// Rank of the owner, rank of the partner or a plane with [`WALL`] set, load.
type Ranked = (u32, u32, Load);

impl GpuEngine {
    /// Makes believe that all spheres have been calm for so many substeps.
    #[cfg(test)]
    pub(in crate::gpu) fn lull(&mut self, calm: u32) {
        let at = |rank: u64| 4 * (u64::from(LOADS_HEAD) + u64::from(RANK_WORDS) * rank + 2);
        for rank in 0..self.host.census.count as u64 {
            let loads = &self.buffers.loads[self.reported()];
            self.context.queue.write_buffer(loads, at(rank), &calm.to_ne_bytes());
        }
    }

    // What is kept in copy `k`, and the length of its substep.
    fn kept(&self, k: usize) -> Result<(f32, Vec<Ranked>), Error> {
        let places = &self.buffers.places;
        if places.slots == 0 {
            return Ok((0.0, vec![]));
        }
        let bytes = download(&self.context, &[(&self.buffers.loads[k], 0, 4 * places.load_words)])?;
        let words: Vec<u32> = bytemuck::pod_collect_to_vec(&bytes[0]);
        let head = (RANK_WORDS * places.sphere_count) as usize;
        let (heads, loads) = words[LOADS_HEAD as usize..].split_at(head);
        let mut kept = vec![];
        for (rank, head) in (0..).zip(heads.chunks_exact(RANK_WORDS as usize)) {
            let (first, count) = (head[0] as usize, (head[1] & !RESTED) as usize);
            for words in loads.chunks_exact(LOAD_WORDS as usize).skip(first).take(count) {
                let f: [f32; 7] = std::array::from_fn(|k| f32::from_bits(words[k + 1]));
                let (tangent, turn) = ([f[1], f[2], f[3]].into(), [f[4], f[5], f[6]].into());
                kept.push((rank, words[0], Load { normal: f[0], tangent, turn }));
            }
        }
        Ok((f32::from_bits(words[PAST_H as usize]), kept))
    }

    /// Those that carried in the last substep of the last report.
    pub(super) fn read_contacts(&self) -> Result<Vec<Contact>, Error> {
        let k = self.reported();
        // Before its first step an engine has loads at most that another one left.
        let (h, kept) = if self.step > 0 { self.kept(k)? } else { (0.0, vec![]) };
        if kept.is_empty() {
            return Ok(vec![]);
        }
        let state = self.host.download(&self.context, &self.buffers, k)?;
        let mut by_rank: Vec<usize> = (0..state.len()).collect();
        by_rank.sort_unstable_by_key(|&i| state.id[i]);
        // The walls where they were in the last substep: a step that is under way has them elsewhere.
        let mut world = self.host.world.clone();
        let units = &self.host.units;
        world.place_walls(self.time - f64::from(h) * units.time, f64::from(h), units, &self.host.grid);
        let ground = Ground { units, grid: &self.host.grid, world: &world, state: &state };
        let mut contacts = vec![];
        for (rank, partner, load) in kept.into_iter().filter(|(.., load)| load.normal > 0.0) {
            let other = match partner & WALL {
                0 => Other::Sphere(by_rank[partner as usize]),
                _ => Other::Wall(partner),
            };
            contacts.push(ground.contact(by_rank[rank as usize], other, load, h));
        }
        sort(&mut contacts);
        Ok(contacts)
    }

    /// What all contacts hand on to the next substep.
    pub(super) fn read_loads(&self) -> Result<Loads, Error> {
        let (h, kept) = self.kept(self.reported())?;
        let (ids, units) = (&self.host.ids, &self.host.units);
        let partner = |key: u32| match key & WALL {
            0 => Partner::Sphere(ids[key as usize]),
            _ => Partner::Wall(key & !WALL),
        };
        let kept = kept
            .into_iter()
            .map(|(rank, key, load)| Kept::new(ids[rank as usize], partner(key), load, units));
        Ok(Loads { h: f64::from(h) * units.time, kept: kept.collect() })
    }

    /// Goes on from such loads, as far as there are their spheres and planes. Nothing is under way.
    pub(super) fn write_loads(&mut self, loads: &Loads) -> Result<(), Error> {
        if self.buffers.places.slots == 0 {
            return Ok(());
        }
        let host = &self.host;
        let rank = |id| host.ids.binary_search(&id).ok().map(|rank| rank as u32);
        let known = |kept: &Kept| {
            let partner = match kept.partner {
                Partner::Sphere(id) => rank(id)?,
                Partner::Wall(wall) => {
                    let walls = host.world.walls.len() + host.world.patches.all.len();
                    (wall_of(wall) < walls).then_some(WALL | wall)?
                }
            };
            Some((rank(kept.sphere)?, partner, kept.load(&host.units)?))
        };
        let mut known: Vec<_> = loads.kept.iter().filter_map(known).collect();
        known.sort_unstable_by_key(|&(owner, partner, _)| (owner, partner));
        let capacities = self.buffers.places.capacities;
        if known.len() > capacities.rows as usize {
            self.make_room(Capacities { rows: known.len() as u32, ..capacities })?;
        }
        let count = self.buffers.places.sphere_count;
        let first = (LOADS_HEAD + RANK_WORDS * count) as usize;
        let mut words = vec![0; first + LOAD_WORDS as usize * known.len()];
        words[PAST_H as usize] = ((loads.h / self.host.units.time) as f32).to_bits();
        words[LOAD_COUNT as usize] = known.len() as u32;
        for (k, (owner, partner, load)) in known.into_iter().enumerate() {
            let head = |rank: u32| (LOADS_HEAD + RANK_WORDS * rank) as usize;
            if words[head(owner) + 1] & !RESTED == 0 {
                words[head(owner)] = k as u32;
            }
            words[head(owner) + 1] += 1;
            let (Load { normal, tangent: a, turn: b }, at) = (load, first + LOAD_WORDS as usize * k);
            words[at] = partner;
            words[at + 1..at + 8].copy_from_slice(&[normal, a.x, a.y, a.z, b.x, b.y, b.z].map(f32::to_bits));
            if normal > 0.0 {
                words[head(owner) + 1] |= RESTED;
                if partner & WALL == 0 {
                    words[head(partner) + 1] |= RESTED;
                }
            }
        }
        let buffer = &self.buffers.loads[self.current];
        self.context.queue.write_buffer(buffer, 0, bytemuck::cast_slice(&words));
        Ok(())
    }
}
