//! Contacts that rest, from what they keep on the device.

use super::GpuEngine;
use crate::{
    Contact, Error,
    gpu::{
        layout::{LOAD_WORDS, LOADS_HEAD, PAST_H, RANK_WORDS, RESTED, WALL},
        readback::download,
    },
    model::contacts::{Ground, Load, Other, sort},
};

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

    /// Those that carried in the last substep of the last report.
    pub(super) fn read_contacts(&self) -> Result<Vec<Contact>, Error> {
        let places = &self.buffers.places;
        if places.slots == 0 {
            return Ok(vec![]);
        }
        let k = self.reported();
        let state = self.host.download(&self.context, &self.buffers, k)?;
        let bytes = download(&self.context, &[(&self.buffers.loads[k], 0, 4 * places.load_words)])?;
        let words: Vec<u32> = bytemuck::pod_collect_to_vec(&bytes[0]);
        let h = f32::from_bits(words[PAST_H as usize]);
        let mut by_rank: Vec<usize> = (0..state.len()).collect();
        by_rank.sort_unstable_by_key(|&i| state.id[i]);
        let ground =
            Ground { units: &self.host.units, grid: &self.host.grid, world: &self.host.world, state: &state };
        let (heads, loads) = words[LOADS_HEAD as usize..].split_at(RANK_WORDS as usize * state.len());
        let mut contacts = vec![];
        for (&i, head) in by_rank.iter().zip(heads.chunks_exact(RANK_WORDS as usize)) {
            let (first, count) = (head[0] as usize, (head[1] & !RESTED) as usize);
            for words in loads.chunks_exact(LOAD_WORDS as usize).skip(first).take(count) {
                let f: [f32; 7] = std::array::from_fn(|k| f32::from_bits(words[k + 1]));
                let load = Load {
                    normal: f[0],
                    tangent: [f[1], f[2], f[3]].into(),
                    turn: [f[4], f[5], f[6]].into(),
                };
                if load.normal > 0.0 {
                    let other = match words[0] & WALL {
                        0 => Other::Sphere(by_rank[words[0] as usize]),
                        _ => Other::Plane((words[0] & !WALL) as usize),
                    };
                    contacts.push(ground.contact(i, other, load, h));
                }
            }
        }
        sort(&mut contacts);
        Ok(contacts)
    }
}
