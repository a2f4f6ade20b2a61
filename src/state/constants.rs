//! Tolerances and limits that both engines share. This file is their only home: the shaders get them from here
//! (`gpu::shaders`), the CPU stages import them.
//!
//! Lengths are shares of a radius, a radius sum or a mean diameter; speeds are shares of what gravity adds in a substep;
//! times are shares of the substep. Each entry says what goes wrong when the value is larger or smaller.

// ---- partners ------------------------------------------------------------------------------------------------------

/// Marks a partner that is a wall.
pub const WALL: u32 = 1 << 31;

/// First bit of a wall partner that says on which side of a narrow pipe a contact is, see
/// [`FeatureShape::side`](crate::walls::features::shape::FeatureShape::side).
pub const SIDE_SHIFT: u32 = 29;

/// The wall of a partner: planes are numbered first, wall features after them.
#[inline]
pub fn wall_of(partner: u32) -> usize {
    (partner & ((1 << SIDE_SHIFT) - 1)) as usize
}

/// The side of its wall on which a contact is.
#[inline]
pub fn side_of(partner: u32) -> u32 {
    (partner & !WALL) >> SIDE_SHIFT
}

/// Planes whose impacts are counted for each sphere. On further planes a pair is never converted to a resting contact by
/// its number of impacts.
pub const COUNTED_PLANES: usize = 8;

/// Bit of a plane in the set of planes that a sphere may reach.
#[inline]
pub fn wall_bit(plane: usize) -> u32 {
    1 << plane.min(31)
}

// ---- broad phase ---------------------------------------------------------------------------------------------------

/// Share added to the reach of a search by parts of cells, because parts are found in f32.
pub const REACH_HAIR: f32 = 1e-4;

/// Longest capsule of a fast sphere, in cells along its main axis. A longer path is refused instead of walked for minutes.
pub const LONGEST: i32 = 1 << 20;

/// Fast pairs become candidates if they pass each other within this many radius sums. The causality test then sees a third
/// sphere that an impact would bring in.
pub const PASSING: f32 = 1.5;

// ---- sweep ---------------------------------------------------------------------------------------------------------

/// Gaps up to this share of the radius sum count as touching where a root is bracketed. 1e-6 is about the rounding of a
/// position; a smaller value does not close the bracket, a larger one shows in the energy of a bounce.
pub const TOUCHING: f32 = 1e-6;

/// Times the radius sum: a contact constraint no longer holds partners that are further apart.
pub const FAR: f32 = 1.05;

/// Steps of conservative advancement. The iteration converges quadratically; grazing passes take the most steps.
pub const ADVANCES: u32 = 64;

/// Path, in radii, after which an edge hidden by a nearer face is tested again.
pub const LOOK_AGAIN: f32 = 0.05;

/// Rounding of a sphere's position as seen from a wall feature, relative to their distance. Smaller gaps are zero.
pub const BLUR: f32 = 2e-7;

// ---- impacts and rounds --------------------------------------------------------------------------------------------

/// Share of the substep within which something that accelerates towards a sphere would meet it again: the sphere rests
/// there instead of bouncing a thousand times. A larger share loses visible bounces.
pub const RESTING: f32 = 1e-3;

/// Least rebound speed from a resting contact that has no chord, as a share of what gravity adds in a substep: the sphere
/// returns after an eighth of the substep. A smaller share takes more rounds, a larger one shows as hops.
pub const REBOUND: f32 = 1.0 / 16.0;

/// Bounces lower than this share of the radius are rounding of the position.
pub const LOWEST_BOUNCE: f32 = 1e-6;

/// Relative rounding of a sum of two speeds. An impact leaves at least this separation speed: a smaller one would be rounded
/// away, and a touching pair would collide at the same instant for ever.
pub const LEAST_REBOUND: f32 = 3e-7;

/// Impacts of one pair in a substep above which the pair becomes a resting contact. Gravity alone brings a sphere back
/// within a substep only below the speed of a resting contact, and a squeezed sphere would rattle hundreds of times.
pub const MOST_HITS: u8 = 1;

