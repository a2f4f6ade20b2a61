//! Records the time of each sphere's last contact, for the engines on the CPU. The GPU engine records these
//! times itself.

use rustc_hash::FxHashMap;

use crate::{Impact, Partner};

/// Time of each sphere's last contact, collected from recorded impacts. The GPU engine keeps these times itself.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    last: FxHashMap<u32, f64>,
    now: f64,
}

impl Recent {
    /// An empty record: no sphere has had a contact yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records the impacts of a step that ended at `now` (time).
    pub fn note(&mut self, impacts: &[Impact], now: f64) {
        self.now = now;
        for impact in impacts {
            self.last.insert(impact.sphere, impact.time);
            if let Partner::Sphere(other) = impact.partner {
                self.last.insert(other, impact.time);
            }
        }
    }

    /// Returns to an earlier time; later contacts are forgotten.
    pub fn rewind(&mut self, now: f64) {
        self.now = now;
        self.last.retain(|_, time| *time <= now);
    }

    /// Time since the last contact of the sphere with this id; `None` without a contact.
    pub fn age(&self, id: u32) -> Option<f64> {
        self.last.get(&id).map(|time| (self.now - time).max(0.0))
    }
}
