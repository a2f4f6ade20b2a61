//! Reads resting contacts from the warm-start data on the device.

use super::GpuExecutor;
use crate::{
    Contact, Error, Partner,
    gpu::{
        buffer_layout::Capacities,
        layout::{IMPULSE_COUNT, IMPULSE_WORDS, PAST_H, RANK_WORDS, RESTED, WALL, WARM_START_HEAD},
        readback::download,
    },
    state::{
        constants::STILL,
        constants::wall_of,
        warm_start::{CachedImpulse, ContactImpulse, WarmStartCache},
    },
    step::contacts::{Ground, Other, sort},
};

/// Rank of the owner, rank of the partner or a plane with [`WALL`] set, contact impulse.
type Ranked = (u32, u32, ContactImpulse);

impl GpuExecutor {
    /// Sets the sleep timers of all spheres to this number of substeps.
    #[cfg(test)]
    pub(in crate::gpu) fn lull(&mut self, sleep_timer: u32) {
        let at = |rank: u64| 4 * (u64::from(WARM_START_HEAD) + u64::from(RANK_WORDS) * rank + 2);
        for rank in 0..self.host.domain.statistics.count as u64 {
            let warm_start = &self.buffers.warm_start[self.reported()];
            self.context.queue.write_buffer(warm_start, at(rank), &sleep_timer.to_ne_bytes());
        }
    }

    // The warm-start data of copy `k`: length of its substep, impulses, and sleep timers by rank.
    fn kept(&self, k: usize) -> Result<(f32, Vec<Ranked>, Vec<u32>), Error> {
        let layout = &self.buffers.layout;
        if layout.slots == 0 {
            return Ok((0.0, vec![], vec![]));
        }
        let bytes =
            download(&self.context, &[(&self.buffers.warm_start[k], 0, 4 * layout.warm_start_words)])?;
        let words: Vec<u32> = bytemuck::pod_collect_to_vec(&bytes[0]);
        let head = (RANK_WORDS * layout.room) as usize;
        let (heads, warm_start) = words[WARM_START_HEAD as usize..].split_at(head);
        let mut kept = vec![];
        for (rank, head) in (0..).zip(heads.chunks_exact(RANK_WORDS as usize)) {
            let (first, count) = (head[0] as usize, (head[1] & !RESTED) as usize);
            for words in warm_start.chunks_exact(IMPULSE_WORDS as usize).skip(first).take(count) {
                let f: [f32; 7] = std::array::from_fn(|k| f32::from_bits(words[k + 1]));
                let (tangent, moment) = ([f[1], f[2], f[3]].into(), [f[4], f[5], f[6]].into());
                kept.push((rank, words[0], ContactImpulse { normal: f[0], tangent, moment }));
            }
        }
        let timers = heads.chunks_exact(RANK_WORDS as usize).map(|head| head[2]).collect();
        Ok((f32::from_bits(words[PAST_H as usize]), kept, timers))
    }

    /// The contacts with an impulse in the last substep of the last report.
    pub(super) fn read_contacts(&self) -> Result<Vec<Contact>, Error> {
        let k = self.reported();
        // Before its first step an engine has at most the contact impulses that another engine left.
        let (h, kept, _) = if self.has_stepped { self.kept(k)? } else { Default::default() };
        if kept.is_empty() {
            return Ok(vec![]);
        }
        let state = self.download(k)?;
        let mut by_rank: Vec<usize> = (0..state.len()).collect();
        by_rank.sort_unstable_by_key(|&i| state.id[i]);
        // The walls at their position in the last substep: a step in flight has moved them.
        let mut world = self.host.domain.world.clone();
        let units = &self.host.domain.units;
        world.place_walls(self.end - f64::from(h) * units.time, f64::from(h), units, &self.host.domain.grid);
        let ground = Ground { units, grid: &self.host.domain.grid, world: &world, state: &state };
        let mut contacts = vec![];
        for (rank, partner, impulse) in kept.into_iter().filter(|(.., impulse)| impulse.normal > 0.0) {
            let other = match partner & WALL {
                0 => Other::Sphere(by_rank[partner as usize]),
                _ => Other::Wall(partner),
            };
            contacts.push(ground.contact(by_rank[rank as usize], other, impulse, h));
        }
        sort(&mut contacts);
        Ok(contacts)
    }

