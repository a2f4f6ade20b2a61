//! Figures of a whole run: counters, energies and momentum.

use glam::DVec3;

use crate::{Measure, Side, Sphere, StepReport, Surface, System};

/// Figures over a whole run, in the terms of the command's `--json`.
///
/// An edit between steps restarts the energies, the momentum and the statistics, and keeps the counters. Sources, sinks and
/// changes of gravity restart nothing: the ledger includes the energy that they bring and take.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Summary {
    /// Number of spheres.
    pub sphere_count: usize,
    /// Number of spheres that sources have poured.
    pub poured: u64,
    /// Number of spheres of sources that were due in the last step and found no free position.
    pub waiting: u64,
    /// Number of spheres that sinks have taken.
    pub removed: u64,
    /// Outer steps taken.
    pub steps: u64,
    /// Substeps taken.
    pub substeps: u64,
    /// Simulated time.
    pub time: f64,
    /// Wall-clock seconds spent stepping.
    pub wall_seconds: f64,
    /// Number of impacts between spheres.
    pub pair_impacts: u64,
    /// Number of impacts on walls.
    pub wall_impacts: u64,
    /// Number of impacts that the TC model made elastic and smooth.
    pub contact_time_impacts: u64,
    /// Largest number of rounds in a substep.
    pub rounds_max: u32,
    /// Number of collisions found out of order.
    pub late: u64,
    /// Number of impacts solved as resting contacts; see [`StepReport::crowded`].
    pub crowded: u64,
    /// Number of impacts applied one by one; see [`StepReport::event_driven`].
    pub event_driven: u64,
    /// Number of steps that the CPU took for a device.
    pub cpu_steps: u64,
    /// Number of substeps redone as halves.
    pub redone: u64,
    /// Number of spheres with a collision still pending when rounds and halves were used up.
    pub unresolved: u64,
    /// Number of spheres stopped at their time of impact.
    pub stopped: u64,
    /// Number of spheres whose state is not finite.
    pub nonfinite: u64,
    /// Largest overlap at the end of any step, in mean diameters of the pair.
    pub deepest_overlap: f64,
    /// Largest overlap at the end of the last step, in mean diameters of the pair.
    pub deepest_overlap_final: f64,
    /// Current kinetic energy.
    pub kinetic_energy: f64,
    /// Current kinetic + potential energy.
    pub total_energy: f64,
    /// Change of the total energy relative to the start; `None` unless every impact is elastic, there is no drag, walls
    /// stand still, and there are no sources or sinks.
    pub energy_error: Option<f64>,
    /// Energy change that the ledger does not explain, relative to the energy that moved.
    pub ledger_error: f64,
    /// Change of the momentum relative to sqrt(2 m E N); `None` with walls, fixed spheres, gravity, drag, sources or
    /// sinks.
    pub momentum_error: Option<f64>,
    /// Z = PV/NkT from the virial of the impulses; `None` unless the box is periodic and all surfaces are
    /// frictionless, without gravity and drag.
    pub compressibility: Option<f64>,
    /// Impacts per sphere and time, each pair impact counted for both.
    pub collision_rate: f64,

    start: Measure,
    mass: f64,
    /// Energy of the spins, which frictionless impacts do not change.
    spin_energy: f64,
    elastic: bool,
    conserves_momentum: bool,
    homogeneous: bool,
    dissipated: f64,
    relaxed: f64,
    wall_work: f64,
    /// Sum of the absolute energy that walls gave and took.
    wall_flow: f64,
    /// Net energy from outside: that of arriving minus departing spheres, and that of changes of gravity.
    brought: f64,
    /// Sum of the absolute energy exchanged with outside, independent of the reference height of the potential energy.
    exchanged: f64,
    sphere_steps: f64,
    virial: f64,
    kinetic_integral: f64,
    kinetic_before: f64,
    sphere_time: f64,
}

