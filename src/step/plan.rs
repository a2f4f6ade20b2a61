//! The plan of a step: its substeps, broad phases and motion margins, from the measurements of earlier steps.
//!
//! The plan uses the figures of the step before the last one, so that a device can run ahead of the host and still make the
//! same plan.

use glam::{DVec3, Vec3};

use crate::{
    state::{
        frame::Frame,
        sums::{HIGH, Sums, TAIL},
    },
    step::domain::Domain,
    system::limits::{COLLISIONS_PER_SUBSTEP, MOST_SUBSTEPS},
};

/// Path in a substep, in cells, that the fastest fiftieth of the spheres may travel. Longer paths make lists of hundreds
/// of candidates, and the causality check visits the candidates of candidates.
const CROWD_PATH: f64 = 1.0;

/// Up to this many spheres their number limits the candidate lists and the fast pairs: no path makes them long.
const FEW: usize = 16;

/// Path in a substep that few spheres may travel, in units of [`Limits::margin_most`], which is 1.5 mean diameters for spheres of one
/// size. After each impact the rest of the path is traversed again, and far from its cell a position is rounded more coarsely.
const FEW_PATH: f64 = 24.0;

/// Largest motion margin, in units of [`Limits::margin_least`], that serves several of the substeps which resting contacts need in a step. A
/// broad phase costs as much as the remainder of a substep in flow; longer lists slow down the rounds.
const LASTING_MARGIN: f64 = 8.0;

/// Rounds and impacts of a step, over all its substeps and their halves. Beyond [`Work::most`], spheres stop at their next
/// impact until the substep ends. Without this limit a step may never end: elastic spheres between closing walls bounce
/// ever faster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    pub rounds: u64,
    pub impacts: u64,
}

impl Work {
    /// A limit above any legitimate step. Rounds: 64 in each of the largest number of substeps. Impacts: as many, and in
    /// addition twice the target number in each of those substeps.
    pub fn most(spheres: usize) -> Self {
        let collisions = (MOST_SUBSTEPS * COLLISIONS_PER_SUBSTEP) as u64;
        let rounds = 64 * MOST_SUBSTEPS as u64;
        Self { rounds, impacts: rounds + collisions * spheres as u64 }
    }

    /// The remainder after `other` is subtracted.
    pub fn without(self, other: Self) -> Self {
        Self {
            rounds: self.rounds.saturating_sub(other.rounds),
            impacts: self.impacts.saturating_sub(other.impacts),
        }
    }

    /// Whether the rounds or the impacts have reached `most`.
    pub fn is_all(self, most: Self) -> bool {
        self.rounds >= most.rounds || self.impacts >= most.impacts
    }
}

/// Largest number of times that a substep is halved, down to 64 parts. Halving an unending exchange further costs more
/// than it gains.
pub const MOST_HALVINGS: u32 = 6;

/// Figures of a completed step, as later plans use them.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Past {
    pub sums: Sums,
    /// Difference between the drift of `sums` and the drift relative to which the speeds of `sums` were measured.
    pub drift_change: f64,
    /// Impacts per sphere and step, averaged over the last steps.
    pub collisions: f64,
}

/// Running mean of the collisions over about eight steps. One step of a small system says little: without the mean, a step
/// with a single bounce would cause a step of four substeps.
pub fn smooth(before: f64, now: f64) -> f64 {
    before + (now - before) / 8.0
}

/// Division of a step, in scaled units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    pub substeps: u32,
    /// Substeps between two broad phases.
    pub substeps_per_build: u32,
    /// Path relative to the drift that a sphere may travel between two broad phases before it counts as fast.
    pub motion_margin: f32,
    pub drift: DVec3,
    /// Motion margin that new cells should allow, if the present cells are unsuitable.
    pub regrid: Option<f64>,
    /// Number of substeps that the speeds of the bulk need, not limited by [`MOST_SUBSTEPS`]. It may be infinite.
    pub needed: f64,
}

