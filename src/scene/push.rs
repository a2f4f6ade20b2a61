//! Moves overlapping spheres apart, by position alone.

use glam::DVec3;
use rayon::prelude::*;

use super::grid::{Grid, Round, Space};
use crate::Plane;

/// Spheres that may overlap, and how far each may go.
pub(crate) struct Crowd<'a> {
    pub space: Space,
    pub planes: &'a [Plane],
    /// Centres are wrapped.
    pub rounds: Vec<Round>,
    /// Lowest and highest centre of the spheres that may be moved; `None` = held in place.
    pub limits: Vec<Option<(DVec3, DVec3)>>,
}

/// What one pass over a crowd found, before it moved anything.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Overlaps {
    /// Pairs that overlap, and spheres that reach into a plane.
    pub count: usize,
    /// Deepest, in mean diameters of the pair or diameters.
    pub deepest: f64,
}

#[derive(Clone, Copy, Default)]
struct Shove {
    way: DVec3,
    pairs: usize,
    planes: usize,
    deepest: f64,
}

impl Crowd<'_> {
    /// Pushes until nothing overlaps or `passes` are used up; returns what the first and the last pass found.
    ///
    /// Each pass moves both spheres of every pair nearer than `1 + spare` times the sum of the radii by half of
    /// what is missing (all of it where the other is held). Some `spare` makes an end of what would otherwise
    /// converge for ever.
    pub(crate) fn push_apart(&mut self, spare: f64, passes: usize) -> (Overlaps, Overlaps) {
        let mut first = None;
        for pass in 0.. {
            let grid = Grid::of(self.space, self.rounds.clone());
            let shoves: Vec<Shove> =
                (0..self.rounds.len()).into_par_iter().map(|i| self.shove(&grid, i, spare)).collect();
            let found = Overlaps {
                count: shoves.iter().map(|s| s.pairs).sum::<usize>().div_ceil(2)
                    + shoves.iter().map(|s| s.planes).sum::<usize>(),
                deepest: shoves.iter().map(|s| s.deepest).fold(0.0, f64::max),
            };
            let first = *first.get_or_insert(found);
            if found.count == 0 || pass == passes {
                return (first, found);
            }
            for ((round, limits), shove) in self.rounds.iter_mut().zip(&self.limits).zip(&shoves) {
                if let Some((low, high)) = limits {
                    round.center = self.space.wrap((round.center + shove.way).clamp(*low, *high));
                }
            }
        }
        unreachable!("the loop has no end of its own")
    }

    fn shove(&self, grid: &Grid, index: usize, spare: f64) -> Shove {
        let Round { center, radius } = self.rounds[index];
        let held = self.limits[index].is_none();
        let mut shove = Shove::default();
        let margin = spare * (radius + grid.largest());
        grid.any_near(center, radius, margin, |other, d| {
            let other_held = self.limits[other].is_none();
            if other == index || (held && other_held) {
                return false;
            }
            let sum = radius + self.rounds[other].radius;
            let square = d.length_squared();
            let aim = sum * (1.0 + spare);
            if square < aim * aim {
                let distance = square.sqrt();
                if distance < sum {
                    shove.pairs += 1;
                    shove.deepest = shove.deepest.max((sum - distance) / sum);
                }
                // Two spheres at one point have no direction: the one with the smaller index goes along -x.
                let side = if index < other { -DVec3::X } else { DVec3::X };
                let normal = if distance > 0.0 { d / distance } else { side };
                shove.way += normal * (aim - distance) * if other_held { 1.0 } else { 0.5 };
            }
            false
        });
        if !held {
            for plane in self.planes {
                let gap = (center - plane.point).dot(plane.normal) - radius;
                if gap < 0.0 {
                    shove.planes += 1;
                    shove.deepest = shove.deepest.max(-gap / (2.0 * radius));
                }
                let missing = radius * spare - gap;
                if missing > 0.0 {
                    shove.way += plane.normal * missing;
                }
            }
        }
        shove
    }
}
