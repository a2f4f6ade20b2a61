//! Wall features (all walls except planes), stored in trees of boxes, and the positions of moving walls in a substep.
//!
//! Within a substep a wall moves with constant velocity and constant angular velocity, from its position at the start of the
//! substep to its position at the end. The path of the wall is therefore continuous, and impacts use the velocity with which
//! the wall actually moves.

pub mod parts;
pub mod shape;

use crate::system::limits::MOST_TURN;
use glam::{DVec3, IVec3, Mat3, Vec3};

use crate::{
    System, Wall, WallMotion, WallShape,
    state::{grid::Grid, units::Units},
    system::{box_tree::Tree, limits::MOST_SUBSTEPS},
    walls::features::{
        parts::parts,
        shape::{FeatureShape, Near},
    },
};

/// A wall feature in scaled units.
#[derive(Clone, Debug)]
pub struct WallFeature {
    pub shape: FeatureShape,
    /// Cell and offset of the feature's point: its position, or for a moving wall its position relative to the pivot at
    /// time 0.
    pub cell: IVec3,
    pub offset: Vec3,
    /// Index of the feature's set.
    pub set: u32,
    /// Index of the feature's wall.
    pub wall: u32,
    pub material: usize,
}

/// Features that move together: all static ones, or all of one moving wall.
#[derive(Clone, Debug)]
pub struct Set {
    pub tree: Tree,
    /// Cell and offset of the tree's reference point, with the convention of [`WallFeature`].
    pub cell: IVec3,
    pub offset: Vec3,
    pub mover: Option<u32>,
    /// Whether the features rotate. A drum about its own axis does not, although its surface moves.
    pub turns: bool,
    /// Largest distance of a point of the set from the pivot.
    pub reach: f32,
}

/// A moving wall in the present substep.
#[derive(Clone, Debug)]
pub struct Mover {
    motion: WallMotion,
    /// Pivot at time 0 (length).
    pivot: DVec3,
    pub cell: IVec3,
    pub offset: Vec3,
    pub velocity: Vec3,
    pub spin: Vec3,
    /// Rotation from the orientation at time 0 to the orientation at the start of the substep.
    pub turn: Mat3,
}

/// A sphere at one time, in the lab frame.
#[derive(Clone, Copy)]
pub struct Instant {
    pub cell: IVec3,
    pub offset: Vec3,
    pub velocity: Vec3,
    pub radius: f32,
    pub t: f32,
}

/// A sphere as seen from a wall feature.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    /// Vector from the feature's point to the centre, in the feature's orientation.
    pub x: Vec3,
    /// Velocity relative to the feature, in the feature's orientation.
    pub w: Vec3,
    /// Bound on the acceleration from this time on.
    pub acceleration: f32,
}

/// All wall features of a system.
#[derive(Clone, Debug, Default)]
pub struct WallFeatures {
    pub all: Vec<WallFeature>,
    /// Fans of all triangles.
    pub fans: Vec<Vec3>,
    pub sets: Vec<Set>,
    pub movers: Vec<Mover>,
    /// For each wall: the index of its mover, and the span of time in which it exists.
    walls: Vec<(Option<u32>, [f64; 2])>,
    /// For each wall: its pivot at time 0 and in the present substep (length).
    pivots: Vec<DVec3>,
    pivots_now: Vec<DVec3>,
    /// For each wall: whether it exists in the present substep.
    pub there: Vec<bool>,
    /// For each wall: whether it appears or disappears in the present step.
    pub changing: Vec<bool>,
}

