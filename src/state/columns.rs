//! The state of all spheres, one array per property, in scaled units and bucket order.

use glam::{DVec3, IVec4, Vec3, Vec4};
use rayon::prelude::*;

use crate::{
    MaterialIndex, Sphere, System,
    state::{grid::Grid, units::Units},
};

/// Time of the last contact of a sphere that never had one. It lies beyond any contact time, and subtracting a substep
/// from it stays finite.
pub const NEVER: f32 = -1e30;

/// A sphere found by a search, in the user's units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    pub id: u32,
    pub center: DVec3,
    pub radius: f64,
    pub velocity: DVec3,
    pub spin: DVec3,
}

/// All spheres, one entry each in every array.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Offset inside the cell, radius.
    pub place: Vec<Vec4>,
    /// Cell, material.
    pub cell: Vec<IVec4>,
    /// Velocity, inverse mass (0 = fixed).
    pub motion: Vec<Vec4>,
    /// Angular velocity, time of the last contact counted from the start of the substep (<= 0).
    pub spin: Vec<Vec4>,
    /// Id.
    pub id: Vec<u32>,
}

/// The columns as stages read them. A column that the current stage writes is borrowed elsewhere and empty here.
#[derive(Clone, Copy)]
pub struct Columns<'a> {
    /// Offset inside the cell, radius.
    pub place: &'a [Vec4],
    /// Cell, material.
    pub cell: &'a [IVec4],
    /// Velocity, inverse mass (0 = fixed).
    pub motion: &'a [Vec4],
    /// Angular velocity, time of the last contact counted from the start of the substep (<= 0).
    pub spin: &'a [Vec4],
    /// Id.
    pub id: &'a [u32],
}

impl Columns<'_> {
    #[inline]
    pub fn len(&self) -> usize {
        self.id.len()
    }

    #[inline]
    pub fn offset(&self, i: usize) -> Vec3 {
        self.place[i].truncate()
    }

    #[inline]
    pub fn radius(&self, i: usize) -> f32 {
        self.place[i].w
    }

    #[inline]
    pub fn velocity(&self, i: usize) -> Vec3 {
        self.motion[i].truncate()
    }

    #[inline]
    pub fn inverse_mass(&self, i: usize) -> f32 {
        self.motion[i].w
    }

    #[inline]
    pub fn material(&self, i: usize) -> MaterialIndex {
        self.cell[i].w as MaterialIndex
    }
}

