//! Tests of candidate pairs, four pairs at a time. A sphere owns about three pairs: with a loop for each
//! sphere, mispredicted branches and horizontal sums took most of the time.

use glam::{Mat4, Vec3, Vec4};

use crate::cpu::{event::View, neighbors::Candidate};

/// Pairs that are tested together.
pub const LANES: usize = 4;

/// Four pairs: the sphere that each belongs to, and its candidate.
pub struct Four<'a> {
    pub spheres: [usize; LANES],
    pub candidates: &'a [Candidate; LANES],
}

/// Four vectors by component.
#[derive(Clone, Copy)]
pub struct Vectors([Vec4; 3]);

impl Vectors {
    #[inline(always)]
    pub fn new(of: impl Fn(usize) -> Vec4) -> Self {
        let Mat4 { x_axis, y_axis, z_axis, .. } = Mat4::from_cols(of(0), of(1), of(2), of(3)).transpose();
        Self([x_axis, y_axis, z_axis])
    }

    /// The scalar products, with the same order of operations as for one vector.
    #[inline(always)]
    pub fn dot(&self, other: &Self) -> Vec4 {
        let ([x, y, z], [a, b, c]) = (self.0, other.0);
        x * a + y * b + z * c
    }

    /// The sums with multiples of other vectors.
    #[inline(always)]
    pub fn plus(&self, other: &Self, factor: f32) -> Self {
        let ([x, y, z], [a, b, c]) = (self.0, other.0);
        Self([x + a * factor, y + b * factor, z + c * factor])
    }
}

/// The shift vectors of all candidate codes, as four floats each.
#[inline]
pub fn wide(shifts: &[Vec3; 32]) -> [Vec4; 32] {
    std::array::from_fn(|code| shifts[code].extend(0.0))
}

impl Four<'_> {
    /// Sphere, partner and candidate code of a pair.
    #[inline(always)]
    pub fn pair(&self, lane: usize) -> (usize, usize, u32) {
        let candidate = self.candidates[lane];
        (self.spheres[lane], candidate.index(), candidate.code())
    }

    /// One number of each pair.
    #[inline(always)]
    pub fn each(&self, of: impl Fn(usize, usize) -> f32) -> Vec4 {
        let at = |lane: usize| of(self.spheres[lane], self.candidates[lane].index());
        Vec4::new(at(0), at(1), at(2), at(3))
    }

    /// Offsets of the spheres from their partners, from the stored positions.
    #[inline(always)]
    pub fn offsets(&self, view: &View, shifts: &[Vec4; 32]) -> Vectors {
        let place = view.state.place;
        Vectors::new(|lane| {
            let (i, j, code) = self.pair(lane);
            (place[i] - place[j]) - shifts[code as usize]
        })
    }

    /// The sums of the radii.
    #[inline(always)]
    pub fn radius_sums(&self, view: &View) -> Vec4 {
        let place = view.state.place;
        self.each(|i, j| place[i].w + place[j].w)
    }

    /// Velocities of the spheres relative to their partners.
    #[inline(always)]
    pub fn velocities(&self, view: &View) -> Vectors {
        let motion = view.state.motion;
        Vectors::new(|lane| {
            let (i, j, _) = self.pair(lane);
            motion[i] - motion[j]
        })
    }

    /// Pairs whose overlap at the end of the substep is surely at most `depth`, one bit each; no pair with a fixed sphere.
    /// Decides as [`View::stays_clear`] does.
    #[inline(always)]
    pub fn stays_clear(&self, view: &View, shifts: &[Vec4; 32], depth: f32) -> u32 {
        let (place, motion, clock) = (view.state.place, view.state.motion, view.clock);
        let end = Vectors::new(|lane| {
            let (i, j, code) = self.pair(lane);
            let t = clock[i].max(clock[j]);
            let (here, there) =
                (place[i] + motion[i] * (t - clock[i]), place[j] + motion[j] * (t - clock[j]));
            (here - there) - shifts[code as usize] + (motion[i] - motion[j]) * (view.frame.h - t)
        });
        let near = self.radius_sums(view) * (1.0 - depth);
        end.dot(&end).cmpgt(near * near * (1.0 + 1e-5)).bitmask() & !self.fixed(view)
    }

    /// Pairs of which one sphere may be fixed, one bit each: the product of its inverse masses is 0.
    #[inline(always)]
    pub fn fixed(&self, view: &View) -> u32 {
        let motion = view.state.motion;
        self.each(|i, j| motion[i].w * motion[j].w).cmpeq(Vec4::ZERO).bitmask()
    }
}

/// Calls `visit` for each member of a set of lanes.
#[inline(always)]
pub fn for_lanes(mut set: u32, mut visit: impl FnMut(usize)) {
    while set != 0 {
        visit(set.trailing_zeros() as usize);
        set &= set - 1;
    }
}