/// Limits on a plan.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Number of spheres.
    pub count: usize,
    /// Length of the step.
    pub dt: f64,
    /// Substeps requested by the user; 0 = automatic.
    pub substeps: u32,
    /// Motion margin that the present cells allow; less than `made_for` where a period is short.
    pub margin_limit: f32,
    /// Motion margin requested when the present cells were made, or what they still allow after the box has shrunk.
    pub made_for: f64,
    /// Least number of substeps for resting contacts and moving walls.
    pub least_substeps: f64,
    /// Least number of substeps for moving walls, even if the user requests fewer.
    pub wall_substeps: f64,
    /// Path of fixed spheres in a step, relative to the falling frame.
    pub fall: f64,
    /// Velocity that gravity adds in a step.
    pub velocity_gain: f64,
    /// Shortest edge of the present cells.
    pub cell: f64,
    /// Largest motion margin for new cells; beyond it, candidate lists grow too long.
    pub margin_most: f64,
    /// Smallest motion margin for new cells, in case spheres at rest start to move.
    pub margin_least: f64,
}

/// Factor by which the margins exceed the path of spheres at rest. Such spheres use up their margins exactly, and rounding would turn
/// all of them into fast spheres in the last substep before a broad phase.
const REST_MARGIN: f64 = 1.0001;

/// Change of the drift, in units of the speed that the margins have to cover, up to which the speeds serve as they are: the
/// drift of a gas at rest fluctuates.
const STEADY_DRIFT: f64 = 0.1;

/// Cost of a fast sphere, in units of the cost that the candidates of another sphere add if its list has no margin. In a gas of
/// packing fraction .2 they take about 10 microseconds and 3 nanoseconds.
const FAST_COST: f64 = 3000.0;

/// The tail of the speeds is long if the speed that one in [`TAIL`] spheres exceeds is at most this part of the high speed. In a gas
/// it is at least .66 of it.
const LONG_TAIL: f64 = 0.5;

impl Past {
    // Speed relative to the drift that the lists should cover: the high speed, or less where a few spheres are far faster than the
    // others. A blast in a gas would otherwise lengthen all lists. Under gravity, where fast spheres may run into a pile at
    // rest, they stay covered.
    fn listed_speed(&self, limits: &Limits) -> f64 {
        let high = f64::from(self.sums.high_speed);
        if limits.velocity_gain > 0.0 {
            return high;
        }
        let time = limits.dt / by_collisions(limits, self);
        let cost = |speed: f64, part: u64| {
            let margin = (speed * time).min(limits.margin_most);
            // The number of candidates grows with the third power, the work of the causality check with more.
            (1.0 + 3.0 * margin / limits.margin_most).powi(4) + FAST_COST / part as f64
        };
        let tail = TAIL.into_iter().zip(self.sums.tail_speeds.map(f64::from));
        let (mut least, mut listed) = (cost(high, HIGH), high);
        for (part, speed) in tail.filter(|&(_, speed)| 0.0 < speed && speed <= LONG_TAIL * high) {
            if cost(speed, part) < least {
                (least, listed) = (cost(speed, part), speed);
            }
        }
        listed
    }

    // Bound on how much the speeds relative to the drift exceed those measured. A heap that grows under falling spheres
    // changes the drift from that of the falling spheres to none, within one step.
    fn excess_speed(&self, listed: f64) -> f64 {
        let is_steady = self.drift_change <= STEADY_DRIFT * listed;
        if is_steady { 0.0 } else { self.drift_change }
    }

    // The part of it that gravity does not explain: in a fall the drift changes by that of two steps, and the spheres with it.
    fn sudden_speed(&self, limits: &Limits) -> f64 {
        (self.excess_speed(self.listed_speed(limits)) - 2.0 * limits.velocity_gain).max(0.0)
    }

    // Path in a step of all but the fastest spheres, relative to the drift.
    fn path(&self, limits: &Limits) -> f64 {
        let listed = self.listed_speed(limits);
        (1.02 * listed + self.excess_speed(listed)) * limits.dt + REST_MARGIN * limits.fall
    }
}

