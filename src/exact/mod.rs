//! The reference engine: event-driven molecular dynamics of hard spheres, serial, in f64.
//!
//! Spheres move from event to event, and each has its own clock (Lubachevsky, J. Comput. Phys. 94, 255, 1991). A queue
//! holds the next event of every sphere: an impact on another sphere or a plane, or the crossing into the next cell. This
//! engine shares no code with the stages of the CPU engine, so that each engine can check the other.
//!
//! Supported: 2D and 3D, any radii and masses, fixed spheres, planes, periodic and open axes, gravity, restitution with the
//! TC model (Luding & McNamara, Granular Matter 1, 113, 1998). Not supported: resting contact. If a sphere comes to rest,
//! its collisions never end, and the step fails with [`Error::NoProgress`].
//!
//! Simultaneous events are ordered by (smaller id, larger id), walls after spheres. Two spheres that overlap at the start
//! and approach collide at once.

mod ahead;
mod audit;
mod body;
mod checkpoint;
mod grid;
mod impact;
mod order;
mod predict;
mod queue;
mod slot;
mod sweep;
mod world;

pub(crate) use self::world::refuse_rough;

use std::collections::HashMap;

use glam::DVec3;

use self::{
    audit::Sorted,
    body::{Before, Body, Properties},
    grid::{Grid, Near},
    impact::Blow,
    queue::{Key, Queue},
    slot::{Alone, Meeting, Next, Slot},
    world::World,
};
use crate::{
    Error, Impact, Measure, Partner, Sphere, StepReport, System,
    state::columns::Found,
    step::{checkpoint::EngineState, engine::Engine, watch::BoxSet},
};

// Most cells that a sphere may cross in a step: more would take minutes.
const CELLS_PER_STEP: f64 = 1e8;

// Largest distance from the origin in cells: farther out, rounding exceeds the width of a cell.
const FARTHEST_CELL: f64 = 1e12;

// Mean number of crossings per sphere after which memory is sorted again. The sort takes as long as a few hundred impacts.
const CROSSINGS_PER_ORDER: usize = 2;

/// Event-driven, serial, f64.
#[derive(Default)]
pub(crate) struct ExactEngine {
    // Sorted by id; indexed by `Properties::number`.
    spins: Vec<DVec3>,
    // In memory order, which the properties, the slots, the grid and the queue share.
    bodies: Vec<Body>,
    properties: Vec<Properties>,
    spin_energy: f64,
    world: World,
    grid: Grid,
    slots: Vec<Slot>,
    queue: Queue,
    // The spheres that the present search found; kept for its memory.
    near: Vec<Near>,
    // The spheres that have moved in this step, as they were before, for the case that the step fails; the memory order stays
    // fixed while it holds entries.
    journal: Vec<Before>,
    sorted: Sorted,
    // Number of the present step.
    steps: u32,
    // Crossings since the spheres were last sorted by cells.
    crossings: usize,
}

impl ExactEngine {
    /// Takes spheres that are sorted by id.
    pub(crate) fn new(system: &System) -> Result<Self, Error> {
        let mut engine = Self::default();
        engine.reload(system)?;
        Ok(engine)
    }

    fn id(&self, i: usize) -> u32 {
        self.properties[i].id
    }

    fn gravity_of(&self, i: usize) -> DVec3 {
        let gravity = self.world.gravity;
        if gravity == DVec3::ZERO || self.properties[i].fixed() { DVec3::ZERO } else { gravity }
    }

    // The slot of a sphere, with times from the start of this step.
    fn slot(&mut self, i: usize) -> &mut Slot {
        let slot = &mut self.slots[i];
        slot.follow(self.steps, self.world.dt);
        slot
    }

    // Records a sphere for the case that the step fails.
    fn record(&mut self, i: usize) {
        let last_contact = self.slot(i).last_contact;
        self.journal.push(Before { sphere: i as u32, body: self.bodies[i], last_contact });
    }

    // Moves a sphere to an event.
    fn advance(&mut self, i: usize, time: f64) {
        // At the start of the step all clocks are 0 or earlier.
        if self.bodies[i].clock <= 0.0 {
            self.record(i);
        }
        let gravity = self.gravity_of(i);
        self.bodies[i].advance(time, gravity);
    }

    // Builds cells and predictions from the bodies; all clocks are at the start of the step.
    fn rebuild(&mut self) {
        self.fill_cells();
        self.predict_all();
    }

    // Sorts the bodies into cells; their order in memory changes.
    fn fill_cells(&mut self) {
        for i in 0..self.bodies.len() {
            self.grid.insert(i, self.bodies[i].position);
        }
        self.reorder();
    }

    fn predict_all(&mut self) {
        for i in 0..self.bodies.len() {
            self.predict(i);
        }
    }

