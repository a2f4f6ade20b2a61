//! Solves the contact constraints of eight blocks in parallel, one block per lane. The blocks have one colour
//! and therefore share no sphere. Each lane performs the operations of a scalar solver in the order of the
//! scalar solver, so the results of both are bit-identical. A lane sweeps a block several times in
//! succession, because the spheres of the block are then in the cache.
//!
//! Most constraints of a block share a sphere with the preceding constraint. A processor that solves a single
//! block therefore waits most of the time for the result of the preceding constraint.

use std::mem::offset_of;

use super::{
    number::{HalfRow, Halves, LANES, Number, Row, Vector},
    solve::{self, Bodies, Body},
};
use crate::{
    cpu::constraints::{BlockOfTask, ContactConstraint, ContactImpulse, STANDS, WallVelocity},
    state::constants::WALL,
};

/// How an iteration solves the contact constraints of each block.
#[derive(Clone, Copy)]
pub struct Method {
    pub sweeps: u32,
    /// Factor on the change of normal impulses.
    pub relaxation: f32,
}

/// Solves the contact constraints of blocks of one colour. Returns the largest velocity change by a constraint.
///
/// # Safety
/// No other thread may read or write the spheres of these blocks at the same time, and the blocks share no sphere.
pub unsafe fn solve_all(bodies: &Bodies, blocks: &mut [BlockOfTask], method: Method) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2; the rest is guaranteed by the caller.
        return unsafe { solve_with_avx2(bodies, blocks, method) };
    }
    // SAFETY: guaranteed by the caller.
    unsafe { solve_with::<Halves>(bodies, blocks, method) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn solve_with_avx2(bodies: &Bodies, blocks: &mut [BlockOfTask], method: Method) -> f32 {
    // SAFETY: guaranteed by the caller.
    unsafe { solve_with::<super::number::avx::Wide>(bodies, blocks, method) }
}

#[inline(always)]
unsafe fn solve_with<N: Number>(bodies: &Bodies, blocks: &mut [BlockOfTask], method: Method) -> f32 {
    let mut blocks = blocks.iter_mut();
    let relaxation = N::splat(method.relaxation);
    let mut most = N::splat(0.0);
    let mut none = ContactConstraint::NONE;
    let mut lanes: [Lane; LANES] = Default::default();
    loop {
        let mut turns =
            Turns { constraints: [&raw mut none; LANES], bodies: [[RESTS; LANES]; 2], any: false };
        for (lane, k) in lanes.iter_mut().zip(0..) {
            lane.next(bodies, &mut blocks, method.sweeps, (&mut turns, k));
        }
        if !turns.any {
            return most.to_array().into_iter().fold(0.0, solve::larger);
        }
        // SAFETY: the pointers of a turn are those of its constraint, or of `none`. The rest is guaranteed by the caller.
        most = most.or_larger(unsafe { solve_lanes(&turns, relaxation) });
    }
}

/// A sphere or wall that does not move.
const RESTS: *mut Row = {
    static ROW: Row = [0.0; 8];
    // Never written.
    (&raw const ROW).cast_mut()
};

// A body and the velocity of a wall are rows.
const _: () = assert!(size_of::<Body>() == size_of::<Row>() && size_of::<WallVelocity>() == size_of::<Row>());

/// What each lane solves next.
struct Turns {
    constraints: [*mut ContactConstraint; LANES],
    /// Both partners.
    bodies: [[*mut Row; LANES]; 2],
    any: bool,
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
    /// Enters the next contact constraint of the block, or of the next block, as the turn of lane `k`.
    #[inline(always)]
    fn next(
        &mut self,
        bodies: &Bodies,
        blocks: &mut std::slice::IterMut<'t, BlockOfTask<'_>>,
        sweeps: u32,
        (turns, k): (&mut Turns, usize),
    ) {
        if self.next == self.constraints.len() {
            self.next = 0;
            self.sweeps = self.sweeps.saturating_sub(1);
            if self.sweeps == 0 {
                // Blocks are never empty.
                let Some(BlockOfTask { constraints, wall_velocities, .. }) = blocks.next() else {
                    self.constraints = &mut [];
                    return;
                };
                *self = Self { constraints, wall_velocities, next: 0, sweeps };
            }
        }
        let constraint = &mut self.constraints[self.next];
        self.next += 1;
        turns.any = true;
        turns.bodies[0][k] = bodies.0.at(constraint.i as usize).cast();
        if constraint.j & WALL == 0 {
            turns.bodies[1][k] = bodies.0.at(constraint.j as usize).cast();
        } else if constraint.wall_velocity != STANDS {
            let wall_velocity = &self.wall_velocities[constraint.wall_velocity as usize];
            turns.bodies[1][k] = (&raw const *wall_velocity).cast_mut().cast();
        }
        turns.constraints[k] = constraint;
    }
}

/// The partners on one side of the constraints.
#[derive(Clone, Copy)]
struct Side<N> {
    motion: Vector<N>,
    inverse: N,
    spin: Vector<N>,
    last_contact: N,
    arm: N,
    turn: N,
}

impl<N: Number> Side<N> {
    #[inline(always)]
    unsafe fn load(rows: [*mut Row; LANES], arm: N, turn: N) -> Self {
        // SAFETY: guaranteed by the caller.
        let [x, y, z, inverse, spin_x, spin_y, spin_z, last_contact] =
            unsafe { N::load(rows.map(<*mut Row>::cast_const)) };
        let spin = Vector { x: spin_x, y: spin_y, z: spin_z };
        Self { motion: Vector { x, y, z }, inverse, spin, last_contact, arm, turn }
    }

    /// Stores the bodies of the lanes in `acts`, except fixed and sleeping ones, which other threads may read.
    #[inline(always)]
    unsafe fn store(&self, rows: [*mut Row; LANES], acts: u32) {
        let Self { motion, inverse, spin, last_contact, .. } = *self;
        let moves = acts & N::bits(inverse.is_above(N::splat(0.0)));
        let mut unused: Row = [0.0; 8];
        let rows = chosen(moves, rows, &raw mut unused);
        let numbers = [motion.x, motion.y, motion.z, inverse, spin.x, spin.y, spin.z, last_contact];
        // SAFETY: guaranteed by the caller.
        unsafe { N::store(numbers, rows) };
    }

    /// Spin change per friction torque: 5/2 arm/(m r^2), where the arm is close to the radius.
    #[inline(always)]
    fn ease(&self) -> N {
        N::splat(0.4) * self.turn * self.turn * self.arm * self.inverse
    }

    #[inline(always)]
    fn turnability(&self) -> N {
        self.turn * self.turn * self.inverse
    }
}

/// The rows of the lanes whose bit is set, and `unused` for the others.
#[inline(always)]
fn chosen<R>(bits: u32, rows: [*mut R; LANES], unused: *mut R) -> [*mut R; LANES] {
    let mut chosen = [unused; LANES];
    for lane in 0..LANES {
        if bits >> lane & 1 == 1 {
            chosen[lane] = rows[lane];
        }
    }
    chosen
}

/// Rows of the constraints that begin at a field.
#[inline(always)]
fn rows_at(constraints: [*mut ContactConstraint; LANES], offset: usize) -> [*mut Row; LANES] {
    constraints.map(|constraint| constraint.wrapping_byte_add(offset).cast())
}

// The order of the fields in the rows.
const IMPULSE: usize = offset_of!(ContactConstraint, impulse);
const ARMS: usize = offset_of!(ContactConstraint, arms);
const _: () = {
    assert!(offset_of!(ContactConstraint, normal) == 0 && offset_of!(ContactConstraint, closing) == 12);
    assert!(IMPULSE == 16 && offset_of!(ContactImpulse, normal) == 0);
    assert!(offset_of!(ContactImpulse, tangent) == 4);
    assert!(offset_of!(ContactConstraint, turns) == ARMS + 8);
    assert!(offset_of!(ContactConstraint, masses) == ARMS + 16);
    assert!(offset_of!(ContactConstraint, friction) == ARMS + 24);
    assert!(offset_of!(ContactConstraint, resistance) == ARMS + 28);
};

/// Applies the rolling and twisting resistance of contact constraints. `limits` is the largest rolling moment and the
/// normal impulse. Returns `change`, or the velocity change by the moment if that is larger.
#[inline(always)]
unsafe fn resist<N: Number>(
    turns: &Turns,
    [a, b]: [&mut Side<N>; 2],
    (normal, (rolling, pressed)): (Vector<N>, (N, N)),
    acts: u32,
    change: N,
) -> N {
    // SAFETY: guaranteed by the caller.
    let of = |each: fn(&ContactConstraint) -> f32| turns.constraints.map(|k| each(unsafe { &*k }));
    let turned = Vector {
        x: N::from_array(of(|constraint| constraint.impulse.moment.x)),
        y: N::from_array(of(|constraint| constraint.impulse.moment.y)),
        z: N::from_array(of(|constraint| constraint.impulse.moment.z)),
    };
    let zero = N::splat(0.0);
    let rolls = N::from_array(of(|constraint| constraint.resistance[0]));
    let twisting = N::from_array(of(|constraint| constraint.resistance[1]));
    let resists = N::either(rolls.is_other_than(zero), twisting.is_other_than(zero));
    let turnabilities = [a.turnability(), b.turnability()];
    let inertia = N::splat(2.5) / (turnabilities[0] + turnabilities[1]);
    let stopped = turned - (a.spin - b.spin) * inertia;
    let along = normal * normal.dot(stopped);
    let turn = (stopped - along).clamped(rolling) + along.clamped(twisting * pressed);
    let turn = Vector::select(resists, turn, turned);
    let by = turn - turned;
    a.spin = Vector::select(resists, a.spin + by * (N::splat(0.4) * turnabilities[0]), a.spin);
    b.spin = Vector::select(resists, b.spin - by * (N::splat(0.4) * turnabilities[1]), b.spin);
    let moments = [turn.x.to_array(), turn.y.to_array(), turn.z.to_array()];
    for (lane, &constraint) in turns.constraints.iter().enumerate() {
        if acts >> lane & 1 == 1 {
            // SAFETY: guaranteed by the caller.
            unsafe { (*constraint).impulse.moment = moments.map(|values| values[lane]).into() };
        }
    }
    N::select(resists, change.or_larger(by.largest() * a.turn), change)
}

/// Solves contact constraints without a common sphere for the present velocities. Returns the velocity changes of their
/// spheres.
///
/// # Safety
/// The pointers are valid, and no other thread reads or writes the constraints and their free spheres at the same time.
#[inline(always)]
unsafe fn solve_lanes<N: Number>(turns: &Turns, relaxation: N) -> N {
    let zero = N::splat(0.0);
    // SAFETY: guaranteed by the caller; the rows lie within the constraints.
    let ([x, y, z, closing, pressed, tangent_x, tangent_y, tangent_z], of_surfaces) = unsafe {
        (
            N::load(rows_at(turns.constraints, 0).map(<*mut Row>::cast_const)),
            N::load(rows_at(turns.constraints, ARMS).map(<*mut Row>::cast_const)),
        )
    };
    let [arm_a, arm_b, turn_a, turn_b, mass, mass_across, friction, resistance] = of_surfaces;
    let normal = Vector { x, y, z };
    let rubbed = Vector { x: tangent_x, y: tangent_y, z: tangent_z };
    // SAFETY: guaranteed by the caller.
    let (mut a, mut b) =
        unsafe { (Side::load(turns.bodies[0], arm_a, turn_a), Side::load(turns.bodies[1], arm_b, turn_b)) };

    let yields = (a.inverse + b.inverse).is_other_than(zero);
    let speed = normal.dot(a.motion - b.motion);
    let wanted = zero.or_larger(pressed + (-closing - speed) * (mass * relaxation));
    let acts = N::both(yields, N::either(wanted.is_other_than(zero), pressed.is_other_than(zero)));
    let acts_in = N::bits(acts);
    if acts_in == 0 {
        return zero;
    }
    let push = normal * (wanted - pressed);
    a.motion = a.motion + push * a.inverse;
    b.motion = b.motion - push * b.inverse;
    let mut change = (wanted - pressed).abs();

    let rubs = friction.is_above(zero);
    let mut tangent = rubbed;
    if N::bits(rubs) != 0 {
        let turning = a.spin * a.arm + b.spin * b.arm;
        let slip = (a.motion - b.motion) - turning.cross(normal);
        let slip = slip - normal * normal.dot(slip);
        tangent = (rubbed - slip * mass_across).clamped(friction * wanted);
        tangent = Vector::select(rubs, tangent, rubbed);
        let rub = tangent - rubbed;
        let torque = rub.cross(normal);
        a.motion = Vector::select(rubs, a.motion + rub * a.inverse, a.motion);
        b.motion = Vector::select(rubs, b.motion - rub * b.inverse, b.motion);
        a.spin = Vector::select(rubs, a.spin + torque * a.ease(), a.spin);
        b.spin = Vector::select(rubs, b.spin + torque * b.ease(), b.spin);
        change = change.or_larger(rub.largest());
    }
    // SAFETY: guaranteed by the caller.
    let resists = turns.constraints.iter().any(|&constraint| unsafe { (*constraint).resistance != [0.0; 2] });
    if resists {
        let limits = (resistance * wanted, wanted);
        // SAFETY: as above.
        change = unsafe { resist(turns, [&mut a, &mut b], (normal, limits), acts_in, change) };
    }
    let mut unused: HalfRow = [0.0; 4];
    let impulses = rows_at(turns.constraints, IMPULSE).map(<*mut Row>::cast);
    // SAFETY: as above.
    unsafe {
        N::store_half([wanted, tangent.x, tangent.y, tangent.z], chosen(acts_in, impulses, &raw mut unused));
        a.store(turns.bodies[0], acts_in);
        b.store(turns.bodies[1], acts_in);
    }
    N::select(acts, change / mass, zero)
}

#[cfg(test)]
mod tests {
    use glam::{Vec3, Vec4};
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

    // Eight lanes, of which some have no block, give the same bits as one constraint after another.
    #[test]
    fn constraints_side_by_side_have_the_bits_of_constraints_one_by_one() {
        let mut rng = Pcg64::seed_from_u64(11);
        let cases = [1, 4, 7, 8, 9, 21].into_iter().flat_map(|count| {
            [(false, 1, 1.0), (true, 1, 1.9), (false, 3, 1.9)].into_iter().flat_map(
                move |(wild, sweeps, relaxation)| {
                    [false, true].map(|any| (count, wild, Method { sweeps, relaxation }, any))
                },
            )
        });
        for (count, wild, method, any_processor) in cases {
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
                for _ in 0..method.sweeps {
                    for constraint in block.iter_mut() {
                        // SAFETY: there is only one thread.
                        most[0] = solve::larger(most[0], unsafe {
                            one.solve(constraint, &wall_velocities, method.relaxation)
                        });
                    }
                }
            }
            let of_constraints =
                |constraints| BlockOfTask { number: 0, constraints, wall_velocities: &wall_velocities };
            let mut blocks: Vec<_> = all.iter_mut().map(Vec::as_mut_slice).map(of_constraints).collect();
            let bodies_of_lanes = Bodies(Disjoint::new(&mut bodies));
            // SAFETY: as above.
            most[1] = unsafe {
                if any_processor {
                    solve_with::<Halves>(&bodies_of_lanes, &mut blocks, method)
                } else {
                    solve_all(&bodies_of_lanes, &mut blocks, method)
                }
            };
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
