//! Finds the resting contacts of a sphere.

mod start;

use glam::{Vec3, Vec3A};

use crate::{
    cpu::{
        bits::Pressed,
        constraints::{
            ContactConstraint, ContactImpulse, STANDS, Task, UNKNOWN, WallVelocity, closing_speed,
        },
        event::{View, side_partner},
        feature::Touch,
        neighbors::Candidate,
    },
    state::constants::{CONSTRAINT_AHEAD, CONSTRAINT_GAP, SHOCK, SHORTEST, WALL, wall_bit},
    walls::features::{Instant, WallFeature},
};

/// Contact geometry of one side of a wall.
struct Side {
    partner: u32,
    normal: Vec3,
    gap: f32,
    /// Velocity of the surface, and spin of the wall.
    wall_velocity: Vec3,
    spin: Vec3,
    moves: bool,
}

/// Finds the contact constraints of one sphere.
pub(super) struct Finder<'a> {
    pub view: &'a View<'a>,
    pub i: usize,
    /// Slow speed; `None` when constraints are added after the rounds.
    pub slow: Option<f32>,
    pub past: &'a [ContactConstraint],
    pub scale: f32,
    pub rested: &'a Pressed,
}

impl Finder<'_> {
    pub(super) fn run(&self, task: &mut Task) {
        let (view, i) = (self.view, self.i);
        let state = view.state;
        match self.slow {
            Some(slow) => self.pairs_at_start(slow, task),
            None => {
                let may_rest = |candidate: &&Candidate| self.may_rest(**candidate);
                view.lists.own(i).iter().filter(may_rest).for_each(|&candidate| self.pair(candidate, task));
            }
        }
        let walls = view.lists.walls(i);
        if walls != 0 && state.inverse_mass(i) != 0.0 {
            for (plane, wall) in view.world.walls.iter().enumerate() {
                if walls & wall_bit(plane) != 0 {
                    let surface = view.world.surface_number(state.material(i).into(), wall.material);
                    if view.world.surfaces[surface].restitution < 1.0 && wall.there {
                        self.plane(surface, plane, task);
                    }
                }
            }
        }
        if state.inverse_mass(i) != 0.0 {
            view.for_listed_features(i, |number, feature| {
                let surface = view.world.surface_number(state.material(i).into(), feature.material);
                if view.world.surfaces[surface].restitution < 1.0 {
                    self.feature(surface, number, feature, task);
                }
            });
        }
    }

    // Whether a contact with a wall rests at the start of the substep, by the present `gap` and `approach` and by the acceleration
    // towards the wall.
    fn rests(
        &self,
        slow: f32,
        gap: f32,
        diameter: f32,
        approach: f32,
        acceleration: f32,
        past: Option<&ContactConstraint>,
    ) -> bool {
        // A sphere in a pile is pressed against the wall; one that has just arrived bounces.
        let in_contact = past.is_some_and(|constraint| {
            constraint.impulse.normal > 0.0 || (approach > 0.0 && self.rested.any(self.i))
        });
        // Square of the speed at which the surfaces would meet. It is the same at any point of a bounce.
        let arrival_squared = approach * approach + 2.0 * acceleration.max(0.0) * gap.max(0.0);
        let is_slow = arrival_squared <= slow * slow;
        gap <= CONSTRAINT_GAP * diameter && approach <= SHOCK * slow && (in_contact || is_slow)
    }

    // False if the sphere cannot have a contact constraint with the candidate after the rounds.
    #[inline(always)]
    fn may_rest(&self, candidate: Candidate) -> bool {
        let (view, i, j) = (self.view, self.i, candidate.index());
        let shift = Vec3A::from(view.shifts[candidate.code() as usize]);
        self.past.iter().any(|constraint| constraint.j == j as u32)
            || view.is_converted(i, j as u32)
            || (self.is_in_contact(i, j as u32) && !view.stays_clear(i, j, shift, CONSTRAINT_AHEAD))
    }

    // The surface of a pair; `None` if all its contacts are impacts, because restitution is 1.
    fn lossy_surface(&self, j: usize, past: Option<&ContactConstraint>) -> Option<u32> {
        if let Some(constraint) = past
            && constraint.surface != UNKNOWN
        {
            return Some(constraint.surface);
        }
        let (world, state) = (self.view.world, self.view.state);
        let number = world.surface_number(state.material(self.i).into(), state.material(j).into());
        (world.surfaces[number].restitution < 1.0).then_some(number as u32)
    }

    // Finds the constraint with a candidate after the rounds.
    fn pair(&self, candidate: Candidate, task: &mut Task) {
        let (view, state) = (self.view, self.view.state);
        let (i, j) = (self.i, candidate.index());
        let shift = view.shifts[candidate.code() as usize];
        if state.inverse_mass(i) == 0.0 && state.inverse_mass(j) == 0.0 {
            // Both spheres were stopped in this substep.
            return;
        }
        let yields = view.yields(i) || view.yields(j);
        // The rounds may have stopped one of the two.
        let mass = 1.0 / (state.inverse_mass(i) + state.inverse_mass(j));
        let is_of_pair = |constraint: &&ContactConstraint| {
            constraint.j == j as u32 && constraint.image == candidate.code()
        };
        if let Some(constraint) = self.past.iter().find(is_of_pair) {
            return task.push(ContactConstraint { mass, ..*constraint }, yields);
        }
        let diameter = state.radius(i) + state.radius(j);
        let (mut d, _, now) = view.in_lab(i, j, shift);
        let (mut distance, mut normal) = along(d);
        let gap = distance - diameter;
        let relative = state.velocity(i) - state.velocity(j);
        let approach = -normal.dot(relative);
        let is_converted = view.is_converted(i, j as u32);
        let is_resting = is_converted
            || (self.is_in_contact(i, j as u32) && view.overlap_ahead(i, j, shift).ahead > CONSTRAINT_AHEAD);
        if !is_resting {
            return;
        }
        task.converted += u64::from(is_converted);
        let Some(surface) = self.lossy_surface(j, None) else { return };
        let mut closing = closing_speed(gap, diameter, self.left(now));
        if let Some(speed) = self.bounce(j, approach, normal, now + gap.max(0.0) / approach) {
            closing = -speed;
            // A sphere in flight keeps its path until it arrives.
            let time = gap.max(0.0) / approach;
            d += relative * time;
            (distance, normal) = along(d);
            let left = self.left(now + time);
            let in_flight = [i, j].into_iter().filter(|&k| self.is_in_flight(k));
            task.flights.extend(in_flight.map(|k| (k as u32, left)));
        }
        let constraint = ContactConstraint {
            i: self.i as u32,
            j: j as u32,
            image: candidate.code(),
            normal,
            closing,
            share: distance / diameter,
            mass,
            surface,
            impulse: ContactImpulse::default(),
        };
        task.push(constraint, yields);
    }

    // The speed at which the partners of a converted impact separate at the end of the substep, if they meet at time `t` and
    // one of them was in flight. Others are pressed together.
    fn bounce(&self, j: usize, approach: f32, normal: Vec3, t: f32) -> Option<f32> {
        let (view, i) = (self.view, self.i);
        // Pairs that do not meet within the substep have no bounce. The time is infinite or NaN without an approach.
        if approach <= 0.0
            || t.partial_cmp(&view.frame.h).is_none_or(|order| order.is_gt())
            || !view.is_converted(i, j as u32)
            || !(self.is_in_flight(i) || self.is_in_flight(j))
        {
            return None;
        }
        let surface = view.world.surface(view.state.material(i).into(), view.state.material(j).into());
        let g = view.frame.gravity.dot(normal);
        let [(before, after), (before_j, after_j)] = [i, j].map(|k| self.fall_times(k, t));
        let arrival = (approach - g * (before - before_j)).max(0.0);
        let speed = surface.restitution_at(arrival) * arrival;
        let parting = speed + g * (after - after_j);
        (speed > view.world.slow_speed(view.frame.h) && parting > 0.0).then_some(parting)
    }

    // Time from `now` to the end of the substep, for which a constraint limits the approach.
    fn left(&self, now: f32) -> f32 {
        let h = self.view.frame.h;
        (h - now).max(SHORTEST * h)
    }

    // The times during which gravity adds to a sphere's velocity in the falling frame until time `t`, and from then to the end
    // of the substep.
    fn fall_times(&self, k: usize, t: f32) -> (f32, f32) {
        let Self { view, .. } = self;
        if view.state.inverse_mass(k) == 0.0 {
            (0.0, 0.0)
        } else if view.rested[k] > 0.0 {
            (view.frame.h - 0.5 * view.rested[k], 0.0)
        } else {
            (t, view.frame.h - t)
        }
    }

    // Whether a sphere had no pressed contact with another one before the sweep, and squeezes no much lighter one.
    fn is_in_flight(&self, k: usize) -> bool {
        self.view.pressed.spheres(k) == 0
    }

    // Whether contact constraints support one of the two.
    fn is_in_contact(&self, i: usize, partner: u32) -> bool {
        self.view.rested[i] > 0.0 || (partner & WALL == 0 && self.view.rested[partner as usize] > 0.0)
    }

    fn plane(&self, surface: usize, plane: usize, task: &mut Task) {
        let (view, i) = (self.view, self.i);
        let wall = &view.world.walls[plane];
        let at = self.instant();
        let side = Side {
            partner: WALL | plane as u32,
            normal: wall.normal,
            gap: wall.normal.dot(view.wall_to(plane, i)) - view.state.radius(i),
            wall_velocity: view.wall_velocity_of_plane(plane, &at),
            spin: wall.mover.map_or(Vec3::ZERO, |mover| view.world.features.movers[mover as usize].spin),
            moves: wall.mover.is_some(),
        };
        let runs_in = || view.overlap_of_wall_ahead(i, plane).ahead > CONSTRAINT_AHEAD;
        self.wall(surface, &side, runs_in, task);
    }

    fn feature(&self, surface: usize, number: usize, feature: &WallFeature, task: &mut Task) {
        let (view, i) = (self.view, self.i);
        let at = self.instant();
        for side in 0..3 {
            let Some(touch) = view.touch_side(feature, &at, side) else { return };
            if touch.is_shadowed || touch.gap > 2.0 * CONSTRAINT_GAP * view.state.radius(i) {
                return;
            }
            self.feature_side(surface, (number, side), feature, touch, task);
        }
    }

    fn feature_side(
        &self,
        surface: usize,
        (number, part): (usize, u32),
        feature: &WallFeature,
        touch: Touch,
        task: &mut Task,
    ) {
        let (view, i) = (self.view, self.i);
        let mover = view.world.features.mover_of(feature.wall);
        let side = Side {
            partner: side_partner(number, part),
            normal: touch.normal,
            gap: touch.gap,
            wall_velocity: touch.wall_velocity,
            spin: mover.map_or(Vec3::ZERO, |mover| mover.spin),
            moves: mover.is_some(),
        };
        let runs_in = || view.overlap_of_feature_ahead(i, feature).ahead > CONSTRAINT_AHEAD;
        self.wall(surface, &side, runs_in, task);
    }

    // The sphere in the lab frame. At the start of a substep every clock counts as 0, whatever its stored value.
    fn instant(&self) -> Instant {
        let i = self.i;
        if self.slow.is_none() {
            return self.view.instant(i, self.view.clock[i]);
        }
        Instant { t: 0.0, ..self.view.at_end(i) }
    }

    fn wall(&self, surface: usize, side: &Side, runs_in: impl Fn() -> bool, task: &mut Task) {
        let (view, state, i) = (self.view, self.view.state, self.i);
        let &Side { partner, normal, gap, wall_velocity, spin, moves } = side;
        let radius = state.radius(i);
        let past = self.past.iter().find(|constraint| constraint.j == partner);
        let approach = -normal.dot(state.velocity(i) - wall_velocity);
        let is_resting = if let Some(slow) = self.slow {
            let acceleration = -normal.dot(view.frame.gravity);
            self.rests(slow, gap, 2.0 * radius, approach, acceleration, past)
        } else {
            past.is_some() || view.is_converted(i, partner) || (self.is_in_contact(i, partner) && runs_in())
        };
        if !is_resting {
            return;
        }
        let left = if self.slow.is_some() { view.frame.h } else { self.left(view.clock[i]) };
        task.converted += u64::from(self.slow.is_none() && past.is_none() && view.is_converted(i, partner));
        let constraint = ContactConstraint {
            i: self.i as u32,
            j: partner,
            image: if moves { task.wall_velocities.len() as u32 } else { STANDS },
            normal,
            closing: closing_speed(gap, 2.0 * radius, left),
            share: 1.0,
            mass: 1.0 / state.inverse_mass(self.i),
            surface: surface as u32,
            impulse: self.warm(past, normal, view.yields(i)),
        };
        if moves {
            task.wall_velocities.push(WallVelocity([wall_velocity.extend(0.0), spin.extend(0.0)]));
        }
        task.push(constraint, view.yields(i));
    }

    // Impulse of the previous substep, projected onto the present contact plane. If neither partner is awake and free, the
    // impulse stays unchanged at the start of a substep, as it does where the whole constraint is kept.
    fn warm(&self, past: Option<&ContactConstraint>, normal: Vec3, yields: bool) -> ContactImpulse {
        let Some(ContactConstraint { impulse, .. }) = past else { return ContactImpulse::default() };
        let tangent = impulse.tangent * self.scale;
        let stays = self.slow.is_some() && !yields;
        let turned = if stays { tangent } else { tangent - normal * normal.dot(tangent) };
        ContactImpulse {
            normal: impulse.normal * self.scale,
            tangent: turned,
            moment: impulse.moment * self.scale,
        }
    }
}

