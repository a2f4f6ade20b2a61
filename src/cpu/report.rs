//! What a step comes to: the audit and the report.

use crate::state::constants::CRUSHED;
use glam::DVec3;

use crate::{
    Error, Impact, Measure, StepReport,
    cpu::{Counts, Past, Stepper, drag, relax::Relax},
    state::sums,
    step::plan::{self, Work},
};

/// Counts of a step under way.
#[derive(Default)]
pub struct Run {
    pub start_time: f64,
    pub counts: Counts,
    pub substeps: u32,
    pub rounds: u32,
    pub redone: u64,
    /// What it may still take.
    pub work: Work,
    pub unresolved: u64,
    pub stopped: u64,
    pub fast: u64,
    /// Deepest overlap at the end of the last substep, before it was pushed apart.
    pub deepest: f32,
    /// Whether anything was.
    pub pushed: bool,
    pub relax_work: f64,
}

impl Stepper {
    /// The report of a step in which all sleep: nothing changes.
    pub(super) fn idle(&self) -> StepReport {
        StepReport {
            stage_seconds: self.clock.seconds.clone(),
            ..self.measured.at_rest(self.core.statistics.movable as u64)
        }
    }

    /// Audit and report.
    pub(super) fn finish(
        &mut self,
        drift: DVec3,
        mut run: Run,
        impacts: Option<&mut Vec<Impact>>,
    ) -> Result<StepReport, Error> {
        self.core.place_walls(self.time, 0.0);
        if run.pushed {
            // What is left of it, asked for of the last substep alone.
            run.deepest = self.relax.deepest(&self.core.view(self.frame(0.0, drift, DVec3::ZERO)));
            self.clock.lap("relax");
        }
        run.counts.dissipated += drag::slow(&mut self.core.state.motion, self.slowing);
        let sums = self.audit.run(&self.core.grid, &self.core.state, drift);
        self.clock.lap("audit");
        if sums.nonfinite > 0 {
            // What the last broad phase found was still finite, unless it happened before that.
            self.core.step_back();
            self.core.forget_contacts();
            return Err(Error::NonFinite { id: sums.first_nonfinite, last_good_step: 0 });
        }
        let count = self.core.statistics.count.max(1) as f64;
        let struck = 2.0 * run.counts.pairs as f64 + run.counts.walls as f64;
        // Impacts that never end are no reason for shorter substeps: they would not end there either.
        let collisions = match run.unresolved {
            0 => plan::smooth(self.past[0].collisions, struck / count),
            _ => self.past[0].collisions,
        };
        self.past = [Past { sums, collisions }, self.past[0]];
        self.measured = self.measure(&sums, run.deepest);
        if let Some(impacts) = impacts {
            impacts.sort_by(|a, b| {
                a.time.total_cmp(&b.time).then(a.sphere.cmp(&b.sphere)).then(a.partner.cmp(&b.partner))
            });
        }
        let crushed_by = self.crushed_by();
        let energy = self.core.units.energy();
        Ok(StepReport {
            crushed_by,
            substeps: run.substeps,
            pair_impacts: run.counts.pairs,
            wall_impacts: run.counts.walls,
            contact_time_impacts: run.counts.contact_time,
            rounds: run.rounds,
            late: run.counts.late,
            redone: run.redone,
            unresolved: run.unresolved,
            stopped: run.stopped,
            nonfinite: sums.nonfinite,
            fast: run.fast,
            deepest_overlap: self.measured.deepest_overlap,
            kinetic_energy: self.measured.kinetic_energy,
            potential_energy: self.measured.potential_energy,
            momentum: self.measured.momentum,
            dissipated: run.counts.dissipated * energy,
            relax_work: run.relax_work * energy,
            wall_work: run.counts.wall_work * energy,
            virial: run.counts.virial * energy * self.core.units.time,
            asleep: self.core.sleep.count(),
            stage_seconds: self.clock.seconds.clone(),
            ..StepReport::default()
        })
    }

    /// The wall that crushes spheres, if one does, and how deep they are in it.
    pub(crate) fn crushed_by(&self) -> Option<(u32, f64)> {
        if self.measured.deepest_overlap <= CRUSHED {
            return None;
        }
        let frame = self.frame(0.0, DVec3::ZERO, DVec3::ZERO);
        Relax::deepest_wall(&self.core.view(frame)).filter(|(_, depth)| *depth > CRUSHED)
    }

    pub(super) fn measure(&self, sums: &sums::Sums, deepest: f32) -> Measure {
        let units = &self.core.units;
        let gravity = self.core.world.gravity.as_dvec3();
        let height =
            sums.mass_position + (self.core.grid.origin - self.reference) * self.core.statistics.mass;
        Measure {
            kinetic_energy: sums.kinetic * units.energy(),
            potential_energy: -gravity.dot(height) * units.energy(),
            momentum: sums.momentum * (units.mass * units.velocity()),
            deepest_overlap: f64::from(deepest),
        }
    }
}
