//! Finishes a substep whose rounds do not end, by an event-driven simulation in f64 of the spheres with pending impacts and
//! of those that they meet.
//!
//! Rounds apply independent impacts side by side. In a cluster of touching elastic spheres every impact depends on the one
//! before, and the impacts follow each other faster than an f32 clock can tell. One impact after the other, with places,
//! velocities and clocks in f64, they end soon. All other spheres keep their state. Each sphere that took part returns to f32
//! once, at its place at the end of the substep.
//!
//! Only worlds without resting contacts are finished in this manner: crowds under gravity become contacts. Impacts on walls, and
//! under gravity on fixed spheres, are predicted and applied by the stages `sweep` and `collide`, in f32.

use std::{cmp::Ordering, collections::BinaryHeap};

use glam::DVec3;

use super::collide::{Counts, Recorder, Undo, soften};
use crate::{
    Error, Impact, Partner,
    cpu::{
        core::Core,
        event::Event,
        rounds::{Outcome, Patience, Rounds},
        sweep::{consider, consider_all_walls},
    },
    state::{
        constants::{LEAST_REBOUND, WALL},
        frame::Frame,
    },
};

/// Within this many impacts for each sphere that takes part, and [`LEAST_CHECK`] more, time must pass. Otherwise the impacts
/// never end.
const CHECK: u64 = 256;
const LEAST_CHECK: u64 = 1 << 16;

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

/// Buffers of the event-driven finish.
#[derive(Default)]
pub struct EventDriven {
    /// Place of each sphere in `bodies`; [`ABSENT`] if it does not take part.
    slots: Vec<u32>,
    bodies: Vec<Body>,
    queue: BinaryHeap<Prediction>,
    /// Longest chain of impacts in the last substep: about as many rounds would have been needed.
    pub depth: u32,
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
        self.depth = 0;
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
        consider_all_walls(&view, index, &mut single);
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
            let partner = if next.is_single { 0 } else { impacts(next.partner) };
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
}

impl Rounds {
    /// Applies all pending impacts of the substep and those that follow from them, one after the other.
    ///
    /// # Errors
    /// [`Error::NoProgress`] for a path that is too long to traverse.
    pub fn finish_event_driven(
        &mut self,
        core: &mut Core,
        frame: Frame,
        recorder: Recorder,
        patience: Patience,
    ) -> Result<Outcome, Error> {
        let mut finish = std::mem::take(&mut self.event_driven);
        finish.begin(core.state.len());
        let pending = std::mem::take(&mut self.pending_list);
        pending.iter().for_each(|&i| finish.predict(core, frame, i));
        self.pending_list = pending;
        let (mut before_check, mut reached) = (0, -1.0);
        let mut outcome = Outcome::Ended;
        while let Some(impact) = finish.next() {
            if before_check == 0 {
                if impact.time <= reached || self.work.is_all(patience.work) {
                    outcome = Outcome::Stuck;
                    break;
                }
                (before_check, reached) = (CHECK * finish.bodies.len() as u64 + LEAST_CHECK, impact.time);
            }
            before_check -= 1;
            self.work.impacts += 1;
            self.counts.event_driven += 1;
            self.apply(&mut finish, core, frame, recorder, impact)?;
        }
        let end = f64::from(frame.h);
        let drift = frame.drift.as_dvec3();
        for body in finish.bodies.iter_mut().filter(|body| body.impacts > 0) {
            if core.state.inverse_mass(body.index as usize) == 0.0 {
                continue;
            }
            if outcome == Outcome::Ended {
                body.advance(end, drift);
            }
            store(core, body);
        }
        if outcome == Outcome::Ended {
            self.pending.clear();
        } else {
            self.touched_list.clear();
            self.touched_list.extend(finish.bodies.iter().map(|body| body.index));
            self.touched_list.sort_unstable();
            self.resweep(core, frame);
        }
        self.event_driven = finish;
        Ok(outcome)
    }

    // Applies an impact and predicts the next ones of its spheres.
    fn apply(
        &mut self,
        finish: &mut EventDriven,
        core: &mut Core,
        frame: Frame,
        recorder: Recorder,
        impact: Prediction,
    ) -> Result<(), Error> {
        let wall = impact.partner & WALL != 0;
        let mut spheres = [Some(impact.i), (!wall).then_some(impact.partner)];
        if let Some(k) = spheres[1]
            && core.state.inverse_mass(k as usize) == 0.0
        {
            spheres[1] = None;
        }
        let is_supported = |i: u32| core.support[i as usize] > 0;
        if impact.is_single || spheres.into_iter().flatten().any(is_supported) {
            // `collide` reads the places that the last impacts left.
            self.selected.clear();
            self.selected.push(impact.i);
            let Prediction { time, i, partner, link, .. } = impact;
            self.events[i as usize] = Event { toi: time as f32, partner, link, delta_v_bound: 0.0 };
            self.collide(core, frame, recorder);
            for k in 0..self.to_freeze.len() {
                let i = self.to_freeze[k] as usize;
                self.freeze(core, frame, i, core.clock[i]);
            }
            let spheres = spheres.into_iter().flatten();
            let depths = spheres.clone().filter_map(|i| finish.get(i)).map(|body| body.depth);
            let depth = 1 + depths.max().unwrap_or(0);
            finish.depth = finish.depth.max(depth);
            for i in spheres {
                let body = finish.body(core, i);
                *body = Body { impacts: body.impacts + 1, depth, ..Body::new(core, i as usize) };
            }
        } else {
            for i in spheres.into_iter().flatten().map(|i| i as usize) {
                if !self.first_touch.contains(i) {
                    self.first_touch.insert(i);
                    self.undo.push(Undo {
                        index: i as u32,
                        place: core.state.place[i],
                        motion: core.state.motion[i],
                        spin: core.state.spin[i],
                        motion_margin: core.motion_margin[i],
                        support: core.support[i],
                    });
                }
            }
            self.impacts.extend(finish.strike(core, frame, recorder, impact, &mut self.counts));
            self.fast.clear();
            for i in spheres.into_iter().flatten() {
                let body = *finish.body(core, i);
                store(core, &body);
                let path = frame.path(body.velocity.as_vec3(), 1.0, body.clock as f32);
                if core.dynamic_candidates.is_fast(i as usize) || path > body.margin as f32 {
                    self.fast.push(i);
                }
            }
        }
        self.walk_fast(core, frame)?;
        spheres.into_iter().flatten().for_each(|i| finish.predict(core, frame, i));
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
