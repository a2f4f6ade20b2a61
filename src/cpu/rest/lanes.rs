//! Solves the contact constraints of four blocks in parallel, one block per lane. The operations and their order are those of
//! [`Bodies::solve`], so the results are bit-identical. The four blocks have one colour and therefore share no sphere. A
//! block is swept several times in succession, because its spheres are then in the cache.

use std::ops::{Add, Mul, Sub};

use glam::{BVec4A, Mat4, Vec3, Vec4};

use super::solve::{self, Bodies, Body};
use crate::cpu::constraints::{BlockOfTask, ContactConstraint, WallVelocity};

/// Number of lanes of a vector.
const LANES: usize = 4;

/// Solves the contact constraints of blocks of one colour, each `sweeps` times. Returns the largest velocity change by a
/// constraint.
///
/// # Safety
/// No other thread may read or write the spheres of these blocks at the same time, and the blocks share no sphere.
pub unsafe fn solve_all<'t>(
    bodies: &Bodies,
    mut blocks: impl Iterator<Item = BlockOfTask<'t>>,
    sweeps: u32,
) -> f32 {
    let mut most = 0.0f32;
    let mut lanes: [Lane; LANES] = Default::default();
    loop {
        let mut next = lanes.each_mut().map(|lane| lane.next(&mut blocks, sweeps));
        if let [Some(a), Some(b), Some(c), Some(d)] = &mut next {
            let wall_velocities = [a.1, b.1, c.1, d.1];
            let mut constraints = [&mut *a.0, &mut *b.0, &mut *c.0, &mut *d.0];
            // SAFETY: guaranteed by the caller.
            most = solve::larger(most, unsafe { solve_four(bodies, &mut constraints, wall_velocities) });
            continue;
        }
        // The remaining contact constraints of the longest blocks.
        let mut any = false;
        for (constraint, wall_velocities) in next.into_iter().flatten() {
            // SAFETY: guaranteed by the caller.
            most = solve::larger(most, unsafe { bodies.solve(constraint, wall_velocities) });
            any = true;
        }
        if !any {
            return most;
        }
    }
}

/// The block that a lane processes.
#[derive(Default)]
struct Lane<'t> {
    constraints: &'t mut [ContactConstraint],
    wall_velocities: &'t [WallVelocity],
    /// Index of the next constraint, and sweeps left including the present one.
    next: usize,
    sweeps: u32,
}

impl<'t> Lane<'t> {
    /// The next contact constraint of the block, or of the next block.
    #[inline(always)]
    fn next<'s>(
        &'s mut self,
        blocks: &mut impl Iterator<Item = BlockOfTask<'t>>,
        sweeps: u32,
    ) -> Option<(&'s mut ContactConstraint, &'t [WallVelocity])> {
        if self.next == self.constraints.len() {
            self.next = 0;
            self.sweeps = self.sweeps.saturating_sub(1);
            if self.sweeps == 0 {
                // Blocks are never empty.
                let Some(BlockOfTask { constraints, wall_velocities, .. }) = blocks.next() else {
                    self.constraints = &mut [];
                    return None;
                };
                *self = Self { constraints, wall_velocities, next: 0, sweeps };
            }
        }
        self.next += 1;
        Some((&mut self.constraints[self.next - 1], self.wall_velocities))
    }
}

/// A vector in each lane.
#[derive(Clone, Copy)]
struct Four {
    x: Vec4,
    y: Vec4,
    z: Vec4,
}

impl Four {
    #[inline(always)]
    fn dot(self, other: Self) -> Vec4 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    #[inline(always)]
    fn cross(self, other: Self) -> Self {
        Self {
            x: self.y * other.z - self.z * other.y,
            y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x,
        }
    }

    #[inline(always)]
    fn clamped(self, most: Vec4) -> Self {
        let square = self.dot(self);
        let is_more = square.cmpgt(most * most);
        let shorter = self * (most / square.sqrt());
        Self::select(is_more, shorter, self)
    }

    #[inline(always)]
    fn select(mask: BVec4A, yes: Self, no: Self) -> Self {
        Self {
            x: Vec4::select(mask, yes.x, no.x),
            y: Vec4::select(mask, yes.y, no.y),
            z: Vec4::select(mask, yes.z, no.z),
        }
    }

    #[inline(always)]
    fn largest(self) -> Vec4 {
        larger(larger(self.x.abs(), self.y.abs()), self.z.abs())
    }
}

impl Add for Four {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self { x: self.x + other.x, y: self.y + other.y, z: self.z + other.z }
    }
}

impl Sub for Four {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self { x: self.x - other.x, y: self.y - other.y, z: self.z - other.z }
    }
}