    // Applies half of a step's drag to bodies at the end of the last step. Returns the energy that the drag takes.
    fn slow(&mut self) -> f64 {
        let World { gravity, slowing, .. } = self.world;
        let mut lost = 0.0;
        for (body, properties) in self.bodies.iter_mut().zip(&self.properties) {
            if !properties.fixed() {
                body.advance(0.0, gravity);
                let slowed = body.velocity * slowing;
                lost += 0.5 / properties.inverse_mass
                    * (body.velocity.length_squared() - slowed.length_squared());
                body.velocity = slowed;
            }
        }
        lost
    }

    // Rebuilds cells and predictions at the start of a step.
    fn start_over(&mut self) {
        self.begin_step();
        self.predict_all();
    }

    // Advances all bodies to the start of the step and sorts them into cells.
    fn begin_step(&mut self) {
        for i in 0..self.bodies.len() {
            let gravity = self.gravity_of(i);
            let body = &mut self.bodies[i];
            body.advance(0.0, gravity);
            body.position = self.world.wrap(body.position);
        }
        self.grid.clear();
        self.fill_cells();
    }

    fn run(
        &mut self,
        start_time: f64,
        mut log: Option<&mut Vec<Impact>>,
        report: &mut StepReport,
    ) -> Result<(), Error> {
        let mut bucket = usize::MAX;
        while let Some((i, Key { time, .. })) = self.queue.pop(self.world.dt) {
            if self.queue.bucket() != bucket {
                bucket = self.queue.bucket();
                self.look_ahead();
            }
            let number = self.properties[i].number;
            let blow = match self.slot(i).next(number) {
                Next::Meeting(meeting) => self.meet(i, meeting, start_time)?,
                Next::Alone(Alone::Wall(wall)) => {
                    self.advance(i, time);
                    let blow = self.strike_wall((i, wall as usize), time, start_time)?;
                    self.predict(i);
                    Some(blow)
                }
                Next::Alone(Alone::Cross(axis, way)) => {
                    self.cross(i, axis as usize, i64::from(way), time, start_time)?;
                    None
                }
                Next::Alone(Alone::Nothing) | Next::Search => {
                    self.predict_again(i, time);
                    None
                }
            };
            if let Some(blow) = blow {
                match blow.record.partner {
                    Partner::Sphere(_) => report.pair_impacts += 1,
                    Partner::Wall(_) => report.wall_impacts += 1,
                }
                report.contact_time_impacts += u64::from(blow.softened);
                report.virial += blow.virial;
                report.dissipated += blow.dissipated;
                if let Some(log) = &mut log {
                    log.push(blow.record);
                }
            }
        }
        Ok(())
    }

    // Handles a predicted impact; it is void if the partner has had another impact since.
    fn meet(&mut self, i: usize, meeting: Meeting, start_time: f64) -> Result<Option<Blow>, Error> {
        let (j, time) = (meeting.partner as usize, meeting.time);
        if self.properties[j].impacts != meeting.partner_impacts {
            self.slots[i].forget();
            self.enqueue(i);
            return Ok(None);
        }
        self.advance(i, time);
        self.advance(j, time);
        if self.world.gravity != DVec3::ZERO && self.properties[j].fixed() {
            // The advancement may have ended before the impact because of its step limit.
            let (a, b) = (&self.bodies[i], &self.bodies[j]);
            let distance = self.world.nearest_image(a.position - b.position).length();
            if !sweep::touches(distance, a.radius + b.radius) {
                self.predict(i);
                return Ok(None);
            }
        }
        let pair = if self.properties[i].number < self.properties[j].number { (i, j) } else { (j, i) };
        let blow = self.strike_pair(pair, time, start_time)?;
        self.predict(pair.0);
        self.predict(pair.1);
        Ok(Some(blow))
    }

    fn cross(&mut self, i: usize, axis: usize, way: i64, time: f64, start_time: f64) -> Result<(), Error> {
        self.advance(i, time);
        let body = &self.bodies[i];
        let edge = self.grid.edge()[axis];
        let cells = body.velocity[axis].abs() * self.world.dt / edge;
        if cells > CELLS_PER_STEP || body.position[axis].abs() > FARTHEST_CELL * edge {
            self.check(i)?;
            return Err(Error::NoProgress(format!(
                "exact: sphere {} at time {} is too fast or too far away: speed {:e}, {:e} cells of {edge} a step \
                 (at most {CELLS_PER_STEP:e}), position {:e}; take a shorter dt, or bounds",
                self.id(i),
                start_time + time,
                body.velocity.length(),
                cells,
                body.position[axis],
            )));
        }
        self.bodies[i].position[axis] += self.grid.cross(i, axis, way);
        self.crossings += 1;
        self.predict_layer(i, axis, way);
        Ok(())
    }

    // An error if a sphere that has moved is not finite any more; the first in memory order, if there are several.
    fn check_moved(&self) -> Result<(), Error> {
        let moved = self.journal.iter().map(|before| before.sphere as usize);
        moved.filter(|&i| !self.bodies[i].finite()).min().map_or(Ok(()), |i| self.check(i))
    }

    // Moves the origin of time to the end of the step.
    fn rebase(&mut self) {
        let dt = self.world.dt;
        for body in &mut self.bodies {
            body.clock -= dt;
        }
        self.steps = self.steps.wrapping_add(1);
        self.queue.rebase(dt);
        if self.crossings > CROSSINGS_PER_ORDER * self.bodies.len() {
            self.reorder();
        }
    }
}