// Length and direction of a vector between two centres.
fn along(d: Vec3) -> (f32, Vec3) {
    let distance = d.length();
    (distance, if distance > 0.0 { d / distance } else { Vec3::X })
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::{
        Materials, Sphere, Surface, System, Wall, WallShape,
        cpu::{Stepper, constraints::ContactConstraints},
        state::{columns::NEVER, frame::Frame},
    };

    #[test]
    fn a_contact_above_a_wall_rests_by_its_speed_of_arrival() {
        let system = System { spheres: vec![Sphere::default()], ..System::default() };
        let mut stepper = Stepper::new(&system, |_| NEVER, 0.0).unwrap();
        let core = &mut stepper.engine.core;
        let frame = Frame { h: 0.01, gravity: Vec3::ZERO, drift: Vec3::ZERO, drifted: Vec3::ZERO };
        let (view, rested, slow) = (core.view(frame), Pressed::default(), 0.1);
        let finder = Finder { view: &view, i: 0, slow: Some(slow), past: &[], scale: 1.0, rested: &rested };
        // Up and down a bounce that ends at `arrival`.
        for (arrival, acceleration) in [(0.09_f32, 1.0), (0.09, 2.0), (0.11, 1.0), (0.11, 2.0)] {
            for share in [-1.0_f32, -0.6, 0.0, 0.4, 0.9999] {
                let approach = share * arrival;
                let gap = (arrival * arrival - approach * approach) / (2.0 * acceleration);
                let rests = finder.rests(slow, gap, 1.0, approach, acceleration, None);
                assert_eq!(rests, arrival < slow, "arrival at {arrival}, approach {approach}");
            }
        }
        // Towards a ceiling or a side wall only the present speed counts; a wide gap never rests.
        assert!(
            finder.rests(slow, 0.01, 1.0, 0.09, -1.0, None) && finder.rests(slow, 0.01, 1.0, 0.09, 0.0, None)
        );
        assert!(
            !finder.rests(slow, 0.01, 1.0, 0.11, -1.0, None)
                && !finder.rests(slow, 0.03, 1.0, 0.0, 0.0, None)
        );
        assert!(!finder.rests(slow, f32::NAN, 1.0, 0.0, 1.0, None));
    }

    // A slow approach over a wide gap once gave an arrival time of thousands of substeps, and spheres left at hundreds of
    // diameters per unit of time.
    #[test]
    fn a_pair_that_does_not_meet_in_the_substep_has_no_bounce() {
        let mut system =
            System { dt: 0.02, gravity: DVec3::NEG_Z, materials: Materials::empty(), ..System::default() };
        let floor = WallShape::Plane { point: DVec3::ZERO, normal: DVec3::Z };
        system.walls.push(Wall::new(floor, 0, "floor"));
        system.materials.add("stone", Surface { restitution: 0.5, ..Surface::default() }, 1.0);
        system.spheres = [0.5, 1.5]
            .into_iter()
            .zip(0..)
            .map(|(z, id)| Sphere { id, position: DVec3::Z * z, ..Sphere::default() })
            .collect();
        let mut stepper = Stepper::new(&system, |_| NEVER, 0.0).unwrap();
        let core = &mut stepper.engine.core;
        let (i, j) = if core.state.id[0] == 0 { (0, 1) } else { (1, 0) };
        [0, 1].into_iter().for_each(|k| core.converted.insert(k));
        core.lists.forget_hits();
        assert!(core.lists.convert(i, j as u32));
        let gravity = core.domain.world.gravity;
        let frame = Frame { h: 0.01, gravity, drift: Vec3::ZERO, drifted: Vec3::ZERO };
        let view = core.view(frame);
        let (rested, none) = (Pressed::default(), ContactConstraints::default());
        let finder = Finder { view: &view, i, slow: None, past: none.of(i), scale: 1.0, rested: &rested };
        let bounce = |t: f32| finder.bounce(j, 1.0, Vec3::NEG_Z, t);
        assert!(bounce(0.0).is_some_and(|speed| (0.3..0.6).contains(&speed)));
        assert!(bounce(0.0099).is_some());
        for t in [0.0101, 100.0, f32::INFINITY, f32::NAN] {
            assert_eq!(bounce(t), None, "{t}");
        }
    }
}
