//! Validation of the spheres and of pairs.

use glam::DVec3;
use rayon::prelude::*;

use crate::{
    Dimensions, Sphere, System, Wall,
    system::{
        grid::Grid,
        limits::MAGNITUDES,
        space::{Space, SphereProxy, spatial_order},
        validate::AXES,
        validation_error::ValidationError,
        wall::Nearby,
    },
};

/// An overlap of two spheres, or of a sphere and a wall.
#[derive(Clone, Copy, Debug)]
struct Overlap {
    sphere: usize,
    partner: usize,
    /// Depth in mean diameters of the pair.
    depth: f64,
}

impl System {
    /// Checks the spheres at the start of a run; the world must be valid. Returns the deepest accepted overlap, in mean
    /// diameters, which the first step relaxes.
    pub(crate) fn inspect_spheres(&self) -> Result<f64, ValidationError> {
        let deepest = self.inspect_standing()?;
        self.inspect_shapes()?;
        Ok(deepest)
    }

    /// As [`inspect_spheres`](Self::inspect_spheres), but of the walls only planes at rest are checked.
    pub(crate) fn inspect_standing(&self) -> Result<f64, ValidationError> {
        self.inspect_each()?;
        self.inspect_extremes()?;
        self.inspect_need(self.gravity)?;
        let largest = self.spheres.par_iter().map(|s| s.radius).reduce(|| 0.0, f64::max);
        self.inspect_periods(largest)?;
        self.inspect_squeezed()?;
        let deepest = self.inspect_planes()?;
        Ok(deepest.max(self.inspect_pairs()?))
    }

    /// The checks of each sphere by itself, and of its id.
    pub(crate) fn inspect_each(&self) -> Result<(), ValidationError> {
        let spheres = self.spheres.par_iter().enumerate();
        match spheres.find_map_first(|(index, sphere)| self.inspect_sphere(index, sphere).err()) {
            Some(invalid) => Err(invalid),
            None => self.inspect_ids(),
        }
    }

    fn inspect_sphere(&self, index: usize, sphere: &Sphere) -> Result<(), ValidationError> {
        let id = sphere.id;
        let wrong = |what: &str, found: &dyn std::fmt::Display, remedy: &str| {
            Err(ValidationError::sphere(index, format!("the {what} of sphere {id} is {found}"), remedy))
        };
        let positive = |value: f64| value > 0.0 && value.is_finite();
        if !positive(sphere.radius) {
            return wrong("radius", &sphere.radius, "a radius is finite and > 0");
        }
        if !positive(sphere.mass) {
            return wrong("mass", &sphere.mass, "a mass is finite and > 0, also when the sphere is fixed");
        }
        if !MAGNITUDES.contains(&sphere.mass) {
            return wrong("mass", &format!("{:e}", sphere.mass), "a mass lies between 1e-70 and 1e70");
        }
        for (name, v) in [("position", sphere.position), ("velocity", sphere.velocity), ("spin", sphere.spin)]
        {
            if let Some(axis) = (0..3).find(|&axis| !v[axis].is_finite()) {
                return wrong(&format!("{name} in {}", AXES[axis]), &v[axis], "it is a finite number");
            }
            if self.dimensions == Dimensions::Two && name != "spin" && v.z != 0.0 {
                return wrong(&format!("{name} in z"), &v.z, "in 2D it is 0");
            }
        }
        if usize::from(sphere.material) >= self.materials.len() {
            return wrong("material", &sphere.material, &self.material_range());
        }
        Ok(())
    }

