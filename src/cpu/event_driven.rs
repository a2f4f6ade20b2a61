//! Applies the impacts of a substep one after the other, in f64: an event-driven simulation of the spheres with pending impacts and
//! of those that they meet.
//!
//! Rounds apply independent impacts side by side. In a cluster of touching elastic spheres every impact depends on the one
//! before, and the impacts follow each other faster than an f32 clock can tell. With places, velocities and clocks in f64 they
//! end soon. Where fast spheres start a blast, every impact that a fast sphere could disturb has to wait for it. So a substep begins
//! with rounds, which apply the impacts that depend on no other one, and the impacts that are left follow one by one. All other
//! spheres keep their state. A sphere that took part returns to f32 at its place at the end of the substep.
//!
//! The rounds look only two impacts ahead. If a push passes farther in a cluster, an impact is late. Then the whole substep is
//! repeated one by one, and the next substeps begin so.
//!
//! Only worlds without resting contacts do so: under gravity, crowds become contacts. Impacts on moving planes and on walls of
//! other shapes, of spheres that a plane supports, and under gravity on fixed spheres, are predicted and applied by the stages
//! `sweep` and `collide`, in f32.

use std::{cmp::Ordering, collections::BinaryHeap};

use glam::{DVec3, Vec3};

use super::collide::{Counts, Push, Recorder, soften};
use crate::{
    Error, Impact, Partner,
    cpu::{
        core::Core,
        event::{Event, View},
        feature::consider_features,
        rounds::{EARLY_ROUNDS, Outcome, Patience, Rounds},
        sweep::{consider, consider_wall},
    },
    state::{
        constants::{LEAST_REBOUND, RESTING, WALL, wall_bit, wall_of},
        frame::Frame,
    },
    walls::world::Wall,
};

/// Two impacts within this part of a substep are in a row.
const INSTANT: f64 = 1e-9;

/// So many impacts in a row for each sphere that takes part, and [`LEAST_IN_A_ROW`] more, never end.
const IN_A_ROW: u64 = 16;
const LEAST_IN_A_ROW: u64 = 1 << 16;

/// Impacts for each pending sphere that are granted to a substep even if the step has used up its work limit.
const LEAST_IMPACTS: u64 = 16;

/// Fast spheres may have so many times more candidates and cells than in rounds before the substep is halved.
const MOST_CROWDED: usize = 8;

/// If a few rounds would leave at most one in so many impacts of a substep, the next substep begins with rounds.
const LEFT_SHARE: u64 = 4;

/// Mean length of the candidate lists up to which rounds are faster. Their causality check visits the candidates of candidates.
const LONG_LISTS: usize = 16;

/// Slot of a sphere that does not take part.
const ABSENT: u32 = u32::MAX;

/// A sphere that takes part.
#[derive(Clone, Copy)]
struct Body {
    index: u32,
    /// Offset in its cell at the time `clock`, in the falling frame.
    offset: DVec3,
    velocity: DVec3,
    spin: DVec3,
    clock: f64,
    /// Time of the last contact.
    contact: f64,
    /// Path that its candidate list still covers.
    margin: f64,
    /// Number of its impacts so far; predictions from before are void.
    impacts: u32,
    /// Number of impacts in the longest chain that ends with its last one, each of which had to come before the next.
    depth: u32,
}

/// A predicted impact of sphere `i`.
#[derive(Clone, Copy)]
struct Prediction {
    time: f64,
    /// Order of simultaneous impacts: by (smaller id, larger id), walls last.
    order: (u32, u32),
    i: u32,
    /// As in [`Event`].
    partner: u32,
    link: u32,
    /// Impacts of both partners when the impact was predicted.
    impacts: (u32, u32),
    /// Whether the stage `collide` applies the impact.
    is_single: bool,
}

impl Ord for Prediction {
    // The earliest prediction is the greatest, because a binary heap yields the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.time.total_cmp(&self.time).then_with(|| other.order.cmp(&self.order))
    }
}

