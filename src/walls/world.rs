//! The parts of the system that no sphere changes: gravity, walls and materials, in scaled units and f32.
//!
//! Planes (the sides of the box and walls of shape plane) are kept apart from wall features, into which all other shapes are
//! divided. A plane is unbounded, so no box of the tree can enclose it, and its test is a single dot product. Replacing
//! planes by the wall features of box-shaped walls multiplies the processor time of a run by 1.72 for the six sides of a
//! gas of 20,000 spheres, and by 1.19 for the floor of the scene `heap` (`cpu`, medians of three interleaved pairs of runs).
//! Walls are numbered with planes first, then features.
//!
//! The number of planes is unlimited, but three limits restrict planes with high numbers, on `cpu` and `gpu` alike:
//! - Planes from the 9th on (`COUNTED_PLANES`) have no impact counter. A contact with such a plane cannot be converted to a
//!   resting contact within a substep; the sphere bounces until the next substep finds the contact at rest.
//! - Planes from the 32nd on share one bit in the set of planes that a sphere may reach (`wall_bit`). Each of these planes
//!   is tested separately, so the shared bit costs only additional tests. If one of these planes moves, a sphere near any
//!   of them counts as near a moving wall.
//! - Planes from the 256th on cannot support a sphere between two impacts, because `support` stores the plane plus 1 in
//!   8 bits.

use glam::{DVec3, IVec3, Vec3};

use crate::{
    System, WallShape,
    state::{
        constants::{RELAX_SLOP, SLEEP, SLOW, rest_speed, rest_substeps, wall_bit},
        grid::Grid,
        statistics::SystemStatistics,
        units::Units,
    },
    walls::features::WallFeatures,
};

/// A plane, stored relative to one of its points, so that its precision does not depend on the distance from the origin.
#[derive(Clone, Copy, Debug)]
pub struct Wall {
    pub normal: Vec3,
    /// Cell of a point of the plane.
    pub cell: IVec3,
    /// Offset of that point in its cell.
    pub offset: Vec3,
    /// Gravity along the normal: the acceleration of a sphere in flight relative to the plane.
    pub acceleration: f32,
    pub material: usize,
    /// Index among all walls.
    pub number: u32,
    /// The point at time 0, from the world's origin.
    foot: DVec3,
    /// Index of the mover, if the plane moves.
    pub mover: Option<u32>,
    /// Velocity along the normal.
    pub speed: f32,
    /// Whether the plane exists in this substep.
    pub there: bool,
}

/// [`crate::Surface`] as the stages see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surface {
    pub restitution: f32,
    pub friction: f32,
    pub rolling: f32,
    pub twisting: f32,
    /// Approach speed below which the restitution decreases linearly to 0.
    pub threshold: f32,
}

impl Surface {
    /// Restitution at an approach speed > 0.
    #[inline]
    pub fn restitution_at(&self, speed: f32) -> f32 {
        if speed < self.threshold { self.restitution * (speed / self.threshold) } else { self.restitution }
    }

    /// Whether a contact resists rolling or twisting.
    #[inline]
    pub fn resists(&self) -> bool {
        self.rolling != 0.0 || self.twisting != 0.0
    }

    /// Whether an impact along the normal loses energy at any speed.
    #[inline]
    pub fn is_lossy(&self) -> bool {
        self.restitution < 1.0 || self.threshold > 0.0
    }
}

/// Speed, in units of sqrt(g d), below which spheres may fall asleep, and the time that this takes, in units of
/// sqrt(d/g). Spheres in piles at rest are ten times slower. A sphere that starts to roll down a slope exceeds the
/// speed within this time unless the slope is less than 4e-5.
const SLEEP_SPEED: f64 = 2e-4;
const SLEEP_TIME: f64 = 10.0;

/// The bound stored in [`World::delta_v_bound`], for the largest coefficient of friction.
pub fn delta_v_bound(friction: f64) -> f32 {
    (2.0 * (1.0 + friction * friction).sqrt()) as f32
}

/// Gravity, walls and materials.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub gravity: Vec3,
    pub has_gravity: bool,
    pub walls: Vec<Wall>,
    /// Whether there are walls, which record the impulses on them.
    pub is_watched: bool,
    /// Moving planes, as bits of the sets of planes.
    pub moving: u32,
    pub features: WallFeatures,
    /// Whether contacts may rest: there is gravity, and impacts can lose energy.
    pub rests: bool,
    /// Approach speed below which a contact rests.
    pub rest_speed: f32,
    /// Speed below which a sphere may fall asleep, and the time that this takes; 0 = spheres never sleep.
    pub sleep_speed: f32,
    pub sleep_time: f32,
    pub material_count: usize,
    /// Surface of every pair of materials, as a row-major matrix.
    pub surfaces: Vec<Surface>,
    /// Bound on the velocity change of a sphere in an impact, in units of reduced mass / mass times the approach speed:
    /// 2 sqrt(1 + mu^2) for the largest coefficient of friction.
    pub delta_v_bound: f32,
    /// t_c of the TC model.
    pub contact_time: f32,
    /// Overlaps up to this value do not indicate impacts out of order. 1e-5 of the mean diameter is rounding: a larger
    /// value hides order errors, a smaller one counts rounding as errors. Where contacts may rest, it is the accuracy
    /// of their solver.
    pub slop: f32,
}

impl World {
    /// Whether there are planes or wall features.
    pub fn has_walls(&self) -> bool {
        !self.walls.is_empty() || !self.features.is_empty()
    }

    /// Whether there are wall features, or walls that move, appear or disappear.
    #[cfg(feature = "gpu")]
    pub fn has_shapes(&self) -> bool {
        !self.features.is_empty() || self.features.is_restless(f64::NEG_INFINITY)
    }

