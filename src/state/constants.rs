//! Tolerances and limits that the CPU engine and the GPU engine share. They are defined only here: `gpu::shaders` passes
//! them to the shaders, and the CPU stages import them.
//!
//! Lengths are fractions of a radius, a radius sum or a mean diameter; speeds are fractions of the speed that gravity
//! adds in a substep; times are fractions of the substep. The comment on each constant states the consequence of a larger
//! or smaller value.

use crate::system::limits::{MOST_SUBSTEPS, REST_SUBSTEP, rest_need};

// ---- partners ------------------------------------------------------------------------------------------------------

/// Marks a partner that is a wall.
pub const WALL: u32 = 1 << 31;

/// First bit of the field of a wall partner that says on which side of a narrow pipe the contact lies; see
/// [`FeatureShape::side`](crate::walls::features::shape::FeatureShape::side).
pub const SIDE_SHIFT: u32 = 29;

/// Index of the wall of a partner: planes are numbered first, wall features after them.
#[inline]
pub fn wall_of(partner: u32) -> usize {
    (partner & ((1 << SIDE_SHIFT) - 1)) as usize
}

/// Side of the wall on which the contact lies.
#[inline]
pub fn side_of(partner: u32) -> u32 {
    (partner & !WALL) >> SIDE_SHIFT
}

/// Planes whose impacts are counted for each sphere. On further planes, the number of impacts never converts a contact to a
/// resting contact.
pub const COUNTED_PLANES: usize = 8;

/// Bit of a plane in the set of planes that a sphere may reach.
#[inline]
pub fn wall_bit(plane: usize) -> u32 {
    1 << plane.min(31)
}

// ---- broad phase ---------------------------------------------------------------------------------------------------

/// Relative margin added to the reach of a search by parts of cells, because parts are computed in f32.
pub const REACH_HAIR: f32 = 1e-4;

/// Longest capsule of a fast sphere, in cells along its main axis. A longer path is rejected, because its traversal would
/// take minutes.
pub const LONGEST: i32 = 1 << 20;

/// Fast pairs become candidates if they pass each other within this many radius sums. The causality test then also sees a
/// third sphere that an impact would bring close.
pub const PASSING: f32 = 1.5;

// ---- compression ---------------------------------------------------------------------------------------------------

/// Share of the sum of their radii by which the pushes of a compression separate two spheres that overlap: about ten times the rounding
/// of a position. Without this gap the pushes would converge, but never end.
pub const PUSH_GAP: f32 = 1e-6;

/// Ratio of radii above which the larger sphere of a pair is pushed less, and the sum of the pushes on a sphere is capped: hundreds of
/// small spheres may touch a large one, and their sum would throw it far out of its position.
pub const PUSH_MIXED: f32 = 1.5;

/// Largest number of passes over the overlaps; if overlaps remain, the box shrinks by half as much. Ten passes suffice in a gas; near
/// jamming, long chains of spheres move.
pub const PUSH_PASSES: u32 = 1000;

// ---- sweep ---------------------------------------------------------------------------------------------------------

/// Gaps up to this fraction of the radius sum count as touching where a root is bracketed. 1e-6 is about the rounding of a
/// position; a smaller value does not close the bracket, a larger one changes the energy of a bounce.
pub const TOUCHING: f32 = 1e-6;

/// A contact constraint ends when its partners are further apart than this many radius sums.
pub const FAR: f32 = 1.05;

/// Steps of conservative advancement. The iteration converges quadratically; grazing passes take the most steps.
pub const ADVANCES: u32 = 64;

/// Path, in radii, after which a sphere tests an edge again that a nearer face hid.
pub const LOOK_AGAIN: f32 = 0.05;

/// Rounding of a sphere's position relative to a wall feature, as a fraction of their distance. Smaller gaps count as zero.
pub const BLUR: f32 = 2e-7;

// ---- impacts and rounds --------------------------------------------------------------------------------------------

/// If a sphere accelerates towards its partner so that both would meet again within this fraction of the substep, the
/// contact rests, instead of bouncing a thousand times. A larger fraction loses visible bounces.
pub const RESTING: f32 = 1e-3;

/// Longest displacement, in units of length, that restores the energy which rounding of the velocity changes in a substep of a
/// fall. It is about the overlap that impacts leave anyway.
pub const MOST_LIFT: f32 = 2e-6;