impl Mul<Vec4> for Four {
    type Output = Self;
    #[inline(always)]
    fn mul(self, factor: Vec4) -> Self {
        Self { x: self.x * factor, y: self.y * factor, z: self.z * factor }
    }
}

/// [`solve::larger`](super::solve::larger) in each lane.
#[inline(always)]
fn larger(a: Vec4, b: Vec4) -> Vec4 {
    Vec4::select(b.cmpgt(a), b, a)
}

/// Transposes: from four values of every lane to one vector for each value.
#[inline(always)]
fn across(lanes: [Vec4; LANES]) -> [Vec4; 4] {
    let [a, b, c, d] = lanes;
    let turned = Mat4::from_cols(a, b, c, d).transpose();
    [turned.x_axis, turned.y_axis, turned.z_axis, turned.w_axis]
}

/// A vector and a number in each lane.
#[inline(always)]
fn vector_and_number(lanes: [Vec4; LANES]) -> (Four, Vec4) {
    let [x, y, z, w] = across(lanes);
    (Four { x, y, z }, w)
}

#[inline(always)]
fn lanes_of(vector: Four, number: Vec4) -> [Vec4; LANES] {
    across([vector.x, vector.y, vector.z, number])
}

/// The partners on one side of four constraints.
#[derive(Clone, Copy)]
struct Side {
    motion: Four,
    inverse: Vec4,
    spin: Four,
    last_contact: Vec4,
    arm: Vec4,
    turn: Vec4,
}

impl Side {
    #[inline(always)]
    fn load(bodies: [Body; LANES], arm: Vec4, turn: Vec4) -> Self {
        let (motion, inverse) = vector_and_number(bodies.map(|body| body.motion));
        let (spin, last_contact) = vector_and_number(bodies.map(|body| body.spin));
        Self { motion, inverse, spin, last_contact, arm, turn }
    }

    #[inline(always)]
    fn store(&self) -> [Body; LANES] {
        let motions = lanes_of(self.motion, self.inverse);
        let spins = lanes_of(self.spin, self.last_contact);
        std::array::from_fn(|k| Body { motion: motions[k], spin: spins[k] })
    }

    /// Spin change per friction torque: 5/2 arm/(m r^2), where the arm is close to the radius.
    #[inline(always)]
    fn ease(&self) -> Vec4 {
        0.4 * self.turn * self.turn * self.arm * self.inverse
    }

    #[inline(always)]
    fn turnability(&self) -> Vec4 {
        self.turn * self.turn * self.inverse
    }
}

/// Applies the rolling and twisting resistance of four contact constraints. `limits` is the largest rolling moment and the
/// normal impulse. Returns `change`, or the velocity change by the moment if that is larger.
#[inline(always)]
fn resist(
    constraints: &mut [&mut ContactConstraint; LANES],
    [a, b]: [&mut Side; 2],
    (normal, (rolling, pressed)): (Four, (Vec4, Vec4)),
    (resists, acts): (BVec4A, u32),
    change: Vec4,
) -> Vec4 {
    let twisting = Vec4::from_array(constraints.each_ref().map(|constraint| constraint.resistance[1]));
    let (turned, _) =
        vector_and_number(constraints.each_ref().map(|constraint| constraint.impulse.moment.extend(0.0)));
    let turnabilities = [a.turnability(), b.turnability()];
    let inertia = 2.5 / (turnabilities[0] + turnabilities[1]);
    let stopped = turned - (a.spin - b.spin) * inertia;
    let along = normal * normal.dot(stopped);
    let turn = (stopped - along).clamped(rolling) + along.clamped(twisting * pressed);
    let turn = Four::select(resists, turn, turned);
    let by = turn - turned;
    a.spin = Four::select(resists, a.spin + by * (0.4 * turnabilities[0]), a.spin);
    b.spin = Four::select(resists, b.spin - by * (0.4 * turnabilities[1]), b.spin);
    let turns = lanes_of(turn, Vec4::ZERO);
    for (k, constraint) in constraints.iter_mut().enumerate() {
        if acts >> k & 1 == 1 {
            constraint.impulse.moment = turns[k].truncate();
        }
    }
    Vec4::select(resists, larger(change, by.largest() * a.turn), change)
}

