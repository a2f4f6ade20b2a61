//! Sources, sinks and gravity changes between steps, and their share in the energy ledger.
//!
//! A sink takes a sphere at the end of a step, but the sphere leaves the engine only at the start of the next step, when
//! new spheres arrive. Spheres are thus exchanged at most once per step. Meanwhile the public interface hides the sphere.
//!
//! A device removes and adds spheres itself ([`Engine::exchange`](crate::step::engine::Engine::exchange)); other engines are
//! reloaded.

use glam::DVec3;

use super::{Simulation, edit::Disturbed};
use crate::{
    Error, Partner, Sink, SinkCount, Source, Sphere, StepReport, System,
    simulation::summary::Exchange,
    step::watch::{BoxSet, source_box},
    trace::debug,
};

/// Checks of the sinks without a removal after which the next step begins before the check. A step that is called off costs
/// the device a step.
const QUIET_CHECKS: u32 = 4;

/// Progress of a source.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub(super) struct Progress {
    /// Number of spheres poured.
    pub poured: u64,
    /// Number of steps in which the next sphere has waited.
    pub tries: u64,
}

/// Progress of all sources and sinks.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub(super) struct Flow {
    /// Progress of each source, in their order.
    pub sources: Vec<Progress>,
    sinks: Vec<SinkCount>,
    /// Larger than every id in use, now or earlier.
    pub next_id: u64,
    /// Ids, ascending, of spheres that sinks have taken and that the engine still holds.
    leaving: Vec<u32>,
    /// Whether the spheres in [`Simulation::system`] are in their current state.
    pub is_read: bool,
    /// Spheres poured and not yet reported.
    poured: u64,
    waiting: u64,
    /// Whether the engine may have begun the step after the one that it reported.
    pub ran_ahead: bool,
    /// Steps called off and not yet reported.
    pub called_off: u64,
    /// Consecutive checks in which no sink took a sphere.
    empty_checks: u32,
    generation: u64,
}

impl Flow {
    pub fn new(system: &System) -> Self {
        let mut flow = Self::default();
        flow.see_ids(system);
        flow
    }

    /// Raises `next_id` above the largest id in the system.
    pub fn see_ids(&mut self, system: &System) {
        let next = system.spheres.last().map_or(0, |sphere| u64::from(sphere.id) + 1);
        self.next_id = self.next_id.max(next);
    }

    /// Number of spheres in the engine that sinks have taken.
    pub fn leaving(&self) -> usize {
        self.leaving.len()
    }

    /// Whether no sink has taken this sphere.
    pub fn keeps(&self, id: u32) -> bool {
        self.leaving.is_empty() || self.leaving.binary_search(&id).is_err()
    }

    pub fn keeps_partner(&self, partner: Partner) -> bool {
        match partner {
            Partner::Sphere(id) => self.keeps(id),
            Partner::Wall(_) => true,
        }
    }

    /// Whether this can be the progress of the sources and sinks of a system.
    #[cfg(feature = "files")]
    pub fn is_sound(&self, system: &System) -> bool {
        let Self { sources, sinks, leaving, .. } = self;
        sources.len() <= system.sources.len()
            && sinks.len() <= system.sinks.len()
            && leaving.is_sorted_by(|a, b| a < b)
    }

    /// Removes the spheres that sinks have taken from the list, and returns them.
    pub fn let_go(&self, spheres: &mut Vec<Sphere>) -> Vec<Sphere> {
        if self.leaving.is_empty() { vec![] } else { spheres.extract_if(.., |s| !self.keeps(s.id)).collect() }
    }

    /// The spheres in the list that sinks have taken. Their order is that of the ids.
    pub fn gone(&self, spheres: &[Sphere]) -> Vec<Sphere> {
        let place = |id: &u32| spheres.binary_search_by_key(id, |s| s.id).ok();
        self.leaving.iter().filter_map(|id| place(id).map(|place| spheres[place])).collect()
    }

    /// A counter that changes whenever spheres come or go.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Marks the spheres as others than those of the generation `before`; they have to be read again, and no step is under way.
    pub fn renew(&mut self, before: u64) {
        self.generation = self.generation.max(before) + 1;
        (self.is_read, self.ran_ahead) = (false, false);
    }

    /// Clears the list of leaving spheres once the engine no longer holds them.
    pub fn forget_leaving(&mut self) {
        self.leaving.clear();
        self.generation += 1;
    }
}

impl Simulation {
    /// Number and mass of the spheres that each sink has taken since the start of the run, in the order of
    /// [`System::sinks`].
    ///
    /// ```
    /// use carom::{Options, Simulation, Sink, Sphere, System};
    /// use glam::DVec3;
    ///
    /// let mut system = System { dt: 0.5, ..System::default() };
    /// system.sinks.push(Sink::new(DVec3::splat(1.0), DVec3::splat(2.0), "drain"));
    /// system.spheres.push(Sphere { velocity: DVec3::splat(1.0), mass: 3.0, ..Sphere::default() });
    /// let mut simulation = Simulation::new(system, Options::default())?;
    /// for _ in 0..4 {
    ///     simulation.step()?;
    /// }
    /// let count = simulation.sink_counts()[0];
    /// assert_eq!((count.removed, count.mass, simulation.sphere_count()), (1, 3.0, 0));
    /// # Ok::<(), carom::Error>(())
    /// ```
    pub fn sink_counts(&self) -> Vec<SinkCount> {
        let count = |k: usize| self.flow.sinks.get(k).copied().unwrap_or_default();
        (0..self.system.sinks.len()).map(count).collect()
    }