/// The motion margin that the present speeds need if the collision rate alone determines the substeps: for one substep, or for as
/// many of those that resting contacts need in a step as a short margin serves.
pub fn wanted_margin(limits: &Limits, past: &Past) -> f64 {
    let substeps = by_collisions(limits, past);
    let path = past.path(limits) / substeps;
    // A tenth more, so that the margin lasts while speeds rise a little.
    let longer = 1.1 * path;
    let most = (LASTING_MARGIN * limits.margin_least / longer).floor();
    let lasting = most.min(limits.least_substeps).min(substeps);
    let path = if lasting > 1.0 { longer * lasting } else { path };
    // The path is not finite if the square of a speed overflows.
    if path.is_finite() { path.clamp(limits.margin_least, limits.margin_most) } else { limits.margin_most }
}

fn by_collisions(limits: &Limits, past: &Past) -> f64 {
    match limits.substeps {
        0 => (past.collisions / COLLISIONS_PER_SUBSTEP).ceil().clamp(limits.least_substeps, MOST_SUBSTEPS),
        n => f64::from(n).max(limits.wall_substeps),
    }
}

/// Whether the present cells were made for motion margins that are too short or needlessly long.
pub fn needs_new_cells(limits: &Limits, wanted: f64) -> bool {
    wanted > 1.3 * limits.made_for || wanted < 0.5 * limits.made_for
}

/// Plans a step.
pub fn plan(limits: &Limits, past: &Past) -> Plan {
    let wanted = wanted_margin(limits, past);
    let limit = f64::from(limits.margin_limit);
    let regrid = needs_new_cells(limits, wanted).then_some(wanted);
    let mut substeps = by_collisions(limits, past);
    // The lists should cover the bulk. A few fast spheres cost less as fast spheres than broad phases of all.
    let sudden = past.sudden_speed(limits);
    let bulk = (1.02 * f64::from(past.sums.bulk_speed) + sudden) * limits.dt;
    if limits.substeps == 0 {
        let most = if limits.count <= FEW { FEW_PATH * limits.margin_most } else { 0.0 };
        // Many fast spheres traverse their paths again after each of many impacts, so short paths pay off.
        let crowd =
            (f64::from(past.sums.crowd_speed) + sudden) * limits.dt / most.max(CROWD_PATH * limits.cell);
        substeps = substeps.max((bulk / limit.max(most)).ceil()).max(crowd.ceil()).clamp(1.0, MOST_SUBSTEPS);
    }
    let path = past.path(limits) / substeps;
    let path = if path.is_finite() { path } else { limit };
    let substeps_per_build = if path > 0.0 { (limit / path).floor().clamp(1.0, substeps) } else { substeps };
    Plan {
        substeps: substeps as u32,
        substeps_per_build: substeps_per_build as u32,
        motion_margin: (path * substeps_per_build).max(limits.margin_least.min(limit)).min(limit) as f32,
        drift: past.sums.drift,
        regrid,
        needed: bulk / limits.margin_most.max(limit),
    }
}

/// One substep of a step, or a part of a halved one; scaled units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Substep {
    /// Start time, relative to the start of the step.
    pub time: f64,
    /// Length.
    pub h: f64,
    /// Velocity of the bulk at the start, and displacement of the bulk since the broad phase.
    pub drift: DVec3,
    pub drifted: DVec3,
    /// Displacement of the bulk and the walls between two broad phases.
    pub drift_reach: f64,
    /// Number of halvings that produced this substep.
    pub halvings: u32,
    /// Whether a broad phase runs first.
    pub builds: bool,
    /// Whether no further halving is allowed, so that crowded rounds run to the end.
    pub shortest: bool,
    /// Whether impacts out of order are only counted, even in a strict run.
    pub lenient: bool,
    /// Whether walls appear or disappear in the step, so that the spheres that touch them are awake in all of its substeps.
    pub wakes: bool,
}

impl Substep {
    /// Whether this is the first substep of the step.
    pub fn begins(&self) -> bool {
        self.time == 0.0
    }

    /// The two halves, both on the candidate lists of the whole.
    pub fn halves(&self, gravity: DVec3) -> [Self; 2] {
        let half = 0.5 * self.h;
        let halvings = self.halvings + 1;
        let shortest = halvings == MOST_HALVINGS;
        let first = Self { h: half, halvings, shortest, builds: false, ..*self };
        let second = Self {
            time: self.time + half,
            drift: self.drift + gravity * half,
            drifted: self.drifted + self.drift * half + gravity * (0.5 * half * half),
            ..first
        };
        [first, second]
    }