impl State {
    /// All columns to read.
    pub fn columns(&self) -> Columns<'_> {
        let Self { place, cell, motion, spin, id } = self;
        Columns { place, cell, motion, spin, id }
    }

    /// Bytes per sphere.
    pub const BYTES: usize = 4 * 16 + 4;

    pub fn len(&self) -> usize {
        self.id.len()
    }

    pub fn resize(&mut self, count: usize) {
        self.place.resize(count, Vec4::ZERO);
        self.cell.resize(count, IVec4::ZERO);
        self.motion.resize(count, Vec4::ZERO);
        self.spin.resize(count, Vec4::ZERO);
        self.id.resize(count, 0);
    }

    /// Becomes a copy of other spheres, in the memory that it has.
    pub fn copy_from(&mut self, other: &Self) {
        let Self { place, cell, motion, spin, id } = other;
        self.place.clone_from(place);
        self.cell.clone_from(cell);
        self.motion.clone_from(motion);
        self.spin.clone_from(spin);
        self.id.clone_from(id);
    }

    /// Loads the spheres of `system` in their order.
    pub fn load(&mut self, system: &System, units: &Units, grid: &Grid, last_contact: impl Fn(u32) -> f32) {
        self.resize(system.spheres.len());
        for (i, sphere) in system.spheres.iter().enumerate() {
            let (cell, offset) = grid.locate(sphere.position / units.length);
            let velocity = if sphere.fixed { DVec3::ZERO } else { sphere.velocity / units.velocity() };
            self.place[i] = offset.extend((sphere.radius / units.length) as f32);
            self.cell[i] = cell.extend(i32::from(sphere.material));
            self.motion[i] = velocity.as_vec3().extend((sphere.inverse_mass() * units.mass) as f32);
            self.spin[i] = (sphere.spin * units.time).as_vec3().extend(last_contact(sphere.id));
            self.id[i] = sphere.id;
        }
    }

    #[inline]
    pub fn offset(&self, i: usize) -> Vec3 {
        self.place[i].truncate()
    }

    #[inline]
    pub fn radius(&self, i: usize) -> f32 {
        self.place[i].w
    }

    #[inline]
    pub fn velocity(&self, i: usize) -> Vec3 {
        self.motion[i].truncate()
    }

    #[inline]
    pub fn inverse_mass(&self, i: usize) -> f32 {
        self.motion[i].w
    }

    #[cfg(feature = "gpu")]
    #[inline]
    pub fn material(&self, i: usize) -> MaterialIndex {
        self.cell[i].w as MaterialIndex
    }

    /// Changes to the grid that `make` builds from the lower corner of all centres. This rounds the positions once more.
    pub fn regrid(&mut self, old: &Grid, make: impl FnOnce(DVec3) -> Grid) -> Grid {
        let centres: Vec<_> = (0..self.len()).into_par_iter().map(|i| self.world(i, old)).collect();
        let grid = make(centres.iter().copied().reduce(DVec3::min).unwrap_or(DVec3::ZERO));
        (&mut self.place, &mut self.cell, &centres).into_par_iter().for_each(|(place, cell, &centre)| {
            let (c, offset) = grid.locate(centre);
            (*cell, *place) = (c.extend(cell.w), offset.extend(place.w));
        });
        grid
    }

    /// Mean of all centres in scaled units.
    pub fn middle(&self, grid: &Grid) -> DVec3 {
        let n = self.len().max(1) as f64;
        (0..self.len()).map(|i| self.world(i, grid) / n).sum()
    }

    /// Writes position, velocity and spin into `spheres`, which are sorted by id, in the user's units.
    pub fn fill(&self, units: &Units, grid: &Grid, spheres: &mut [Sphere]) {
        let indices = self.indices(spheres);
        let write = |(sphere, &i): (&mut Sphere, &u32)| {
            let i = i as usize;
            if i >= self.len() {
                return;
            }
            sphere.position = self.world(i, grid) * units.length;
            if !sphere.fixed {
                sphere.velocity = self.velocity(i).as_dvec3() * units.velocity();
            }
            sphere.spin = self.spin[i].truncate().as_dvec3() / units.time;
        };
        // Few spheres are faster on one thread.
        spheres.par_iter_mut().zip(&indices).with_min_len(4096).for_each(write);
    }

    /// Position of each of these spheres, which are sorted by id, in the user's units; an absent sphere keeps its own.
    pub fn positions(&self, units: &Units, grid: &Grid, spheres: &[Sphere]) -> Vec<DVec3> {
        let indices = self.indices(spheres);
        let position = |(place, &i): (usize, &u32)| match i as usize {
            i if i < self.len() => self.world(i, grid) * units.length,
            _ => spheres[place].position,
        };
        indices.par_iter().enumerate().with_min_len(4096).map(position).collect()
    }

    // Index of each of these spheres, which are sorted by id; `u32::MAX` for one that is absent.
    fn indices(&self, spheres: &[Sphere]) -> Vec<u32> {
        let mut indices = vec![u32::MAX; spheres.len()];
        let ends = spheres.first().zip(spheres.last()).map_or([0; 2], |(first, last)| [first.id, last.id]);
        // Ids without gaps give the place; a search costs a cache miss for each of its probes.
        let has_gaps = (ends[1] - ends[0]) as usize + 1 != spheres.len();
        for (&id, i) in self.id.iter().zip(0..) {
            let place = match has_gaps {
                true => spheres.binary_search_by_key(&id, |s| s.id).expect("an id of the system"),
                false => (id - ends[0]) as usize,
            };
            indices[place] = i;
        }
        indices
    }

    /// Spheres for which `test` of centre and radius returns true.
    pub fn find(&self, units: &Units, grid: &Grid, test: &(dyn Fn(DVec3, f64) -> bool + Sync)) -> Vec<Found> {
        let found = |i: usize| {
            let (center, radius) =
                (self.world(i, grid) * units.length, f64::from(self.radius(i)) * units.length);
            test(center, radius).then(|| Found {
                id: self.id[i],
                center,
                radius,
                velocity: self.velocity(i).as_dvec3() * units.velocity(),
                spin: self.spin[i].truncate().as_dvec3() / units.time,
            })
        };
        // Below this number of spheres, one thread is faster than waking others.
        (0..self.len()).into_par_iter().with_min_len(4096).filter_map(found).collect()
    }

    /// Centre in scaled units from the world's origin. On periodic axes it lies inside the box, even if the sphere has left
    /// its cell since the last broad phase.
    pub fn world(&self, i: usize, grid: &Grid) -> DVec3 {
        let (cell, offset) = grid.settle(self.cell[i].truncate(), self.offset(i));
        grid.world(cell, offset)
    }
}
