//! Edits of the state between two steps.

use std::collections::HashSet;

use glam::DVec3;

use super::{Options, Simulation, compress::Squeeze, recovery::Recovery, start::start_engine};
use crate::{Error, Sphere, System, state::warm_start::WarmStartCache};

/// Changes by edits between two steps that wake sleeping spheres.
#[derive(Clone, Default)]
pub(super) struct Disturbed {
    /// Walls, gravity or materials, and with them all spheres.
    pub all: bool,
    /// Ids of spheres that were added, removed or pushed. Spheres that sinks removed need no entry.
    pub spheres: HashSet<u32>,
}

impl Disturbed {
    /// A change that may disturb every sphere.
    pub fn all() -> Self {
        Self { all: true, ..Self::default() }
    }

    // Restarts the sleep timers of the disturbed spheres, and of those that touched a disturbed or removed sphere.
    fn wake(&self, warm_start: &mut WarmStartCache, system: &System) {
        if self.all {
            warm_start.sleep_timers.clear();
        } else {
            let is_gone = |id: u32| system.spheres.binary_search_by_key(&id, |s| s.id).is_err();
            warm_start.wake(|id| self.spheres.contains(&id) || is_gone(id));
        }
    }
}

impl Simulation {
    /// Adds a sphere before the next step.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the id is taken.
    pub fn add(&mut self, sphere: Sphere) -> Result<(), Error> {
        self.settle()?;
        match self.find(sphere.id) {
            Ok(_) => {
                Err(Error::Invalid(format!("the id {} is taken; choose one that no sphere has", sphere.id)))
            }
            Err(_) => {
                self.begin_edit()?;
                // After the loss of a device the spheres may be others than before.
                let (Ok(place) | Err(place)) = self.find(sphere.id);
                self.disturbed.spheres.insert(sphere.id);
                self.system.spheres.insert(place, sphere);
                Ok(())
            }
        }
    }

    /// Removes a sphere and returns its last state.
    ///
    /// # Errors
    /// [`Error::NoSuchSphere`] if no sphere has the id.
    pub fn remove(&mut self, id: u32) -> Result<Sphere, Error> {
        self.settle()?;
        self.find(id).map_err(|_| Error::NoSuchSphere(id))?;
        self.begin_edit()?;
        // After the loss of a device the spheres may be others than before.
        let place = self.find(id).map_err(|_| Error::NoSuchSphere(id))?;
        self.disturbed.spheres.insert(id);
        Ok(self.system.spheres.remove(place))
    }

    /// Changes the velocity of a sphere by `impulse / mass` (length/time); a fixed sphere stays at rest.
    ///
    /// # Errors
    /// [`Error::NoSuchSphere`] if no sphere has the id, [`Error::Invalid`] for an impulse that is not finite.
    pub fn apply_impulse(&mut self, id: u32, impulse: DVec3) -> Result<(), Error> {
        if !impulse.is_finite() {
            return Err(Error::Invalid(format!("the impulse {impulse} for sphere {id} is not finite")));
        }
        self.settle()?;
        self.find(id).map_err(|_| Error::NoSuchSphere(id))?;
        self.begin_edit()?;
        // After the loss of a device the spheres may be others than before.
        let place = self.find(id).map_err(|_| Error::NoSuchSphere(id))?;
        self.disturbed.spheres.insert(id);
        let sphere = &mut self.system.spheres[place];
        sphere.velocity += impulse * sphere.inverse_mass();
        Ok(())
    }

    /// Changes the system before the next step: its spheres in their current state, gravity, `dt`, materials, walls.
    /// The time continues.
    ///
    /// # Errors
    /// [`Error::Invalid`] if [`System::validate`] rejects the change, which is then discarded;
    /// [`Error::DeviceLost`].
    pub fn edit(&mut self, change: impl FnOnce(&mut System)) -> Result<(), Error> {
        let spheres = self.with_recovery(|simulation| simulation.try_spheres())?;
        let mut system = System { spheres, ..self.system.clone() };
        change(&mut system);
        system.validate_on()?;
        system.spheres.sort_by_key(|s| s.id);
        self.system = system;
        (self.edited, self.disturbed.all) = (true, true);
        self.flow.forget_leaving();
        Ok(())
    }

    /// Continues with other options, for example on another backend, from the current state. Time and counters continue;
    /// energy and momentum errors are measured from here.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::DeviceLost`]. On an error nothing changes.
    pub fn switch(&mut self, mut options: Options) -> Result<(), Error> {
        let spheres = self.with_recovery(|simulation| simulation.try_spheres())?;
        let system = System { spheres, ..self.system.clone() };
        system.validate_on()?;
        let mut engine = start_engine(&system, &mut options, self.time)?;
        // A lost device has no warm start to hand over.
        let mut warm_start = self.engine.warm_start().unwrap_or_default();
        self.disturbed.wake(&mut warm_start, &system);
        engine.restore(&warm_start)?;
        self.summary.restart(&system, engine.measure());
        (self.system, self.options, self.engine, self.edited) = (system, options, engine, false);
        self.disturbed = Disturbed::default();
        self.flow.see_ids(&self.system);
        self.flow.forget_leaving();
        self.impacts.clear();
        self.recovery = Recovery::default();
        self.flow.ran_ahead = false;
        Ok(())
    }

    fn find(&self, id: u32) -> Result<usize, usize> {
        self.system.spheres.binary_search_by_key(&id, |s| s.id)
    }

    // Edits collect in `system.spheres`; the engine receives all of them at once before the next step.
    pub(super) fn begin_edit(&mut self) -> Result<(), Error> {
        if !self.edited {
            self.with_recovery(|simulation| simulation.engine.read(&mut simulation.system.spheres))?;
            self.flow.let_go(&mut self.system.spheres);
            self.flow.forget_leaving();
            self.edited = true;
        }
        Ok(())
    }

    pub(super) fn apply_edits(&mut self) -> Result<(), Error> {
        if self.edited {
            self.system.validate_on()?;
            self.options.backend.supports(&self.system)?;
            self.reload(&self.disturbed.clone())?;
            self.squeeze = Squeeze::default();
            self.flow.see_ids(&self.system);
            self.summary.restart(&self.system, self.engine.measure());
            // Edited until the copy exists: after a loss of the device the edited state is not in an older copy.
            self.keep_copy()?;
            self.disturbed = Disturbed::default();
            self.edited = false;
        }
        Ok(())
    }

    // Restarts the engine from `system`. Resting contacts keep their impulses, and undisturbed spheres their sleep timers.
    pub(super) fn reload(&mut self, disturbed: &Disturbed) -> Result<(), Error> {
        let mut warm_start = self.engine.warm_start()?;
        disturbed.wake(&mut warm_start, &self.system);
        self.engine.reload(&self.system)?;
        self.engine.restore(&warm_start)
    }

    // Removes spheres that sinks have taken before anything is edited.
    fn settle(&mut self) -> Result<(), Error> {
        if self.flow.leaving() > 0 { self.begin_edit() } else { Ok(()) }
    }
}
