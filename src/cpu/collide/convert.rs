//! Pairs that go from impacts to rows within a substep, where contacts may rest, and what of the ledger rows have to do with.

use glam::Vec3;

use crate::{
    cpu::{
        collide::{Body, Counts},
        event::View,
    },
    state::constants::{MOST_HITS, WALL},
};

// Takes the approach out of a contact that rests from now on, if rows can hold it: they carry it to the end of the substep.
pub(super) fn convert_to_resting(
    view: &View,
    a: &mut Body,
    partner: u32,
    normal: Vec3,
    approach: f32,
    counts: &mut Counts,
) -> bool {
    if !(view.world.rests && view.is_counted(a.index, partner)) {
        return false;
    }
    while view.lists.hit(a.index, partner) <= MOST_HITS {
        if view.lists.hits(a.index, partner) == 0 {
            // A pair that no list holds.
            return false;
        }
    }
    view.converted.insert(a.index);
    if partner & WALL == 0 {
        view.converted.insert(partner as usize);
    }
    let mass = 1.0 / a.inverse_mass();
    a.push(-normal * approach);
    counts.dissipated += 0.5 * f64::from(mass) * f64::from(approach) * f64::from(approach)
        + along_chord(view, a.index, -normal * (approach * mass));
    true
}

// Counts an impact that takes energy: what collides again and again comes to rest.
pub(super) fn count_hit(view: &View, i: usize, partner: u32, e: f32) {
    if view.world.rests && e < 1.0 && view.lists.hit(i, partner) > MOST_HITS {
        view.converted.insert(i);
        if partner & WALL == 0 {
            view.converted.insert(partner as usize);
        }
    }
}

// What a sphere that rows carry gains less than one in flight: the chord of its way is not its velocity.
pub(super) fn along_chord(view: &View, i: usize, impulse: Vec3) -> f64 {
    0.5 * f64::from(view.rested[i]) * f64::from(view.frame.gravity.dot(impulse))
}