impl PartialOrd for Prediction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Prediction {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Prediction {}

/// Buffers of the event-driven simulation.
#[derive(Default)]
pub struct EventDriven {
    /// Place of each sphere in `bodies`; [`ABSENT`] if it does not take part.
    slots: Vec<u32>,
    bodies: Vec<Body>,
    queue: BinaryHeap<Prediction>,
    /// Length of the longest chain of impacts in the last substep: about as many rounds would have been needed. 0 if the next substep
    /// should begin with rounds all the same.
    pub depth: u32,
    /// Number of impacts that a few rounds would have left.
    left_by_rounds: u64,
}

impl Body {
    fn new(core: &Core, i: usize) -> Self {
        let (state, clock) = (&core.state, core.clock[i]);
        Self {
            index: i as u32,
            offset: state.offset(i).as_dvec3(),
            velocity: state.velocity(i).as_dvec3(),
            spin: state.spin[i].truncate().as_dvec3(),
            clock: clock.into(),
            contact: state.spin[i].w.into(),
            margin: core.motion_margin[i].into(),
            impacts: 0,
            depth: 0,
        }
    }

    fn at(&self, time: f64) -> DVec3 {
        self.offset + self.velocity * (time - self.clock)
    }

    fn advance(&mut self, time: f64, drift: DVec3) {
        let path = time - self.clock;
        self.margin -= ((self.velocity - drift) * path).length();
        (self.offset, self.clock) = (self.at(time), time);
    }
}

/// Time until two spheres touch; `d` and `w` are the place and velocity of one relative to the other.
fn first_contact(d: DVec3, w: DVec3, radius_sum: f64, left: f64) -> Option<f64> {
    let b = d.dot(w);
    if b >= 0.0 {
        return None;
    }
    let distance = d.length();
    let c = (distance - radius_sum) * (distance + radius_sum);
    if c <= 0.0 {
        return Some(0.0);
    }
    let a = w.length_squared();
    // They cannot approach by more than this.
    if distance - radius_sum > a.sqrt() * left {
        return None;
    }
    let nearest = d - w * (b / a);
    let q = a * (radius_sum * radius_sum - nearest.length_squared());
    let time = c / (q.sqrt() - b);
    (q > 0.0 && time < left).then_some(time)
}

/// The next impact of a sphere on a plane.
enum Meeting {
    None,
    At(f64),
    /// The stage `sweep` predicts it, because the plane moves or the sphere is about to rest on it.
    BySweep,
}

/// Height of the surface of a sphere above a plane that stands still, in the lab frame.
fn height(view: &View, body: &Body, wall: &Wall, time: f64) -> f64 {
    let index = body.index as usize;
    let cells = view.grid.shift(view.cell(index) - wall.cell).as_dvec3();
    let at = cells + (body.at(time) - wall.offset.as_dvec3());
    let fallen = 0.5 * f64::from(wall.acceleration) * time * time;
    normal_of(wall).dot(at) + fallen - f64::from(view.state.radius(index))
}

fn normal_of(wall: &Wall) -> DVec3 {
    wall.normal.as_dvec3().normalize()
}

fn plane_contact(view: &View, body: &Body, plane: usize) -> Meeting {
    let (wall, index) = (&view.world.walls[plane], body.index as usize);
    if !wall.there || usize::from(view.support[index]) == plane + 1 {
        return Meeting::None;
    }
    if wall.mover.is_some() {
        return Meeting::BySweep;
    }
    let (acceleration, h) = (f64::from(wall.acceleration), f64::from(view.frame.h));
    let gap = height(view, body, wall, body.clock).max(0.0);
    let speed = normal_of(wall).dot(body.velocity) + acceleration * body.clock;
    // The first root of gap + speed t + acceleration/2 t^2, without cancellation.
    let square = speed * speed - 2.0 * acceleration * gap;
    let time = if square < 0.0 {
        return Meeting::None;
    } else if speed < 0.0 {
        2.0 * gap / (square.sqrt() - speed)
    } else if acceleration < 0.0 {
        (speed + square.sqrt()) / -acceleration
    } else {
        return Meeting::None;
    };
    let arrival = square.sqrt();
    let is_slow = arrival <= -acceleration * f64::from(RESTING) * h;
    match body.clock + time {
        time if time >= h => Meeting::None,
        _ if acceleration < 0.0 && is_slow => Meeting::BySweep,
        time => Meeting::At(time),
    }
}

/// Impulse of friction on the first sphere, twist of both, and the energy lost, as in `collide::friction`. `rim` is the sum
/// of the spins times the radii.
fn rub(
    (d, w, rim): (DVec3, DVec3, DVec3),
    radius_sum: f64,
    inverse_mass: f64,
    limit: f64,
) -> Option<(DVec3, DVec3, f64)> {
    let square = d.length_squared();
    let surfaces = w - (rim / radius_sum).cross(d);
    let slip = surfaces - d * (surfaces.dot(d) / square);
    let speed = slip.length();
    let rate = inverse_mass * (1.0 + 2.5 * (square / (radius_sum * radius_sum)));
    let size = limit.min(speed / rate);
    let impulse = slip * (-size / speed);
    (speed > 0.0 && impulse.is_finite())
        .then(|| (impulse, impulse.cross(d) * (2.5 / radius_sum), size * (speed - 0.5 * rate * size)))
}

impl EventDriven {
    /// Number of bytes of its buffers.
    pub fn bytes(&self) -> usize {
        4 * self.slots.capacity()
            + self.bodies.capacity() * size_of::<Body>()
            + self.queue.capacity() * size_of::<Prediction>()
    }

