//! Rows of four tasks side by side, one in each lane: the same operations in the same order as [`Bodies::solve`], so the
//! same bits. The tasks of a colour have no sphere in common, so nor have the rows of four of them.

use std::ops::{Add, Mul, Sub};

use glam::{BVec4A, Mat4, Vec3, Vec4};

use super::solve::{self, Bodies, Body};
use crate::cpu::{
    bits::Flags,
    rows::{Drive, Row, Task},
};

/// Lanes of a vector.
const LANES: usize = 4;

/// Solves the rows of tasks of one colour. Returns the largest change of a velocity by a row.
///
/// # Safety
/// Nobody else may read or write the spheres of these tasks meanwhile, and the tasks have none in common.
pub unsafe fn solve_all<'t>(
    bodies: &Bodies,
    mut tasks: impl Iterator<Item = &'t mut Task>,
    loaded: &Flags,
) -> f32 {
    let mut most = 0.0f32;
    let mut lanes: [Lane; LANES] = Default::default();
    loop {
        let rows = lanes.each_mut().map(|lane| lane.next(&mut tasks));
        if let [Some(a), Some(b), Some(c), Some(d)] = rows {
            let mut rows = [a, b, c, d];
            let drives = lanes.each_ref().map(|lane| lane.drives);
            // SAFETY: passed on from the caller.
            most = solve::larger(most, unsafe { solve_four(bodies, &mut rows, drives) });
            rows.iter().for_each(|row| mark(row, loaded));
            continue;
        }
        // The last rows of the longest tasks.
        let mut any = false;
        for (row, lane) in rows.into_iter().zip(&lanes) {
            let Some(row) = row else { continue };
            // SAFETY: passed on from the caller.
            most = solve::larger(most, unsafe { bodies.solve(row, lane.drives) });
            mark(row, loaded);
            any = true;
        }
        if !any {
            return most;
        }
    }
}

fn mark(row: &Row, loaded: &Flags) {
    if row.load.normal > 0.0 {
        row.mark(loaded);
    }
}

/// What is left of the task that a lane is at.
#[derive(Default)]
struct Lane<'t> {
    rows: std::slice::IterMut<'t, Row>,
    drives: &'t [Drive],
}

impl<'t> Lane<'t> {
    /// The next row of its task, or of the next task that has any.
    #[inline(always)]
    fn next(&mut self, tasks: &mut impl Iterator<Item = &'t mut Task>) -> Option<&'t mut Row> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(row);
            }
            let task = tasks.next()?;
            *self = Self { rows: task.rows.iter_mut(), drives: &task.drives };
        }
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

/// One quantity of four lanes each: from the four of every lane.
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

/// The partners of one side.
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

    /// What a torque of friction does to the spin: 5/2 arm/(m r^2), the arm close to the radius.
    #[inline(always)]
    fn ease(&self) -> Vec4 {
        0.4 * self.turn * self.turn * self.arm * self.inverse
    }

    #[inline(always)]
    fn turnability(&self) -> Vec4 {
        self.turn * self.turn * self.inverse
    }
}

