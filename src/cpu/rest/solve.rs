//! Applies one contact constraint to its two spheres.

use glam::{Vec4, Vec4Swizzles};

use crate::{
    cpu::{
        constraints::{ContactConstraint, WallVelocity},
        parallel::Disjoint,
    },
    state::constants::WALL,
    walls::world::Surface,
};

/// State of a sphere during the solve.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Body {
    /// V, inverse mass; all 0 for sleeping spheres.
    pub motion: Vec4,
    /// Angular velocity, radius. A wall has radius 0.
    pub spin: Vec4,
}

/// The bodies that contact constraints change, and the surfaces of the world.
pub struct Bodies<'a> {
    pub all: Disjoint<'a, Body>,
    pub surfaces: &'a [Surface],
}

impl Bodies<'_> {
    /// The sphere that owns the constraint.
    ///
    /// # Safety
    /// No other thread may write the sphere at the same time.
    #[inline(always)]
    pub unsafe fn first(&self, constraint: &ContactConstraint) -> Body {
        // SAFETY: guaranteed by the caller.
        unsafe { self.all.get(constraint.i as usize) }
    }

    /// The other sphere, or the motion of its wall.
    ///
    /// # Safety
    /// No other thread may write the sphere at the same time.
    #[inline(always)]
    pub unsafe fn second(&self, constraint: &ContactConstraint, wall_velocities: &[WallVelocity]) -> Body {
        if constraint.j & WALL == 0 {
            // SAFETY: guaranteed by the caller.
            unsafe { self.all.get(constraint.j as usize) }
        } else if let Some(at) = constraint.wall_velocity() {
            let WallVelocity([motion, spin]) = wall_velocities[at];
            Body { motion, spin }
        } else {
            Body::default()
        }
    }

    /// Stores both spheres after a constraint; fixed spheres are never written.
    ///
    /// # Safety
    /// No other thread may read or write the two spheres at the same time.
    #[inline(always)]
    pub unsafe fn store(&self, constraint: &ContactConstraint, first: Body, second: Body) {
        // One after the other, because the compiler copies an array of both in parts, and such copies stall the processor.
        if first.motion.w > 0.0 {
            // SAFETY: guaranteed by the caller.
            unsafe { self.all.set(constraint.i as usize, first) };
        }
        if second.motion.w > 0.0 {
            // SAFETY: as above.
            unsafe { self.all.set(constraint.j as usize, second) };
        }
    }

    /// Applies the warm-start impulse of a constraint to its spheres.
    ///
    /// # Safety
    /// No other thread may read or write the two spheres at the same time.
    pub unsafe fn push(&self, constraint: &ContactConstraint, wall_velocities: &[WallVelocity]) {
        let impulse = constraint.impulse;
        if impulse.normal > 0.0 {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let mut pair = Pair::load(self, constraint, wall_velocities);
                let across = constraint.normal.extend(0.0);
                let surface = &self.surfaces[constraint.surface as usize];
                pair.push(across * impulse.normal);
                if surface.friction > 0.0 {
                    pair.rub(constraint.share, across, impulse.tangent.extend(0.0));
                }
                if surface.resists() {
                    pair.turn(impulse.moment.extend(0.0));
                }
                pair.store(self, constraint);
            }
        }
    }
}

// Vectors in four lanes. The last lane is 0, unless it holds another value of the sphere. Each operation is one instruction
// and gives the same bits as three floats.

/// Cross product of two vectors whose last lanes are finite, at least one of them 0.
#[inline(always)]
fn cross(a: Vec4, b: Vec4) -> Vec4 {
    let zxy = |v: Vec4| v.zxyw();
    zxy(zxy(a) * b - a * zxy(b))
}

/// The larger of two; the first if the second is NaN.
#[inline(always)]
pub fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

/// The two partners of a constraint; a wall has its wall velocity.
struct Pair {
    motions: [Vec4; 2],
    spins: [Vec4; 2],
    /// Inverse mass and radius. No impulse changes them, not even an infinite one.
    kept: [[f32; 2]; 2],
}

impl Pair {
    #[inline(always)]
    unsafe fn load(
        bodies: &Bodies,
        constraint: &ContactConstraint,
        wall_velocities: &[WallVelocity],
    ) -> Self {
        // SAFETY: guaranteed by the caller.
        let (a, b) = unsafe { (bodies.first(constraint), bodies.second(constraint, wall_velocities)) };
        let kept = [a, b].map(|body| [body.motion.w, body.spin.w]);
        Self { motions: [a.motion, b.motion], spins: [a.spin, b.spin], kept }
    }

    #[inline(always)]
    unsafe fn store(&self, bodies: &Bodies, constraint: &ContactConstraint) {
        let [a, b] = [0, 1].map(|side| {
            let [mass, radius] = self.kept[side];
            Body {
                motion: self.motions[side].truncate().extend(mass),
                spin: self.spins[side].truncate().extend(radius),
            }
        });
        // SAFETY: guaranteed by the caller.
        unsafe { bodies.store(constraint, a, b) };
    }

    #[inline(always)]
    fn push(&mut self, impulse: Vec4) {
        let inverse = [self.motions[0].w, self.motions[1].w];
        self.motions[0] += impulse * inverse[0];
        self.motions[1] -= impulse * inverse[1];
    }

    // 5/2 over the radius of a side; 0 for a wall.
    #[inline(always)]
    fn turn_of(&self, side: usize) -> f32 {
        let radius = self.kept[side][1];
        if radius > 0.0 { 2.5 / radius } else { 0.0 }
    }

