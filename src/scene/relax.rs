//! Initial overlaps that are shallow enough to be put right.

use glam::DVec3;

use crate::{
    System,
    scene::{Note, push::Crowd},
    system::space::{Space, SphereProxy},
};

/// Passes over the overlaps; see [`SPARE`].
const PASSES: usize = 3000;
/// Gap that pushes aim at, in mean diameters. With less, a packing that has settled under load does not come to an
/// end within the passes; with more, it is opened further than it was closed.
const SPARE: f64 = 1e-6;

/// Moves spheres that overlap apart, by position alone.
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
