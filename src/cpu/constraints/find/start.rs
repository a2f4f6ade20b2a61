//! Finds the contact constraints between spheres at the start of a substep, when all clocks count as 0. These are most of the
//! constraints, and most of them held in the previous substep too. Four candidates are tested at a time, because the latency
//! of roots and divisions took most of the time.

use glam::{Mat4, Vec3, Vec4};

use super::{Finder, Grip};
use crate::{
    cpu::{
        constraints::{ContactConstraint, STANDS, Task},
        neighbors::Candidate,
        pairs::{LANES, for_lanes},
    },
    state::constants::{CONSTRAINT_GAP, SHOCK, TOUCHING},
};

/// The sphere whose constraints are found.
struct Here {
    place: Vec4,
    motion: Vec4,
    yields: bool,
    /// Whether it had a pressed contact in the previous substep.
    was_pressed: bool,
}

/// A sphere and four candidates, as in a contact constraint.
struct Contacts {
    /// Candidates that are close and not too fast for a constraint, one bit each; and those that approach or recede slowly.
    close: u32,
    slow: u32,
    normal: [[f32; LANES]; 3],
    approach: [f32; LANES],
    closing: [f32; LANES],
    share: [f32; LANES],
    radius: [f32; LANES],
    masses: [[f32; LANES]; 2],
}

impl Finder<'_> {
    /// Finds the constraints with the candidates that the sphere owns. `slow` is the slow speed.
    pub(super) fn pairs_at_start(&self, slow: f32, task: &mut Task) {
        let Self { view, i, .. } = *self;
        let own = view.lists.own(i);
        if own.is_empty() {
            return;
        }
        let here = Here {
            place: view.state.place[i],
            motion: view.state.motion[i],
            yields: view.yields(i),
            was_pressed: self.rested.any(i),
        };
        let (fours, rest) = own.as_chunks();
        for four in fours {
            self.four_at_start(&here, four, 0xf, slow, task);
        }
        if let Some(&last) = rest.last() {
            let mut four = [last; LANES];
            four[..rest.len()].copy_from_slice(rest);
            self.four_at_start(&here, &four, (1 << rest.len()) - 1, slow, task);
        }
    }

    // Finds the constraints with the candidates in some lanes.
    #[inline(always)]
    fn four_at_start(&self, here: &Here, four: &[Candidate; LANES], lanes: u32, slow: f32, task: &mut Task) {
        let contacts = self.contacts(here, four, slow);
        for_lanes(lanes & contacts.close, |lane| {
            let j = four[lane].index() as u32;
            let past = self.past.iter().find(|constraint| constraint.j == j);
            // Neighbours in a pile are pressed together; a sphere that has just arrived bounces.
            let in_contact = past.is_some_and(|constraint| {
                constraint.impulse.normal > 0.0
                    || (contacts.approach[lane] > 0.0 && here.was_pressed && self.rested.any(j as usize))
            });
            if in_contact || contacts.slow >> lane & 1 != 0 {
                self.add_at_start(here, (&contacts, lane), four[lane], past, task);
            }
        });
    }

    #[inline(always)]
    fn contacts(&self, here: &Here, four: &[Candidate; LANES], slow: f32) -> Contacts {
        let (view, state) = (self.view, self.view.state);
        let place = by_component(four, |candidate| state.place[candidate.index()]);
        let motion = by_component(four, |candidate| state.motion[candidate.index()]);
        let shift = by_component(four, |candidate| view.shifts[candidate.code() as usize].extend(0.0));
        let splat = |vector: Vec4| [vector.x, vector.y, vector.z, vector.w].map(Vec4::splat);
        let ([x, y, z, radius], [vx, vy, vz, inverse_mass]) = (splat(here.place), splat(here.motion));
        let dx = (x - place.x_axis) - shift.x_axis;
        let dy = (y - place.y_axis) - shift.y_axis;
        let dz = (z - place.z_axis) - shift.z_axis;
        let (square, diameter) = (dx * dx + dy * dy + dz * dz, radius + place.w_axis);
        let (distance, farthest) = (square.sqrt(), diameter * (1.0 + CONSTRAINT_GAP));
        let apart = distance.cmpgt(Vec4::ZERO);
        let along = |d: Vec4, other: f32| Vec4::select(apart, d / distance, Vec4::splat(other));
        let (nx, ny, nz) = (along(dx, 1.0), along(dy, 0.0), along(dz, 0.0));
        let gap = distance - diameter;
        let (wx, wy, wz) = (vx - motion.x_axis, vy - motion.y_axis, vz - motion.z_axis);
        let approach = -(nx * wx + ny * wy + nz * wz);
        let inverse = inverse_mass + motion.w_axis;
        let close = square.cmple(farthest * farthest)
            & gap.cmple(diameter * CONSTRAINT_GAP)
            & approach.cmple(Vec4::splat(SHOCK * slow))
            & inverse.cmpgt(Vec4::ZERO);
        let (share, mass) = (distance / diameter, 1.0 / inverse);
        let is_open = gap.cmpgt(diameter * TOUCHING);
        Contacts {
            close: close.bitmask(),
            slow: (approach.cmple(Vec4::splat(slow)) & approach.cmpge(Vec4::splat(-slow))).bitmask(),
            normal: [nx, ny, nz].map(|n| n.to_array()),
            approach: approach.to_array(),
            closing: Vec4::select(is_open, gap / view.frame.h, Vec4::ZERO).to_array(),
            share: share.to_array(),
            radius: place.w_axis.to_array(),
            masses: [mass.to_array(), (mass / (1.0 + 2.5 * share * share)).to_array()],
        }
    }

    #[inline(always)]
    fn add_at_start(
        &self,
        here: &Here,
        (contacts, lane): (&Contacts, usize),
        candidate: Candidate,
        past: Option<&ContactConstraint>,
        task: &mut Task,
    ) {
        let (view, i, j) = (self.view, self.i, candidate.index());
        let Some(Grip { turns, friction, resistance }) = self.grip(j, past) else { return };
        if view.sleep.is_stirred(i, j) {
            view.sleep.mark(if view.sleep.contains(i) { i } else { j }, view.lists);
        }
        let share = contacts.share[lane];
        let yields = here.yields || view.yields(j);
        let normal = Vec3::from(contacts.normal.map(|n| n[lane]));
        let constraint = ContactConstraint {
            i: i as u32,
            j: j as u32,
            code: candidate.code(),
            normal,
            closing: contacts.closing[lane],
            #[cfg(feature = "gpu")]
            share,
            arms: [here.place.w * share, contacts.radius[lane] * share],
            turns,
            masses: contacts.masses.map(|mass| mass[lane]),
            friction,
            resistance,
            impulse: self.warm(past, normal, yields),
            wall_velocity: STANDS,
        };
        task.push(constraint, yields);
    }
}

// The vectors of four candidates by component.
#[inline(always)]
fn by_component(four: &[Candidate; LANES], of: impl Fn(Candidate) -> Vec4) -> Mat4 {
    Mat4::from_cols(of(four[0]), of(four[1]), of(four[2]), of(four[3])).transpose()
}
