//! What no sphere moves: gravity, walls and materials, in scaled units and f32.
//!
//! Planes (the sides of the box and walls of shape plane) are kept apart from patches, the features of every other shape. A plane
//! is unbounded, so no box of the tree can enclose it, and its test is one dot product. Written as patches of a box,
//! walls cost more than the 3% allowed: 1.72 times the processor time of the whole run for the six sides of a gas of 20,000 spheres, 1.19
//! times for the floor of the scene `heap` (`cpu`, medians of three interleaved pairs). Walls are numbered planes first, then patches.
//!
//! The number of planes is not checked against a limit; three numbers decide what a plane can do, on `cpu` and `gpu` alike:
//! - Planes from the 9th on (`COUNTED_PLANES`) have no counter of impacts: a contact on one of them cannot turn from impacts into
//!   a resting contact within a substep, and bounces until the next substep finds it.
//! - Planes from the 32nd on share one bit of the set that a sphere could meet (`wall_bit`). The set is a superset: each of these
//!   planes is tested on its own, so sharing costs tests; and if one of them moves, a sphere near any of them
//!   counts as near a moving wall.
//! - Planes from the 256th on cannot support a sphere between two impacts, because `support` holds the plane plus 1 in 8 bits.

use glam::{DVec3, IVec3, Vec3};

use crate::{
    System, WallShape,
    state::{
        constants::{RELAX_SLOP, SLEEP, rest_substeps, wall_bit},
        grid::Grid,
        statistics::SystemStatistics,
        units::Units,
    },
    walls::features::WallFeatures,
};

/// A plane relative to a point of its own, so that it is as sharp far from the origin as near it.
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
    /// Number among all walls.
    pub number: u32,
    /// That point at time 0.
    foot: DVec3,
    /// What moves it, if anything does.
    pub mover: Option<u32>,
    /// Velocity along the normal.
    pub speed: f32,
    /// Whether it is there.
    pub there: bool,
}

/// [`crate::Surface`] as the stages see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surface {
    pub restitution: f32,
    pub friction: f32,
    pub rolling: f32,
    pub twisting: f32,
    /// Speed of approach below which the restitution fades.
    pub threshold: f32,
}

impl Surface {
    /// Restitution at a speed of approach > 0.
    #[inline]
    pub fn restitution_at(&self, speed: f32) -> f32 {
        if speed < self.threshold { self.restitution * (speed / self.threshold) } else { self.restitution }
    }

    /// Whether there are speeds at which an impact along the normal loses energy.
    #[inline]
    pub fn is_lossy(&self) -> bool {
        self.restitution < 1.0 || self.threshold > 0.0
    }
}

/// Speed, in units of sqrt(g d), below which spheres may fall asleep, and for how long, in units of sqrt(d/g). Spheres in piles
/// at rest are ten times slower; what starts to roll down the gentlest slope is faster after that time, unless the slope is
/// less than 4e-5.
const SLEEP_SPEED: f64 = 2e-4;
const SLEEP_TIME: f64 = 10.0;

/// See [`World::delta_v_bound`].
pub fn delta_v_bound(friction: f64) -> f32 {
    (2.0 * (1.0 + friction * friction).sqrt()) as f32
}

/// Everything that is the same for all spheres.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub gravity: Vec3,
    pub has_gravity: bool,
    pub walls: Vec<Wall>,
    /// Whether there is anybody to feel what spheres do: walls.
    pub is_watched: bool,
    /// Planes that move, as bits of the sets of walls.
    pub moving: u32,
    pub features: WallFeatures,
    /// Whether contacts may rest: there is gravity, and something that takes energy out of impacts.
    pub rests: bool,
    /// Substep that resting contacts ask for.
    pub rest_substep: f32,
    /// Speed below which a sphere may fall asleep, and how long that takes; 0 = never.
    pub sleep_speed: f32,
    pub sleep_time: f32,
    pub material_count: usize,
    /// Every pair of materials, row by row.
    pub surfaces: Vec<Surface>,
    /// Bound on the change of a sphere's velocity in an impact, in units of the reduced mass over its own times the
    /// speed of approach: 2 sqrt(1 + mu^2) for the largest coefficient of friction.
    pub delta_v_bound: f32,
    /// t_c of the TC model.
    pub contact_time: f32,
    /// Overlaps up to this say nothing of the order of impacts: 1e-5 of the mean diameter, which is rounding. Larger hides
    /// order errors, smaller counts rounding as one. Where contacts may rest it is what they are solved to.
    pub slop: f32,
}

impl World {
    /// Whether walls are more than planes that stand for ever.
    #[cfg(feature = "gpu")]
    pub fn has_shapes(&self) -> bool {
        !self.features.is_empty() || self.features.is_restless(f64::NEG_INFINITY)
    }

    /// What happens where two materials touch.
    #[inline]
    pub fn surface(&self, a: usize, b: usize) -> &Surface {
        &self.surfaces[a * self.material_count + b]
    }

    /// Puts every wall where it is in the substep of length `h` (scaled) that begins at `time`.
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

    /// Ticks of [`SLEEP`] in a substep of length `h`; 0 = nobody ever sleeps.
    pub fn sleep_ticks(&self, h: f32) -> u32 {
        // At least four substeps: what is drowsy has had no impact in the one before.
        if self.sleep_time > 0.0 {
            ((h / self.sleep_time * SLEEP as f32) as u32).clamp(1, SLEEP / 4)
        } else {
            0
        }
    }

    /// Whether impacts may turn spheres.
    #[cfg(feature = "gpu")]
    pub fn is_rough(&self) -> bool {
        self.surfaces.iter().any(|s| s.friction > 0.0)
    }

    /// Substeps that resting contacts and moving walls ask for in a step of `dt`, scaled.
    pub fn least_substeps(&self, dt: f64, statistics: &SystemStatistics, units: &Units) -> f64 {
        let walls = self.features.substeps(dt * units.time);
        if !self.rests {
            return walls;
        }
        rest_substeps(dt, f64::from(self.gravity.length()), 2.0 * statistics.radius_min).max(walls)
    }

    /// `middle` of the spheres and the contact time are in scaled units.
    pub fn new(
        system: &System,
        units: &Units,
        grid: &Grid,
        middle: DVec3,
        contact_time: f64,
        statistics: &SystemStatistics,
    ) -> Self {
        let gravity = (system.gravity / units.acceleration()).as_vec3();
        let dt = system.dt / units.time;
        // In f32 there may be no gravity left.
        let rests = gravity != Vec3::ZERO && system.contacts_may_rest();
        let friction = system.materials.surfaces().iter().fold(0.0, |most, s| s.friction.max(most));
        let walls = system
            .all_walls()
            .iter()
            .zip(0..)
            .filter_map(|(wall, number)| {
                let WallShape::Plane { point, normal } = wall.shape else { return None };
                // The point of the plane nearest to the middle of the spheres: on an oblique plane the error
                // grows with the distance from this point.
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
        // What gravity gives in the fall of a diameter, and the time that this takes.
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
            rest_substep: (dt / rest_substeps(dt, f64::from(gravity.length()), 2.0 * statistics.radius_min))
                as f32,
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