/// Least rebound speed from a resting contact without a chord, as a fraction of the speed that gravity adds in a
/// substep: the sphere returns after an eighth of the substep. A smaller value takes more rounds, a larger one shows as
/// hops.
pub const REBOUND: f32 = 1.0 / 16.0;

/// Bounces lower than this fraction of the radius are rounding errors of the position.
pub const LOWEST_BOUNCE: f32 = 1e-6;

/// Relative rounding of a sum of two speeds. An impact leaves at least this separation speed: a smaller one would be rounded
/// away, and a touching pair would collide endlessly at the same instant.
pub const LEAST_REBOUND: f32 = 3e-7;

/// Number of impacts of one pair in a substep above which the pair becomes a resting contact. Under gravity alone a sphere
/// returns within a substep only below the speed of a resting contact; a squeezed sphere would rattle hundreds of times.
/// One impact more holds the pair at any speed.
pub const MOST_HITS: u8 = 1;

/// Least number of pressed contacts with spheres, of both partners together, for which their impact counts as in a crowd.
/// Contacts with walls do not count: the impacts of balls on a table or in a groove are resolved in order.
pub const CROWDED_CONTACTS: u8 = 3;

/// Least number of pressed contacts with spheres for which the impact of a sphere with a wall, a fixed sphere or a sphere in
/// flight counts as in a crowd.
pub const HELD_CONTACTS: u8 = 2;

/// Least mass ratio of a sphere and one that it squeezes for which its further impacts in the substep count as in a crowd.
pub const HEAVY: f32 = 8.0;

/// Pressed contacts with spheres that such a sphere counts as, at least. A power of two, and not below the other numbers of contacts.
pub const MANY_CONTACTS: u8 = 64;

/// An impact in a crowd that is not late becomes a resting contact only if its surfaces approach each other by at most this path in a
/// substep, in diameters. Faster impacts are resolved one by one, so that no fast sphere passes another.
pub const CROWDED_PATH: f32 = 0.1;

/// A late impact becomes a resting contact if its surfaces approach each other by at most this path in the rest of the substep, in
/// sums of the radii; a wall has no radius. On a path of a whole sum a sphere could reach the other side of what it strikes.
pub const LATE_PATH: f32 = 0.5;

/// Rounds after which a substep with few pending spheres applies its other impacts one by one, where contacts do not rest. An
/// ordinary substep of a gas needs 4 to 14.
pub const LONG_ROUNDS: u32 = 24;

/// Rounds after which a substep with more than a twentieth of its spheres pending is halved: impacts in one neighbourhood
/// wait for each other, and each half of the substep has half as many.
pub const CROWDED_ROUNDS: u32 = 48;

/// With fewer pending spheres than this, finishing the substep is faster than halving it.
pub const CROWD: usize = 64;

/// The earliest pending impact must become later within this many rounds. Otherwise the rounds never end, and shorter
/// substeps would not help, because everything happens at one instant.
pub const STUCK_ROUNDS: u32 = 2048;

// ---- resting contact -----------------------------------------------------------------------------------------------

/// Largest gap of a resting contact, as a fraction of the mean diameter. Spheres further apart meet within a substep only if
/// they are fast, and then they collide.
pub const CONSTRAINT_GAP: f32 = 0.02;

/// Approach speed below which a contact rests, in units of sqrt(g d) with the smallest diameter d; of a sphere above a wall, the speed
/// at which it would arrive. A bounce at this speed rises by less than 3e-4 d. A ball comes to rest too early with a larger speed;
/// with a smaller one a pile needs more impacts.
const REST_SPEED: f64 = 0.024;

/// The same speed in the longest substep, in units of the speed that gravity adds in it.
pub const SLOW: f32 = (REST_SPEED / REST_SUBSTEP) as f32;

/// Approach speed below which a contact rests. All arguments are in one unit system.
pub fn rest_speed(gravity: f64, diameter: f64) -> f64 {
    REST_SPEED * (gravity * diameter).sqrt()
}

/// A resting contact that approaches faster than this multiple of the slow speed has an impact instead.
pub const SHOCK: f32 = 32.0;

/// Overlap at the end of the substep, in mean diameters, above which a pair that contact constraints push together gets a
/// contact constraint too. Relaxation would push such a pair apart anyway.
pub const CONSTRAINT_AHEAD: f32 = 0.002;

/// Sweeps over the constraints of a block in each iteration. The later ones find the block in the cache, but the velocities of
/// the neighbouring blocks as the first one left them.
pub const SWEEPS: u32 = 4;

