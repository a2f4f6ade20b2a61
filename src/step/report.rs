//! The report of a step: counters, energies, the energy balance and the impacts.

use glam::DVec3;

use crate::Partner;

/// One impact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impact {
    /// Time since the start of the run.
    pub time: f64,
    /// Id of the sphere; of two spheres the smaller id.
    pub sphere: u32,
    /// The other side of the impact.
    pub partner: Partner,
    /// Contact point (length). Between two spheres it divides the line of centres in the ratio of the radii.
    pub point: DVec3,
    /// Unit vector from the partner to `sphere`.
    pub normal: DVec3,
    /// Size of the impulse along `normal` (mass * length/time), >= 0.
    pub impulse: f64,
}

/// Sums over all spheres at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Measure {
    /// Kinetic energy, spin included.
    pub kinetic_energy: f64,
    /// Potential energy, 0 where all spheres are at [`System::gravity_reference`](crate::System::gravity_reference).
    pub potential_energy: f64,
    /// Sum of mass * velocity over the spheres that are not fixed.
    pub momentum: DVec3,
    /// Deepest overlap of a pair, or of a sphere and a wall, in mean diameters of the pair.
    pub deepest_overlap: f64,
}

/// Mean action of the spheres on a wall over a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct WallLoad {
    /// Force on the wall (mass * length/time^2).
    pub force: DVec3,
    /// Torque on the wall (mass * length^2/time^2) about its pivot. A wall without a pivot uses its middle; a plane,
    /// its point; a mesh, its first vertex.
    pub torque: DVec3,
    /// Power that the wall delivers to the spheres (energy/time); 0 for a wall that does not move.
    pub power: f64,
}

impl Measure {
    /// The report of a step in which all `asleep` spheres that could move sleep, so that nothing changes.
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

/// Report of one step, summed over its substeps. Counts cover this step only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Number of the step; the first is 1.
    pub step: u64,
    /// Time at the end of the step, since the start of the run.
    pub time: f64,
    /// Substeps taken, including abandoned ones and their halves.
    pub substeps: u32,
    /// Impacts between two spheres.
    pub pair_impacts: u64,
    /// Impacts on walls.
    pub wall_impacts: u64,
    /// Impacts that the TC model made elastic and smooth.
    pub contact_time_impacts: u64,
    /// Largest number of rounds in a substep; 0 if the engine has no rounds.
    pub rounds: u32,
    /// Pairs found approaching while they overlap by more than the slop: collisions out of order. Overlaps that resting
    /// contacts left do not count, nor do collisions that became resting contacts.
    pub late: u64,
    /// Impacts in a crowd, solved as resting contacts, under gravity and with a restitution below 1: the partners together
    /// have three or more pressed contacts with spheres, or a sphere in flight, a wall or a fixed sphere meets a sphere that
    /// has two or more; or one of them squeezes a sphere of at most an eighth of its mass; or a collision would be out of order, and
    /// the path of its partners until the end of the substep is short. They are not among the impacts.
    pub crowded: u64,
    /// Impacts applied one by one in f64: those that long chains of impacts hold up, or all impacts of a substep, if some would be out of
    /// order or many spheres are fast, and for some substeps after those; a few of them turn out to be none. Those that are count
    /// among the impacts. A substep that applies all of them so has no rounds. 0 on the exact backend.
    pub event_driven: u64,
    /// Substeps repeated as halves, because too many collisions were pending or, in a strict run, out of order.
    pub redone: u64,
    /// Spheres whose collision was still pending when a substep was given up: its rounds did not end, halving did not
    /// help, or the step exhausted its limit (2^18 rounds, or 2^18 impacts and 1228 more for each sphere).
    pub unresolved: u64,
    /// Spheres stopped at their time of impact, as a last resort.
    pub stopped: u64,
    /// Spheres whose state is not finite.
    pub nonfinite: u64,
    /// Number of times that a buffer was grown and the affected work repeated.
    pub overflow: u64,
    /// Largest number of spheres on the fast list in a substep.
    pub fast: u64,
    /// Deepest overlap of two spheres, or of a sphere and a wall, at the end of the step, in mean diameters of the pair;
    /// 0 if nothing overlaps.
    pub deepest_overlap: f64,
    /// The wall that crushes spheres, as an index into [`System::all_walls`](crate::System::all_walls), and the depth of the
    /// overlap in diameters. Set if the deepest overlap exceeds a twentieth of a diameter.
    pub crushed_by: Option<(u32, f64)>,
    /// Kinetic energy at the end of the step.
    pub kinetic_energy: f64,
    /// Potential energy at the end of the step, measured from [`Simulation`](crate::Simulation)'s reference.
    pub potential_energy: f64,
    /// Sum of mass * velocity over the spheres that are not fixed.
    pub momentum: DVec3,
    /// Energy lost to drag, and to restitution and friction by the formula of each impact.
    pub dissipated: f64,
    /// Spheres that sources added at the start of the step.
    pub poured: u64,
    /// Spheres of sources that were due but found no free space; the next step tries again.
    pub waiting: u64,
    /// Spheres that sinks removed at the end of the step. All other figures exclude them, except for the overlap.
    pub removed: u64,
    /// Spheres removed by each of [`System::sinks`](crate::System::sinks); empty if there are no sinks.
    pub removed_by_sink: Vec<u64>,
    /// Fraction of the box filled by spheres (in 2D, of its area); 0 without a [`Compression`](crate::Compression).
    pub packing_fraction: f64,
    /// Pressure in this step (energy/volume); 0 without a compression. It fluctuates;
    /// [`Simulation::compressed`](crate::Simulation::compressed) has a mean.
    pub pressure: f64,
    /// Work done by moving walls.
    pub wall_work: f64,
    /// Potential energy gained by moving overlapping spheres apart.
    pub relax_work: f64,
    /// Sum over pair impacts of distance * impulse.
    pub virial: f64,
    /// 1 if the CPU took the step for a device, because of long chains of impacts or as a last resort; otherwise 0.
    pub cpu_steps: u64,
    /// Dispatches of the step on the device; 0 on engines without one.
    pub dispatches: u64,
    /// Submissions to the device since the last report. Usually one a step; long steps, edits, reads, grown buffers and halved
    /// substeps add more.
    pub submits: u64,
    /// Number of times that the host waited while the device was idle, or for a step that it then called off.
    pub blocking_reads: u64,
    /// Copies of the state of all spheres from the device to the host during the step, for example for new cells or for a step on
    /// the CPU. Copies for edits and for [`Options::on_loss`](crate::Options::on_loss) do not count.
    pub downloads: u64,
    /// Spheres that slept in the last substep.
    pub asleep: u64,
    /// Wall-clock seconds of the step.
    pub wall_seconds: f64,
    /// Wall-clock seconds by stage, in the order of [`STAGES`](crate::step::schedule::STAGES); empty if the engine has no
    /// stages.
    pub stage_seconds: Vec<f64>,
}

