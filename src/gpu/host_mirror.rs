//! The host's copy of the system: units, cells, world, and the conversion of spheres to and from the device.

use rayon::prelude::*;

use super::{
    Context,
    buffer_layout::{BufferLayout, Capacities},
    buffers::Buffers,
    layout::{Body, Tag},
    readback::download,
    shaders::Variant,
    static_world::{self, StaticWorld},
    watch::{self, WatchBox},
};
use crate::{
    Error, Sphere, System,
    cpu::{audit::Audit, blocks::Numbers, neighbors::Candidate},
    state::{columns::State, sums::Sums},
    step::{
        checkpoint::{DomainState, GpuState},
        domain::Domain,
        driver::first_sums,
        plan::{self, Past, Substep},
    },
};

/// Number of spheres below which the cells hardly depend on their number.
const FEW: usize = 512;

/// Largest relative change of the mean diameter for which tolerances and size classes need not be chosen anew.
const SIMILAR_SIZE: f64 = 0.1;

/// The domain, and the ids and materials of the spheres by rank.
pub struct HostMirror {
    pub domain: Domain,
    /// Ids and materials by rank.
    pub ids: Vec<u32>,
    pub materials: Vec<u32>,
    /// Boxes of sinks and sources.
    pub boxes: Vec<WatchBox>,
    /// Spheres for which the buffers have room.
    pub room: usize,
    /// Number of spheres for which the units and the cells were chosen.
    chosen_for: usize,
    /// Sum of the diameters (scaled units).
    diameters: f64,
}

impl HostMirror {
    /// Creates the host mirror of a system and its initial state.
    pub fn new(system: &System, last_contact: impl Fn(u32) -> f32) -> (Self, State) {
        let (domain, state) = Domain::new(system, last_contact);
        let ids = system.spheres.iter().map(|s| s.id).collect();
        let materials = system.spheres.iter().map(|s| u32::from(s.material)).collect();
        let (boxes, count) = (watch::boxes(system), system.spheres.len());
        let diameters = domain.statistics.mean_diameter * count as f64;
        (Self { domain, ids, materials, boxes, room: count, chosen_for: count, diameters }, state)
    }

    /// The host mirror of a system with the choices of another engine, which may have been one without a device.
    pub fn resume(system: &System, domain: &DomainState, device: Option<GpuState>) -> Self {
        let count = system.spheres.len();
        let (room, chosen_for, diameters) = match device {
            Some(GpuState { room, chosen_for, diameters, .. }) => (room.max(count), chosen_for, diameters),
            None => (count, count, domain.statistics.mean_diameter * count as f64),
        };
        Self {
            domain: Domain::resume(system, domain),
            ids: system.spheres.iter().map(|s| s.id).collect(),
            materials: system.spheres.iter().map(|s| u32::from(s.material)).collect(),
            boxes: watch::boxes(system),
            room,
            chosen_for,
            diameters,
        }
    }

    /// The state of the mirror that later steps depend on.
    pub fn state(&self) -> GpuState {
        let Self { room, chosen_for, diameters, .. } = *self;
        GpuState { room, chosen_for, diameters, ..GpuState::default() }
    }

    /// The same with the cells of the first step; also the sums over all spheres.
    pub fn for_first_step(system: &System, last_contact: impl Fn(u32) -> f32) -> (Self, State, Sums) {
        let (mut host, mut state) = Self::new(system, last_contact);
        let mut audit = Audit::default();
        let sums = first_sums(|drift| audit.run(&host.domain.grid, &state, drift));
        let past = Past { sums, ..Past::default() };
        let motion_margin = plan::wanted_margin(&host.domain.limits(), &past);
        host.domain.regrid(&mut state, motion_margin);
        (host, state, sums)
    }

    /// The wall positions in the substeps of a step that begins at `start`, as the device stores them; the walls keep
    /// the positions of the last substep.
    pub fn motion(&mut self, start: f64, substeps: &[Substep]) -> Vec<u32> {
        let mut words = vec![];
        self.domain.world.features.begin_step(start, start + self.domain.system.dt);
        for substep in substeps {
            self.domain.place_walls(start + substep.time * self.domain.units.time, substep.h);
            static_world::motion(&self.domain.world, &self.domain.units, &self.domain.grid, &mut words);
        }
        words
    }

    /// The pipeline variant that the system needs.
    pub fn variant(&self) -> Variant {
        Variant {
            is_direct: self.domain.grid.direct,
            has_walls: !self.domain.world.walls.is_empty(),
            has_rest: self.domain.world.rests,
            has_shapes: self.domain.world.has_shapes(),
            is_mixed: self.domain.grid.levels.parts > 1,
            // Spheres that rest on a plane may be stopped, and then count as fixed.
            has_flow: !self.boxes.is_empty(),
            shrinks: self.domain.system.compression.is_some(),
            has_fixed: (self.domain.has_fixed() || !self.domain.world.walls.is_empty())
                && self.domain.world.has_gravity,
        }
    }

    /// The buffer layout for these capacities.
    pub fn layout(&self, capacities: Capacities) -> BufferLayout {
        let layout = BufferLayout::new(
            self.room,
            self.domain.grid.buckets,
            StaticWorld {
                watches: self.boxes.len() as u32,
                shrinks: self.domain.system.compression.is_some(),
                ..StaticWorld::of(&self.domain.world)
            },
            if self.domain.world.rests { Numbers::new(&self.domain.grid, self.room).slots() } else { 0 },
            capacities,
        );
        BufferLayout { sphere_count: self.domain.statistics.count as u32, ..layout }
    }

