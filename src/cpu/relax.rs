//! Stage 11: leftover overlap pushed apart, position only. Finds the deepest overlap of the substep's end on the way.

use glam::Vec3;
use rayon::prelude::*;

use super::{
    event::View,
    grid::CODES,
    neighbors::{Candidate, wall_bit},
    parallel::{Outputs, TASK},
};

/// Overlaps up to this share of the mean diameter stay: correcting what later impacts resolve themselves would add
/// energy under gravity; from about .01 on they are visible.
pub const SLOP: f32 = 0.002;

/// Share of an overlap removed in one pass: all of it at once overshoots where contacts share a sphere.
pub const FACTOR: f32 = 0.5;

/// Buffers of the stage.
#[derive(Default)]
pub struct Relax {
    deepest: Outputs<f32>,
    push: Vec<Vec3>,
}

impl Relax {
    /// Deepest overlap of any pair or wall, in mean diameters of the pair.
    pub fn deepest(&mut self, view: &View) -> f32 {
        self.deepest.run(view.state.len(), TASK, |range, deepest| {
            *deepest = 0.0;
            for i in range {
                // A pair stands in both lists.
                contacts(view, i, |j| i < j, |_, _, depth, _| *deepest = deepest.max(depth));
            }
        });
        self.deepest.iter().fold(0.0, |a, &b| a.max(b))
    }

    /// Where each sphere has to go so that overlaps deeper than the slop shrink; zero for most.
    pub fn pushes(&mut self, view: &View) -> &[Vec3] {
        let state = view.state;
        self.push.resize(state.len(), Vec3::ZERO);
        self.push.par_iter_mut().enumerate().with_min_len(TASK).for_each(|(i, push)| {
            *push = Vec3::ZERO;
            let inverse = state.inverse_mass(i);
            let mut count = 0;
            if inverse > 0.0 {
                contacts(
                    view,
                    i,
                    |_| true,
                    |normal, other, depth, diameter| {
                        if depth > SLOP {
                            let theirs = other.map_or(0.0, |j| state.inverse_mass(j));
                            *push +=
                                normal * (FACTOR * (depth - SLOP) * diameter * inverse / (inverse + theirs));
                            count += 1;
                        }
                    },
                );
            }
            if count > 1 {
                *push /= count as f32;
            }
        });
        &self.push
    }

    pub fn bytes(&self) -> usize {
        self.push.capacity() * size_of::<Vec3>()
    }
}

/// Whether [`Relax::pushes`] would move anything.
pub fn needed(deepest: f32) -> bool {
    deepest > SLOP
}

/// Calls `visit(normal towards i, other sphere, depth in mean diameters, mean diameter)` for every `wanted` sphere and
/// every plane that sphere `i` overlaps; all clocks are at the end of the substep.
#[inline]
fn contacts(
    view: &View,
    i: usize,
    wanted: impl Fn(usize) -> bool,
    mut visit: impl FnMut(Vec3, Option<usize>, f32, f32),
) {
    let state = view.state;
    let (offset, radius) = (state.offset(i), state.radius(i));
    view.for_candidates(i, |j, link, shift| {
        // What a fast sphere meets may be in its list as well.
        let is_listed = |of: Candidate| of.index() == j && view.shifts[of.code() as usize] == shift;
        if !wanted(j) || (link >= CODES && view.lists.of(i).iter().any(|&of| is_listed(of))) {
            return;
        }
        let d = (offset - state.offset(j)) - shift;
        let sum = radius + state.radius(j);
        let square = d.length_squared();
        if square < sum * sum {
            let distance = square.sqrt();
            // Coincident centres part along x, the smaller index to the right.
            let side = if i < j { Vec3::X } else { Vec3::NEG_X };
            let normal = if distance > 0.0 { d / distance } else { side };
            visit(normal, Some(j), (sum - distance) / sum, sum);
        }
    });
    let walls = if view.extras.is_fast(i) { u32::MAX } else { view.lists.walls(i) };
    if walls != 0 {
        for (plane, wall) in view.world.walls.iter().enumerate() {
            if walls & wall_bit(plane) != 0 {
                let gap = wall.normal.dot(view.wall_to(plane, i)) - radius;
                if gap < 0.0 {
                    visit(wall.normal, None, -gap / (2.0 * radius), 2.0 * radius);
                }
            }
        }
    }
}