/// A number of a [`StepReport`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A count.
    Count(u64),
    /// A measured quantity, in the user's units.
    Real(f64),
}

impl StepReport {
    /// The numbers of the report with their names, in the order of the columns of `--metrics`. `total_energy` is the sum of
    /// `kinetic_energy` and `potential_energy`.
    pub fn figures(&self) -> [(&'static str, Figure); 34] {
        use Figure::{Count, Real};

        let [momentum_x, momentum_y, momentum_z] = self.momentum.to_array();
        [
            ("step", Count(self.step)),
            ("time", Real(self.time)),
            ("substeps", Count(u64::from(self.substeps))),
            ("pair_impacts", Count(self.pair_impacts)),
            ("wall_impacts", Count(self.wall_impacts)),
            ("contact_time_impacts", Count(self.contact_time_impacts)),
            ("asleep", Count(self.asleep)),
            ("rounds", Count(u64::from(self.rounds))),
            ("late", Count(self.late)),
            ("crowded", Count(self.crowded)),
            ("event_driven", Count(self.event_driven)),
            ("redone", Count(self.redone)),
            ("unresolved", Count(self.unresolved)),
            ("stopped", Count(self.stopped)),
            ("nonfinite", Count(self.nonfinite)),
            ("overflow", Count(self.overflow)),
            ("fast", Count(self.fast)),
            ("poured", Count(self.poured)),
            ("waiting", Count(self.waiting)),
            ("removed", Count(self.removed)),
            ("deepest_overlap", Real(self.deepest_overlap)),
            ("kinetic_energy", Real(self.kinetic_energy)),
            ("potential_energy", Real(self.potential_energy)),
            ("total_energy", Real(self.kinetic_energy + self.potential_energy)),
            ("momentum_x", Real(momentum_x)),
            ("momentum_y", Real(momentum_y)),
            ("momentum_z", Real(momentum_z)),
            ("dissipated", Real(self.dissipated)),
            ("relax_work", Real(self.relax_work)),
            ("wall_work", Real(self.wall_work)),
            ("virial", Real(self.virial)),
            ("packing_fraction", Real(self.packing_fraction)),
            ("pressure", Real(self.pressure)),
            ("wall_seconds", Real(self.wall_seconds)),
        ]
    }
}
