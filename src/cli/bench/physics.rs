//! The physics of a measured run: the figures beside its speed.

use carom::Summary;
use serde_json::{Map, Value, json};

/// Figures over all steps of a run, including the warm-up. [`Summary`] explains each of them.
#[derive(Clone, Debug)]
pub struct Physics {
    pub energy_error: Option<f64>,
    pub ledger_error: f64,
    pub momentum_error: Option<f64>,
    pub compressibility: Option<f64>,
    pub collision_rate: f64,
    pub late: u64,
    pub crowded: u64,
    pub event_driven: u64,
    pub impacts: u64,
    pub unresolved: u64,
    pub stopped: u64,
    pub nonfinite: u64,
    pub deepest_overlap: f64,
}

impl Physics {
    pub fn new(summary: &Summary) -> Self {
        Self {
            energy_error: summary.energy_error,
            ledger_error: summary.ledger_error,
            momentum_error: summary.momentum_error,
            compressibility: summary.compressibility,
            collision_rate: summary.collision_rate,
            late: summary.late,
            crowded: summary.crowded,
            event_driven: summary.event_driven,
            impacts: summary.impacts(),
            unresolved: summary.unresolved,
            stopped: summary.stopped,
            nonfinite: summary.nonfinite,
            deepest_overlap: summary.deepest_overlap,
        }
    }

    /// The figures by name.
    pub fn json(&self) -> Map<String, Value> {
        let figures = json!({
            "energy_error": self.energy_error,
            "ledger_error": self.ledger_error,
            "momentum_error": self.momentum_error,
            "compressibility": self.compressibility,
            "collision_rate": self.collision_rate,
            "late": self.late,
            "crowded": self.crowded,
            "event_driven": self.event_driven,
            "impacts": self.impacts,
            "unresolved": self.unresolved,
            "stopped": self.stopped,
            "nonfinite": self.nonfinite,
            "deepest_overlap": self.deepest_overlap,
        });
        match figures {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }
}
