//! Converts colliding pairs to resting contacts within a substep, and accounts for their energy.

use glam::Vec3;

use crate::{
    cpu::{
        collide::{Body, Counts},
        event::View,
    },
    state::constants::{HEAVY, MOST_HITS, WALL},
};

// Removes the approach speed of a new resting contact, if a contact constraint can hold the pair until the substep ends.
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
            // No candidate list holds the pair.
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

// Counts an impact that loses energy. A pair that collides repeatedly becomes a resting contact; true if it is one.
pub(super) fn count_hit(view: &View, i: usize, partner: u32, e: f32) -> bool {
    if view.world.rests && e < 1.0 && view.lists.hit(i, partner) > MOST_HITS {
        view.converted.insert(i);
        if partner & WALL == 0 {
            view.converted.insert(partner as usize);
        }
        return true;
    }
    false
}

// Holds a sphere that squeezes a much lighter one: its contact decides its path from here on, and a later impact would leave it at a
// place on its free path, deep inside the light sphere. So it counts as pressed by many spheres: its further impacts become contacts as
// in a crowd, and it is not in flight where contacts bounce.
pub(super) fn hold_heavy(view: &View, a: &Body, b: &Body) {
    let [of_a, of_b] = [a, b].map(Body::inverse_mass);
    if of_a > 0.0 && of_b >= HEAVY * of_a {
        view.pressed.hold(a.index);
    }
    if of_b > 0.0 && of_a >= HEAVY * of_b {
        view.pressed.hold(b.index);
    }
}

// Difference between the energies that an impulse gives to a sphere in flight and to a supported sphere, whose chord is
// not its velocity.
pub(super) fn along_chord(view: &View, i: usize, impulse: Vec3) -> f64 {
    0.5 * f64::from(view.rested[i]) * f64::from(view.frame.gravity.dot(impulse))
}