/// Rounds after which a substep with more than a twentieth of its spheres pending is better split: impacts of one
/// neighbourhood wait for each other, and each half of the substep has half of them.
pub const CROWDED_ROUNDS: u32 = 48;

/// Fewer pending spheres than this are quicker to finish than to split.
pub const CROWD: usize = 64;

/// Rounds within which the earliest pending impact has to become later. Otherwise the rounds never end, and shorter
/// substeps would not help, because everything happens at one instant.
pub const STUCK_ROUNDS: u32 = 2048;

// ---- resting contact -----------------------------------------------------------------------------------------------

/// Gaps up to this share of the mean diameter may rest. Spheres further apart meet within a substep only if they are fast,
/// and then they collide.
pub const CONSTRAINT_GAP: f32 = 0.02;

/// Approach speed below which a contact rests, in units of what gravity adds in the longest substep. Slower approaches would
/// bounce several times in a substep; faster ones bounce as they should.
pub const SLOW: f32 = 2.0;

/// Multiple of the slow speed from which the approach of a resting contact is an impact after all.
pub const SHOCK: f32 = 32.0;

/// Overlap at the end of the substep, in mean diameters, from which a pair that contact constraints drive into each other
/// becomes a contact constraint too. Relaxation would push such a pair apart anyway.
pub const CONSTRAINT_AHEAD: f32 = 0.002;

/// Iterations over the contact constraints before the sweep. With warm starting one suffices; the later ones remove the
/// residual.
pub const ITERATIONS_BEFORE: u32 = 1;

/// Iterations of the first batch after the rounds. Each further batch has twice as many as the one before: large spheres on
/// small ones need iterations in proportion to the ratio of their masses.
pub const ITERATIONS_AFTER: u32 = 4;

/// Most batches of iterations after the rounds, taken while contact constraints drive spheres into others deeper than
/// [`DEEP`]. Contacts are searched again before every batch but the first.
pub const ITERATION_BATCHES: u32 = 4;

/// Overlap at the end of the substep, in mean diameters, that calls for another batch of iterations.
pub const DEEP: f32 = 0.01;

/// Iterations end when no contact constraint changes a velocity by more than this share of what gravity adds in a substep. A
/// larger share lets piles creep; with a smaller one a pile at rest costs all iterations.
pub const SETTLED: f32 = 1e-4;

/// Shortest time that is left to a contact constraint, as a share of the substep: the time after an impact just before the
/// end does not say how fast a gap may close.
pub const SHORTEST: f32 = 1e-3;

/// Colours of the blocks in which contact constraints are solved: two along each axis.
pub const COLOURS: usize = 8;

/// Longest substep with resting contacts, in units of sqrt(d/g). At twice the length a falling pile of 50 layers overlaps
/// by 3 to 5% instead of 1 to 2%, and does not come to rest.
const REST_SUBSTEP: f64 = 0.012;

/// Substeps that resting contacts need in a step of `dt` (all arguments in one unit system): none is longer than
/// [`REST_SUBSTEP`].
pub fn rest_substeps(dt: f64, gravity: f64, diameter: f64) -> f64 {
    (dt * (gravity / diameter).sqrt() / REST_SUBSTEP).ceil().clamp(1.0, crate::system::limits::MOST_SUBSTEPS)
}

// ---- sleep ---------------------------------------------------------------------------------------------------------

/// Ticks of the sleep timer after which a sphere may sleep. Ticks measure time, however it is divided into substeps.
pub const SLEEP: u32 = 1 << 16;

/// Sleep timer of a sphere that neither moves nor is moved. It disturbs nothing, and its timer does not advance.
pub const STILL: u32 = u32::MAX / 2;

// ---- overlap -------------------------------------------------------------------------------------------------------

/// Overlaps up to this share of the mean diameter stay. Correcting what later impacts resolve by themselves would add energy
/// under gravity; overlaps from about 0.01 on are visible.
pub const RELAX_SLOP: f32 = 0.002;

/// Share of an overlap removed in one pass. Removing all of it overshoots where contacts share a sphere.
pub const RELAX_FACTOR: f32 = 0.5;

/// Overlap with a wall, in diameters, from which the wall crushes spheres. Piles that come down fast reach 0.02.
pub const CRUSHED: f64 = 0.05;