    /// Writes a state into copy `k`. Ids become ranks.
    pub fn upload(&self, queue: &wgpu::Queue, buffers: &Buffers, k: usize, state: &State) {
        let (bodies, tags) = self.records(state);
        buffers.write_state(queue, k, 0, &bodies, &tags);
        buffers.write_world(queue, self);
    }

    /// The state as the device stores it. Ids become ranks.
    pub fn records(&self, state: &State) -> (Vec<Body>, Vec<Tag>) {
        let (mut bodies, mut tags) = (vec![], vec![]);
        let record = |i: usize| {
            let body = Body {
                offset: state.offset(i),
                radius: state.radius(i),
                velocity: state.velocity(i),
                inverse_mass: state.inverse_mass(i),
            };
            let tag = Tag {
                cell: state.cell[i].truncate(),
                rank: self.rank_of(state.id[i]),
                spin: state.spin[i].truncate(),
                last_contact: state.spin[i].w,
            };
            (body, tag)
        };
        (0..state.len()).into_par_iter().map(record).unzip_into_vecs(&mut bodies, &mut tags);
        (bodies, tags)
    }

    // In most systems the ids count from 0.
    fn rank_of(&self, id: u32) -> u32 {
        if self.ids.get(id as usize) == Some(&id) {
            return id;
        }
        self.ids.binary_search(&id).expect("an id of the system") as u32
    }

    /// Whether the buffers and the cells still suit the system after this many spheres have gone and these have come.
    pub fn suits(&self, gone: &[Sphere], come: &[Sphere]) -> bool {
        let Domain { statistics, units, .. } = &self.domain;
        let count = statistics.count - gone.len() + come.len();
        // Tolerances and size classes follow from the sizes.
        let mean = self.diameters_after(gone, come) / count as f64;
        let is_of_size = (mean / statistics.mean_diameter - 1.0).abs() <= SIMILAR_SIZE;
        let radii = statistics.radius_min..=statistics.radius_max;
        // The number of cells, the motion margin and the units follow from the number and the sizes of the spheres.
        let is_similar = count <= 2 * self.chosen_for + FEW && self.chosen_for <= 4 * count + FEW;
        count > 0
            && is_similar
            && is_of_size
            && count <= Candidate::MAX_SPHERES
            && come.iter().all(|s| !s.fixed && radii.contains(&(s.radius / units.length)))
    }

    // Sum of the diameters (scaled units) after these spheres have gone and come.
    fn diameters_after(&self, gone: &[Sphere], come: &[Sphere]) -> f64 {
        let sum = |spheres: &[Sphere]| spheres.iter().map(|s| 2.0 * s.radius).sum::<f64>();
        self.diameters + (sum(come) - sum(gone)) / self.domain.units.length
    }

    /// Updates ids, materials and statistics after spheres have gone and others, with larger ids, have come.
    pub fn exchange(&mut self, gone: &[Sphere], come: &[Sphere]) {
        self.diameters = self.diameters_after(gone, come);
        let is_gone = |id: &u32| gone.binary_search_by_key(id, |s| s.id).is_ok();
        let mut kept = self.ids.iter().map(|id| !is_gone(id));
        self.materials.retain(|_| kept.next().unwrap_or(true));
        self.ids.retain(|id| !is_gone(id));
        self.ids.extend(come.iter().map(|s| s.id));
        self.materials.extend(come.iter().map(|s| u32::from(s.material)));
        let Domain { statistics, units, .. } = &mut self.domain;
        statistics.exchange(gone, come, units);
    }

    /// Reads the state of copy `k` in device order.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    pub fn download(&self, context: &Context, buffers: &Buffers, k: usize) -> Result<State, Error> {
        let n = self.domain.statistics.count as u64;
        let sources = [
            (&buffers.bodies[k], 0, n * size_of::<Body>() as u64),
            (&buffers.tags[k], 0, n * size_of::<Tag>() as u64),
        ];
        let read = download(context, &sources)?;
        let bodies: Vec<Body> = bytemuck::pod_collect_to_vec(&read[0]);
        let tags: Vec<Tag> = bytemuck::pod_collect_to_vec(&read[1]);
        Ok(self.state_of(&bodies, &tags))
    }

    /// The state of these spheres. Ranks become ids.
    pub fn state_of(&self, bodies: &[Body], tags: &[Tag]) -> State {
        let mut state = State::default();
        state.resize(bodies.len());
        for (i, (body, tag)) in bodies.iter().zip(tags).enumerate() {
            let rank = tag.rank as usize;
            state.place[i] = body.offset.extend(body.radius);
            state.cell[i] = tag.cell.extend(self.materials[rank] as i32);
            state.motion[i] = body.velocity.extend(body.inverse_mass);
            state.spin[i] = tag.spin.extend(tag.last_contact);
            state.id[i] = self.ids[rank];
        }
        state
    }

    /// Writes a state into spheres in ascending order of ids.
    pub fn fill(&self, state: &State, spheres: &mut [Sphere]) {
        state.fill(&self.domain.units, &self.domain.grid, spheres);
    }
}