    // Begins a substep with so many spheres; none of them takes part.
    fn begin(&mut self, count: usize) {
        for body in self.bodies.drain(..) {
            self.slots[body.index as usize] = ABSENT;
        }
        self.slots.resize(count, ABSENT);
        self.queue.clear();
        self.left_by_rounds = 0;
    }

    fn get(&self, i: u32) -> Option<&Body> {
        self.bodies.get(self.slots[i as usize] as usize)
    }

    // The body of a sphere, which takes part from now on.
    fn body(&mut self, core: &Core, i: u32) -> &mut Body {
        let slot = &mut self.slots[i as usize];
        if *slot == ABSENT {
            *slot = self.bodies.len() as u32;
            self.bodies.push(Body::new(core, i as usize));
        }
        &mut self.bodies[*slot as usize]
    }

    // Predicts the impacts of a sphere that takes part.
    fn predict(&mut self, core: &Core, frame: Frame, i: u32) {
        let view = core.view(frame);
        let (state, h) = (view.state, f64::from(frame.h));
        if state.inverse_mass(i as usize) == 0.0 {
            return;
        }
        let a = *self.body(core, i);
        let (index, ids) = (i as usize, state.id);
        let mut single = Event::NONE;
        let Self { slots, bodies, queue, .. } = self;
        view.for_candidates(index, |k, link, shift| {
            if state.inverse_mass(k) == 0.0 && view.world.has_gravity {
                consider(&view, index, k, link, shift, &mut single);
                return;
            }
            let b = bodies.get(slots[k] as usize).copied().unwrap_or_else(|| Body::new(core, k));
            let now = a.clock.max(b.clock);
            let d = a.at(now) - b.at(now) - shift.as_dvec3();
            let radius_sum = f64::from(state.radius(index)) + f64::from(state.radius(k));
            if let Some(time) = first_contact(d, a.velocity - b.velocity, radius_sum, h - now) {
                queue.push(Prediction {
                    time: now + time,
                    order: (ids[index].min(ids[k]), ids[index].max(ids[k])),
                    i,
                    partner: k as u32,
                    link,
                    impacts: (a.impacts, b.impacts),
                    is_single: false,
                });
            }
        });
        let planes = if view.dynamic_candidates.is_fast(index) { u32::MAX } else { view.lists.walls(index) };
        for plane in (0..view.world.walls.len()).filter(|&plane| planes & wall_bit(plane) != 0) {
            match plane_contact(&view, &a, plane) {
                Meeting::None => {}
                Meeting::BySweep => consider_wall(&view, index, plane, &mut single),
                Meeting::At(time) => queue.push(Prediction {
                    time,
                    order: (u32::MAX, plane as u32),
                    i,
                    partner: WALL | plane as u32,
                    link: 0,
                    impacts: (a.impacts, 0),
                    is_single: false,
                }),
            }
        }
        consider_features(&view, index, &mut single);
        if single.is_some() {
            let order = match single.wall() {
                Some(wall) => (u32::MAX, wall as u32),
                None => {
                    let (id, other) = (ids[index], ids[single.partner as usize]);
                    (id.min(other), id.max(other))
                }
            };
            queue.push(Prediction {
                time: f64::from(single.toi).max(a.clock),
                order,
                i,
                partner: single.partner,
                link: single.link,
                impacts: (a.impacts, 0),
                is_single: true,
            });
        }
    }