impl WallFeatures {
    pub fn new(system: &System, units: &Units, grid: &Grid) -> Self {
        let mut features = Self::default();
        let mut still = vec![];
        let images = Images::new(system);
        for (number, wall) in system.all_walls().iter().enumerate() {
            let number = number as u32;
            let pivot = pivot_of(wall);
            let mover = (!wall.motion.is_still()).then(|| {
                features.movers.push(Mover::new(wall.motion, pivot));
                features.movers.len() as u32 - 1
            });
            features.walls.push((mover, wall.span));
            features.pivots.push(pivot);
            let material = usize::from(wall.material);
            let found = parts(&wall.shape, units.length, &mut features.fans);
            if found.is_empty() {
                continue;
            }
            let placed = found.iter().flat_map(|&part| images.of(part));
            if mover.is_none() {
                still.extend(placed.map(|part| (part, number, material)));
                continue;
            }
            let local: Vec<_> = placed
                .map(|part| parts::Part { point: part.point - pivot, ..part })
                .map(|part| (part, number, material))
                .collect();
            let turns = found.iter().any(|part| !is_round(part, wall));
            features.add(&local, DVec3::ZERO, mover, turns, units, |point| {
                (IVec3::ZERO, (point / units.length).as_vec3())
            });
        }
        if !still.is_empty() {
            let low =
                still.iter().map(|(part, ..)| part.point + part.low).reduce(DVec3::min).unwrap_or_default();
            let high =
                still.iter().map(|(part, ..)| part.point + part.high).reduce(DVec3::max).unwrap_or_default();
            let middle = 0.5 * (low + high);
            features
                .add(&still, middle, None, false, units, |point| grid.locate_freely(point / units.length));
        }
        features.there = vec![true; features.walls.len()];
        features.changing = vec![false; features.walls.len()];
        features.pivots_now = features.pivots.clone();
        features
    }

    fn add(
        &mut self,
        found: &[(parts::Part, u32, usize)],
        middle: DVec3,
        mover: Option<u32>,
        turns: bool,
        units: &Units,
        locate: impl Fn(DVec3) -> (IVec3, Vec3),
    ) {
        let boxes: Vec<_> = found
            .iter()
            .map(|(part, ..)| {
                (
                    (part.point - middle + part.low) / units.length,
                    (part.point - middle + part.high) / units.length,
                )
            })
            .collect();
        let (tree, order) = Tree::new(&boxes, self.all.len());
        let mut reach: f64 = 0.0;
        for (part, wall, material) in order.into_iter().map(|k| found[k as usize]) {
            let (cell, offset) = locate(part.point);
            self.all.push(WallFeature {
                shape: part.shape,
                cell,
                offset,
                set: self.sets.len() as u32,
                wall,
                material,
            });
            let far = (part.point + part.low).abs().max((part.point + part.high).abs());
            reach = reach.max(far.length());
        }
        let (cell, offset) = locate(middle);
        let reach = (reach / units.length) as f32;
        self.sets.push(Set { tree, cell, offset, mover, turns, reach });
    }

    /// Whether there are no wall features.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Moves all walls to their positions in the substep of length `h` (scaled) that begins at `time`.
    pub fn place(&mut self, time: f64, h: f64, units: &Units, grid: &Grid) {
        let span = h * units.time;
        self.movers.iter_mut().for_each(|mover| mover.place(time, span, units, grid));
        for ((now, pivot), (mover, _)) in self.pivots_now.iter_mut().zip(&self.pivots).zip(&self.walls) {
            if let Some(mover) = mover {
                *now = *pivot + self.movers[*mover as usize].motion.displacement(time);
            }
        }
        // A wall that appears or disappears within the substep exists for all of it or not at all.
        let middle = time + 0.5 * span;
        for (there, (_, [from, until])) in self.there.iter_mut().zip(&self.walls) {
            *there = *from <= middle && middle < *until;
        }
    }

    /// Index of the mover of a wall.
    pub fn mover_number(&self, wall: u32) -> Option<u32> {
        self.walls[wall as usize].0
    }

    /// The mover of a wall.
    #[inline]
    pub fn mover_of(&self, wall: u32) -> Option<&Mover> {
        self.walls[wall as usize].0.map(|k| &self.movers[k as usize])
    }

    /// Pivot of a wall in the present substep (length).
    pub fn pivot(&self, wall: u32) -> DVec3 {
        self.pivots_now[wall as usize]
    }

    /// Number of walls, planes included.
    pub fn wall_count(&self) -> usize {
        self.walls.len()
    }

    /// Whether any wall moves at all, or appears or disappears at or after a time.
    pub fn is_restless(&self, time: f64) -> bool {
        !self.movers.is_empty()
            || self.walls.iter().any(|(_, span)| span.iter().any(|&at| at.is_finite() && at >= time))
    }

    /// Whether a wall appears or disappears between two times.
    pub fn changes(&self, begin: f64, end: f64) -> bool {
        self.walls.iter().any(|(_, span)| changes(span, begin, end))
    }