    /// The contact impulses of all contacts, for the warm start of the next substep.
    pub(super) fn read_warm_start(&self) -> Result<WarmStartCache, Error> {
        let mut warm_start = self.read_contacts_and_timers()?;
        // A fixed sphere may be free in another system.
        warm_start.sleep_timers.retain(|&(_, ticks)| ticks < STILL);
        Ok(warm_start)
    }

    /// The same with all sleep timers that are not 0.
    pub(super) fn read_contacts_and_timers(&self) -> Result<WarmStartCache, Error> {
        let (h, kept, timers) = self.kept(self.reported())?;
        let (ids, units) = (&self.host.ids, &self.host.domain.units);
        let partner = |key: u32| match key & WALL {
            0 => Partner::Sphere(ids[key as usize]),
            _ => Partner::Wall(key & !WALL),
        };
        let kept = kept
            .into_iter()
            .map(|(rank, key, impulse)| CachedImpulse::new(ids[rank as usize], partner(key), impulse, units));
        let timers = ids.iter().copied().zip(timers);
        Ok(WarmStartCache {
            h: f64::from(h) * units.time,
            kept: kept.collect(),
            sleep_timers: timers.filter(|&(_, ticks)| ticks > 0).collect(),
        })
    }

    /// Continues from these contact impulses; skips those of missing spheres and planes. Precondition: no step is in
    /// flight.
    pub(super) fn write_warm_start(&mut self, warm_start: &WarmStartCache) -> Result<(), Error> {
        if self.buffers.layout.slots == 0 {
            return Ok(());
        }
        let host = &self.host;
        let rank = |id| host.ids.binary_search(&id).ok().map(|rank| rank as u32);
        let known = |kept: &CachedImpulse| {
            let partner = match kept.partner {
                Partner::Sphere(id) => rank(id)?,
                Partner::Wall(wall) => {
                    let walls = host.domain.world.walls.len() + host.domain.world.features.all.len();
                    (wall_of(wall) < walls).then_some(WALL | wall)?
                }
            };
            Some((rank(kept.sphere)?, partner, kept.load(&host.domain.units)?))
        };
        let mut known: Vec<_> = warm_start.kept.iter().filter_map(known).collect();
        // Several images of a partner keep their order.
        known.sort_by_key(|&(owner, ..)| owner);
        let capacities = self.buffers.layout.capacities;
        if known.len() > capacities.constraints as usize {
            self.reallocate(Capacities { constraints: known.len() as u32, ..capacities })?;
        }
        let first = (WARM_START_HEAD + RANK_WORDS * self.buffers.layout.room) as usize;
        let mut words = vec![0; first + IMPULSE_WORDS as usize * known.len()];
        words[PAST_H as usize] = ((warm_start.h / self.host.domain.units.time) as f32).to_bits();
        words[IMPULSE_COUNT as usize] = known.len() as u32;
        for (k, (owner, partner, impulse)) in known.into_iter().enumerate() {
            let head = |rank: u32| (WARM_START_HEAD + RANK_WORDS * rank) as usize;
            if words[head(owner) + 1] & !RESTED == 0 {
                words[head(owner)] = k as u32;
            }
            words[head(owner) + 1] += 1;
            let (ContactImpulse { normal, tangent: a, moment: b }, at) =
                (impulse, first + IMPULSE_WORDS as usize * k);
            words[at] = partner;
            words[at + 1..at + 8].copy_from_slice(&[normal, a.x, a.y, a.z, b.x, b.y, b.z].map(f32::to_bits));
            if normal > 0.0 {
                words[head(owner) + 1] |= RESTED;
                if partner & WALL == 0 {
                    words[head(partner) + 1] |= RESTED;
                }
            }
        }
        for &(id, ticks) in &warm_start.sleep_timers {
            if let Ok(rank) = self.host.ids.binary_search(&id) {
                words[WARM_START_HEAD as usize + RANK_WORDS as usize * rank + 2] = ticks;
            }
        }
        let buffer = &self.buffers.warm_start[self.current];
        self.context.queue.write_buffer(buffer, 0, bytemuck::cast_slice(&words));
        Ok(())
    }
}