    /// Surface properties of the contact of two materials.
    #[inline]
    pub fn surface(&self, a: usize, b: usize) -> &Surface {
        &self.surfaces[self.surface_number(a, b)]
    }

    /// Index in `surfaces` of the contact of two materials.
    #[inline]
    pub fn surface_number(&self, a: usize, b: usize) -> usize {
        a * self.material_count + b
    }

    /// Moves every wall to its position in the substep of length `h` (scaled) that begins at `time`.
    pub fn place_walls(&mut self, time: f64, h: f64, units: &Units, grid: &Grid) {
        let Self { features, walls, .. } = self;
        features.place(time, h, units, grid);
        for wall in walls.iter_mut() {
            wall.there = features.there[wall.number as usize];
            if let Some(mover) = wall.mover {
                let mover = &features.movers[mover as usize];
                (wall.cell, wall.offset) = grid.locate_freely(wall.foot + mover.displacement(time, units));
                wall.speed = wall.normal.dot(mover.velocity);
            }
        }
    }

    /// Ticks of [`SLEEP`] in a substep of length `h`; 0 = spheres never sleep.
    pub fn sleep_ticks(&self, h: f32) -> u32 {
        // Falling asleep takes at least four substeps: a nearly asleep sphere had no impact in the substep before.
        if self.sleep_time > 0.0 {
            ((h / self.sleep_time * SLEEP as f32) as u32).clamp(1, SLEEP / 4)
        } else {
            0
        }
    }

    /// Whether a point moves faster than at the speed below which a sphere may fall asleep.
    pub fn is_fast(&self, velocity: Vec3) -> bool {
        velocity.length_squared() > self.sleep_speed * self.sleep_speed
    }

    /// Approach speed below which a contact rests in a substep of length `h`. It grows with substeps longer than planned,
    /// because a sphere that returns within a substep cannot bounce.
    pub fn slow_speed(&self, h: f32) -> f32 {
        self.rest_speed.max(SLOW * self.gravity.length() * h)
    }

    /// Whether impacts may change spins.
    #[cfg(feature = "gpu")]
    pub fn is_rough(&self) -> bool {
        self.surfaces.iter().any(|s| s.friction > 0.0)
    }

    /// Least number of substeps for resting contacts and moving walls in a step of `dt` (scaled).
    pub fn least_substeps(&self, dt: f64, statistics: &SystemStatistics, units: &Units) -> f64 {
        let walls = self.features.substeps(dt * units.time);
        if !self.rests {
            return walls;
        }
        let diameters = [2.0 * statistics.radius_min, 2.0 * statistics.radius_max];
        rest_substeps(dt, f64::from(self.gravity.length()), diameters).max(walls)
    }

    /// The world of a system. `middle`, the mean of the centres, and `contact_time` are in scaled units.
    pub fn new(
        system: &System,
        units: &Units,
        grid: &Grid,
        middle: DVec3,
        contact_time: f64,
        statistics: &SystemStatistics,
    ) -> Self {
        let gravity = (system.gravity / units.acceleration()).as_vec3();
        // In f32 gravity may underflow to zero.
        let rests = gravity != Vec3::ZERO && system.contacts_may_rest();
        let friction = system.materials.surfaces().iter().fold(0.0, |most, s| s.friction.max(most));
        let walls = system
            .all_walls()
            .iter()
            .zip(0..)
            .filter_map(|(wall, number)| {
                let WallShape::Plane { point, normal } = wall.shape else { return None };
                // The point of the plane nearest to the middle of the spheres: on an oblique plane the error grows with
                // the distance from this point.
                let point = point / units.length;
                let foot = middle - normal * normal.dot(middle - point);
                let (cell, offset) = grid.locate_freely(foot);
                let normal = normal.as_vec3();
                Some(Wall {
                    normal,
                    cell,
                    offset,
                    acceleration: normal.dot(gravity),
                    material: usize::from(wall.material),
                    number,
                    foot,
                    mover: None,
                    speed: 0.0,
                    there: true,
                })
            })
            .collect();
        let features = WallFeatures::new(system, units, grid);
        let mut walls: Vec<Wall> = walls;
        walls.iter_mut().for_each(|wall| wall.mover = features.mover_number(wall.number));
        // Scales of speed and time of the free fall over the smallest diameter.
        let (speed, time) = match rests && system.solver.sleeping {
            true => {
                let (g, d) = (f64::from(gravity.length()), 2.0 * statistics.radius_min);
                (SLEEP_SPEED * (g * d).sqrt(), SLEEP_TIME * (d / g).sqrt())
            }
            false => (0.0, 0.0),
        };
        Self {
            gravity,
            has_gravity: gravity != Vec3::ZERO,
            is_watched: !walls.is_empty() || !features.is_empty(),
            moving: (0..walls.len())
                .filter(|&k| walls[k].mover.is_some())
                .fold(0, |set, k| set | wall_bit(k)),
            walls,
            features,
            rests,
            rest_speed: rest_speed(f64::from(gravity.length()), 2.0 * statistics.radius_min) as f32,
            sleep_speed: speed as f32,
            sleep_time: time as f32,
            material_count: system.materials.len(),
            surfaces: system
                .materials
                .surfaces()
                .iter()
                .map(|s| Surface {
                    restitution: s.restitution as f32,
                    friction: s.friction as f32,
                    rolling: s.rolling_friction as f32,
                    twisting: s.twisting_friction as f32,
                    threshold: (s.restitution_threshold / units.velocity()) as f32,
                })
                .collect(),
            delta_v_bound: delta_v_bound(friction),
            contact_time: contact_time as f32,
            slop: (if rests { f64::from(RELAX_SLOP) } else { 1e-5 } * statistics.mean_diameter) as f32,
        }
    }
}
