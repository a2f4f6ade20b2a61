//! Removes small overlaps of the initial state, up to `max_initial_overlap`.

use glam::DVec3;

use crate::{
    System,
    scene::{Note, push::Crowd},
    system::space::{Space, SphereProxy},
};

/// Most passes over the overlaps; see [`SPARE`].
const PASSES: usize = 3000;
/// Gap at which pushes aim, in mean diameters. With a smaller gap, a packing settled under load does not finish
/// within the passes; with a larger gap, the packing opens more than it was closed.
const SPARE: f64 = 1e-6;

/// Moves overlapping spheres apart by changing positions only.
pub(crate) fn relax(system: &mut System) -> Note {
    let space = Space::new(system);
    let planes = system.planes();
    let free = (DVec3::splat(f64::NEG_INFINITY), DVec3::splat(f64::INFINITY));
    let mut crowd = Crowd {
        space,
        planes: &planes,
        rounds: system
            .spheres
            .iter()
            .map(|s| SphereProxy { center: space.wrap(s.position), radius: s.radius })
            .collect(),
        limits: system.spheres.iter().map(|s| (!s.fixed).then_some(free)).collect(),
    };
    let (first, last) = crowd.push_apart(SPARE, PASSES);
    let mut moved: f64 = 0.0;
    for (sphere, round) in system.spheres.iter_mut().zip(&crowd.rounds) {
        moved = moved.max(space.separation(round.center, space.wrap(sphere.position)).length());
        sphere.position = round.center;
    }
    Note::Relaxed { overlaps: first.count, deepest: first.deepest, left: last.deepest, moved }
}