    /// Enters the step between two times. A wall that changes at the end of the step is there, or not, only from the first substep of the
    /// next step on. The spheres that this step wakes are still awake then.
    pub fn begin_step(&mut self, begin: f64, end: f64) {
        for (changing, (_, span)) in self.changing.iter_mut().zip(&self.walls) {
            *changing = changes(span, begin, end);
        }
    }

    /// Least number of substeps for moving walls in a step of `dt` (time).
    pub fn substeps(&self, dt: f64) -> f64 {
        let rates = self.movers.iter().map(|mover| {
            let swing = mover.motion.oscillation.map_or(0.0, |o| std::f64::consts::TAU * o.frequency);
            swing.max(mover.motion.spin().length())
        });
        (rates.fold(0.0, f64::max) * dt / MOST_TURN).ceil().clamp(1.0, MOST_SUBSTEPS)
    }

    /// Largest distance that a point of a wall moves in a time `span` (scaled).
    pub fn stride(&self, span: f64, units: &Units) -> f32 {
        let of = |mover: &Mover, reach: f32| {
            mover.motion.top_speed(f64::from(reach) * units.length) / units.velocity() * span
        };
        let features = self.sets.iter().filter_map(|set| {
            let mover = set.mover?;
            // Features that are symmetric about the axis of rotation stay in place.
            let reach = if set.turns { set.reach } else { 0.0 };
            Some(of(&self.movers[mover as usize], reach))
        });
        let planes = self.movers.iter().map(|mover| of(mover, 0.0));
        features.chain(planes).fold(0.0, f64::max) as f32
    }

    /// A sphere with acceleration `g` as seen from a wall feature.
    #[inline]
    pub fn sight(&self, grid: &Grid, feature: &WallFeature, at: &Instant, g: Vec3) -> Sight {
        let Instant { cell, offset, velocity: v, t, .. } = *at;
        let set = &self.sets[feature.set as usize];
        let Some(mover) = set.mover else {
            let x = grid.shift(cell - feature.cell) + (offset - feature.offset);
            return Sight { x, w: v, acceleration: g.length() };
        };
        let mover = &self.movers[mover as usize];
        let r = mover.arm(grid, cell, offset, t);
        let w = v - mover.velocity;
        if !set.turns {
            return Sight { x: r - feature.offset, w, acceleration: g.length() };
        }
        let spin = mover.spin;
        let seen = w - spin.cross(r);
        let back = |v: Vec3| mover.turn.transpose() * turned(v, spin * -t);
        // Coriolis and centrifugal acceleration, with factors for the growth of speed and distance in a substep.
        let rate = spin.length();
        let acceleration = g.length() + rate * (2.5 * seen.length() + 1.5 * rate * r.length());
        Sight { x: back(r) - feature.offset, w: back(seen), acceleration }
    }

    /// Distance and normal from a wall feature to the point `x` in the feature's frame.
    #[inline]
    pub fn near(&self, feature: &WallFeature, x: Vec3) -> Near {
        feature.shape.near(x, &self.fans)
    }

    /// A vector in the frame of a wall feature, converted to the lab frame at time `t`.
    #[inline]
    pub fn out(&self, feature: &WallFeature, v: Vec3, t: f32) -> Vec3 {
        let set = &self.sets[feature.set as usize];
        match set.mover {
            Some(mover) if set.turns => {
                let mover = &self.movers[mover as usize];
                turned(mover.turn * v, mover.spin * t)
            }
            _ => v,
        }
    }

    pub fn bytes(&self) -> usize {
        self.all.capacity() * size_of::<WallFeature>()
            + self.sets.iter().map(|set| set.tree.bytes()).sum::<usize>()
    }
}

fn changes(span: &[f64; 2], begin: f64, end: f64) -> bool {
    span.iter().any(|&at| begin <= at && at < end)
}

impl Mover {
    fn new(motion: WallMotion, pivot: DVec3) -> Self {
        Self {
            motion,
            pivot,
            cell: IVec3::ZERO,
            offset: Vec3::ZERO,
            velocity: Vec3::ZERO,
            spin: (motion.spin()).as_vec3(),
            turn: Mat3::IDENTITY,
        }
    }