impl Summary {
    pub(crate) fn new(system: &System, start: Measure) -> Self {
        let mut summary = Self {
            sphere_count: 0,
            poured: 0,
            waiting: 0,
            removed: 0,
            steps: 0,
            substeps: 0,
            time: 0.0,
            wall_seconds: 0.0,
            pair_impacts: 0,
            wall_impacts: 0,
            contact_time_impacts: 0,
            rounds_max: 0,
            late: 0,
            crowded: 0,
            event_driven: 0,
            cpu_steps: 0,
            redone: 0,
            unresolved: 0,
            stopped: 0,
            nonfinite: 0,
            deepest_overlap: 0.0,
            deepest_overlap_final: 0.0,
            kinetic_energy: 0.0,
            total_energy: 0.0,
            energy_error: None,
            ledger_error: 0.0,
            momentum_error: None,
            compressibility: None,
            collision_rate: 0.0,
            start,
            mass: 0.0,
            spin_energy: 0.0,
            elastic: false,
            conserves_momentum: false,
            homogeneous: false,
            dissipated: 0.0,
            relaxed: 0.0,
            wall_work: 0.0,
            wall_flow: 0.0,
            brought: 0.0,
            exchanged: 0.0,
            sphere_steps: 0.0,
            virial: 0.0,
            kinetic_integral: 0.0,
            kinetic_before: 0.0,
            sphere_time: 0.0,
        };
        summary.restart(system, start);
        summary
    }

    /// Continues with other spheres; conservation is measured from here.
    pub(crate) fn restart(&mut self, system: &System, start: Measure) {
        let fixed = system.spheres.iter().any(|s| s.fixed);
        let axes = 0..system.dimensions.count();
        self.sphere_count = system.spheres.len();
        self.start = start;
        self.mass = system.spheres.iter().filter(|s| !s.fixed).map(|s| s.mass).sum();
        self.spin_energy = (system.spheres.iter().filter(|s| !s.fixed))
            .map(|s| 0.2 * s.mass * s.radius * s.radius * s.spin.length_squared())
            .sum();
        let is_left_alone = !system.has_flow() && system.drag == 0.0;
        let still = system.walls.iter().all(|wall| wall.motion.is_still() && wall.is_lasting());
        self.elastic = still && is_left_alone && system.materials.surfaces().iter().all(Surface::is_elastic);
        self.conserves_momentum =
            is_left_alone && system.all_walls().is_empty() && !fixed && system.gravity == DVec3::ZERO;
        // Friction changes the energy of the spins.
        let smooth = !system.materials.surfaces().iter().any(Surface::rubs);
        // The pressure of a shrinking box is not constant.
        self.homogeneous = smooth
            && system.compression.is_none()
            && self.conserves_momentum
            && axes.clone().all(|a| system.bounds.sides[a] == Side::Periodic);
        self.dissipated = 0.0;
        self.relaxed = 0.0;
        (self.wall_work, self.wall_flow) = (0.0, 0.0);
        (self.brought, self.exchanged) = (0.0, 0.0);
        self.virial = 0.0;
        self.kinetic_integral = 0.0;
        self.kinetic_before = start.kinetic_energy;
        self.deepest_overlap_final = start.deepest_overlap;
        self.derive(start.kinetic_energy, start.potential_energy, start.momentum);
    }

    pub(crate) fn add(&mut self, report: &StepReport) {
        let dt = report.time - self.time;
        self.steps += 1;
        self.sphere_steps += self.sphere_count as f64;
        self.poured += report.poured;
        self.waiting = report.waiting;
        self.removed += report.removed;
        self.substeps += u64::from(report.substeps);
        self.time = report.time;
        self.wall_seconds += report.wall_seconds;
        self.pair_impacts += report.pair_impacts;
        self.wall_impacts += report.wall_impacts;
        self.contact_time_impacts += report.contact_time_impacts;
        self.rounds_max = self.rounds_max.max(report.rounds);
        self.late += report.late;
        self.crowded += report.crowded;
        self.event_driven += report.event_driven;
        self.cpu_steps += report.cpu_steps;
        self.redone += report.redone;
        self.unresolved += report.unresolved;
        self.stopped += report.stopped;
        self.nonfinite += report.nonfinite;
        self.deepest_overlap = self.deepest_overlap.max(report.deepest_overlap);
        self.deepest_overlap_final = report.deepest_overlap;
        self.dissipated += report.dissipated;
        self.relaxed += report.relax_work;
        self.wall_work += report.wall_work;
        self.wall_flow += report.wall_work.abs();
        self.virial += report.virial;
        self.sphere_time += dt * self.sphere_count as f64;
        self.kinetic_integral +=
            0.5 * (self.thermal(self.kinetic_before) + self.thermal(report.kinetic_energy)) * dt;
        self.kinetic_before = report.kinetic_energy;
        self.derive(report.kinetic_energy, report.potential_energy, report.momentum);
    }