    /// Number of spheres that each source has poured since the start of the run, in the order of [`System::sources`].
    pub fn source_counts(&self) -> Vec<u64> {
        let count = |k: usize| self.flow.sources.get(k).map_or(0, |source| source.poured);
        (0..self.system.sources.len()).map(count).collect()
    }

    /// A counter that changes whenever spheres come or go; ids and materials cached by a renderer are then out of date.
    pub fn generation(&self) -> u64 {
        self.flow.generation
    }

    /// Changes gravity (length/time^2) between two steps, for fields that vary with time. Everything else stays, statistics
    /// included; the ledger counts the change of the potential energy as supplied from outside.
    ///
    /// Reloads the engine, which costs about as much as a step of a few substeps, and wakes sleeping spheres.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a gravity that is not finite, lies along a periodic axis, points out of the plane of a 2D
    /// world or needs more than 1e4 substeps in a step; then nothing changes. Otherwise the errors of [`step`](Self::step).
    pub fn set_gravity(&mut self, gravity: DVec3) -> Result<(), Error> {
        if gravity == self.system.gravity {
            return Ok(());
        }
        System { gravity, spheres: vec![], ..self.system.clone() }.inspect_world()?;
        self.system.inspect_need(gravity)?;
        self.with_recovery(|simulation| simulation.replace_gravity(gravity))
    }

    fn replace_gravity(&mut self, gravity: DVec3) -> Result<(), Error> {
        if self.edited {
            self.system.gravity = gravity;
            self.disturbed.all = true;
            return Ok(());
        }
        self.read_all()?;
        let before = std::mem::replace(&mut self.system.gravity, gravity);
        let gone = self.flow.let_go(&mut self.system.spheres);
        if let Err(error) = self.reload(&Disturbed::all()) {
            self.system.gravity = before;
            self.take_back(gone);
            return Err(error);
        }
        self.flow.forget_leaving();
        self.flow.is_read = false;
        self.summary.drive(&self.system, self.engine.measure());
        // Steps that are repeated after a loss of the device must not see the gravity of before.
        self.keep_copy()
    }

    /// Before a step: removes the spheres that sinks have taken and adds the spheres that are due.
    pub(super) fn exchange(&mut self) -> Result<(), Error> {
        if !self.system.has_flow() {
            return Ok(());
        }
        self.flow.sources.resize(self.system.sources.len(), Progress::default());
        let pour = self.pour()?;
        self.flow.waiting = pour.waiting;
        if pour.spheres.is_empty() && self.flow.leaving.is_empty() {
            self.flow.sources = pour.sources;
            return Ok(());
        }
        if self.flow.ran_ahead {
            // The step was begun with the spheres of before.
            self.flow.called_off += u64::from(self.engine.call_off()?);
            self.flow.ran_ahead = false;
        }
        let gone = self.flow.gone(&self.system.spheres);
        debug!("step {}: {} spheres leave, {} arrive", self.step + 1, gone.len(), pour.spheres.len());
        if self.engine.exchange(&gone, &pour.spheres)? {
            self.flow.let_go(&mut self.system.spheres);
            self.system.spheres.extend(&pour.spheres);
        } else {
            self.exchange_by_reload(&pour.spheres)?;
        }
        self.flow.forget_leaving();
        self.flow.is_read = false;
        self.flow.sources = pour.sources;
        self.flow.next_id += pour.spheres.len() as u64;
        self.flow.poured += pour.spheres.len() as u64;
        let brought = Exchange::of(&self.system, &pour.spheres);
        self.summary.exchange(self.system.spheres.len(), brought);
        Ok(())
    }

    // Restarts the engine without the spheres that sinks have taken and with the poured ones.
    fn exchange_by_reload(&mut self, poured: &[Sphere]) -> Result<(), Error> {
        self.read_all()?;
        let gone = self.flow.let_go(&mut self.system.spheres);
        let kept = self.system.spheres.len();
        // New ids are larger than all others, so the order by id holds.
        self.system.spheres.extend(poured);
        let reloaded = if self.system.spheres.is_empty() && gone.is_empty() {
            Ok(())
        } else {
            self.reload(&Disturbed::default())
        };
        if let Err(error) = reloaded {
            self.system.spheres.truncate(kept);
            self.take_back(gone);
            return Err(error);
        }
        Ok(())
    }

