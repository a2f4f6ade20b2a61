//! What one row does to its two spheres.

use glam::{BVec4A, Vec3A, Vec4, Vec4Swizzles};

use crate::cpu::{
    event::WALL,
    parallel::Disjoint,
    rows::{Drive, Row, STANDS},
};

/// A sphere as rows see it.
#[derive(Clone, Copy, Default)]
pub struct Body {
    /// V, inverse mass; nothing for what sleeps.
    pub motion: Vec4,
    /// Angular velocity, time of the last contact.
    pub spin: Vec4,
}

/// What rows act on.
pub struct Bodies<'a>(pub Disjoint<'a, Body>);

impl Bodies<'_> {
    /// The sphere whose row it is.
    ///
    /// # Safety
    /// Nobody else may write it meanwhile.
    #[inline(always)]
    pub unsafe fn first(&self, row: &Row) -> Body {
        // SAFETY: passed on from the caller.
        unsafe { self.0.get(row.i as usize) }
    }

    /// The other one, or how its wall moves.
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    pub unsafe fn second(&self, row: &Row, drives: &[Drive]) -> Body {
        if row.j & WALL == 0 {
            // SAFETY: passed on from the caller.
            unsafe { self.0.get(row.j as usize) }
        } else if row.drive == STANDS {
            Body::default()
        } else {
            let Drive([motion, spin]) = drives[row.drive as usize];
            Body { motion, spin }
        }
    }

    /// Both, as the row has left them; what is fixed is never written.
    ///
    /// # Safety
    /// Nobody else may read or write them meanwhile.
    #[inline(always)]
    pub unsafe fn store(&self, row: &Row, first: Body, second: Body) {
        for (k, body) in [(row.i, first), (row.j, second)] {
            if body.motion.w > 0.0 {
                // SAFETY: passed on from the caller.
                unsafe { self.0.set(k as usize, body) };
            }
        }
    }

    /// Puts the load of a row on its spheres.
    ///
    /// # Safety
    /// Nobody else may read or write them meanwhile.
    pub unsafe fn push(&self, row: &Row, drives: &[Drive]) {
        let load = row.load;
        if load.normal > 0.0 {
            // SAFETY: passed on from the caller.
            unsafe {
                let mut pair = Pair::load(self, row, drives);
                let across = row.normal.extend(0.0);
                pair.push(across * load.normal);
                if row.friction > 0.0 {
                    pair.rub(row, across, load.tangent.extend(0.0));
                }
                if row.resistance != [0.0; 2] {
                    pair.turn(row, load.turn.extend(0.0));
                }
                pair.store(self, row);
            }
        }
    }

    /// Solves a row for the velocities as they are. Returns by how much it changes the velocity of its spheres.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn solve(&self, row: &mut Row, drives: &[Drive]) -> f32 {
        // SAFETY: passed on from the caller.
        let mut pair = unsafe { Pair::load(self, row, drives) };
        if pair.motions[0].w + pair.motions[1].w == 0.0 {
            // They sleep, or one on what is fixed: the load stays what it was.
            return 0.0;
        }
        let across = row.normal.extend(0.0);
        let speed = dot(across, pair.relative());
        let before = row.load.normal;
        let normal = larger(0.0, before + (-row.closing - speed) * row.masses[0]);
        if normal == 0.0 && before == 0.0 {
            // They part: nothing to press, nothing to rub.
            return 0.0;
        }
        pair.push(across * (normal - before));
        row.load.normal = normal;
        let mut change = (normal - before).abs();
        if row.friction > 0.0 {
            let before = row.load.tangent.extend(0.0);
            let slip = pair.slip(row, across);
            let tangent = clamped(before - slip * row.masses[1], row.friction * normal);
            pair.rub(row, across, tangent - before);
            row.load.tangent = tangent.truncate();
            change = larger(change, largest(tangent - before));
        }
        if row.resistance != [0.0; 2] {
            let before = row.load.turn.extend(0.0);
            let spin = flat(pair.spins[0] - pair.spins[1]);
            let inertia = 2.5 / pair.turnabilities(row).iter().sum::<f32>();
            let wanted = before - spin * inertia;
            let along = across * dot(across, wanted);
            let turn = clamped(wanted - along, row.resistance[0] * normal)
                + clamped(along, row.resistance[1] * normal);
            pair.turn(row, turn - before);
            row.load.turn = turn.truncate();
            // As what it does to the surfaces: 5/2 of the angular impulse over the radius.
            change = larger(change, largest(turn - before) * row.turns[0]);
        }
        // SAFETY: passed on from the caller.
        unsafe { pair.store(self, row) };
        change / row.masses[0]
    }
}