/// [`Bodies::solve`] for four contact constraints without a common sphere.
#[inline(always)]
unsafe fn solve_four(
    bodies: &Bodies,
    constraints: &mut [&mut ContactConstraint; LANES],
    wall_velocities: [&[WallVelocity]; LANES],
) -> f32 {
    let of = |each: fn(&ContactConstraint) -> Vec4| {
        across(constraints.each_ref().map(|constraint| each(constraint)))
    };
    let [x, y, z, closing] = of(|constraint| constraint.normal.extend(constraint.closing));
    let normal = Four { x, y, z };
    let [arm_a, arm_b, turn_a, turn_b] = of(|constraint| {
        Vec4::new(constraint.arms[0], constraint.arms[1], constraint.turns[0], constraint.turns[1])
    });
    let [mass, mass_across, friction, resistance] = of(|constraint| {
        Vec4::new(constraint.masses[0], constraint.masses[1], constraint.friction, constraint.resistance[0])
    });
    let [x, y, z, pressed] = of(|constraint| constraint.impulse.tangent.extend(constraint.impulse.normal));
    let rubbed = Four { x, y, z };
    // SAFETY: guaranteed by the caller.
    let (first, second) = unsafe {
        (
            constraints.each_ref().map(|constraint| bodies.first(constraint)),
            std::array::from_fn(|k| bodies.second(constraints[k], wall_velocities[k])),
        )
    };
    let mut a = Side::load(first, arm_a, turn_a);
    let mut b = Side::load(second, arm_b, turn_b);

    let yields = (a.inverse + b.inverse).cmpne(Vec4::ZERO);
    let speed = normal.dot(a.motion - b.motion);
    let wanted = larger(Vec4::ZERO, pressed + (-closing - speed) * mass);
    let acts = yields & (wanted.cmpne(Vec4::ZERO) | pressed.cmpne(Vec4::ZERO));
    if !acts.any() {
        return 0.0;
    }
    let push = normal * (wanted - pressed);
    a.motion = a.motion + push * a.inverse;
    b.motion = b.motion - push * b.inverse;
    let mut change = (wanted - pressed).abs();

    let rubs = friction.cmpgt(Vec4::ZERO);
    let mut tangent = rubbed;
    if rubs.any() {
        let turning = a.spin * a.arm + b.spin * b.arm;
        let slip = (a.motion - b.motion) - turning.cross(normal);
        let slip = slip - normal * normal.dot(slip);
        tangent = (rubbed - slip * mass_across).clamped(friction * wanted);
        tangent = Four::select(rubs, tangent, rubbed);
        let rub = tangent - rubbed;
        let torque = rub.cross(normal);
        let then = [
            (a.motion + rub * a.inverse, a.spin + torque * a.ease()),
            (b.motion - rub * b.inverse, b.spin + torque * b.ease()),
        ];
        for (side, (motion, spin)) in [&mut a, &mut b].into_iter().zip(then) {
            side.motion = Four::select(rubs, motion, side.motion);
            side.spin = Four::select(rubs, spin, side.spin);
        }
        change = larger(change, rub.largest());
    }
    let acts_in = acts.bitmask();
    let resists = constraints.each_ref().map(|constraint| constraint.resistance != [0.0; 2]);
    if resists.contains(&true) {
        let resists = BVec4A::new(resists[0], resists[1], resists[2], resists[3]);
        let limits = (resistance * wanted, wanted);
        change = resist(constraints, [&mut a, &mut b], (normal, limits), (resists, acts_in), change);
    }
    let (impulses, a, b) = (across([wanted, tangent.x, tangent.y, tangent.z]), a.store(), b.store());
    for (k, constraint) in constraints.iter_mut().enumerate() {
        if acts_in >> k & 1 == 1 {
            constraint.impulse.normal = impulses[k].x;
            constraint.impulse.tangent = Vec3::new(impulses[k].y, impulses[k].z, impulses[k].w);
            // SAFETY: guaranteed by the caller.
            unsafe { bodies.store(constraint, a[k], b[k]) };
        }
    }
    Vec4::select(acts, change / mass, Vec4::ZERO).to_array().into_iter().fold(0.0, solve::larger)
}

