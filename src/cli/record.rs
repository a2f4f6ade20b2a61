//! Collects the figures of a run in the JSON object of `--json`.

use carom::Simulation;
use serde_json::{Value, json};

use super::adapters::fields;

/// The object of `--json`. A figure that does not apply or is not finite is null, and so is the hash of a lost state.
pub fn record(simulation: &Simulation, state_hash: Option<u64>) -> Value {
    let summary = simulation.summary();
    let compressed = simulation.compressed();
    let (adapter, adapter_type) = fields(simulation);
    json!({
        "backend": simulation.backend().name(),
        "adapter": adapter,
        "adapter_type": adapter_type,
        "sphere_count": summary.sphere_count,
        "poured": summary.poured,
        "waiting": summary.waiting,
        "removed": summary.removed,
        "steps": summary.steps,
        "substeps": summary.substeps,
        "time": summary.time,
        "wall_seconds": summary.wall_seconds,
        "sphere_steps_per_second": summary.sphere_steps_per_second(),
        "impacts": summary.impacts(),
        "impacts_per_second": summary.impacts_per_second(),
        "rounds_max": summary.rounds_max,
        "late": summary.late,
        "crowded": summary.crowded,
        "event_driven": summary.event_driven,
        "cpu_steps": summary.cpu_steps,
        "device_lost": simulation.device_loss(),
        "unresolved": summary.unresolved,
        "stopped": summary.stopped,
        "nonfinite": summary.nonfinite,
        "deepest_overlap": summary.deepest_overlap,
        "deepest_overlap_final": summary.deepest_overlap_final,
        "kinetic_energy": summary.kinetic_energy,
        "total_energy": summary.total_energy,
        "energy_error": summary.energy_error,
        "ledger_error": summary.ledger_error,
        "momentum_error": summary.momentum_error,
        "compressibility": summary.compressibility,
        "compression": compressed.map(|c| c.stage.name()),
        "packing_fraction": compressed.map(|c| c.packing_fraction),
        "pressure": compressed.map(|c| c.pressure),
        "collision_rate": summary.collision_rate,
        "state_hash": state_hash.map(|hash| format!("{hash:016x}")),
    })
}
