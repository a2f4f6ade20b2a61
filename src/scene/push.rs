//! Moves overlapping spheres apart, by position alone.

use glam::DVec3;
use rayon::prelude::*;

use crate::{
    Plane,
    system::{
        grid::Grid,
        space::{Space, SphereProxy, spatial_order},
    },
};

/// How much further than contact neighbours are looked up, in largest radii: they hold until spheres have moved
/// half of it. More makes the lists longer, less makes them anew more often.
const SKIN: f64 = 0.4;
/// From this ratio of radii on the larger sphere of a pair moves less, and what pushes on a sphere is not simply added up.
const MIXED: f64 = 1.5;
/// Spheres whose lists of neighbours are kept together.
const CHUNK: usize = 512;

/// Spheres that may overlap, and how far each may go.
pub(crate) struct Crowd<'a> {
    pub space: Space,
    pub planes: &'a [Plane],
    /// Centres are wrapped.
    pub rounds: Vec<SphereProxy>,
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

/// Where a sphere is pushed, and what it overlaps.
#[derive(Clone, Copy, Default)]
struct Shove {
    way: DVec3,
    pairs: usize,
    planes: usize,
    deepest: f64,
    /// The longest of its pushes, and whether one comes from a sphere of quite another size.
    longest: f64,
    is_mixed: bool,
}

/// The neighbours of [`CHUNK`] spheres: those of the n-th end at `ends[n]`.
struct Neighbors {
    ends: Vec<u32>,
    list: Vec<u32>,
}

impl Crowd<'_> {
    /// Pushes until nothing overlaps or `passes` are used up; returns what the first and the last pass found.
    ///
    /// Each pass moves both spheres of every pair nearer than `1 + spare` times the sum of the radii by half of what is
    /// missing, a much larger one by less; where one is held, the other goes all the way. Some `spare` makes an end of
    /// what would otherwise converge for ever.
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

    /// Gives the spheres from `first` on `scale` times these radii.
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

    /// Moves the spheres and returns the longest way.
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
                // A large sphere is touched by hundreds of small ones: added up, their pushes would throw it far out of its place.
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
        // Two spheres at one point have no direction: the one with the smaller index goes along -x.
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
