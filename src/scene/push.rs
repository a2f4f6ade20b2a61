//! Moves overlapping spheres apart by changing positions only.

use glam::DVec3;
use rayon::prelude::*;

use crate::{
    Plane,
    system::{
        grid::Grid,
        space::{Space, SphereProxy, spatial_order},
    },
};

/// Skin of the neighbour lists beyond contact, in largest radii; the lists are valid until a sphere has moved half of it. A
/// larger skin makes the lists longer, a smaller skin rebuilds them more often.
const SKIN: f64 = 0.4;
/// Ratio of radii above which the larger sphere of a pair moves less, and the sum of the pushes on a sphere is capped.
const MIXED: f64 = 1.5;
/// Number of spheres whose neighbour lists are stored together.
const CHUNK: usize = 512;

/// Spheres that may overlap, with the limits of their positions.
pub(crate) struct Crowd<'a> {
    pub space: Space,
    pub planes: &'a [Plane],
    /// Spheres, with wrapped centres.
    pub rounds: Vec<SphereProxy>,
    /// Lowest and highest centre of each sphere; `None` for a sphere held in place.
    pub limits: Vec<Option<(DVec3, DVec3)>>,
}

/// Overlaps found in a pass, before it moved any sphere.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Overlaps {
    /// Number of overlapping pairs, and of spheres that reach into a plane.
    pub count: usize,
    /// Deepest overlap, in mean diameters of the pair, or in diameters for a plane.
    pub deepest: f64,
}

/// Total push on a sphere, and its overlaps.
#[derive(Clone, Copy, Default)]
struct Shove {
    way: DVec3,
    pairs: usize,
    planes: usize,
    deepest: f64,
    /// Length of the largest single push, and whether a push comes from a sphere of very different size.
    longest: f64,
    is_mixed: bool,
}

/// Neighbour lists of [`CHUNK`] spheres; the list of the n-th ends at `ends[n]`.
struct Neighbors {
    ends: Vec<u32>,
    list: Vec<u32>,
}