    // The next valid prediction.
    fn next(&mut self) -> Option<Prediction> {
        while let Some(next) = self.queue.pop() {
            let impacts = |i: u32| self.get(i).map_or(0, |body| body.impacts);
            let is_alone = next.is_single || next.partner & WALL != 0;
            let partner = if is_alone { 0 } else { impacts(next.partner) };
            if next.impacts == (impacts(next.i), partner) {
                return Some(next);
            }
        }
        None
    }

    // Applies the impact of two spheres. Neither is supported by a plane.
    fn strike(
        &mut self,
        core: &Core,
        frame: Frame,
        recorder: Recorder,
        impact: Prediction,
        counts: &mut Counts,
    ) -> Option<Impact> {
        let view = core.view(frame);
        let (i, k, time) = (impact.i as usize, impact.partner as usize, impact.time);
        let drift = frame.drift.as_dvec3();
        let [mut a, mut b] = [impact.i, impact.partner].map(|i| *self.body(core, i));
        let is_fixed = view.state.inverse_mass(k) == 0.0;
        a.advance(time, drift);
        b.advance(time, if is_fixed { b.velocity } else { drift });
        (a.impacts, b.impacts) = (a.impacts + 1, b.impacts + u32::from(!is_fixed));
        a.depth = 1 + if is_fixed { a.depth } else { a.depth.max(b.depth) };
        b.depth = if is_fixed { b.depth } else { a.depth };
        self.depth = self.depth.max(a.depth);
        let d = a.offset - b.offset - view.shift(impact.link).as_dvec3();
        let w = a.velocity - b.velocity;
        let (approach, square) = (d.dot(w), d.length_squared());
        let record = (approach < 0.0).then(|| {
            let distance = square.sqrt();
            let radii = [i, k].map(|k| f64::from(view.state.radius(k)));
            let inverse_masses = [i, k].map(|k| f64::from(view.state.inverse_mass(k)));
            let radius_sum = radii[0] + radii[1];
            counts.late += u64::from(radius_sum - distance > f64::from(view.world.slop));
            let surface = view.world.surface(view.state.material(i).into(), view.state.material(k).into());
            let contact = if is_fixed { a.contact } else { a.contact.max(b.contact) };
            let speed = (-approach / distance) as f32;
            let (e, friction) = soften(&view, surface, speed, (time - contact) as f32, counts);
            let (e, inverse_mass) = (f64::from(e), inverse_masses[0] + inverse_masses[1]);
            // As in `collide`: what separates more slowly would be rounded away.
            let speeds = a.velocity.length() + b.velocity.length();
            let parting = (-e * approach).max(f64::from(LEAST_REBOUND) * speeds * distance);
            let normal_impulse = d * ((parting - approach) / (square * inverse_mass));
            let mut push = normal_impulse;
            if friction > 0.0 {
                let rim = a.spin * radii[0] + b.spin * radii[1];
                let limit = f64::from(friction) * normal_impulse.length();
                if let Some((impulse, twist, loss)) = rub((d, w, rim), radius_sum, inverse_mass, limit) {
                    a.spin += twist * (inverse_masses[0] / radii[0]);
                    b.spin += twist * (inverse_masses[1] / radii[1]);
                    counts.dissipated += loss;
                    push += impulse;
                }
            }
            a.velocity += push * inverse_masses[0];
            b.velocity -= push * inverse_masses[1];
            counts.pairs += 1;
            counts.virial += normal_impulse.dot(d);
            counts.dissipated += 0.5 / inverse_mass * (approach * approach - parting * parting) / square;
            recorder.on.then(|| {
                let point = a.offset - d * (radii[0] / radius_sum);
                let fallen = view.world.gravity.as_dvec3() * (0.5 * time * time);
                let (id, other) = (view.state.id[i], view.state.id[k]);
                let units = recorder.units;
                Impact {
                    time: recorder.start + time * units.time,
                    sphere: id.min(other),
                    partner: Partner::Sphere(id.max(other)),
                    point: view.grid.world(view.cell(i), (point + fallen).as_vec3()) * units.length,
                    normal: d.normalize_or(DVec3::X) * if id < other { 1.0 } else { -1.0 },
                    impulse: normal_impulse.length() * units.mass * units.velocity(),
                }
            })
        });
        (a.contact, b.contact) = (time, if is_fixed { b.contact } else { time });
        *self.body(core, impact.i) = a;
        *self.body(core, impact.partner) = b;
        record.flatten()
    }

