//! How far rounding errors carry in a solve of contact constraints.
//!
//! A constraint that is found after an impact closes its gap in the time that is left. The gap is the small difference of a
//! distance and a sum of radii, so one unit in the last place of the distance changes the closing speed by that unit over the time.
//! The solve passes this change on to other contacts, and over-relaxation enlarges it about tenfold. No bound on single contacts
//! covers this. In a step of the scene pile50, one or two units in the last place of four distances changed the impulses of twelve
//! contacts by more than the tolerance of the solve.
//!
//! If a solve differs by more than its tolerance, the twin repeats it from states that differ by a rounding error. A speed or an
//! impulse may then differ by [`SPREAD`] times what the repetitions of that same speed or impulse differ by.

use std::collections::HashMap;

use glam::Vec3;

use super::{sensitivity::SPREAD, twin::Twin};
use crate::{
    cpu::constraints::{ContactConstraint, ContactImpulse},
    scene::rng::SeededRng,
};

/// Changes the state of the twin by rounding errors: each place by up to a unit in the last place of a diameter, each velocity and
/// spin by up to half a unit of its own.
pub fn round_differently(twin: &mut Twin, seed: u64) {
    let mut rng = SeededRng::new(seed, "rounding", 1);
    let axes = twin.core.domain.system.dimensions.count();
    let mut vector = || {
        let mut within = |axis| if axis < axes { rng.within(-1.0, 1.0) as f32 } else { 0.0 };
        Vec3::from_array([within(0), within(1), within(2)])
    };
    let state = &mut twin.core.state;
    for i in 0..state.len() {
        let errors = [
            vector() * (2.0 * f32::EPSILON * state.radius(i)),
            vector() * (0.5 * f32::EPSILON * state.velocity(i).length()),
            vector() * (0.5 * f32::EPSILON * state.spin[i].truncate().length()),
        ];
        if state.inverse_mass(i) > 0.0 {
            let [place, velocity, spin] = errors.map(|error| error.extend(0.0));
            state.place[i] += place;
            state.motion[i] += velocity;
            state.spin[i] += spin;
        }
    }
}

/// The largest differences between the repetitions of a solve and the solve itself.
#[derive(Default)]
pub struct Scatter {
    /// Of the components of the velocity and of the spin of each sphere.
    spheres: Vec<[f32; 2]>,
    /// Of the normal impulse, and of the components of friction and moment, by sphere, partner and code.
    contacts: HashMap<(usize, u32, u32), [f32; 3]>,
}

impl Scatter {
    /// Includes a repetition of the solve that led to `twin`.
    pub fn include(&mut self, twin: &Twin, repetition: &Twin) {
        let gravity = twin.core.domain.world.gravity;
        let (one, other) = (&twin.core, &repetition.core);
        self.spheres.resize(one.state.len(), [0.0; 2]);
        for (i, scatter) in self.spheres.iter_mut().enumerate() {
            // At the end of the substep, because a sphere in flight has another velocity before than a supported one.
            let apart = one.state.velocity(i) - other.state.velocity(i);
            let velocity = apart - gravity * (0.5 * (one.rested[i] - other.rested[i]));
            let spin = (one.state.spin[i] - other.state.spin[i]).truncate();
            enlarge(scatter, [velocity, spin].map(largest));
            for constraint in one.constraints.of(i) {
                let same = |of: &&ContactConstraint| (of.j, of.code()) == (constraint.j, constraint.code());
                // A contact that the repetition lacks shows nothing.
                let Some(repeated) = other.constraints.of(i).iter().find(same) else { continue };
                let ContactImpulse { normal, tangent, moment } = constraint.impulse;
                let theirs = repeated.impulse;
                let apart = [
                    (normal - theirs.normal).abs(),
                    largest(tangent - theirs.tangent),
                    largest(moment - theirs.moment),
                ];
                enlarge(self.contacts.entry((i, constraint.j, constraint.code())).or_default(), apart);
            }
        }
    }

    /// Differences of the velocity and of the spin of a sphere that rounding may cause.
    pub fn of_sphere(&self, i: usize) -> [f32; 2] {
        self.spheres.get(i).copied().unwrap_or_default().map(|scatter| SPREAD as f32 * scatter)
    }

    /// Differences of the normal impulse, the friction and the moment of a contact that rounding may cause.
    pub fn of_contact(&self, i: usize, partner: u32, code: u32) -> [f32; 3] {
        let scatter = self.contacts.get(&(i, partner, code)).copied().unwrap_or_default();
        scatter.map(|scatter| SPREAD as f32 * scatter)
    }
}

fn largest(v: Vec3) -> f32 {
    v.abs().max_element()
}

// Values that are not numbers enlarge nothing.
fn enlarge<const N: usize>(scatter: &mut [f32; N], apart: [f32; N]) {
    scatter.iter_mut().zip(apart).for_each(|(scatter, apart)| *scatter = scatter.max(apart));
}