    fn inspect_ids(&self) -> Result<(), ValidationError> {
        if self.spheres.windows(2).all(|pair| pair[0].id < pair[1].id) {
            return Ok(());
        }
        let mut ids: Vec<(u32, usize)> = self.spheres.iter().map(|s| s.id).zip(0..).collect();
        ids.par_sort_unstable();
        match ids.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(ValidationError::sphere(
                pair[1].1,
                format!("two spheres have the id {}", pair[0].0),
                "every sphere has a unique id",
            )),
            None => Ok(()),
        }
    }

    fn inspect_planes(&self) -> Result<f64, ValidationError> {
        let planes: Vec<Wall> = self.planes().into_iter().map(Wall::from).collect();
        self.deepest_in(planes.iter())
    }

    // The first step relaxes overlaps below the limit.
    fn inspect_shapes(&self) -> Result<f64, ValidationError> {
        self.deepest_in(self.walls.iter().filter(|wall| wall.as_plane().is_none() && wall.is_there(0.0)))
    }

    fn deepest_in<'a>(&self, walls: impl Iterator<Item = &'a Wall>) -> Result<f64, ValidationError> {
        let mut walls = walls.peekable();
        if self.spheres.is_empty() || walls.peek().is_none() {
            return Ok(0.0);
        }
        let space = Space::new(self);
        let ends = corners(self.spheres.par_iter().map(|s| (space.wrap(s.position), s.radius)));
        let walls: Vec<Nearby> = walls.flat_map(|wall| Nearby::images(wall, 0.0, ends, space)).collect();
        let walls = &walls;
        let deepest = self
            .spheres
            .par_iter()
            .enumerate()
            .filter(|(_, sphere)| !sphere.fixed)
            .flat_map_iter(|(index, sphere)| {
                let (center, radius) = (space.wrap(sphere.position), sphere.radius);
                walls.iter().enumerate().filter_map(move |(partner, wall)| {
                    let depth = (radius - wall.within(center, radius)?) / (2.0 * radius);
                    Some(Overlap { sphere: index, partner, depth })
                })
            })
            .reduce_with(deeper);
        let Some(Overlap { sphere, partner, depth }) = deepest else {
            return Ok(0.0);
        };
        let limit = self.solver.max_initial_overlap;
        if depth <= limit {
            return Ok(depth);
        }
        let (id, wall) = (self.spheres[sphere].id, walls[partner].name());
        let found = if depth >= 1.0 {
            format!("sphere {id} lies behind the wall {wall}")
        } else {
            format!("sphere {id} reaches {depth:.3} of its diameter into the wall {wall}")
        };
        Err(ValidationError::sphere(
            sphere,
            found,
            format!(
                "move it to the free side; overlap up to {limit} (solver.max_initial_overlap) is relaxed"
            ),
        ))
    }

    fn inspect_pairs(&self) -> Result<f64, ValidationError> {
        let space = Space::new(self);
        let rounds: Vec<SphereProxy> = self
            .spheres
            .par_iter()
            .map(|s| SphereProxy { center: space.wrap(s.position), radius: s.radius })
            .collect();
        let order = spatial_order(&rounds);
        let grid = Grid::of(space, order.iter().map(|&at| rounds[at as usize]).collect());
        let rounds = grid.rounds();
        let deepest = (0..rounds.len())
            .into_par_iter()
            .filter_map(|index| {
                let mut worst: Option<Overlap> = None;
                grid.any_partner(index, |other, d| {
                    let sum = rounds[index].radius + rounds[other].radius;
                    if d.length_squared() < sum * sum {
                        let (a, b) = (order[index] as usize, order[other] as usize);
                        if !(self.spheres[a].fixed && self.spheres[b].fixed) {
                            let depth = (sum - d.length()) / sum;
                            let found = Overlap { sphere: a.min(b), partner: a.max(b), depth };
                            worst = Some(worst.map_or(found, |worst| deeper(worst, found)));
                        }
                    }
                    false
                });
                worst
            })
            .reduce_with(deeper);
        let Some(Overlap { sphere, partner, depth }) = deepest else {
            return Ok(0.0);
        };
        let limit = self.solver.max_initial_overlap;
        if depth <= limit {
            return Ok(depth);
        }
        let (a, b) = (self.spheres[sphere].id, self.spheres[partner].id);
        Err(ValidationError::sphere(
            partner,
            format!("spheres {} and {} overlap by {depth:.3} of their mean diameter", a.min(b), a.max(b)),
            format!("move them apart; overlap up to {limit} (solver.max_initial_overlap) is relaxed"),
        ))
    }
}

// The bounding box of all spheres.
fn corners(spheres: impl ParallelIterator<Item = (DVec3, f64)>) -> (DVec3, DVec3) {
    let boxes = spheres.map(|(center, radius)| (center - radius, center + radius));
    boxes.reduce(|| (DVec3::INFINITY, DVec3::NEG_INFINITY), |a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// The deeper of two overlaps; the first in order of the indices if equal, so that the order of the threads does not matter.
fn deeper(a: Overlap, b: Overlap) -> Overlap {
    let order = b.depth.total_cmp(&a.depth).then((a.sphere, a.partner).cmp(&(b.sphere, b.partner)));
    if order.is_le() { a } else { b }
}
