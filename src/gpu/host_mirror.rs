//! What the host knows of the system: units, cells, world, and the spheres as they go to and from the device.

use glam::DVec3;

use super::{
    Context,
    buffer_layout::{BufferLayout, Capacities, slots},
    buffers::Buffers,
    layout::{Body, Tag},
    readback::download,
    shaders::Variant,
    static_world::{self, StaticWorld},
    step_plan::Substep,
};
use crate::{
    Error, Sphere, System,
    state::{columns::State, grid::Grid, statistics::SystemStatistics, units::Units},
    step::plan::Limits,
    walls::world::World,
};

/// See the module.
pub struct HostMirror {
    pub units: Units,
    pub grid: Grid,
    pub world: World,
    pub statistics: SystemStatistics,
    /// The world without its spheres.
    pub system: System,
    /// Ids and materials by rank.
    pub ids: Vec<u32>,
    pub materials: Vec<u32>,
    pub reference: DVec3,
    /// Share of velocities that half of the drag of a step takes.
    pub slowing: f64,
    contact_time: f64,
    has_fixed: bool,
}

impl HostMirror {
    /// The host's view of a system and its first state.
    pub fn new(system: &System, last_contact: impl Fn(u32) -> f32) -> (Self, State) {
        let units = Units::new(system);
        let statistics = SystemStatistics::new(system, &units);
        let lowest = system.spheres.iter().map(|s| s.position / units.length).reduce(DVec3::min);
        let grid =
            Grid::new(system, &units, &statistics, statistics.margin_most, lowest.unwrap_or(DVec3::ZERO));
        let mut state = State::default();
        state.load(system, &units, &grid, last_contact);
        let mut host = Self {
            world: World::default(),
            ids: system.spheres.iter().map(|s| s.id).collect(),
            materials: system.spheres.iter().map(|s| u32::from(s.material)).collect(),
            reference: system.gravity_reference() / units.length,
            slowing: -(-0.5 * system.drag * system.dt).exp_m1(),
            contact_time: system.contact_time(),
            has_fixed: system.spheres.iter().any(|s| s.fixed),
            system: System { spheres: vec![], ..system.clone() },
            units,
            grid,
            statistics,
        };
        host.lay_out(&state);
        (host, state)
    }

    /// Makes cells for another path budget, and the world on them.
    pub fn regrid(&mut self, state: &mut State, motion_margin: f64) {
        self.grid = state.regrid(&self.grid, |lowest| {
            Grid::new(&self.system, &self.units, &self.statistics, motion_margin, lowest)
        });
        self.lay_out(state);
    }

    // The world on the present cells.
    fn lay_out(&mut self, state: &State) {
        self.world = World::new(
            &self.system,
            &self.units,
            &self.grid,
            state.middle(&self.grid),
            self.contact_time / self.units.time,
            &self.statistics,
        );
    }

    /// Puts the walls where they are in the substep of length `h` (scaled) that begins at `time`.
    pub fn place_walls(&mut self, time: f64, h: f64) {
        self.world.place_walls(time, h, &self.units, &self.grid);
    }

    /// Where walls are in the pieces of a step that begins at `start`, as the device has it; they stay where the last one has them.
    pub fn motion(&mut self, start: f64, substeps: &[Substep]) -> Vec<u32> {
        let mut words = vec![];
        for substep in substeps {
            self.place_walls(start + substep.time * self.units.time, substep.h);
            static_world::motion(&self.world, &self.units, &self.grid, &mut words);
        }
        words
    }

    /// How far fixed spheres, and those at rest, move in a step as the falling frame sees it; scaled units.
    fn fall(&self, dt: f64) -> f64 {
        let falls = self.has_fixed || self.world.rests;
        if falls { 0.5 * f64::from(self.world.gravity.length()) * dt * dt } else { 0.0 }
    }

    /// What plans may choose from; `dt` in scaled units.
    pub fn limits(&self, dt: f64) -> Limits {
        Limits {
            dt,
            substeps: self.system.solver.substeps,
            margin_limit: self.grid.margin_limit,
            made_for: self.grid.made_for,
            least_substeps: self.world.least_substeps(dt, &self.statistics, &self.units),
            wall_substeps: self.world.features.substeps(dt * self.units.time),
            fall: self.fall(dt),
            cell: f64::from(self.grid.edge.min_element()),
            margin_most: self.statistics.margin_most,
            margin_least: self.statistics.margin_least,
        }
    }

    /// What the shaders have to be made for.
    pub fn variant(&self) -> Variant {
        Variant {
            is_direct: self.grid.direct,
            has_walls: !self.world.walls.is_empty(),
            has_rest: self.world.rests,
            has_shapes: self.world.has_shapes(),
            is_mixed: self.grid.levels.parts > 1,
            // Spheres that rest on a plane may be stopped, and count as fixed then.
            has_fixed: (self.has_fixed || !self.world.walls.is_empty()) && self.world.has_gravity,
        }
    }

    /// Where everything lies for so much room.
    pub fn layout(&self, capacities: Capacities) -> BufferLayout {
        BufferLayout::new(
            self.statistics.count,
            self.grid.buckets,
            StaticWorld::of(&self.world),
            if self.world.rests { slots(&self.grid, self.statistics.count) } else { 0 },
            capacities,
        )
    }

    /// Puts a state down into copy `k`. Ids become ranks.
    pub fn upload(&self, queue: &wgpu::Queue, buffers: &Buffers, k: usize, state: &State) {
        let (mut bodies, mut tags) = (vec![], vec![]);
        for i in 0..state.len() {
            bodies.push(Body {
                offset: state.offset(i),
                radius: state.radius(i),
                velocity: state.velocity(i),
                inverse_mass: state.inverse_mass(i),
            });
            tags.push(Tag {
                cell: state.cell[i].truncate(),
                rank: self.ids.binary_search(&state.id[i]).expect("an id of the system") as u32,
                spin: state.spin[i].truncate(),
                last_contact: state.spin[i].w,
            });
        }
        buffers.write_state(queue, k, &bodies, &tags);
        buffers.write_world(queue, self);
    }

    /// The state of copy `k`, as it lies there.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    pub fn download(&self, context: &Context, buffers: &Buffers, k: usize) -> Result<State, Error> {
        let n = self.statistics.count as u64;
        let sources = [
            (&buffers.bodies[k], 0, n * size_of::<Body>() as u64),
            (&buffers.tags[k], 0, n * size_of::<Tag>() as u64),
        ];
        let read = download(context, &sources)?;
        let bodies: Vec<Body> = bytemuck::pod_collect_to_vec(&read[0]);
        let tags: Vec<Tag> = bytemuck::pod_collect_to_vec(&read[1]);
        let mut state = State::default();
        state.resize(self.statistics.count);
        for (i, (body, tag)) in bodies.iter().zip(&tags).enumerate() {
            let rank = tag.rank as usize;
            state.place[i] = body.offset.extend(body.radius);
            state.cell[i] = tag.cell.extend(self.materials[rank] as i32);
            state.motion[i] = body.velocity.extend(body.inverse_mass);
            state.spin[i] = tag.spin.extend(tag.last_contact);
            state.id[i] = self.ids[rank];
        }
        Ok(state)
    }

    /// Writes a state into spheres that hold the ids in ascending order.
    pub fn fill(&self, state: &State, spheres: &mut [Sphere]) {
        state.fill(&self.units, &self.grid, spheres);
    }
}