    /// After a step: lets sinks take spheres, and reports arrivals and departures.
    pub(super) fn drain(&mut self, report: &mut StepReport) -> Result<(), Error> {
        self.flow.is_read = false;
        report.poured = std::mem::take(&mut self.flow.poured);
        report.waiting = self.flow.waiting;
        if self.system.sinks.is_empty() {
            return Ok(());
        }
        let Self { system, engine, flow, .. } = self;
        let (axes, step) = (system.dimensions.count(), self.step);
        report.removed_by_sink = vec![0; system.sinks.len()];
        flow.sinks.resize(system.sinks.len(), SinkCount::default());
        let looks = |k: &usize| step.is_multiple_of(u64::from(system.sinks[*k].every));
        let looking: Vec<usize> = (0..system.sinks.len()).filter(looks).collect();
        let taker = |center: DVec3| looking.iter().copied().find(|&k| system.sinks[k].holds(center, axes));
        if looking.is_empty() || system.spheres.is_empty() {
            return Ok(());
        }
        let boxes = BoxSet::of(looking.iter().copied());
        let mut found = engine.find(boxes, &|center, _| taker(center).is_some())?;
        found.sort_unstable_by_key(|found| found.id);
        let place =
            |id: u32| system.spheres.binary_search_by_key(&id, |s| s.id).expect("an id of the system");
        found.retain(|found| !system.spheres[place(found.id)].fixed);
        if found.is_empty() {
            flow.empty_checks = flow.empty_checks.saturating_add(1);
            return Ok(());
        }
        flow.empty_checks = 0;
        let mut gone = Vec::with_capacity(found.len());
        for found in &found {
            let place = self.system.spheres.binary_search_by_key(&found.id, |s| s.id);
            let sphere = &mut self.system.spheres[place.expect("an id of the system")];
            (sphere.position, sphere.velocity, sphere.spin) = (found.center, found.velocity, found.spin);
            let sphere = *sphere;
            let sinks = &self.system.sinks;
            let by = looking.iter().copied().find(|&k| sinks[k].holds(found.center, axes)).unwrap_or(0);
            flow.sinks[by].removed += 1;
            flow.sinks[by].mass += sphere.mass;
            report.removed_by_sink[by] += 1;
            gone.push(sphere);
        }
        flow.leaving = found.iter().map(|found| found.id).collect();
        flow.generation += 1;
        let taken = Exchange::of(&self.system, &gone);
        report.removed = gone.len() as u64;
        // The engine's sums still include the spheres that sinks have taken.
        if self.flow.leaving() == self.system.spheres.len() {
            (report.kinetic_energy, report.potential_energy, report.momentum) = (0.0, 0.0, DVec3::ZERO);
        } else {
            report.kinetic_energy = (report.kinetic_energy - taken.kinetic).max(0.0);
            report.potential_energy -= taken.potential;
            report.momentum -= taken.momentum;
        }
        self.summary.exchange(self.sphere_count(), taken.reversed());
        Ok(())
    }

    /// Tells the engine in which boxes sinks and sources look for spheres after the next step and after the step that
    /// follows it.
    pub(super) fn watch(&mut self) {
        if !self.system.has_flow() {
            return;
        }
        let Self { system, flow, step, time, .. } = self;
        // The same sums as those of the times at which sources pour.
        let end = *time + system.dt;
        let boxes = |step: u64, next_end: f64| {
            let looks = |k: &usize| step.is_multiple_of(u64::from(system.sinks[*k].every));
            let is_due = |k: &usize| {
                let poured = flow.sources.get(*k).map_or(0, |progress| progress.poured);
                system.sources[*k].due(next_end) > poured
            };
            let sinks = (0..system.sinks.len()).filter(looks);
            let sources = (0..system.sources.len()).filter(is_due).map(|k| source_box(system, k));
            BoxSet::of(sinks.chain(sources))
        };
        let (now, next) = (boxes(*step + 1, end + system.dt), boxes(*step + 2, end + system.dt + system.dt));
        self.engine.watch(now, next);
    }

    /// Whether spheres are likely to come or go between the step about to run and the step after it. A step that begins
    /// before the sinks are checked is called off if they take a sphere.
    pub(super) fn flows_next(&self) -> bool {
        // The same sum as that of the time at which sources pour.
        let end = self.time + self.system.dt + self.system.dt;
        let has_due = |(source, progress): (&Source, &Progress)| source.due(end) > progress.poured;
        let checks = |sink: &Sink| (self.step + 1).is_multiple_of(u64::from(sink.every));
        let takes = self.flow.empty_checks < QUIET_CHECKS && self.system.sinks.iter().any(checks);
        takes || self.system.sources.iter().zip(&self.flow.sources).any(has_due)
    }

    /// Reads all spheres from the engine to the host.
    pub(super) fn read_all(&mut self) -> Result<(), Error> {
        if !self.flow.is_read {
            self.engine.read(&mut self.system.spheres)?;
            self.flow.is_read = true;
        }
        Ok(())
    }

    /// Returns taken spheres to the system, which then holds the same spheres as the engine.
    fn take_back(&mut self, gone: Vec<Sphere>) {
        self.system.spheres.extend(gone);
        self.system.spheres.sort_unstable_by_key(|sphere| sphere.id);
    }
}