/// Iterations over the contact constraints before the sweep; the iterations after the rounds reduce the residual where it exceeds
/// [`UNSETTLED`]. The residual of both solves moves the spheres in the next substep. With one iteration in each, piles of 100 layers never
/// stop hopping in the longest substep; with one here and four in [`ITERATIONS_AFTER`], piles without friction creep.
pub const ITERATIONS_BEFORE: u32 = 2;

/// Iterations of the first batch after the rounds. Each further batch has twice as many as the one before: large spheres on
/// small ones need many.
pub const ITERATIONS_AFTER: u32 = 2;

/// Largest number of batches after the rounds. Batches continue while contact constraints push spheres deep into others. Before every
/// batch except the first, contacts are added.
pub const ITERATION_BATCHES: u32 = 4;

/// Overlap at the end of the substep, in mean diameters, that triggers another batch of iterations if it grows by more than
/// [`DEEPENED`].
pub const DEEP: f32 = 0.01;

/// Least growth of a deep overlap that triggers another batch. Iterations change velocities: they prevent an overlap, but
/// only relaxation removes one.
pub const DEEPENED: f32 = 0.0005;

/// Least factor on the change of a normal impulse in the second and later batches (successive over-relaxation). A heavy sphere on
/// light ones sinks in by a fraction of what remains at a factor of 1; the method diverges from 2 on.
///
/// A light sphere between a heavy one and a wall has the optimum 2/(1 + sqrt(s)), where s is the mass of the light sphere over that of
/// both (D. M. Young, Trans. Amer. Math. Soc. 76, 92 (1954)). A block with a smaller s than that of this factor takes its optimum.
pub const OVER_RELAXATION: f32 = 1.9;

/// Largest such factor. After 108 sweeps of all batches an oscillation has a tenth of its amplitude, .98^108; with 1.99 a third.
pub const MOST_OVER_RELAXATION: f32 = 1.98;

/// Iterations end when no contact constraint changes a velocity by more than this fraction of the speed that gravity
/// adds in a substep. With a larger fraction piles creep; with a smaller one a pile at rest takes all iterations.
pub const SETTLED: f32 = 1e-4;

/// Largest velocity change by a contact constraint in the last sweep of the first solve, in units of the speed that gravity adds in
/// a substep, for which its block is not solved again after the rounds.
pub const UNSETTLED: f32 = 0.03;

/// Distance in cells within which a sphere makes blocks active: the blocks that are solved again because of an impact or a deep
/// overlap of the sphere. With a reach of 1, a sphere that touches this one may lack the constraints that hold it.
pub const ACTIVE_REACH: i32 = 2;

/// Shortest remaining time of a contact constraint, as a fraction of the substep. The time that remains after an impact just
/// before the end would allow arbitrary closing speeds.
pub const SHORTEST: f32 = 1e-3;

/// Colours of the blocks in which contact constraints are solved: two along each axis.
pub const COLOURS: usize = 8;

/// Colours of the contact constraints of a block. Constraints of one colour share no moving sphere and are solved side by side; those
/// that fit none of the colours are solved one after the other. A sphere among equal ones has at most 12 contacts.
pub const CONSTRAINT_COLOURS: usize = 32;

/// Least number of substeps for resting contacts in a step of `dt`. Smallest and largest diameter and the other arguments are in
/// one unit system.
pub fn rest_substeps(dt: f64, gravity: f64, diameters: [f64; 2]) -> f64 {
    rest_need(dt, gravity, diameters).ceil().clamp(1.0, MOST_SUBSTEPS)
}

// ---- sleep ---------------------------------------------------------------------------------------------------------

/// Ticks of the sleep timer after which a sphere may sleep. Ticks measure time, independently of the number of substeps.
pub const SLEEP: u32 = 1 << 16;

/// Imbalance that wakes a sleeping sphere: part of the sum of its weight and of the normal forces of its contacts.
pub const WAKE_SHARE: f32 = 0.05;

/// Imbalance, in weights, from which all sleeping spheres of the blocks around wake.
pub const STRONG: f32 = 10.0;

/// Contact impulses of a sphere are summed in integer parts of the impulse of its weight, so that their order does not
/// matter.
pub const STEPS_OF_WEIGHT: f32 = 4096.0;

/// Largest contribution of a contact to such a sum, 4096 weights. More than 127 such contacts on one side would exceed 32 bits.
pub const MOST_STEPS: f32 = (1 << 24) as f32;