#[cfg(test)]
mod tests {
    use rand::{Rng, RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::{
        cpu::{constraints::STANDS, parallel::Disjoint},
        state::constants::WALL,
    };

    /// Number of spheres of a block.
    const OWN: u32 = 20;

    fn vector(rng: &mut impl Rng) -> Vec3 {
        Vec3::from_array(std::array::from_fn(|_| 2.0 * rng.random::<f32>() - 1.0))
    }

    // A constraint between spheres of a block, of each kind in turn. `wild`: some impulses overflow.
    fn constraint(
        rng: &mut impl Rng,
        (first, k, wild): (u32, usize, bool),
        wall_velocities: &mut Vec<WallVelocity>,
    ) -> ContactConstraint {
        let radii = [0.5, 0.4 + 0.2 * rng.random::<f32>()];
        let i = first + rng.random_range(0..OWN);
        let other = first + (i - first + rng.random_range(1..OWN)) % OWN;
        let to_wall = k.is_multiple_of(5);
        let wall_velocity =
            if to_wall && k.is_multiple_of(2) { wall_velocities.len() as u32 } else { STANDS };
        if wall_velocity != STANDS {
            wall_velocities.push(WallVelocity([vector(rng).extend(0.0), vector(rng).extend(0.0)]));
        }
        let pressed = if k.is_multiple_of(3) { 0.0 } else { rng.random::<f32>() };
        let mut constraint = ContactConstraint {
            i,
            j: if to_wall { WALL | 3 } else { other },
            wall_velocity,
            normal: vector(rng).normalize(),
            closing: if k.is_multiple_of(4) { rng.random() } else { 0.0 },
            arms: if to_wall { [radii[0], 0.0] } else { radii },
            turns: if to_wall { [5.0, 0.0] } else { radii.map(|r| 2.5 / r) },
            masses: [0.5, 0.5 / 3.5],
            friction: if k.is_multiple_of(7) { 0.0 } else { 0.4 },
            resistance: [[0.0; 2], [0.01, 0.0], [0.0, 0.02], [0.02, 0.01]][k % 4],
            ..ContactConstraint::default()
        };
        constraint.impulse.normal =
            if wild && k.is_multiple_of(6) { [f32::NAN, 3e38][k / 6 % 2] } else { pressed };
        constraint.impulse.tangent = vector(rng) * (0.4 * pressed);
        constraint.impulse.moment = vector(rng) * (0.02 * pressed);
        constraint
    }

    // Four lanes, and the remainder of the longest blocks, give the same bits as one constraint after another.
    #[test]
    fn constraints_side_by_side_have_the_bits_of_constraints_one_by_one() {
        let mut rng = Pcg64::seed_from_u64(11);
        let counts = [1, 3, 4, 5, 11].into_iter();
        for (count, (wild, sweeps)) in counts.flat_map(|n| [(n, (false, 1)), (n, (true, 1)), (n, (false, 3))])
        {
            let mut bodies: Vec<Body> = (0..count * OWN)
                .map(|k| Body {
                    // Every ninth sphere is fixed or asleep.
                    motion: if k.is_multiple_of(9) { Vec4::ZERO } else { vector(&mut rng).extend(1.0) },
                    spin: vector(&mut rng).extend(-1.0),
                })
                .collect();
            // Blocks of unequal lengths.
            let mut wall_velocities = vec![];
            let mut all: Vec<Vec<ContactConstraint>> = (0..count)
                .map(|block| {
                    let of_block = 0..13 * (block as usize % 4) + 1;
                    let new = |k| constraint(&mut rng, (block * OWN, k, wild), &mut wall_velocities);
                    of_block.map(new).collect()
                })
                .collect();
            let (mut one_by_one, mut constraints) = (bodies.clone(), all.clone());
            let one = Bodies(Disjoint::new(&mut one_by_one));
            let mut most = [0.0f32; 2];
            for block in &mut constraints {
                for _ in 0..sweeps {
                    for constraint in block.iter_mut() {
                        // SAFETY: there is only one thread.
                        most[0] = solve::larger(most[0], unsafe { one.solve(constraint, &wall_velocities) });
                    }
                }
            }
            let blocks = all.iter_mut().map(|constraints| BlockOfTask {
                number: 0,
                constraints,
                wall_velocities: &wall_velocities,
            });
            // SAFETY: as above.
            most[1] = unsafe { solve_all(&Bodies(Disjoint::new(&mut bodies)), blocks, sweeps) };
            let bits = |v: &[Vec4]| v.iter().map(|v| v.to_array().map(f32::to_bits)).collect::<Vec<_>>();
            let of_body = |b: &Body| bits(&[b.motion, b.spin]);
            let of_constraint = |r: &ContactConstraint| {
                bits(&[r.impulse.tangent.extend(r.impulse.normal), r.impulse.moment.extend(0.0)])
            };
            assert!(
                bodies.iter().map(of_body).eq(one_by_one.iter().map(of_body)),
                "spheres of {count} blocks"
            );
            let side_by_side = all.iter().flatten().map(of_constraint);
            assert!(
                side_by_side.eq(constraints.iter().flatten().map(of_constraint)),
                "constraints of {count} blocks"
            );
            assert_eq!(most[0].to_bits(), most[1].to_bits());
            assert_eq!(wild, bodies.iter().any(|body| !body.motion.is_finite()));
            assert!(count < 4 || most[0] > 0.1);
        }
    }
}
