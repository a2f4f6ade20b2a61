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

mod audit;
mod body;
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
    body::{Before, Body},
    grid::Grid,
    impact::{Blow, check, strike_pair, strike_wall},
    queue::Queue,
    slot::{Alone, Meeting, Next, Slot},
    world::World,
};
use crate::{
    Error, Impact, Measure, Partner, Sphere, StepReport, System, state::columns::Found, step::engine::Engine,
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
    // Sorted by id; indexed by `Body::number`.
    ids: Vec<u32>,
    spins: Vec<DVec3>,
    // In memory order, which the slots, the grid and the queue share.
    bodies: Vec<Body>,
    spin_energy: f64,
    world: World,
    grid: Grid,
    slots: Vec<Slot>,
    queue: Queue,
    // The bodies at the start of the step, for the case that the step fails; the memory order stays fixed during a step.
    start: Vec<Before>,
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

    // Builds cells and predictions from the bodies; all clocks are at the start of the step.
    fn rebuild(&mut self) {
        for i in 0..self.bodies.len() {
            self.grid.insert(i, self.bodies[i].position);
        }
        self.reorder();
        for i in 0..self.bodies.len() {
            self.predict(i);
        }
    }

    // Applies half of a step's drag to bodies at the end of the last step. Returns the energy that the drag takes.
    fn slow(&mut self) -> f64 {
        let World { gravity, slowing, .. } = self.world;
        let mut lost = 0.0;
        for body in self.bodies.iter_mut().filter(|body| !body.fixed()) {
            body.advance(0.0, gravity);
            let slowed = body.velocity * slowing;
            lost += 0.5 / body.inverse_mass * (body.velocity.length_squared() - slowed.length_squared());
            body.velocity = slowed;
        }
        lost
    }

    // Rebuilds cells and predictions at the start of a step.
    fn start_over(&mut self) {
        for body in &mut self.bodies {
            body.advance(0.0, self.world.gravity);
            body.position = self.world.wrap(body.position);
        }
        self.grid.clear();
        self.rebuild();
    }

    fn run(
        &mut self,
        start_time: f64,
        mut log: Option<&mut Vec<Impact>>,
        report: &mut StepReport,
    ) -> Result<(), Error> {
        while let Some((i, key)) = self.queue.first() {
            if key.time >= self.world.dt {
                break;
            }
            let time = key.time;
            let blow = match self.slots[i].next(self.bodies[i].number) {
                Next::Meeting(meeting) => self.meet(i, meeting, start_time)?,
                Next::Alone(Alone::Wall(wall)) => {
                    self.bodies[i].advance(time, self.world.gravity);
                    let pair = (i, wall as usize);
                    let blow = strike_wall(&self.world, &mut self.bodies, &self.ids, pair, time, start_time)?;
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
        if self.bodies[j].impacts != meeting.partner_impacts {
            self.slots[i].forget();
            self.enqueue(i);
            return Ok(None);
        }
        self.bodies[i].advance(time, self.world.gravity);
        self.bodies[j].advance(time, self.world.gravity);
        let (a, b) = (self.bodies[i], self.bodies[j]);
        if self.world.gravity != DVec3::ZERO && b.fixed() {
            // The advancement may have ended before the impact because of its step limit.
            let distance = self.world.nearest_image(a.position - b.position).length();
            if !sweep::touches(distance, a.radius + b.radius) {
                self.predict(i);
                return Ok(None);
            }
        }
        let pair = if a.number < b.number { (i, j) } else { (j, i) };
        let blow = strike_pair(&self.world, &mut self.bodies, &self.ids, pair, time, start_time)?;
        self.predict(pair.0);
        self.predict(pair.1);
        Ok(Some(blow))
    }

    fn cross(&mut self, i: usize, axis: usize, way: i64, time: f64, start_time: f64) -> Result<(), Error> {
        let body = &mut self.bodies[i];
        body.advance(time, self.world.gravity);
        let edge = self.grid.edge()[axis];
        let cells = body.velocity[axis].abs() * self.world.dt / edge;
        if cells > CELLS_PER_STEP || body.position[axis].abs() > FARTHEST_CELL * edge {
            check(body, &self.ids)?;
            return Err(Error::NoProgress(format!(
                "exact: sphere {} at time {} is too fast or too far away: speed {:e}, {:e} cells of {edge} a step \
                 (at most {CELLS_PER_STEP:e}), position {:e}; take a shorter dt, or bounds",
                self.ids[body.number as usize],
                start_time + time,
                body.velocity.length(),
                cells,
                body.position[axis],
            )));
        }
        body.position[axis] += self.grid.cross(i, axis, way);
        self.crossings += 1;
        self.predict_layer(i, axis, way);
        Ok(())
    }

    // Moves the origin of time to the end of the step.
    fn rebase(&mut self) {
        let dt = self.world.dt;
        for (body, slot) in self.bodies.iter_mut().zip(&mut self.slots) {
            body.clock -= dt;
            body.last_contact -= dt;
            slot.rebase(dt);
        }
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
        self.start.clear();
        self.start.extend(self.bodies.iter().map(Body::before));
        let mut report = StepReport { substeps: 1, ..StepReport::default() };
        if self.world.slowing < 1.0 {
            report.dissipated += self.slow();
            self.start_over();
        }
        let run = self
            .run(start_time, impacts.as_deref_mut(), &mut report)
            .and_then(|()| self.bodies.iter().try_for_each(|body| check(body, &self.ids)));
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
        let measure = self.measure();
        report.deepest_overlap = measure.deepest_overlap;
        report.kinetic_energy = measure.kinetic_energy;
        report.potential_energy = measure.potential_energy;
        report.momentum = measure.momentum;
        Ok(report)
    }

    fn read(&self, spheres: &mut [Sphere]) -> Result<(), Error> {
        for body in &self.bodies {
            let sphere = &mut spheres[body.number as usize];
            sphere.spin = self.spins[body.number as usize];
            if body.fixed() {
                continue;
            }
            let (position, velocity) = body.at(0.0, self.world.gravity);
            sphere.position = self.world.origin + self.world.wrap(position);
            sphere.velocity = velocity;
        }
        Ok(())
    }

    fn find(&self, test: &(dyn Fn(DVec3, f64) -> bool + Sync)) -> Result<Vec<Found>, Error> {
        let found = self.bodies.iter().map(|body| {
            let position = body.at(0.0, self.world.gravity).0;
            let center = self.world.origin + self.world.wrap(position);
            Found { id: self.ids[body.number as usize], center, radius: body.radius }
        });
        Ok(found.filter(|found| test(found.center, found.radius)).collect())
    }

    fn measure(&self) -> Measure {
        self.audit()
    }

    fn memory_bytes(&self) -> usize {
        self.bodies.capacity() * size_of::<Body>()
            + self.start.capacity() * size_of::<Before>()
            + self.slots.capacity() * size_of::<Slot>()
            + self.spins.capacity() * size_of::<DVec3>()
            + self.ids.capacity() * size_of::<u32>()
            + self.grid.memory_bytes()
            + self.queue.memory_bytes()
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
            self.bodies.iter().map(|body| (self.ids[body.number as usize], body.last_contact)).collect();
        let ids: Vec<u32> = system.spheres.iter().map(|s| s.id).collect();
        let mut bodies = Vec::with_capacity(system.spheres.len());
        for (number, sphere) in system.spheres.iter().enumerate() {
            let mut body = Body::new(sphere, number as u32, world.origin);
            body.position = world.wrap(body.position);
            check(&body, &ids)?;
            if let Some(&time) = contacts.get(&sphere.id) {
                body.last_contact = time;
            }
            bodies.push(body);
        }
        self.ids = ids;
        self.spins = system.spheres.iter().map(|s| s.spin).collect();
        self.spin_energy = system
            .spheres
            .iter()
            .filter(|s| !s.fixed)
            .map(|s| 0.2 * s.mass * s.radius * s.radius * s.spin.length_squared())
            .sum();
        self.start = Vec::with_capacity(bodies.len());
        self.bodies = bodies;
        self.world = world;
        self.slots = vec![Slot::default(); self.ids.len()];
        self.queue = Queue::new(self.ids.len());
        self.grid = Grid::new(system);
        self.rebuild();
        Ok(())
    }
}
