//! Removes spheres and adds others between two steps. The state stays on the device.

use super::{GpuExecutor, by_rank};
use crate::{
    Error, Sphere, System,
    gpu::{encode::Encoder, layout::Frame},
    state::columns::{NEVER, State},
};

/// Ratio of the new room to the number of spheres for which room is needed.
const SPARE_ROOM: f64 = 1.5;

/// Where spheres are on the device, in ascending order.
struct Places {
    /// Indices in the present order.
    indices: Vec<u32>,
    ranks: Vec<u32>,
}

impl GpuExecutor {
    /// Removes and adds spheres without reading the state. Returns false, having changed nothing, if the engine has to be
    /// reloaded instead.
    pub(super) fn exchange_in_place(&mut self, gone: &[Sphere], come: &[Sphere]) -> Result<bool, Error> {
        if self.in_flight.is_some() || !self.host.suits(gone, come) {
            return Ok(false);
        }
        let Some(Places { indices, ranks }) = self.places(gone)? else { return Ok(false) };
        let kept = self.host.domain.statistics.count - gone.len();
        if !self.make_room(kept + come.len())? {
            return Ok(false);
        }
        if !gone.is_empty() {
            self.remove(&indices, &ranks)?;
        }
        self.host.exchange(gone, come);
        self.buffers.layout = self.host.layout(self.buffers.layout.capacities);
        let first = ranks.first().map_or(kept, |&rank| rank as usize);
        self.buffers.write_materials(&self.context.queue, &self.host, first);
        self.append(kept, come);
        (self.is_idle, self.begun, self.watched) = (false, None, None);
        Ok(true)
    }

    // The places of spheres; `None` if a sphere is absent. Reads the state from the device unless the
    // last report contains all of these spheres.
    fn places(&self, spheres: &[Sphere]) -> Result<Option<Places>, Error> {
        let rank = |sphere: &Sphere| self.host.ids.binary_search(&sphere.id).ok().map(|rank| rank as u32);
        let Some(ranks) = spheres.iter().map(rank).collect::<Option<Vec<_>>>() else { return Ok(None) };
        let index = |&rank: &u32| self.watched.as_ref()?.index(rank);
        let mut indices = match ranks.iter().map(index).collect::<Option<Vec<_>>>() {
            Some(indices) => indices,
            None => {
                let state = self.download(self.current)?;
                let order = by_rank(&state, &self.host.ids, |i| i as u32);
                ranks.iter().map(|&rank| order[rank as usize]).collect()
            }
        };
        indices.sort_unstable();
        Ok(Some(Places { indices, ranks }))
    }

    // Returns false if the device has no memory for so many spheres beside the present buffers.
    fn make_room(&mut self, count: usize) -> Result<bool, Error> {
        if count <= self.host.room {
            return Ok(true);
        }
        let before = self.host.room;
        for room in [(count as f64 * SPARE_ROOM) as usize + 64, count] {
            self.host.room = room;
            match self.reallocate(self.buffers.layout.capacities) {
                Ok(()) => {
                    // The offsets in this buffer depend on the room.
                    self.buffers.write_world(&self.context.queue, &self.host);
                    return Ok(true);
                }
                Err(Error::Capacity(_)) => self.host.room = before,
                Err(error) => {
                    self.host.room = before;
                    return Err(error);
                }
            }
        }
        Ok(false)
    }

    // Copies all other spheres to the other copy of the state, which becomes the current one.
    fn remove(&mut self, indices: &[u32], ranks: &[u32]) -> Result<(), Error> {
        self.context.check()?;
        let layout = self.buffers.layout;
        let domain = &self.host.domain;
        let frame = Frame {
            removed_count: indices.len() as u32,
            ..layout.frame(&domain.grid, &domain.world, domain.statistics.radius_max as f32)
        };
        self.buffers.write_frames(&self.context, &self.pipelines, &[frame])?;
        let listed = [indices, ranks].concat();
        let at = 4 * u64::from(layout.pending);
        self.context.queue.write_buffer(&self.buffers.work, at, bytemuck::cast_slice(&listed));
        let (from, to) = (self.current, 1 - self.current);
        let budget = self.dispatch_budget;
        let (context, buffers) = (&self.context, &self.buffers);
        let mut encoder = Encoder::new(context, &self.pipelines, buffers, from, budget, None, false);
        let all = budget.groups(layout.room);
        encoder.stage("remove", &buffers.broad[from], 0, vec![("remove", 0, all)]);
        if layout.slots > 0 {
            let dispatches = vec![("remove_contacts", 0, all), ("wake_partners", 0, all)];
            encoder.stage("remove", &buffers.hand[to], 0, dispatches);
        }
        context.queue.submit(encoder.finish()?);
        self.submit_queue.submits += 1;
        self.current = to;
        Ok(())
    }

    // Adds spheres behind the first `kept` ones.
    fn append(&self, kept: usize, come: &[Sphere]) {
        if come.is_empty() {
            return;
        }
        let domain = &self.host.domain;
        let system = System { spheres: come.to_vec(), ..domain.system.clone() };
        let mut state = State::default();
        state.load(&system, &domain.units, &domain.grid, |_| NEVER);
        let (bodies, tags) = self.host.records(&state);
        self.buffers.write_state(&self.context.queue, self.current, kept, &bodies, &tags);
    }
}
