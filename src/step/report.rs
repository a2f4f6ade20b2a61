//! What a step did: counters, energies, the ledger and the impacts themselves.

use glam::DVec3;

use crate::Partner;

/// One impact, as it happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impact {
    /// Time since the start of the run.
    pub time: f64,
    /// Id of the sphere; of two spheres the smaller id.
    pub sphere: u32,
    /// What it struck.
    pub partner: Partner,
    /// Where (length); between two spheres on the line of centres, weighted by the radii.
    pub point: DVec3,
    /// Unit vector from the partner to `sphere`.
    pub normal: DVec3,
    /// Size of the impulse along `normal` (mass * length/time), >= 0.
    pub impulse: f64,
}

/// The sums over all spheres at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measure {
    /// Kinetic energy, spin included.
    pub kinetic_energy: f64,
    /// Potential energy, 0 where all spheres are at [`System::gravity_reference`].
    pub potential_energy: f64,
    /// Sum of mass * velocity over the spheres that are not fixed.
    pub momentum: DVec3,
    /// Deepest overlap of a pair, or of a sphere and a wall, in mean diameters of the pair.
    pub deepest_overlap: f64,
}

/// What a wall felt of the spheres in a step, as a mean over it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WallLoad {
    /// Force on the wall (mass * length/time^2).
    pub force: DVec3,
    /// Torque on it (mass * length^2/time^2) about the point that it turns about, or that its shape is given by: the middle, of
    /// a plane its point, of a mesh its first vertex.
    pub torque: DVec3,
    /// Power that it gave to the spheres (energy/time); 0 for what does not move.
    pub power: f64,
}

impl Measure {
    /// The report of a step in which all spheres that could move, so many, sleep: nothing changes.
    pub(crate) fn at_rest(&self, asleep: u64) -> StepReport {
        StepReport {
            deepest_overlap: self.deepest_overlap,
            kinetic_energy: self.kinetic_energy,
            potential_energy: self.potential_energy,
            momentum: self.momentum,
            asleep,
            ..StepReport::default()
        }
    }
}

/// One step, summed over its substeps. Counts are of this step alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Number of the step, the first is 1.
    pub step: u64,
    /// Time since the start of the run, at the end of the step.
    pub time: f64,
    /// Substeps taken, redone halves included.
    pub substeps: u32,
    /// Impacts between two spheres.
    pub pair_impacts: u64,
    /// Impacts on walls.
    pub wall_impacts: u64,
    /// Impacts that the TC model made elastic and smooth.
    pub contact_time_impacts: u64,
    /// Rounds of the substep that needed most; 0 where the engine has no rounds.
    pub rounds: u32,
    /// Pairs found overlapping deeper than the slop and approaching: collisions out of order.
    pub late: u64,
    /// Substeps redone as halves because of order or unending rounds.
    pub redone: u64,
    /// Spheres with a collision still pending when a substep was given up: its rounds never end, its halves did not help, or the
    /// step has taken all that it may (2^18 rounds, and as many impacts with 1228 more for each sphere).
    pub unresolved: u64,
    /// Spheres stopped at their time of impact, the last resort.
    pub stopped: u64,
    /// Spheres whose state is not finite.
    pub nonfinite: u64,
    /// Buffers that were grown, with the work that needed them done again.
    pub overflow: u64,
    /// Spheres on the fast list, largest number in a substep.
    pub fast: u64,
    /// Deepest overlap of two spheres, or of a sphere and a wall, at the end of the step, in mean diameters
    /// of the pair; 0 when nothing overlaps.
    pub deepest_overlap: f64,
    /// Where the deepest overlap is more than a twentieth of a diameter: the wall that spheres reach into deepest, by its place in
    /// [`System::all_walls`](crate::System::all_walls), and how deep, in diameters; it crushes them.
    pub crushed_by: Option<(u32, f64)>,
    /// Kinetic energy at the end of the step.
    pub kinetic_energy: f64,
    /// Potential energy at the end of the step, measured from [`Simulation`](crate::Simulation)'s reference.
    pub potential_energy: f64,
    /// Sum of mass * velocity over the spheres that are not fixed.
    pub momentum: DVec3,
    /// Energy lost to restitution and friction, from each impact's formula, and to drag.
    pub dissipated: f64,
    /// Spheres that came from sources at the start of the step.
    pub poured: u64,
    /// Spheres of sources that were due and found no room; they try again in the next step.
    pub waiting: u64,
    /// Spheres that sinks took at the end of the step; overlap apart, nothing else here counts them any more.
    pub removed: u64,
    /// The same for each of [`System::sinks`](crate::System::sinks); empty where there is none.
    pub removed_by_sink: Vec<u64>,
    /// Share of the box that spheres fill, in 2D of its area; 0 without a [`Compression`](crate::Compression).
    pub packing_fraction: f64,
    /// Pressure in this step (energy/volume), likewise; it scatters, [`Simulation::compressed`](crate::Simulation::compressed) has a mean.
    pub pressure: f64,
    /// Work of walls that move.
    pub wall_work: f64,
    /// Potential energy gained by moving overlapping spheres apart.
    pub relax_work: f64,
    /// Sum over pair impacts of distance * impulse.
    pub virial: f64,
    /// Dispatches of the step on the device; 0 on engines without one.
    pub dispatches: u64,
    /// Submissions to the device since the last report; but for edits, reads, replays of overflows and substeps that are
    /// halved one a step.
    pub submits: u64,
    /// Waits of the host during which the device had nothing else to do.
    pub blocking_reads: u64,
    /// Spheres that slept in the last substep.
    pub asleep: u64,
    /// Wall-clock seconds of the step.
    pub wall_seconds: f64,
    /// Wall-clock seconds by stage, in the order of [`STAGES`](crate::step::schedule::STAGES); empty where the
    /// engine has no stages.
    pub stage_seconds: Vec<f64>,
}