    // Applies the impact of a sphere on a plane that stands still.
    fn strike_plane(
        &mut self,
        core: &Core,
        frame: Frame,
        recorder: Recorder,
        impact: Prediction,
        (counts, pushes): (&mut Counts, &mut Vec<Push>),
    ) -> Option<Impact> {
        let view = core.view(frame);
        let (i, time) = (impact.i as usize, impact.time);
        let wall = &view.world.walls[wall_of(impact.partner)];
        let mut a = *self.body(core, impact.i);
        a.advance(time, frame.drift.as_dvec3());
        (a.impacts, a.depth) = (a.impacts + 1, a.depth + 1);
        self.depth = self.depth.max(a.depth);
        let gravity = view.world.gravity.as_dvec3();
        let normal = normal_of(wall);
        let velocity = a.velocity + gravity * time;
        let approach = normal.dot(velocity);
        let record = (approach < 0.0).then(|| {
            let radius = f64::from(view.state.radius(i));
            let inverse_mass = f64::from(view.state.inverse_mass(i));
            counts.late += u64::from(-height(&view, &a, wall, time) > f64::from(view.world.slop));
            let surface = view.world.surface(view.state.material(i).into(), wall.material);
            let (e, friction) = soften(&view, surface, -approach as f32, (time - a.contact) as f32, counts);
            let parting = (-f64::from(e) * approach).max(f64::from(LEAST_REBOUND) * velocity.length());
            let normal_impulse = normal * ((parting - approach) / inverse_mass);
            let mut push = normal_impulse;
            if friction > 0.0 {
                let limit = f64::from(friction) * normal_impulse.length();
                let contact = (normal * radius, velocity, a.spin * radius);
                if let Some((impulse, twist, loss)) = rub(contact, radius, inverse_mass, limit) {
                    a.spin += twist * (inverse_mass / radius);
                    counts.dissipated += loss;
                    push += impulse;
                }
            }
            a.velocity += push * inverse_mass;
            counts.walls += 1;
            counts.dissipated += 0.5 / inverse_mass * (approach * approach - parting * parting);
            let point = a.offset + gravity * (0.5 * time * time) - normal * radius;
            if view.world.is_watched {
                pushes.push(Push {
                    wall: wall.number,
                    impulse: push.as_vec3(),
                    turn: Vec3::ZERO,
                    cell: view.cell(i),
                    offset: point.as_vec3(),
                });
            }
            recorder.on.then(|| Impact {
                time: recorder.start + time * recorder.units.time,
                sphere: view.state.id[i],
                partner: Partner::Wall(wall.number),
                point: view.grid.world(view.cell(i), point.as_vec3()) * recorder.units.length,
                normal,
                impulse: normal_impulse.length() * recorder.units.mass * recorder.units.velocity(),
            })
        });
        a.contact = time;
        *self.body(core, impact.i) = a;
        record.flatten()
    }
}

impl Rounds {
    /// Applies all impacts that are left in the substep, one after the other.
    ///
    /// # Errors
    /// [`Error::NoProgress`] for a path that is too long to traverse.
    pub fn apply_one_by_one(
        &mut self,
        core: &mut Core,
        frame: Frame,
        recorder: Recorder,
        patience: Patience,
    ) -> Result<Outcome, Error> {
        let mut driven = std::mem::take(&mut self.event_driven);
        driven.begin(core.state.len());
        let late_before = self.counts.late;
        let outcome = self.drive(&mut driven, core, frame, recorder, patience);
        if let Ok(outcome) = outcome {
            self.conclude(&mut driven, core, frame, outcome);
        }
        let are_short = core.lists.total() <= LONG_LISTS * core.state.len();
        let is_for_rounds = are_short && driven.left_by_rounds * LEFT_SHARE <= self.work.impacts;
        driven.depth = if is_for_rounds { 0 } else { self.round + driven.depth };
        self.event_driven = driven;
        if self.round > 0 {
            (self.has_tail, self.late_in_tail) = (true, self.counts.late - late_before);
        }
        if matches!(outcome, Ok(Outcome::Ended)) && !are_short && !patience.is_event_driven {
            self.hold();
        }
        outcome
    }

