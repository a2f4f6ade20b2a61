//! Solves the contact constraints of a block, eight constraints in parallel, one per lane. The constraints of a bundle have one
//! colour: they share no moving sphere. Each lane performs the operations of a scalar solver, so the results are bit-identical
//! to those of a scalar solver that takes the constraints in the order of the lanes.
//!
//! The constraints are first transposed into bundles of eight, so that a number of all eight is one vector. The bundles are then
//! swept several times, and their impulses are transposed back.

use std::{cell::RefCell, mem::offset_of};

use super::{
    number::{HalfRow, Halves, LANES, Number, Row, Vector},
    solve::{self, Bodies, Body},
};
use crate::{
    cpu::constraints::{BlockOfTask, ContactConstraint, ContactImpulse, EMPTY, WallVelocity},
    state::constants::{MOST_OVER_RELAXATION, OVER_RELAXATION, WALL},
};

/// How an iteration solves the contact constraints of each block.
#[derive(Clone, Copy)]
pub struct Method {
    /// At least 1.
    pub sweeps: u32,
    /// Whether normal impulses change by more than one constraint alone needs.
    pub over_relaxes: bool,
}

thread_local! {
    static BUNDLES: RefCell<Vec<Bundle>> = const { RefCell::new(vec![]) };
}

/// Solves the contact constraints of a block. Returns the largest velocity change by a constraint in the last sweep.
///
/// # Safety
/// No other thread may read or write the spheres of the block at the same time.
pub unsafe fn solve_block(bodies: &Bodies, block: &mut BlockOfTask, method: Method) -> f32 {
    BUNDLES.with_borrow_mut(|bundles| {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2; the rest is guaranteed by the caller.
            return unsafe { solve_with_avx2(bodies, block, method, bundles) };
        }
        // SAFETY: guaranteed by the caller.
        unsafe { solve_with::<Halves>(bodies, block, method, bundles) }
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn solve_with_avx2(
    bodies: &Bodies,
    block: &mut BlockOfTask,
    method: Method,
    bundles: &mut Vec<Bundle>,
) -> f32 {
    // SAFETY: guaranteed by the caller.
    unsafe { solve_with::<super::number::avx::Wide>(bodies, block, method, bundles) }
}

#[inline(always)]
unsafe fn solve_with<N: Number>(
    bodies: &Bodies,
    block: &mut BlockOfTask,
    method: Method,
    bundles: &mut Vec<Bundle>,
) -> f32 {
    let mut none = ContactConstraint::NONE;
    touch(block.constraints);
    let (constraints, constraint_count) = (block.constraints.as_mut_ptr(), block.constraints.len());
    let count = block.order.len() / LANES;
    if bundles.len() < count {
        bundles.resize(count, Bundle::EMPTY);
    }
    // Bundles are filled where they are: they are too large to copy.
    let bundles = &mut bundles[..count];
    let mut heavier = N::splat(0.0);
    for (bundle, places) in bundles.iter_mut().zip(block.order.chunks_exact(LANES)) {
        bundle.clear(&raw mut none);
        for (k, &place) in places.iter().enumerate().filter(|(_, place)| **place != EMPTY) {
            assert!((place as usize) < constraint_count);
            // SAFETY: in bounds by the assertion; the rest is guaranteed by the caller.
            unsafe { bundle.enter(bodies, constraints.add(place as usize), block.wall_velocities, k) };
        }
        // SAFETY: the pointers are those of constraints, or of `none`.
        heavier = heavier.or_larger(unsafe { bundle.transpose::<N>() });
    }
    let heavier = heavier.to_array().into_iter().fold(0.0, solve::larger);
    let relaxation = N::splat(if method.over_relaxes { over_relaxation(heavier) } else { 1.0 });
    for _ in 1..method.sweeps {
        for bundle in bundles.iter_mut() {
            // SAFETY: guaranteed by the caller.
            unsafe { solve_lanes::<N, false>(bundle, relaxation) };
        }
    }
    let mut most = N::splat(0.0);
    for bundle in bundles.iter_mut() {
        // SAFETY: as above, also for the impulses; the lanes are those of this bundle.
        unsafe {
            most = most.or_larger(solve_lanes::<N, true>(bundle, relaxation));
            bundle.leave::<N>();
        }
    }
    most.to_array().into_iter().fold(0.0, solve::larger)
}

// Factor on the change of normal impulses. `heavier` is the largest share of the heavier sphere in the mass of a pair.
fn over_relaxation(heavier: f32) -> f32 {
    (2.0 / (1.0 + (1.0 - heavier).max(0.0).sqrt())).clamp(OVER_RELAXATION, MOST_OVER_RELAXATION)
}

// Loads constraints into the cache. In the order of the colours every load would wait for memory; in their own order the
// processor foresees the next ones.
#[inline(always)]
fn touch(constraints: &[ContactConstraint]) {
    let all =
        constraints.iter().fold(0, |all, constraint| all ^ constraint.i ^ constraint.normal.x.to_bits());
    std::hint::black_box(all);
}

/// A sphere or wall that does not move.
const RESTS: *mut Row = {
    static ROW: Row = [0.0; 8];
    // Never written.
    (&raw const ROW).cast_mut()
};

// A body and the velocity of a wall are rows.
const _: () = assert!(size_of::<Body>() == size_of::<Row>() && size_of::<WallVelocity>() == size_of::<Row>());

/// Constraints that are solved at the same time, one in each lane. Lanes without one have [`ContactConstraint::NONE`].
#[derive(Clone)]
#[repr(C, align(32))]
struct Bundle {
    /// Of each lane: the eight floats of the constraint from `normal` on, and the numbers from [`ARMS`] on. Until `transpose` the arms are
    /// radii, the eases inverse masses, the second mass is the share, and the resistance that of the surface, times the reduced radius.
    numbers: [[f32; LANES]; NUMBERS],
    /// Both partners.
    bodies: [[*mut Row; LANES]; 2],
    constraints: [*mut ContactConstraint; LANES],
    /// The lanes whose partner on each side can move, one bit each. Other threads may read the other partners.
    moves: [u32; 2],
    /// The lanes in which rolling or twisting is resisted, one bit each.
    resists: u32,
}

impl Bundle {
    const EMPTY: Self = Self {
        numbers: [[0.0; LANES]; NUMBERS],
        bodies: [[RESTS; LANES]; 2],
        constraints: [std::ptr::null_mut(); LANES],
        moves: [0; 2],
        resists: 0,
    };

    // Empties all lanes. `none` is the constraint of an empty lane.
    #[inline(always)]
    fn clear(&mut self, none: *mut ContactConstraint) {
        self.bodies = [[RESTS; LANES]; 2];
        self.constraints = [none; LANES];
        self.numbers[ARMS..].fill([0.0; LANES]);
        (self.moves, self.resists) = ([0; 2], 0);
    }

    // Enters a constraint as that of lane `k`.
    #[inline(always)]
    unsafe fn enter(
        &mut self,
        bodies: &Bodies,
        entered: *mut ContactConstraint,
        wall_velocities: &[WallVelocity],
        k: usize,
    ) {
        // SAFETY: guaranteed by the caller.
        let constraint = unsafe { &*entered };
        self.bodies[0][k] = bodies.all.at(constraint.i as usize).cast();
        // SAFETY: guaranteed by the caller.
        let body = |k: u32| unsafe { bodies.all.get(k as usize) };
        let moves = |body: Body| u32::from(body.motion.w > 0.0) << k;
        let first = body(constraint.i);
        self.moves[0] |= moves(first);
        self.numbers[EASES][k] = first.motion.w;
        let radius = first.spin.w;
        let (mut other, mut reduced) = (0.0, radius);
        if constraint.j & WALL == 0 {
            let second = body(constraint.j);
            self.bodies[1][k] = bodies.all.at(constraint.j as usize).cast();
            self.moves[1] |= moves(second);
            self.numbers[EASES + 1][k] = second.motion.w;
            other = second.spin.w;
            reduced = radius * other / (radius + other);
        } else if let Some(at) = constraint.wall_velocity() {
            self.bodies[1][k] = (&raw const wall_velocities[at]).cast_mut().cast();
        }
        let surface = &bodies.surfaces[constraint.surface as usize];
        self.numbers[ARMS][k] = radius;
        self.numbers[ARMS + 1][k] = other;
        self.numbers[MASSES][k] = constraint.mass;
        self.numbers[MASSES + 1][k] = constraint.share;
        self.numbers[FRICTION][k] = surface.friction;
        if surface.resists() {
            self.numbers[RESISTANCE][k] = surface.rolling * reduced;
            self.numbers[RESISTANCE + 1][k] = surface.twisting * reduced;
            for (c, moment) in constraint.impulse.moment.to_array().into_iter().enumerate() {
                self.numbers[MOMENT + c][k] = moment;
            }
            self.resists |= 1 << k;
        }
        self.constraints[k] = entered;
    }

    // Reads the numbers of the constraints, and completes those that `enter` has begun. Returns the share of the heavier sphere in the
    // mass of each pair; 0 if one of the two does not move.
    #[inline(always)]
    unsafe fn transpose<N: Number>(&mut self) -> N {
        // SAFETY: guaranteed by the caller; the rows lie within the constraints.
        let of_normals = unsafe { N::load(rows_at(self.constraints, 0).map(<*mut Row>::cast_const)) };
        for (numbers, of_normals) in self.numbers.iter_mut().zip(of_normals) {
            *numbers = of_normals.to_array();
        }
        let [radius, other, mass, share] = [
            N::from_array(self.numbers[ARMS]),
            N::from_array(self.numbers[ARMS + 1]),
            N::from_array(self.numbers[MASSES]),
            N::from_array(self.numbers[MASSES + 1]),
        ];
        let inverse = [N::from_array(self.numbers[EASES]), N::from_array(self.numbers[EASES + 1])];
        // A tangential impulse also turns the spheres: with inertia 2/5 m r^2 it moves the surfaces by 1 + 5/2 times as much.
        let (one, zero, turn, part) = (N::splat(1.0), N::splat(0.0), N::splat(2.5), N::splat(0.4));
        let turns = [
            N::select(radius.is_above(zero), turn / radius, zero),
            N::select(other.is_above(zero), turn / other, zero),
        ];
        let arms = [radius * share, other * share];
        self.numbers[MASSES + 1] = (mass / (one + turn * share * share)).to_array();
        for side in 0..2 {
            self.numbers[ARMS + side] = arms[side].to_array();
            let ease = part * turns[side] * turns[side] * arms[side] * inverse[side];
            self.numbers[EASES + side] = ease.to_array();
        }
        if self.resists != 0 {
            // 5/2 of the inverse moments of inertia.
            let eased = [turns[0] * turns[0] * inverse[0], turns[1] * turns[1] * inverse[1]];
            self.numbers[INERTIA] = (turn / (eased[0] + eased[1])).to_array();
            self.numbers[TURNED] = (part * eased[0]).to_array();
            self.numbers[TURNED + 1] = (part * eased[1]).to_array();
            self.numbers[TURN] = turns[0].to_array();
        }
        let both_move = N::both(inverse[0].is_above(zero), inverse[1].is_above(zero));
        N::select(both_move, inverse[0].or_larger(inverse[1]) * mass, zero)
    }

    // Writes the impulses to the constraints.
    #[inline(always)]
    unsafe fn leave<N: Number>(&self) {
        let impulses = rows_at(self.constraints, IMPULSE).map(<*mut Row>::cast::<HalfRow>);
        // SAFETY: guaranteed by the caller; the half rows lie within the constraints.
        unsafe { N::store_half(four::<N>(&self.numbers, 4), impulses) };
        for k in (0..LANES).filter(|k| self.resists >> k & 1 == 1) {
            let moment = [0, 1, 2].map(|c| self.numbers[MOMENT + c][k]);
            // SAFETY: as above.
            unsafe { (*self.constraints[k]).impulse.moment = moment.into() };
        }
    }
}

/// The partners on one side of the constraints.
#[derive(Clone, Copy)]
struct Side<N> {
    motion: Vector<N>,
    inverse: N,
    spin: Vector<N>,
    radius: N,
}

impl<N: Number> Side<N> {
    #[inline(always)]
    unsafe fn load(rows: [*mut Row; LANES]) -> Self {
        // SAFETY: guaranteed by the caller.
        let [x, y, z, inverse, spin_x, spin_y, spin_z, radius] =
            unsafe { N::load(rows.map(<*mut Row>::cast_const)) };
        let spin = Vector { x: spin_x, y: spin_y, z: spin_z };
        Self { motion: Vector { x, y, z }, inverse, spin, radius }
    }

    /// Stores the bodies of the lanes in `moves`.
    #[inline(always)]
    unsafe fn store(&self, rows: [*mut Row; LANES], moves: u32) {
        let Self { motion, inverse, spin, radius } = *self;
        let mut unused: Row = [0.0; 8];
        let rows = if moves == (1 << LANES) - 1 { rows } else { chosen(moves, rows, &raw mut unused) };
        let numbers = [motion.x, motion.y, motion.z, inverse, spin.x, spin.y, spin.z, radius];
        // SAFETY: guaranteed by the caller.
        unsafe { N::store(numbers, rows) };
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

// The order of the fields in the row.
const IMPULSE: usize = offset_of!(ContactConstraint, impulse);
const _: () = {
    assert!(offset_of!(ContactConstraint, normal) == 0 && offset_of!(ContactConstraint, closing) == 12);
    assert!(IMPULSE == 16 && offset_of!(ContactImpulse, normal) == 0);
    assert!(offset_of!(ContactImpulse, tangent) == 4);
};

// The numbers of a bundle that follow the row: from each centre to the point of contact; spin change per friction torque,
// 5/2 arm/(m r^2), where the arm is close to the radius; reduced masses along the normal and in the contact plane; friction; resistance
// to rolling and to twisting, times the reduced radius.
const ARMS: usize = 8;
const EASES: usize = 10;
const MASSES: usize = 12;
const FRICTION: usize = 14;
const RESISTANCE: usize = 15;
// Where rolling or twisting is resisted: the moment; spin change per moment, reduced moment of inertia; 5/2 over the first radius.
const MOMENT: usize = 17;
const TURNED: usize = 20;
const INERTIA: usize = 22;
const TURN: usize = 23;
const NUMBERS: usize = 24;

/// Applies the rolling and twisting resistance of contact constraints to the spins; the moments change only in the lanes that
/// `acts`. `pressed` is the normal impulse. Returns the velocity change by the moment, and 0 where nothing is resisted.
#[inline(always)]
fn resist<N: Number>(
    numbers: &mut [[f32; LANES]; NUMBERS],
    spins: [&mut Vector<N>; 2],
    (normal, pressed): (Vector<N>, N),
    acts: N::Mask,
) -> N {
    let [rolling, twisting, moment_x, moment_y] = four::<N>(numbers, RESISTANCE);
    let [moment_z, turned_a, turned_b, inertia] = four::<N>(numbers, MOMENT + 2);
    let turned = Vector { x: moment_x, y: moment_y, z: moment_z };
    let zero = N::splat(0.0);
    let resists = N::either(rolling.is_other_than(zero), twisting.is_other_than(zero));
    let [a, b] = spins;
    let stopped = turned - (*a - *b) * inertia;
    let along = normal * normal.dot(stopped);
    let turn = (stopped - along).clamped(rolling * pressed) + along.clamped(twisting * pressed);
    let by = turn - turned;
    *a = Vector::select(resists, *a + by * turned_a, *a);
    *b = Vector::select(resists, *b - by * turned_b, *b);
    let turn = Vector::select(N::both(acts, resists), turn, turned);
    numbers[MOMENT] = turn.x.to_array();
    numbers[MOMENT + 1] = turn.y.to_array();
    numbers[MOMENT + 2] = turn.z.to_array();
    N::select(resists, by.largest() * N::from_array(numbers[TURN]), zero)
}

/// Four numbers in all lanes. Not by `map`, because a closure is compiled without AVX2.
#[inline(always)]
fn four<N: Number>(numbers: &[[f32; LANES]; NUMBERS], first: usize) -> [N; 4] {
    [
        N::from_array(numbers[first]),
        N::from_array(numbers[first + 1]),
        N::from_array(numbers[first + 2]),
        N::from_array(numbers[first + 3]),
    ]
}

/// Solves contact constraints without a common sphere for the present velocities. Returns the velocity changes of their
/// spheres if they are `ASKED`, and 0 otherwise.
///
/// # Safety
/// The pointers are valid, and no other thread reads or writes the free spheres at the same time.
#[inline(always)]
unsafe fn solve_lanes<N: Number, const ASKED: bool>(bundle: &mut Bundle, relaxation: N) -> N {
    let zero = N::splat(0.0);
    let Bundle { numbers, bodies, moves, resists, .. } = bundle;
    let ([x, y, z, closing], [pressed, tangent_x, tangent_y, tangent_z]) =
        (four::<N>(numbers, 0), four::<N>(numbers, 4));
    let ([arm_a, arm_b, ease_a, ease_b], [mass, mass_across, friction, _]) =
        (four::<N>(numbers, ARMS), four::<N>(numbers, MASSES));
    let normal = Vector { x, y, z };
    let rubbed = Vector { x: tangent_x, y: tangent_y, z: tangent_z };
    // SAFETY: guaranteed by the caller.
    let (mut a, mut b) = unsafe { (Side::<N>::load(bodies[0]), Side::<N>::load(bodies[1])) };

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
        let turning = a.spin * arm_a + b.spin * arm_b;
        let slip = (a.motion - b.motion) - turning.cross(normal);
        let slip = slip - normal * normal.dot(slip);
        tangent = (rubbed - slip * mass_across).clamped(friction * wanted);
        tangent = Vector::select(rubs, tangent, rubbed);
        let rub = tangent - rubbed;
        let torque = rub.cross(normal);
        a.motion = Vector::select(rubs, a.motion + rub * a.inverse, a.motion);
        b.motion = Vector::select(rubs, b.motion - rub * b.inverse, b.motion);
        a.spin = Vector::select(rubs, a.spin + torque * ease_a, a.spin);
        b.spin = Vector::select(rubs, b.spin + torque * ease_b, b.spin);
        change = change.or_larger(rub.largest());
    }
    if *resists != 0 {
        change = change.or_larger(resist(numbers, [&mut a.spin, &mut b.spin], (normal, wanted), acts));
    }
    numbers[4] = N::select(acts, wanted, pressed).to_array();
    let tangent = Vector::select(acts, tangent, rubbed);
    (numbers[5], numbers[6], numbers[7]) = (tangent.x.to_array(), tangent.y.to_array(), tangent.z.to_array());
    // SAFETY: as above.
    unsafe {
        a.store(bodies[0], acts_in & moves[0]);
        b.store(bodies[1], acts_in & moves[1]);
    }
    if ASKED { N::select(acts, change / mass, zero) } else { zero }
}

#[cfg(test)]
mod tests {
    use glam::{Vec3, Vec4};
    use rand::{Rng, RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::{
        cpu::{
            constraints::{STANDS, order_block},
            parallel::Disjoint,
        },
        state::constants::WALL,
        walls::world::Surface,
    };

    /// Number of spheres of a block.
    const OWN: u32 = 60;

    fn vector(rng: &mut impl Rng) -> Vec3 {
        Vec3::from_array(std::array::from_fn(|_| 2.0 * rng.random::<f32>() - 1.0))
    }

    // A constraint between spheres of a block, of each kind in turn. `wild`: some impulses overflow.
    fn constraint(
        rng: &mut impl Rng,
        (k, wild): (usize, bool),
        wall_velocities: &mut Vec<WallVelocity>,
    ) -> ContactConstraint {
        let i = rng.random_range(0..OWN);
        let other = (i + rng.random_range(1..OWN)) % OWN;
        let to_wall = k.is_multiple_of(5);
        let is_moving_wall = to_wall && k.is_multiple_of(2);
        let of_wall = if is_moving_wall { wall_velocities.len() as u32 } else { STANDS };
        if is_moving_wall {
            wall_velocities.push(WallVelocity([vector(rng).extend(0.0), vector(rng).extend(0.0)]));
        }
        let pressed = if k.is_multiple_of(3) { 0.0 } else { rng.random::<f32>() };
        let mut constraint = ContactConstraint {
            i,
            j: if to_wall { WALL | 3 } else { other },
            image: if to_wall { of_wall } else { 13 },
            normal: vector(rng).normalize(),
            closing: if k.is_multiple_of(4) { rng.random() } else { 0.0 },
            mass: 0.5,
            share: if to_wall { 1.0 } else { 0.9 + 0.1 * rng.random::<f32>() },
            surface: (k % 4 + if k.is_multiple_of(7) { 4 } else { 0 }) as u32,
            ..ContactConstraint::default()
        };
        constraint.impulse.normal =
            if wild && k.is_multiple_of(6) { [f32::NAN, 3e38][k / 6 % 2] } else { pressed };
        constraint.impulse.tangent = vector(rng) * (0.4 * pressed);
        constraint.impulse.moment = vector(rng) * (0.02 * pressed);
        constraint
    }

    // Spheres of a block. Every ninth is fixed or asleep; of the others, every seventh has the inverse mass `heavy`, the rest 1.
    fn spheres(rng: &mut impl Rng, heavy: f32) -> Vec<Body> {
        let mut sphere = |k: u32| {
            let inverse_mass = if k.is_multiple_of(7) { heavy } else { 1.0 };
            Body {
                motion: if k.is_multiple_of(9) { Vec4::ZERO } else { vector(rng).extend(inverse_mass) },
                spin: vector(rng).extend(0.4 + 0.2 * rng.random::<f32>()),
            }
        };
        (0..OWN).map(&mut sphere).collect()
    }

    // Sets the reduced masses of the pairs in which both spheres move. Returns the least share of a sphere in the mass of such a pair.
    fn set_masses(constraints: &mut [ContactConstraint], bodies: &[Body]) -> f32 {
        let mut lightest = 0.5f32;
        for constraint in constraints.iter_mut().filter(|constraint| constraint.j & WALL == 0) {
            let [a, b] = [constraint.i, constraint.j].map(|k| bodies[k as usize].motion.w);
            if a > 0.0 && b > 0.0 {
                constraint.mass = 1.0 / (a + b);
                lightest = lightest.min(1.0 - a.max(b) * constraint.mass);
            }
        }
        lightest
    }

    // With and without friction, and with each kind of resistance.
    fn surfaces() -> [[Surface; 4]; 2] {
        [0.4, 0.0].map(|friction| {
            [[0.0; 2], [0.04, 0.0], [0.0, 0.08], [0.08, 0.04]].map(|[rolling, twisting]| Surface {
                restitution: 0.5,
                friction,
                rolling,
                twisting,
                threshold: 0.0,
            })
        })
    }

    // Eight lanes, of which some are empty, give the same bits as one constraint after another. The colours keep the constraints of
    // each sphere in bundles of their own, and their order is complete.
    #[test]
    fn constraints_side_by_side_have_the_bits_of_constraints_one_by_one() {
        let mut rng = Pcg64::seed_from_u64(11);
        let cases = [1, 7, 8, 9, 40, 200].into_iter().flat_map(|count| {
            [(false, 1, false), (true, 1, true), (false, 3, true)].into_iter().flat_map(
                move |(wild, sweeps, over_relaxes)| {
                    [false, true].map(|any| (count, wild, Method { sweeps, over_relaxes }, any))
                },
            )
        });
        let surfaces = surfaces();
        let surfaces = surfaces.as_flattened();
        for (count, wild, method, any_processor) in cases {
            // In some cases every seventh sphere is heavy.
            let mut bodies = spheres(&mut rng, if count % 5 == 0 { 1e-3 } else { 1.0 });
            let mut wall_velocities = vec![];
            let new = |k| constraint(&mut rng, (k, wild), &mut wall_velocities);
            let mut all: Vec<ContactConstraint> = (0..count).map(new).collect();
            let lightest = set_masses(&mut all, &bodies);
            let relaxation = if method.over_relaxes { (2.0 / (1.0 + lightest.sqrt())).max(1.9) } else { 1.0 };
            let order = ordered(&all, &bodies);
            let (mut one_by_one, mut constraints) = (bodies.clone(), all.clone());
            let one = Bodies { all: Disjoint::new(&mut one_by_one), surfaces };
            let mut most = [0.0f32; 2];
            let mut ever = 0.0f32;
            for _ in 0..method.sweeps {
                most[0] = 0.0;
                for &place in order.iter().filter(|&&place| place != EMPTY) {
                    // SAFETY: there is only one thread.
                    most[0] = solve::larger(most[0], unsafe {
                        one.solve(&mut constraints[place as usize], &wall_velocities, relaxation)
                    });
                }
                ever = solve::larger(ever, most[0]);
            }
            let mut block = BlockOfTask {
                number: 0,
                place: 0,
                yields: true,
                order: &order,
                constraints: &mut all,
                wall_velocities: &wall_velocities,
            };
            let bodies_of_lanes = Bodies { all: Disjoint::new(&mut bodies), surfaces };
            // SAFETY: as above.
            most[1] = unsafe {
                if any_processor {
                    solve_with::<Halves>(&bodies_of_lanes, &mut block, method, &mut vec![])
                } else {
                    solve_block(&bodies_of_lanes, &mut block, method)
                }
            };
            let bits = |v: &[Vec4]| v.iter().map(|v| v.to_array().map(f32::to_bits)).collect::<Vec<_>>();
            let of_body = |b: &Body| bits(&[b.motion, b.spin]);
            let of_constraint = |r: &ContactConstraint| {
                bits(&[r.impulse.tangent.extend(r.impulse.normal), r.impulse.moment.extend(0.0)])
            };
            assert!(bodies.iter().map(of_body).eq(one_by_one.iter().map(of_body)), "spheres at {count}");
            let side_by_side = all.iter().map(of_constraint);
            assert!(side_by_side.eq(constraints.iter().map(of_constraint)), "constraints of {count}");
            assert_eq!(most[0].to_bits(), most[1].to_bits());
            assert!(count < 40 || wild == bodies.iter().any(|body| !body.motion.is_finite()));
            assert!(count < 40 || ever > 0.1);
        }
    }

    // The solving order of constraints, after a check that no two of a bundle share a moving sphere.
    fn ordered(constraints: &[ContactConstraint], bodies: &[Body]) -> Vec<u32> {
        let moves = |i: usize| bodies[i].motion.w > 0.0;
        let moving = |constraint: &ContactConstraint| -> Vec<u32> {
            let partners = [constraint.i, constraint.j].into_iter();
            partners.filter(|&k| k & WALL == 0 && moves(k as usize)).collect()
        };
        let (mut masks, mut order) = (vec![u32::MAX; bodies.len()], vec![]);
        // SAFETY: there is only one thread.
        unsafe { order_block(constraints, &Disjoint::new(&mut masks), &moves, &mut vec![], &mut order) };
        for bundle in order.chunks(LANES) {
            assert_eq!(bundle.len(), LANES);
            let mut spheres: Vec<u32> = vec![];
            for &place in bundle.iter().filter(|&&place| place != EMPTY) {
                spheres.extend(moving(&constraints[place as usize]));
            }
            let count = spheres.len();
            spheres.sort_unstable();
            spheres.dedup();
            assert_eq!(spheres.len(), count, "two constraints of a bundle share a sphere");
        }
        let mut places: Vec<u32> = order.iter().copied().filter(|&place| place != EMPTY).collect();
        places.sort_unstable();
        let yields = |&place: &u32| !moving(&constraints[place as usize]).is_empty();
        assert!((0..constraints.len() as u32).filter(yields).eq(places));
        order
    }

    // A heavy sphere presses a light one on a wall. The over-relaxed sweeps of all batches leave .009 of the approach at a mass ratio of
    // 1,000 and .31 at 8,000; with a factor of 1.9 they leave .12 and .78.
    #[test]
    fn the_factor_of_over_relaxation_follows_the_mass_ratio() {
        assert_eq!(over_relaxation(0.5), OVER_RELAXATION);
        assert_eq!(over_relaxation(1.0), MOST_OVER_RELAXATION);
        for (ratio, factor, left) in [(1000.0, 1.9387, 0.02), (8000.0, 1.9779, 0.33)] {
            let bodies = [
                Body { motion: Vec4::new(0.0, 0.0, -1.0, 1.0 / ratio), spin: Vec4::new(0.0, 0.0, 0.0, 5.0) },
                Body { motion: Vec4::W, spin: Vec4::new(0.0, 0.0, 0.0, 0.5) },
            ];
            let contact = |i: u32, j: u32, mass: f32| ContactConstraint {
                i,
                j,
                image: if j & WALL == 0 { 13 } else { STANDS },
                normal: Vec3::Z,
                mass,
                share: 1.0,
                surface: 0,
                ..ContactConstraint::default()
            };
            let mut constraints = [contact(0, 1, 1.0 / (1.0 + 1.0 / ratio)), contact(1, WALL, 1.0)];
            let heavier = constraints[0].mass;
            assert!((over_relaxation(heavier) - factor).abs() < 1e-3, "{}", over_relaxation(heavier));
            let order = ordered(&constraints, &bodies);
            let surface =
                Surface { restitution: 0.0, friction: 0.0, rolling: 0.0, twisting: 0.0, threshold: 0.0 };
            let mut moved = bodies;
            let bodies = Bodies { all: Disjoint::new(&mut moved), surfaces: &[surface] };
            let mut block = BlockOfTask {
                number: 0,
                place: 0,
                yields: true,
                order: &order,
                constraints: &mut constraints,
                wall_velocities: &[],
            };
            // SAFETY: there is only one thread.
            unsafe { solve_block(&bodies, &mut block, Method { sweeps: 108, over_relaxes: true }) };
            assert!(moved[0].motion.z.abs() < left, "{ratio}: {}", moved[0].motion.z);
        }
    }

    // A sphere with more contacts than colours.
    #[test]
    fn constraints_beyond_the_last_colour_are_solved_one_after_the_other() {
        let contact = |j: u32| ContactConstraint { i: 0, j, ..ContactConstraint::default() };
        let constraints: Vec<_> = (1..50).map(contact).collect();
        let bodies = vec![Body { motion: Vec4::W, spin: Vec4::ZERO }; 50];
        let order = ordered(&constraints, &bodies);
        assert_eq!(order.len(), 49 * LANES);
        assert!(order.chunks(LANES).map(|bundle| bundle[0]).eq(0..49));
    }
}
