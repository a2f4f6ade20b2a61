//! Finds the contact constraints between spheres at the start of a substep, when all clocks count as 0. These are most of the
//! constraints, and most of them held in the previous substep too.

use glam::{Vec3, Vec3A, Vec4};

use super::Finder;
use crate::{
    cpu::{
        constraints::{ContactConstraint, Task, closing_speed},
        neighbors::Candidate,
    },
    state::constants::{CONSTRAINT_GAP, SHOCK},
};

/// The sphere whose constraints are found.
struct Here {
    place: Vec4,
    motion: Vec4,
    yields: bool,
    /// Whether it had a pressed contact in the previous substep.
    was_pressed: bool,
}

impl Finder<'_> {
    /// Finds the constraints with the candidates that the sphere owns. `slow` is the slow speed.
    pub(super) fn pairs_at_start(&self, slow: f32, task: &mut Task) {
        let Self { view, i, .. } = *self;
        let here = Here {
            place: view.state.place[i],
            motion: view.state.motion[i],
            yields: view.yields(i),
            was_pressed: self.rested.any(i),
        };
        for &candidate in view.lists.own(i) {
            self.pair_at_start(&here, candidate, slow, task);
        }
    }

    #[inline(always)]
    fn pair_at_start(&self, here: &Here, candidate: Candidate, slow: f32, task: &mut Task) {
        let (view, state, j) = (self.view, self.view.state, candidate.index());
        let (place, motion) = (state.place[j], state.motion[j]);
        let d = Vec3A::from_vec4(here.place - place) - Vec3A::from(view.shifts[candidate.code() as usize]);
        let (square, diameter) = (d.length_squared(), here.place.w + place.w);
        let farthest = diameter * (1.0 + CONSTRAINT_GAP);
        let is_fixed = here.motion.w == 0.0 && motion.w == 0.0;
        if is_fixed || square.partial_cmp(&(farthest * farthest)).is_none_or(|order| order.is_gt()) {
            return;
        }
        let past = self.past_with(j as u32);
        let distance = square.sqrt();
        let normal = if distance > 0.0 { d / distance } else { Vec3A::X };
        let gap = distance - diameter;
        let approach = -normal.dot(Vec3A::from_vec4(here.motion - motion));
        // Neighbours in a pile are pressed together; a sphere that has just arrived bounces.
        let in_contact = past.is_some_and(|constraint| {
            constraint.impulse.normal > 0.0 || (approach > 0.0 && here.was_pressed && self.rested.any(j))
        });
        let is_slow = in_contact || (approach <= slow && approach >= -slow);
        if !(is_slow && gap <= CONSTRAINT_GAP * diameter && approach <= SHOCK * slow) {
            return;
        }
        let Some(surface) = self.lossy_surface(j, past) else { return };
        if view.sleep.is_stirred(self.i, j) {
            view.sleep.mark(if view.sleep.contains(self.i) { self.i } else { j }, view.lists);
        }
        let share = distance / diameter;
        let yields = here.yields || view.yields(j);
        let normal = Vec3::from(normal);
        let constraint = ContactConstraint {
            i: self.i as u32,
            j: j as u32,
            image: candidate.code(),
            normal,
            closing: closing_speed(gap, diameter, view.frame.h),
            share,
            mass: 1.0 / (here.motion.w + motion.w),
            surface,
            impulse: self.warm(past, normal, yields),
        };
        task.push(constraint, yields);
    }

    // The constraint of the previous substep with a partner.
    #[inline]
    fn past_with(&self, partner: u32) -> Option<&ContactConstraint> {
        self.past.iter().find(|constraint| constraint.j == partner)
    }
}