    fn drive(
        &mut self,
        driven: &mut EventDriven,
        core: &mut Core,
        frame: Frame,
        recorder: Recorder,
        patience: Patience,
    ) -> Result<Outcome, Error> {
        self.pending_list.iter().for_each(|&i| driven.predict(core, frame, i));
        let granted = LEAST_IMPACTS * self.pending_list.len() as u64;
        let instant = INSTANT * f64::from(frame.h);
        let (mut reached, mut in_a_row) = (f64::NEG_INFINITY, 0);
        while let Some(impact) = driven.next() {
            in_a_row = if impact.time <= reached + instant { in_a_row + 1 } else { 0 };
            reached = impact.time;
            let is_stuck = in_a_row > IN_A_ROW * driven.bodies.len() as u64 + LEAST_IN_A_ROW;
            if is_stuck || (self.counts.event_driven > granted && self.work.is_all(patience.work)) {
                return Ok(Outcome::Stuck);
            }
            if patience.may_split && core.dynamic_candidates.is_crowded_by(MOST_CROWDED) {
                return Ok(Outcome::Crowded);
            }
            self.work.impacts += 1;
            self.counts.event_driven += 1;
            self.apply(driven, core, frame, recorder, impact)?;
            let depth = self.round + driven.get(impact.i).map_or(0, |body| body.depth);
            driven.left_by_rounds += u64::from(depth > EARLY_ROUNDS);
        }
        Ok(Outcome::Ended)
    }

    // Returns the spheres to f32. If impacts are left, they become pending.
    fn conclude(&mut self, driven: &mut EventDriven, core: &mut Core, frame: Frame, outcome: Outcome) {
        for body in driven.bodies.iter_mut().filter(|body| body.impacts > 0) {
            if core.state.inverse_mass(body.index as usize) > 0.0 {
                if outcome == Outcome::Ended {
                    body.advance(frame.h.into(), frame.drift.as_dvec3());
                }
                store(core, body);
            }
        }
        if outcome == Outcome::Ended {
            self.pending.clear();
        } else {
            self.touched_list.clear();
            self.touched_list.extend(driven.bodies.iter().map(|body| body.index));
            self.touched_list.sort_unstable();
            self.resweep(core, frame);
            self.pending.list(&mut self.pending_list);
        }
    }