// Vectors in four lanes, the last one 0 where it is not a sphere's own: one instruction each, and the same bits as three floats.

#[inline(always)]
fn dot(a: Vec4, b: Vec4) -> f32 {
    Vec3A::from_vec4(a).dot(Vec3A::from_vec4(b))
}

/// The cross product of two whose last lanes are finite and one of them 0.
#[inline(always)]
fn cross(a: Vec4, b: Vec4) -> Vec4 {
    let zxy = |v: Vec4| v.zxyw();
    zxy(zxy(a) * b - a * zxy(b))
}

/// With 0 in the last lane.
#[inline(always)]
fn flat(v: Vec4) -> Vec4 {
    Vec4::select(BVec4A::new(true, true, true, false), v, Vec4::ZERO)
}

/// The larger of two; the first where the second is not a number.
#[inline(always)]
pub fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
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

/// The two partners of a row; a wall moves as its drive says.
struct Pair {
    motions: [Vec4; 2],
    spins: [Vec4; 2],
    /// Inverse mass and time of the last contact, which no impulse changes, be it infinite.
    kept: [[f32; 2]; 2],
}

impl Pair {
    #[inline(always)]
    unsafe fn load(bodies: &Bodies, row: &Row, drives: &[Drive]) -> Self {
        // SAFETY: passed on from the caller.
        let (a, b) = unsafe { (bodies.first(row), bodies.second(row, drives)) };
        let kept = [a, b].map(|body| [body.motion.w, body.spin.w]);
        Self { motions: [a.motion, b.motion], spins: [a.spin, b.spin], kept }
    }

    #[inline(always)]
    unsafe fn store(&self, bodies: &Bodies, row: &Row) {
        let [a, b] = [0, 1].map(|side| {
            let [mass, contact] = self.kept[side];
            Body {
                motion: self.motions[side].truncate().extend(mass),
                spin: self.spins[side].truncate().extend(contact),
            }
        });
        // SAFETY: passed on from the caller.
        unsafe { bodies.store(row, a, b) };
    }

    /// Its last lane is nothing.
    #[inline(always)]
    fn relative(&self) -> Vec4 {
        self.motions[0] - self.motions[1]
    }

    /// Velocity of the one surface on the other.
    #[inline(always)]
    fn slip(&self, row: &Row, across: Vec4) -> Vec4 {
        let turning = self.spins[0] * row.arms[0] + self.spins[1] * row.arms[1];
        let slip = flat(self.relative() - cross(turning, across));
        slip - across * dot(across, slip)
    }

    #[inline(always)]
    fn push(&mut self, impulse: Vec4) {
        let inverse = [self.motions[0].w, self.motions[1].w];
        self.motions[0] += impulse * inverse[0];
        self.motions[1] -= impulse * inverse[1];
    }

    #[inline(always)]
    fn rub(&mut self, row: &Row, across: Vec4, impulse: Vec4) {
        self.push(impulse);
        // The arm from the centre is -n on the one side and n on the other, the impulse has two signs as well.
        let torque = cross(impulse, across);
        for side in 0..2 {
            let turn = row.turns[side];
            // 5/2 arm/(m r^2), the arm close to the radius.
            let ease = 0.4 * turn * turn * row.arms[side] * self.motions[side].w;
            self.spins[side] += torque * ease;
        }
    }

    /// 5/2 of the inverse moments of inertia.
    fn turnabilities(&self, row: &Row) -> [f32; 2] {
        [0, 1].map(|side| row.turns[side] * row.turns[side] * self.motions[side].w)
    }

    fn turn(&mut self, row: &Row, impulse: Vec4) {
        let ease = self.turnabilities(row).map(|t| 0.4 * t);
        self.spins[0] += impulse * ease[0];
        self.spins[1] -= impulse * ease[1];
    }
}