impl Engine for ExactEngine {
    fn step(
        &mut self,
        start_time: f64,
        mut impacts: Option<&mut Vec<Impact>>,
        _more: bool,
    ) -> Result<StepReport, Error> {
        self.journal.clear();
        let mut report = StepReport { substeps: 1, ..StepReport::default() };
        if self.world.slowing < 1.0 {
            // The journal holds indices, so the bodies are sorted before and not after.
            self.begin_step();
            (0..self.bodies.len()).for_each(|i| self.record(i));
            report.dissipated += self.slow();
            self.predict_all();
        }
        let run = self.run(start_time, impacts.as_deref_mut(), &mut report).and_then(|()| self.check_moved());
        if let Err(error) = run {
            if let Some(impacts) = impacts {
                impacts.clear();
            }
            self.restore();
            return Err(error);
        }
        self.rebase();
        if self.world.slowing < 1.0 {
            // All predictions are void; the next step rebuilds them.
            report.dissipated += self.slow();
        }
        let mut sorted = std::mem::take(&mut self.sorted);
        let measure = self.audit(&mut sorted);
        self.sorted = sorted;
        report.deepest_overlap = measure.deepest_overlap;
        report.kinetic_energy = measure.kinetic_energy;
        report.potential_energy = measure.potential_energy;
        report.momentum = measure.momentum;
        Ok(report)
    }

    fn read(&self, spheres: &mut [Sphere]) -> Result<(), Error> {
        for (body, properties) in self.bodies.iter().zip(&self.properties) {
            let sphere = &mut spheres[properties.number as usize];
            sphere.spin = self.spins[properties.number as usize];
            if properties.fixed() {
                continue;
            }
            let (position, velocity) = body.at(0.0, self.world.gravity);
            sphere.position = self.world.origin + self.world.wrap(position);
            sphere.velocity = velocity;
        }
        Ok(())
    }

    fn find(&self, _boxes: BoxSet, test: &(dyn Fn(DVec3, f64) -> bool + Sync)) -> Result<Vec<Found>, Error> {
        let found = self.bodies.iter().enumerate().map(|(i, body)| {
            let (position, velocity) = body.at(0.0, self.gravity_of(i));
            let center = self.world.origin + self.world.wrap(position);
            let spin = self.spins[self.properties[i].number as usize];
            Found { id: self.id(i), center, radius: body.radius, velocity, spin }
        });
        Ok(found.filter(|found| test(found.center, found.radius)).collect())
    }

    fn checkpoint(&self) -> Result<EngineState, Error> {
        Ok(EngineState::Exact(Box::new(self.state())))
    }

    fn measure(&self) -> Measure {
        self.audit(&mut Sorted::default())
    }

    fn memory_bytes(&self) -> usize {
        self.bodies.capacity() * size_of::<Body>()
            + self.properties.capacity() * size_of::<Properties>()
            + self.journal.capacity() * size_of::<Before>()
            + self.near.capacity() * size_of::<Near>()
            + self.slots.capacity() * size_of::<Slot>()
            + self.spins.capacity() * size_of::<DVec3>()
            + self.grid.memory_bytes()
            + self.queue.memory_bytes()
            + self.sorted.memory_bytes()
    }

    fn reload(&mut self, system: &System) -> Result<(), Error> {
        let world = World::new(system)?;
        if system.spheres.len() >= 1 << 31 {
            return Err(Error::Capacity(format!(
                "exact: {} spheres, at most 2147483647 can be numbered",
                system.spheres.len()
            )));
        }
        let contacts: HashMap<u32, f64> =
            (0..self.bodies.len()).map(|i| (self.id(i), self.slot(i).last_contact)).collect();
        let mut slots = vec![Slot::default(); system.spheres.len()];
        let mut bodies = Vec::with_capacity(system.spheres.len());
        for (sphere, slot) in system.spheres.iter().zip(&mut slots) {
            let mut body = Body::new(sphere, world.origin);
            body.position = world.wrap(body.position);
            if !body.finite() {
                return Err(Error::NonFinite { id: sphere.id, last_good_step: 0 });
            }
            if let Some(&time) = contacts.get(&sphere.id) {
                slot.last_contact = time;
            }
            bodies.push(body);
        }
        self.properties =
            (0..).zip(&system.spheres).map(|(number, sphere)| Properties::new(sphere, number)).collect();
        self.spins = system.spheres.iter().map(|s| s.spin).collect();
        self.spin_energy = system
            .spheres
            .iter()
            .filter(|s| !s.fixed)
            .map(|s| 0.2 * s.mass * s.radius * s.radius * s.spin.length_squared())
            .sum();
        self.journal.clear();
        self.steps = 0;
        self.bodies = bodies;
        self.world = world;
        self.slots = slots;
        self.queue = Queue::new(self.bodies.len());
        self.grid = Grid::new(system);
        self.rebuild();
        Ok(())
    }
}