    /// Updates the number of spheres and the ledger after some have come or gone.
    pub(crate) fn exchange(&mut self, sphere_count: usize, exchange: Exchange) {
        self.sphere_count = sphere_count;
        self.mass += exchange.mass;
        self.brought += exchange.kinetic + exchange.potential;
        self.exchanged += exchange.kinetic.abs();
    }

    /// Continues under another gravity with the same spheres.
    pub(crate) fn drive(&mut self, system: &System, now: Measure) {
        let change = now.kinetic_energy + now.potential_energy - self.total_energy;
        self.brought += change;
        self.exchanged += change.abs();
        (self.elastic, self.homogeneous, self.conserves_momentum) = (false, false, false);
        self.sphere_count = system.spheres.len();
        self.derive(now.kinetic_energy, now.potential_energy, now.momentum);
    }

    // Kinetic energy without that of the common motion and of the spins, which frictionless impacts do not change.
    fn thermal(&self, kinetic: f64) -> f64 {
        let common =
            if self.mass > 0.0 { 0.5 * self.start.momentum.length_squared() / self.mass } else { 0.0 };
        kinetic - self.spin_energy - common
    }

    fn derive(&mut self, kinetic: f64, potential: f64, momentum: DVec3) {
        let before = self.start.kinetic_energy + self.start.potential_energy;
        self.kinetic_energy = kinetic;
        self.total_energy = kinetic + potential;
        // A start at rest at the reference height has zero energy; the energy that moved since is then the scale.
        let ratio = |x: f64, scale: f64| if scale > 0.0 { x / scale } else { 0.0 };
        let scale = before.abs().max(kinetic).max(self.dissipated).max(self.wall_flow).max(self.exchanged);
        let change = self.total_energy - before;
        self.energy_error = self.elastic.then(|| ratio(change - self.relaxed, scale));
        let gained = self.relaxed + self.wall_work + self.brought;
        self.ledger_error = ratio((change + self.dissipated - gained).abs(), scale);
        self.momentum_error = self.conserves_momentum.then(|| {
            let scale = (2.0 * self.mass * (self.start.kinetic_energy - self.spin_energy)).sqrt();
            ratio((momentum - self.start.momentum).length(), scale)
        });
        self.compressibility = (self.homogeneous && self.kinetic_integral > 0.0)
            .then(|| 1.0 + self.virial / (2.0 * self.kinetic_integral));
        self.collision_rate =
            ratio(2.0 * self.pair_impacts as f64 + self.wall_impacts as f64, self.sphere_time);
    }

    /// Number of impacts on spheres and walls.
    pub fn impacts(&self) -> u64 {
        self.pair_impacts + self.wall_impacts
    }

    /// Spheres times outer steps per wall-clock second.
    pub fn sphere_steps_per_second(&self) -> f64 {
        self.per_second(self.sphere_steps)
    }

    /// Impacts per wall-clock second.
    pub fn impacts_per_second(&self) -> f64 {
        self.per_second(self.impacts() as f64)
    }

    fn per_second(&self, count: f64) -> f64 {
        if self.wall_seconds > 0.0 { count / self.wall_seconds } else { 0.0 }
    }
}

/// Mass, energy and momentum of spheres that come or go.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Exchange {
    pub mass: f64,
    pub kinetic: f64,
    /// Potential energy, measured from [`System::gravity_reference`].
    pub potential: f64,
    pub momentum: DVec3,
}

impl Exchange {
    /// Sums over the spheres that are not fixed.
    pub fn of(system: &System, spheres: &[Sphere]) -> Self {
        let reference = system.gravity_reference();
        let mut sum = Self::default();
        for s in spheres {
            let spin = 0.4 * s.radius * s.radius * s.spin.length_squared();
            sum.mass += s.mass;
            sum.kinetic += 0.5 * s.mass * (s.velocity.length_squared() + spin);
            sum.potential -= s.mass * system.gravity.dot(s.position - reference);
            sum.momentum += s.mass * s.velocity;
        }
        sum
    }

    /// The same quantities with opposite sign.
    pub fn reversed(self) -> Self {
        let Self { mass, kinetic, potential, momentum } = self;
        Self { mass: -mass, kinetic: -kinetic, potential: -potential, momentum: -momentum }
    }
}