    /// The falling frame of the substep.
    pub fn frame(&self, gravity: Vec3) -> Frame {
        Frame { h: self.h as f32, gravity, drift: self.drift.as_vec3(), drifted: self.drifted.as_vec3() }
    }
}

impl Plan {
    /// The substeps of a step. `wakes`: walls appear or disappear in the step.
    pub fn substeps(&self, domain: &Domain, wakes: bool) -> Vec<Substep> {
        let h = domain.dt / f64::from(self.substeps);
        let gravity = domain.world.gravity.as_dvec3();
        let (mut drift, mut drifted) = (DVec3::ZERO, DVec3::ZERO);
        let mut drift_reach = 0.0;
        let mut substeps = vec![];
        for k in 0..self.substeps {
            let time = h * f64::from(k);
            let builds = k % self.substeps_per_build == 0;
            if builds {
                let span = h * f64::from(self.substeps_per_build.min(self.substeps - k));
                (drift, drifted) = (self.drift + gravity * time, DVec3::ZERO);
                let stride = f64::from(domain.world.features.stride(span, &domain.units));
                drift_reach = drift.length() * span + gravity.length() * span * span + stride;
                // Rounded up, so that lists stay valid while the drift fluctuates.
                let unit = f64::from(self.motion_margin) / 16.0;
                if unit > 0.0 {
                    drift_reach = (drift_reach / unit).ceil() * unit;
                }
            }
            substeps.push(Substep {
                time,
                h,
                drift,
                drifted,
                drift_reach,
                halvings: 0,
                builds,
                shortest: false,
                lenient: false,
                wakes,
            });
            drifted += drift * h + gravity * (0.5 * h * h);
            drift += gravity * h;
        }
        substeps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits {
            count: 1000,
            dt: 1.0,
            substeps: 0,
            margin_limit: 0.2,
            made_for: 0.2,
            least_substeps: 1.0,
            wall_substeps: 1.0,
            fall: 0.0,
            velocity_gain: 0.0,
            cell: 1.4,
            margin_most: 0.25,
            margin_least: 0.02,
        }
    }

    fn past(speed: f32, collisions: f64) -> Past {
        let sums = Sums { bulk_speed: 0.5 * speed, high_speed: speed, ..Sums::default() };
        Past { sums, collisions, ..Past::default() }
    }

    #[test]
    fn collisions_per_substep_stay_below_the_limit() {
        for (collisions, substeps) in [(0.0, 1), (0.3, 1), (0.31, 2), (2.3, 8)] {
            assert_eq!(plan(&limits(), &past(0.1, collisions)).substeps, substeps);
        }
    }

    #[test]
    fn a_fast_bulk_gets_more_substeps_than_its_collisions_need() {
        let plan = plan(&limits(), &past(4.0, 0.0));
        assert!(2.0 / f64::from(plan.substeps) <= 0.25, "{plan:?}");
    }

    #[test]
    fn few_spheres_take_few_substeps_for_their_speed() {
        let substeps = |count, speed| plan(&Limits { count, ..limits() }, &past(speed, 0.0)).substeps;
        // 20.4 lengths in paths of 6, and in margins of 0.2.
        assert_eq!((substeps(FEW, 40.0), substeps(FEW + 1, 40.0)), (4, 102));
    }

    #[test]
    fn a_change_of_the_drift_lengthens_the_margin() {
        let limits = Limits { velocity_gain: 0.1, margin_limit: 0.9, made_for: 0.9, ..limits() };
        let plan = |drift_change: f64| plan(&limits, &Past { drift_change, ..past(0.1, 0.0) });
        let margin = |drift_change: f64| f64::from(plan(drift_change).motion_margin);
        let steady = 1.02 * 0.1;
        assert!((margin(0.0) - steady).abs() < 1e-6);
        // Fluctuations change nothing.
        assert_eq!(margin(0.009), margin(0.0));
        assert!((margin(0.3) - steady - 0.3).abs() < 1e-6);
        // Only a change that gravity does not explain asks for more substeps.
        assert_eq!((plan(0.2).substeps, plan(1.5).substeps), (1, 2));
    }