    // Applies an impact and predicts the next ones of its spheres.
    fn apply(
        &mut self,
        driven: &mut EventDriven,
        core: &mut Core,
        frame: Frame,
        recorder: Recorder,
        impact: Prediction,
    ) -> Result<(), Error> {
        let moves = |&i: &u32| i & WALL == 0 && core.state.inverse_mass(i as usize) > 0.0;
        let spheres = [impact.i, impact.partner].into_iter().filter(moves).collect::<Vec<_>>();
        let is_supported = |&i: &u32| core.support[i as usize] > 0;
        let mut others = vec![];
        if impact.is_single || spheres.iter().any(is_supported) {
            // `collide` reads the places that the last impacts left.
            self.selected.clear();
            self.selected.push(impact.i);
            let Prediction { time, i, partner, link, .. } = impact;
            self.events[i as usize] = Event { toi: time as f32, partner, link, delta_v_bound: 0.0 };
            self.collide(core, frame, recorder);
            for k in 0..self.to_freeze.len() {
                let i = self.to_freeze[k] as usize;
                self.freeze(core, frame, i, core.clock[i]);
                // A sphere that was stopped is a fixed one for the others: their impacts with it are predicted anew.
                core.view(frame).for_candidates(i, |k, _, _| others.push(k as u32));
            }
            let depth =
                1 + spheres.iter().filter_map(|&i| driven.get(i)).map(|body| body.depth).max().unwrap_or(0);
            driven.depth = driven.depth.max(depth);
            for &i in &spheres {
                let body = driven.body(core, i);
                *body = Body { impacts: body.impacts + 1, depth, ..Body::new(core, i as usize) };
            }
        } else {
            spheres.iter().for_each(|&i| self.keep(core, i as usize));
            let record = if impact.partner & WALL == 0 {
                driven.strike(core, frame, recorder, impact, &mut self.counts)
            } else {
                let sums = (&mut self.counts, &mut self.pushes);
                driven.strike_plane(core, frame, recorder, impact, sums)
            };
            self.impacts.extend(record);
            self.fast.clear();
            for &i in &spheres {
                let body = *driven.body(core, i);
                store(core, &body);
                let path = frame.path(body.velocity.as_vec3(), 1.0, body.clock as f32);
                if core.dynamic_candidates.is_fast(i as usize) || path > body.margin as f32 {
                    self.fast.push(i);
                }
            }
        }
        self.walk_fast(core, frame)?;
        spheres.into_iter().chain(others).for_each(|i| driven.predict(core, frame, i));
        Ok(())
    }
}

// Stores a sphere, rounded to f32.
fn store(core: &mut Core, body: &Body) {
    let (state, i) = (&mut core.state, body.index as usize);
    state.place[i] = body.offset.as_vec3().extend(state.place[i].w);
    state.motion[i] = body.velocity.as_vec3().extend(state.motion[i].w);
    state.spin[i] = body.spin.as_vec3().extend(body.contact as f32);
    core.clock[i] = body.clock as f32;
    core.motion_margin[i] = body.margin as f32;
}

#[cfg(test)]
mod tests {
    use glam::Vec3;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::cpu::{collide::friction::Friction, sweep};

    // The rounds have their own copies in f32.
    #[test]
    fn contacts_and_friction_are_those_of_the_rounds() {
        let mut rng = Pcg64::seed_from_u64(9);
        let mut vector = |size: f32| Vec3::from_array([0; 3].map(|_| size * rng.random_range(-1.0..1.0_f32)));
        let (mut met, mut rubbed) = (0, 0);
        for _ in 0..2000 {
            let (d, w, rim) = (vector(3.0), vector(4.0), vector(2.0));
            let ours = first_contact(d.as_dvec3(), w.as_dvec3(), 1.0, f64::INFINITY);
            let theirs = sweep::first_contact(d, w, 1.0).map(|(time, _)| f64::from(time));
            // One of them may miss a grazing impact.
            if let (Some(ours), Some(theirs)) = (ours, theirs) {
                let depth = (d + w * theirs as f32).dot(w).abs() / w.length();
                assert!(
                    depth < 0.01 || (ours - theirs).abs() <= 1e-4 * (1.0 + ours),
                    "{d} {w}: {ours} {theirs}"
                );
                met += 1;
            } else {
                assert!(
                    ours.is_none() || (d.cross(w) / w.length()).length() > 0.999,
                    "{d} {w}: {ours:?} {theirs:?}"
                );
            }
            let theirs = Friction::new(d, w, rim / 1.5, 1.5, 0.7, 0.2).unwrap();
            let (impulse, twist, loss) =
                rub((d.as_dvec3(), w.as_dvec3(), rim.as_dvec3()), 1.5, 0.7, 0.2f32.into()).unwrap();
            let size = 1.0 + f64::from(d.length_squared());
            assert!(impulse.distance(theirs.impulse.as_dvec3()) <= 1e-4 * size, "{d} {w} {rim}");
            assert!(twist.distance(theirs.twist.as_dvec3()) <= 1e-4 * size, "{d} {w} {rim}");
            assert!((loss - theirs.loss).abs() <= 1e-4 * size, "{d} {w} {rim}");
            rubbed += 1;
        }
        assert!(met > 100 && rubbed == 2000, "{met} {rubbed}");
    }
}