    // From the centre of a side to the point of contact.
    #[inline(always)]
    fn arm_of(&self, side: usize, share: f32) -> f32 {
        self.kept[side][1] * share
    }

    #[inline(always)]
    fn rub(&mut self, share: f32, across: Vec4, impulse: Vec4) {
        self.push(impulse);
        // The arm is -n on one side and n on the other, and the impulse changes its sign in the same manner.
        let torque = cross(impulse, across);
        for side in 0..2 {
            let turn = self.turn_of(side);
            // 5/2 arm/(m r^2), with the arm close to the radius.
            let ease = 0.4 * turn * turn * self.arm_of(side, share) * self.motions[side].w;
            self.spins[side] += torque * ease;
        }
    }

    /// 5/2 of the inverse moments of inertia.
    fn turnabilities(&self) -> [f32; 2] {
        [0, 1].map(|side| self.turn_of(side) * self.turn_of(side) * self.motions[side].w)
    }

    fn turn(&mut self, impulse: Vec4) {
        let ease = self.turnabilities().map(|t| 0.4 * t);
        self.spins[0] += impulse * ease[0];
        self.spins[1] -= impulse * ease[1];
    }
}

/// The solver of one constraint at a time, which tests compare the lanes with.
#[cfg(test)]
pub mod one_by_one {
    use glam::{BVec4A, Vec3A};

    use super::*;

    impl Bodies<'_> {
        /// Solves a constraint for the present velocities. Returns the velocity change of its spheres.
        ///
        /// # Safety
        /// No other thread may read or write the two spheres at the same time.
        pub unsafe fn solve(
            &self,
            constraint: &mut ContactConstraint,
            wall_velocities: &[WallVelocity],
            relaxation: f32,
        ) -> f32 {
            // SAFETY: guaranteed by the caller.
            let mut pair = unsafe { Pair::load(self, constraint, wall_velocities) };
            if pair.motions[0].w + pair.motions[1].w == 0.0 {
                // Both sleep, or one sleeps on a fixed partner: the impulse stays.
                return 0.0;
            }
            let surface = &self.surfaces[constraint.surface as usize];
            let resistance = {
                let [a, b] = pair.kept.map(|[_, radius]| radius);
                let reduced = if constraint.j & WALL == 0 { a * b / (a + b) } else { a };
                [surface.rolling, surface.twisting].map(|c| c * reduced)
            };
            let across = constraint.normal.extend(0.0);
            let speed = dot(across, pair.relative());
            let before = constraint.impulse.normal;
            let normal = larger(0.0, before + (-constraint.closing - speed) * (constraint.mass * relaxation));
            if normal == 0.0 && before == 0.0 {
                // The surfaces separate: no normal impulse and no friction.
                return 0.0;
            }
            pair.push(across * (normal - before));
            constraint.impulse.normal = normal;
            let mut change = (normal - before).abs();
            if surface.friction > 0.0 {
                let mass_across = constraint.mass / (1.0 + 2.5 * constraint.share * constraint.share);
                let before = constraint.impulse.tangent.extend(0.0);
                let slip = pair.slip(constraint.share, across);
                let tangent = clamped(before - slip * mass_across, surface.friction * normal);
                pair.rub(constraint.share, across, tangent - before);
                constraint.impulse.tangent = tangent.truncate();
                change = larger(change, largest(tangent - before));
            }
            if resistance != [0.0; 2] {
                let before = constraint.impulse.moment.extend(0.0);
                let spin = flat(pair.spins[0] - pair.spins[1]);
                let inertia = 2.5 / pair.turnabilities().iter().sum::<f32>();
                let wanted = before - spin * inertia;
                let along = across * dot(across, wanted);
                let turn =
                    clamped(wanted - along, resistance[0] * normal) + clamped(along, resistance[1] * normal);
                pair.turn(turn - before);
                constraint.impulse.moment = turn.truncate();
                // Expressed as surface velocity: 5/2 of the angular impulse over the radius.
                change = larger(change, largest(turn - before) * pair.turn_of(0));
            }
            // SAFETY: guaranteed by the caller.
            unsafe { pair.store(self, constraint) };
            change / constraint.mass
        }
    }

    impl Pair {
        /// Relative velocity of the centres. The last lane is unused.
        #[inline(always)]
        fn relative(&self) -> Vec4 {
            self.motions[0] - self.motions[1]
        }

        /// Velocity of the first surface relative to the second.
        #[inline(always)]
        fn slip(&self, share: f32, across: Vec4) -> Vec4 {
            let turning = self.spins[0] * self.arm_of(0, share) + self.spins[1] * self.arm_of(1, share);
            let slip = flat(self.relative() - cross(turning, across));
            slip - across * dot(across, slip)
        }
    }

    fn dot(a: Vec4, b: Vec4) -> f32 {
        Vec3A::from_vec4(a).dot(Vec3A::from_vec4(b))
    }

    /// Sets the last lane to 0.
    #[inline(always)]
    fn flat(v: Vec4) -> Vec4 {
        Vec4::select(BVec4A::new(true, true, true, false), v, Vec4::ZERO)
    }

    #[inline(always)]
    fn largest(v: Vec4) -> f32 {
        let v = v.abs();
        larger(larger(v.x, v.y), v.z)
    }

    #[inline(always)]
    fn clamped(v: Vec4, most: f32) -> Vec4 {
        let square = dot(v, v);
        if square > most * most { v * (most / square.sqrt()) } else { v }
    }
}