    fn place(&mut self, time: f64, span: f64, units: &Units, grid: &Grid) {
        let motion = &self.motion;
        let here = self.pivot + motion.displacement(time);
        (self.cell, self.offset) = grid.locate_freely(here / units.length);
        self.velocity = if span > 0.0 {
            let way = motion.displacement(time + span) - motion.displacement(time);
            (way / span / units.velocity()).as_vec3()
        } else {
            Vec3::ZERO
        };
        self.spin = (motion.spin() * units.time).as_vec3();
        self.turn = Mat3::from_quat(motion.turn(time).as_quat());
    }

    /// Displacement of the wall at `time` from its position at time 0 (scaled).
    pub fn displacement(&self, time: f64, units: &Units) -> DVec3 {
        self.motion.displacement(time) / units.length
    }

    /// Vector from the pivot at time `t` to an offset in a cell.
    #[inline]
    pub fn arm(&self, grid: &Grid, cell: IVec3, offset: Vec3, t: f32) -> Vec3 {
        grid.shift(cell - self.cell) + (offset - self.offset) - self.velocity * t
    }

    /// Velocity of the wall's surface at `r` from the pivot.
    #[inline]
    pub fn wall_velocity(&self, r: Vec3) -> Vec3 {
        self.velocity + self.spin.cross(r)
    }
}

/// Rotates a vector by an angle of at most about half a radian (axis times angle). The series gives the same result on all
/// processors.
#[inline]
pub fn turned(v: Vec3, by: Vec3) -> Vec3 {
    let a = by.length_squared();
    // sin(a)/a and (1 - cos a)/a^2.
    let sine = 1.0 - a * (1.0 / 6.0 - a * (1.0 / 120.0 - a * (1.0 / 5040.0)));
    let cosine = 0.5 - a * (1.0 / 24.0 - a * (1.0 / 720.0 - a * (1.0 / 40320.0)));
    let across = by.cross(v);
    v + across * sine + by.cross(across) * cosine
}

// Pivot of a wall; without rotation, the point that its features are stored relative to.
fn pivot_of(wall: &Wall) -> DVec3 {
    if let Some(rotation) = wall.motion.rotation {
        return rotation.point;
    }
    match &wall.shape {
        WallShape::Plane { point, .. } => *point,
        WallShape::Box { center, .. } | WallShape::Disc { center, .. } | WallShape::Sphere { center, .. } => {
            *center
        }
        WallShape::Cone { from, to, .. } => 0.5 * (*from + *to),
        WallShape::Mesh(mesh) => mesh.vertices().first().copied().unwrap_or_default(),
    }
}

// Whether the rotation of the wall leaves the part unchanged.
fn is_round(part: &parts::Part, wall: &Wall) -> bool {
    let Some(rotation) = wall.motion.rotation.filter(|rotation| rotation.speed != 0.0) else { return true };
    let axis = rotation.axis.normalize();
    let from = part.point - rotation.point;
    let size = (part.high - part.low).length();
    let beside = (from - axis * axis.dot(from)).length() <= 1e-9 * (size + from.length());
    let along = |own: Vec3| own.as_dvec3().normalize().cross(axis).length() <= 1e-6;
    match &part.shape {
        FeatureShape::Frustum(frustum) => beside && along(frustum.axis),
        FeatureShape::Cap(cap) => beside && (cap.is_whole || along(cap.axis)),
        FeatureShape::Triangle(_) => false,
    }
}

/// Shifts of the copies of features on periodic axes. Spheres keep coordinates within one period and may leave it during a
/// step, so copies stand one period away on both sides.
struct Images {
    shifts: Vec<DVec3>,
}

impl Images {
    fn new(system: &System) -> Self {
        let mut shifts = vec![DVec3::ZERO];
        for axis in 0..3 {
            if let Some(period) = system.period(axis) {
                let shift = DVec3::AXES[axis] * period;
                shifts = shifts.iter().flat_map(|&s| [s, s - shift, s + shift]).collect();
            }
        }
        Self { shifts }
    }

    fn of(&self, part: parts::Part) -> impl Iterator<Item = parts::Part> {
        self.shifts.iter().map(move |&shift| parts::Part { point: part.point + shift, ..part })
    }
}