/// [`Bodies::solve`] for four rows without a sphere in common.
#[inline(always)]
unsafe fn solve_four(bodies: &Bodies, rows: &mut [&mut Row; LANES], drives: [&[Drive]; LANES]) -> f32 {
    let of = |each: fn(&Row) -> Vec4| across(rows.each_ref().map(|row| each(row)));
    let [x, y, z, closing] = of(|row| row.normal.extend(row.closing));
    let normal = Four { x, y, z };
    let [arm_a, arm_b, turn_a, turn_b] =
        of(|row| Vec4::new(row.arms[0], row.arms[1], row.turns[0], row.turns[1]));
    let [mass, mass_across, friction, resistance] =
        of(|row| Vec4::new(row.masses[0], row.masses[1], row.friction, row.resistance[0]));
    let [pressed, x, y, z] =
        of(|row| Vec4::new(row.load.normal, row.load.tangent.x, row.load.tangent.y, row.load.tangent.z));
    let rubbed = Four { x, y, z };
    // SAFETY: passed on from the caller.
    let (first, second) = unsafe {
        (
            rows.each_ref().map(|row| bodies.first(row)),
            std::array::from_fn(|k| bodies.second(rows[k], drives[k])),
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
    let resists = rows.each_ref().map(|row| row.resistance != [0.0; 2]);
    if resists.contains(&true) {
        let twisting = Vec4::from_array(rows.each_ref().map(|row| row.resistance[1]));
        let (turned, _) = vector_and_number(rows.each_ref().map(|row| row.load.turn.extend(0.0)));
        let resists = BVec4A::new(resists[0], resists[1], resists[2], resists[3]);
        let turnabilities = [a.turnability(), b.turnability()];
        let inertia = 2.5 / (turnabilities[0] + turnabilities[1]);
        let stopped = turned - (a.spin - b.spin) * inertia;
        let along = normal * normal.dot(stopped);
        let turn = (stopped - along).clamped(resistance * wanted) + along.clamped(twisting * wanted);
        let turn = Four::select(resists, turn, turned);
        let by = turn - turned;
        a.spin = Four::select(resists, a.spin + by * (0.4 * turnabilities[0]), a.spin);
        b.spin = Four::select(resists, b.spin - by * (0.4 * turnabilities[1]), b.spin);
        change = Vec4::select(resists, larger(change, by.largest() * a.turn), change);
        let turns = lanes_of(turn, Vec4::ZERO);
        for (k, row) in rows.iter_mut().enumerate() {
            if acts_in >> k & 1 == 1 {
                row.load.turn = turns[k].truncate();
            }
        }
    }
    let (loads, a, b) = (across([wanted, tangent.x, tangent.y, tangent.z]), a.store(), b.store());
    for (k, row) in rows.iter_mut().enumerate() {
        if acts_in >> k & 1 == 1 {
            row.load.normal = loads[k].x;
            row.load.tangent = Vec3::new(loads[k].y, loads[k].z, loads[k].w);
            // SAFETY: passed on from the caller.
            unsafe { bodies.store(row, a[k], b[k]) };
        }
    }
    Vec4::select(acts, change / mass, Vec4::ZERO).to_array().into_iter().fold(0.0, solve::larger)
}

#[cfg(test)]
mod tests {
    use rand::{Rng, RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::cpu::{event::WALL, parallel::Disjoint, rows::STANDS};

    /// Spheres of a task.
    const OWN: u32 = 20;

    fn vector(rng: &mut impl Rng) -> Vec3 {
        Vec3::from_array(std::array::from_fn(|_| 2.0 * rng.random::<f32>() - 1.0))
    }

    // A row among the spheres of a task, of every kind in turn; `wild`: some with loads that overflow.
    fn row(rng: &mut impl Rng, (first, k, wild): (u32, usize, bool), drives: &mut Vec<Drive>) -> Row {
        let radii = [0.5, 0.4 + 0.2 * rng.random::<f32>()];
        let i = first + rng.random_range(0..OWN);
        let other = first + (i - first + rng.random_range(1..OWN)) % OWN;
        let to_wall = k.is_multiple_of(5);
        let drive = if to_wall && k.is_multiple_of(2) { drives.len() as u32 } else { STANDS };
        if drive != STANDS {
            drives.push(Drive([vector(rng).extend(0.0), vector(rng).extend(0.0)]));
        }
        let pressed = if k.is_multiple_of(3) { 0.0 } else { rng.random::<f32>() };
        let mut row = Row {
            i,
            j: if to_wall { WALL | 3 } else { other },
            drive,
            normal: vector(rng).normalize(),
            closing: if k.is_multiple_of(4) { rng.random() } else { 0.0 },
            arms: if to_wall { [radii[0], 0.0] } else { radii },
            turns: if to_wall { [5.0, 0.0] } else { radii.map(|r| 2.5 / r) },
            masses: [0.5, 0.5 / 3.5],
            friction: if k.is_multiple_of(7) { 0.0 } else { 0.4 },
            resistance: [[0.0; 2], [0.01, 0.0], [0.0, 0.02], [0.02, 0.01]][k % 4],
            ..Row::default()
        };
        row.load.normal = if wild && k.is_multiple_of(6) { [f32::NAN, 3e38][k / 6 % 2] } else { pressed };
        row.load.tangent = vector(rng) * (0.4 * pressed);
        row.load.turn = vector(rng) * (0.02 * pressed);
        row
    }

    // Four lanes, and what is left of the longest, do to the bit what one row after the other does.
    #[test]
    fn rows_side_by_side_have_the_bits_of_rows_one_by_one() {
        let mut rng = Pcg64::seed_from_u64(11);
        for (tasks, wild) in [1, 3, 4, 5, 11].into_iter().flat_map(|tasks| [(tasks, false), (tasks, true)]) {
            let mut bodies: Vec<Body> = (0..tasks * OWN)
                .map(|k| Body {
                    // One in nine is fixed or asleep.
                    motion: if k.is_multiple_of(9) { Vec4::ZERO } else { vector(&mut rng).extend(1.0) },
                    spin: vector(&mut rng).extend(-1.0),
                })
                .collect();
            let mut all: Vec<Task> = (0..tasks)
                .map(|task| {
                    let mut all = Task::default();
                    // Of unequal lengths, and one without any.
                    for k in 0..13 * (task as usize % 4) {
                        all.rows.push(row(&mut rng, (task * OWN, k, wild), &mut all.drives));
                    }
                    all
                })
                .collect();
            let (mut one_by_one, mut rows) = (bodies.clone(), vec![]);
            let one = Bodies(Disjoint::new(&mut one_by_one));
            let mut most = [0.0f32; 2];
            for task in &all {
                for mut row in task.rows.iter().copied() {
                    // SAFETY: nobody else is there.
                    most[0] = solve::larger(most[0], unsafe { one.solve(&mut row, &task.drives) });
                    rows.push(row);
                }
            }
            let mut loaded = Flags::default();
            loaded.reset(bodies.len());
            // SAFETY: as above.
            most[1] = unsafe { solve_all(&Bodies(Disjoint::new(&mut bodies)), all.iter_mut(), &loaded) };
            let bits = |v: &[Vec4]| v.iter().map(|v| v.to_array().map(f32::to_bits)).collect::<Vec<_>>();
            let of_body = |b: &Body| bits(&[b.motion, b.spin]);
            let of_row = |r: &Row| bits(&[r.load.tangent.extend(r.load.normal), r.load.turn.extend(0.0)]);
            assert!(
                bodies.iter().map(of_body).eq(one_by_one.iter().map(of_body)),
                "spheres of {tasks} tasks"
            );
            let side_by_side = all.iter().flat_map(|task| &task.rows);
            assert!(side_by_side.clone().map(of_row).eq(rows.iter().map(of_row)), "rows of {tasks} tasks");
            assert_eq!(most[0].to_bits(), most[1].to_bits());
            assert_eq!(wild && tasks > 1, bodies.iter().any(|body| !body.motion.is_finite()));
            for (k, _) in bodies.iter().enumerate() {
                let carries = |row: &&Row| row.load.normal > 0.0 && [row.i, row.j].contains(&(k as u32));
                assert_eq!(loaded.contains(k), rows.iter().any(|row| carries(&row)), "sphere {k}");
            }
            assert!(tasks < 4 || most[0] > 0.1);
        }
    }
}