/// Largest sleep timer of the spheres that touch a moving one. They had come to rest before, so they sleep again soon.
pub const BESIDE_MOVING: u32 = SLEEP / 4 * 3;

/// Most ticks by which a sleep timer above [`BESIDE_MOVING`] may exceed that of a touching sphere. A sphere that wakes
/// without moving sleeps again after these ticks.
pub const SPREAD: u32 = SLEEP / 16;

/// Largest speed, in units of the sleep speed, at which a sphere keeps only itself awake. A sphere whose centre is slower than the sleep
/// speed keeps at most itself awake, however fast it spins, because it moves no other.
pub const CREEP: f32 = 50.0;

/// Sleep timer of a sphere that neither moves nor is moved. It wakes no sphere, and its timer does not advance.
pub const STILL: u32 = u32::MAX / 2;

// ---- overlap -------------------------------------------------------------------------------------------------------

/// Overlaps up to this fraction of the mean diameter are kept. Later impacts resolve them, and correcting them would add
/// energy under gravity. Overlaps from about 0.01 are visible.
pub const RELAX_SLOP: f32 = 0.002;

/// Least overlap that a push reduces. It exceeds [`RELAX_SLOP`], at which pushes aim, because with the same value for both
/// the pushes would become ever smaller and never end.
pub const RELAX_FROM: f32 = RELAX_SLOP * (1.0 + 1.0 / 64.0);

/// Fraction of an overlap removed in one pass. Removing all of it overshoots where contacts share a sphere.
pub const RELAX_FACTOR: f32 = 0.5;

/// A sphere with several overlaps moves by the mean of their corrections. The weight of each is the square of its depth in units of
/// [`RELAX_FROM`], because a plain mean hardly reduces one deep overlap among shallow ones, times `size`: the diameter of the sphere
/// over the mean diameter of the pair. The correction of an overlap with a large sphere is a long way for a small one, and would push
/// it deep into what is on its other side. Weights are multiples of [`RELAX_WEIGHT_UNIT`], so that the sum of a few is exact and does
/// not depend on their order; `size` is rounded, because a device may divide with an error in the last place.
pub fn relax_weight(depth: f32, size: f32) -> f32 {
    let relative = depth * PER_RELAX_FROM;
    let size = (size * RELAX_SIZES + 0.5).floor().max(1.0) / RELAX_SIZES;
    (relative * relative * size * (1.0 / RELAX_WEIGHT_UNIT))
        .floor()
        .min(MOST_RELAX_WEIGHT / RELAX_WEIGHT_UNIT)
        * RELAX_WEIGHT_UNIT
}

/// Unit of the weights. A smaller one would leave no room for the sum of more than a few weights in the 24 bits of an f32.
pub const RELAX_WEIGHT_UNIT: f32 = 1.0 / 8192.0;

/// Parts to which the size of a sphere in a weight is rounded. A weight is at least one part of 1, and so above 0.
pub const RELAX_SIZES: f32 = 1024.0;

/// The factor from a depth to units of [`RELAX_FROM`].
pub const PER_RELAX_FROM: f32 = 1.0 / RELAX_FROM;

/// Largest weight. A device adds weighted corrections from dynamic candidates as integers; with a larger weight, few corrections of
/// spheres deep inside each other would overflow them.
pub const MOST_RELAX_WEIGHT: f32 = 128.0;

/// Largest number of pushes in a substep where contacts may rest; elsewhere there is one push. The first push acts on all
/// overlaps above [`RELAX_FROM`]. Further pushes follow only while any overlap is above [`DEEP`]. Such overlaps appear where
/// one partner collided late in the substep, because a contact changes the path of the other partner from the start of the
/// substep on. Each push removes a part of them: with 4 pushes, rains of spheres keep overlaps of .02 to .2; with 16, equal
/// spheres that rain from 100 d keep .016.
pub const RELAX_PUSHES: u32 = 64;

/// Pushes end if this many have not changed the deepest overlap, as that of a fixed sphere in a floor. It may grow from one push to
/// the next, and pushes that end where eight have not reduced it leave overlaps of .08 in rains with diameters 1:10.
pub const RELAX_PATIENCE: u32 = 8;

/// Overlap with a wall, in diameters, above which the wall crushes spheres. Piles that land fast reach 0.02.
pub const CRUSHED: f64 = 0.05;