    #[test]
    fn a_few_far_faster_spheres_do_not_lengthen_the_lists() {
        let limits = Limits { margin_limit: 0.25, made_for: 0.25, margin_most: 1.5, ..limits() };
        let margin = |limits: &Limits, tail_speeds| {
            let mut past = past(10.0, 0.0);
            past.sums.tail_speeds = tail_speeds;
            wanted_margin(limits, &past)
        };
        // A blast among 1% of the spheres; the others are slow.
        let blast = [9.0, 8.0, 7.0, 6.0, 0.2, 0.15, 0.12];
        assert!((margin(&limits, blast) - 1.02 * 0.2).abs() < 1e-6);
        // The same with speeds that do not fall off, with speeds that are not known, and under gravity.
        assert_eq!(margin(&limits, [9.0, 8.5, 8.0, 7.5, 7.0, 6.5, 6.0]), 1.5);
        assert_eq!(margin(&limits, [0.0; 7]), 1.5);
        assert_eq!(margin(&Limits { velocity_gain: 0.1, ..limits }, blast), 1.5);
        // Where margins are short anyway, short lists do not pay for fast spheres.
        let short = Limits { dt: 0.01, ..limits };
        assert!((margin(&short, blast) - 1.02 * 10.0 * 0.01).abs() < 1e-6);
        // A change of the drift is small or not beside the speed that the lists cover.
        let mut past = Past { drift_change: 0.5, ..past(10.0, 0.0) };
        past.sums.tail_speeds = blast;
        assert!((wanted_margin(&limits, &past) - 1.02 * 0.2 - 0.5).abs() < 1e-6);
    }

    #[test]
    fn slow_spheres_keep_their_lists_for_several_substeps() {
        let limits = Limits { made_for: 0.06, ..limits() };
        let plan = plan(&limits, &past(0.2, 1.2));
        assert_eq!((plan.substeps, plan.regrid), (4, None));
        assert_eq!(plan.substeps_per_build, 3);
        assert!(plan.motion_margin >= 0.2 * 3.0 / 4.0);
    }

    #[test]
    fn resting_contacts_share_broad_phases_unless_spheres_are_fast() {
        let limits = Limits { least_substeps: 3.0, ..limits() };
        let margin = |speed: f32| wanted_margin(&limits, &past(speed, 0.5));
        let path = |speed: f32| 1.02 * f64::from(speed) / 3.0;
        assert!((margin(0.1) - 3.3 * path(0.1)).abs() < 1e-6);
        assert!((margin(0.2) - 2.2 * path(0.2)).abs() < 1e-6);
        assert!((margin(0.3) - path(0.3)).abs() < 1e-6);
        let made = Limits { made_for: margin(0.1), margin_limit: margin(0.1) as f32, ..limits };
        assert_eq!(plan(&made, &past(0.1, 0.5)).substeps_per_build, 3);
    }

    #[test]
    fn the_budget_is_never_more_than_the_cells_allow() {
        // A short period: the cells were made for 0.2 but allow 0.03.
        let limits = Limits { margin_limit: 0.03, ..limits() };
        for speed in [0.0, 0.1, 1.0, 30.0] {
            let plan = plan(&limits, &past(speed, 0.5));
            assert!(plan.motion_margin <= 0.03, "{plan:?}");
        }
        assert_eq!(plan(&limits, &past(0.2, 0.0)).regrid, None);
    }

    #[test]
    fn the_rounds_of_a_step_are_bounded_however_many_spheres_there_are() {
        let (few, many) = (Work::most(1), Work::most(10_000_000));
        assert_eq!(few.rounds, many.rounds);
        assert!(few.impacts < 300_000 && many.impacts > 10_000_000_000);
        let spent = Work { rounds: 10, impacts: 300_000 };
        assert!(spent.is_all(few) && !spent.is_all(many));
        assert!(Work::default().is_all(few.without(spent)) && !Work::default().is_all(many.without(spent)));
    }

    #[test]
    fn the_users_substeps_are_kept() {
        let limits = Limits { substeps: 5, ..limits() };
        assert_eq!(plan(&limits, &past(40.0, 100.0)).substeps, 5);
    }
}