impl Crowd<'_> {
    /// Pushes until nothing overlaps or `passes` are used up. Returns the overlaps found in the first and in the last pass.
    ///
    /// Each pass moves both spheres of every pair closer than `1 + spare` times the sum of the radii by half of the
    /// missing distance; a much larger sphere moves less. If one sphere is held, the other moves the full distance. Without
    /// some `spare` the iteration would converge but never end.
    pub(crate) fn push_apart(&mut self, spare: f64, passes: usize) -> (Overlaps, Overlaps) {
        let order = spatial_order(&self.rounds);
        let places = order.iter().map(|&at| at as usize);
        let mut sorted = Crowd {
            rounds: places.clone().map(|at| self.rounds[at]).collect(),
            limits: places.clone().map(|at| self.limits[at]).collect(),
            ..*self
        };
        let found = sorted.push_in_order(spare, passes);
        for (at, round) in places.zip(sorted.rounds) {
            self.rounds[at] = round;
        }
        found
    }

    /// Sets the radii of the spheres from `first` on to `scale` times these radii.
    pub(crate) fn resize(&mut self, first: usize, radii: &[f64], scale: f64) {
        for (round, radius) in self.rounds[first..].iter_mut().zip(radii) {
            round.radius = scale * radius;
        }
    }

    fn push_in_order(&mut self, spare: f64, passes: usize) -> (Overlaps, Overlaps) {
        let skin = SKIN * self.rounds.iter().map(|round| round.radius).fold(0.0, f64::max);
        let mut neighbors = self.neighbors(spare, skin);
        let mut moved = 0.0;
        let mut first = None;
        for pass in 0.. {
            let shoves = self.shoves(&neighbors, spare);
            let found = Overlaps {
                count: shoves.iter().map(|s| s.pairs).sum::<usize>().div_ceil(2)
                    + shoves.iter().map(|s| s.planes).sum::<usize>(),
                deepest: shoves.iter().map(|s| s.deepest).fold(0.0, f64::max),
            };
            let first = *first.get_or_insert(found);
            if found.count == 0 || pass == passes {
                return (first, found);
            }
            moved += self.follow(&shoves);
            if moved > 0.5 * skin {
                neighbors = self.neighbors(spare, skin);
                moved = 0.0;
            }
        }
        unreachable!("the loop has no end of its own")
    }

    /// Moves the spheres; returns the largest displacement.
    fn follow(&mut self, shoves: &[Shove]) -> f64 {
        let mut longest: f64 = 0.0;
        for ((round, limits), shove) in self.rounds.iter_mut().zip(&self.limits).zip(shoves) {
            if let Some((low, high)) = limits {
                let center = (round.center + shove.way).clamp(*low, *high);
                longest = longest.max((center - round.center).length());
                round.center = self.space.wrap(center);
            }
        }
        longest
    }

    fn neighbors(&self, spare: f64, skin: f64) -> Vec<Neighbors> {
        let grid = Grid::of(self.space, self.rounds.clone());
        let margin = skin + 2.0 * spare * grid.largest();
        let starts = (0..self.rounds.len()).into_par_iter().step_by(CHUNK);
        let lists = starts.map(|start| {
            let mut chunk = Neighbors { ends: vec![], list: vec![] };
            for index in start..(start + CHUNK).min(self.rounds.len()) {
                let SphereProxy { center, radius } = self.rounds[index];
                grid.any_near(center, radius, margin, |other, d| {
                    let reach = radius + self.rounds[other].radius + margin;
                    let both_held = self.limits[index].is_none() && self.limits[other].is_none();
                    if other != index && !both_held && d.length_squared() < reach * reach {
                        chunk.list.push(other as u32);
                    }
                    false
                });
                chunk.ends.push(chunk.list.len() as u32);
            }
            chunk
        });
        lists.collect()
    }

    fn shoves(&self, neighbors: &[Neighbors], spare: f64) -> Vec<Shove> {
        let mut shoves = vec![Shove::default(); self.rounds.len()];
        shoves.par_chunks_mut(CHUNK).zip(neighbors).enumerate().for_each(|(number, (shoves, chunk))| {
            let mut start = 0;
            for (offset, (shove, &end)) in shoves.iter_mut().zip(&chunk.ends).enumerate() {
                let index = number * CHUNK + offset;
                for &other in &chunk.list[start..end as usize] {
                    self.push(index, other as usize, spare, shove);
                }
                self.push_off_planes(index, spare, shove);
                // Hundreds of small spheres may touch a large one; the sum of their pushes would throw it far out of its
                // position.
                let length = shove.way.length();
                if shove.is_mixed && length > shove.longest {
                    shove.way *= shove.longest / length;
                }
                start = end as usize;
            }
        });
        shoves
    }

    fn push(&self, index: usize, other: usize, spare: f64, shove: &mut Shove) {
        let (here, there) = (self.rounds[index], self.rounds[other]);
        let d = self.space.separation(here.center, there.center);
        let sum = here.radius + there.radius;
        let aim = sum * (1.0 + spare);
        let square = d.length_squared();
        if square >= aim * aim {
            return;
        }
        let distance = square.sqrt();
        if distance < sum {
            shove.pairs += 1;
            shove.deepest = shove.deepest.max((sum - distance) / sum);
        }
        // Two coincident spheres define no direction: the one with the smaller index moves along -x.
        let side = if index < other { -DVec3::X } else { DVec3::X };
        let normal = if distance > 0.0 { d / distance } else { side };
        let is_mixed = here.radius.max(there.radius) > MIXED * here.radius.min(there.radius);
        let part = match self.limits[other] {
            None => 1.0,
            _ if is_mixed => there.radius / sum,
            _ => 0.5,
        };
        shove.way += normal * (aim - distance) * part;
        shove.longest = shove.longest.max((aim - distance) * part);
        shove.is_mixed |= is_mixed;
    }

    fn push_off_planes(&self, index: usize, spare: f64, shove: &mut Shove) {
        if self.limits[index].is_none() {
            return;
        }
        let SphereProxy { center, radius } = self.rounds[index];
        for plane in self.planes {
            let gap = (center - plane.point).dot(plane.normal) - radius;
            if gap < 0.0 {
                shove.planes += 1;
                shove.deepest = shove.deepest.max(-gap / (2.0 * radius));
            }
            let push = (radius * spare - gap).max(0.0);
            shove.way += plane.normal * push;
            shove.longest = shove.longest.max(push);
        }
    }
}
