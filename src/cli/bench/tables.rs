//! The rows as people read them.

use carom::stages::STAGES;

use super::measure::Row;
use crate::cli::text::{Align, Table, number};

/// Speed and, in the same line, the physics.
pub fn speed(rows: &[Row]) -> String {
    let mut table = Table::new(&[
        ("scene", Align::Left),
        ("spheres", Align::Right),
        ("backend", Align::Left),
        ("threads", Align::Right),
        ("steps", Align::Right),
        ("median ms", Align::Right),
        ("p95 ms", Align::Right),
        ("M sphere-steps/s", Align::Right),
        ("M impacts/s", Align::Right),
        ("rounds", Align::Right),
        ("B/sphere", Align::Right),
        ("dE/E", Align::Right),
        ("Z", Align::Right),
        ("late", Align::Right),
        ("overlap/d", Align::Right),
    ]);
    let optional = |x: Option<f64>, digits| x.map_or("-".to_owned(), |x| number(x, digits));
    for row in rows {
        table.row(vec![
            row.scene.clone(),
            row.sphere_count.to_string(),
            row.backend.to_owned(),
            row.threads.to_string(),
            row.steps.to_string(),
            number(row.median_ms, 4),
            number(row.p95_ms, 4),
            number(row.sphere_steps_per_second / 1e6, 3),
            number(row.impacts_per_second / 1e6, 3),
            number(row.rounds_mean, 3),
            number(row.bytes_per_sphere, 4),
            optional(row.energy_error, 2),
            optional(row.compressibility, 4),
            row.late.to_string(),
            number(row.deepest_overlap, 2),
        ]);
    }
    table.to_string()
}

/// Milliseconds per step by stage, for the rows whose engine has stages.
pub fn stages(rows: &[Row]) -> Option<String> {
    if rows.iter().all(|row| row.stage_ms.is_empty()) {
        return None;
    }
    let mut header = vec![("scene", Align::Left), ("spheres", Align::Right), ("threads", Align::Right)];
    header.extend(STAGES.iter().map(|stage| (stage.name, Align::Right)));
    let mut table = Table::new(&header);
    for row in rows.iter().filter(|row| !row.stage_ms.is_empty()) {
        let mut cells = vec![row.scene.clone(), row.sphere_count.to_string(), row.threads.to_string()];
        cells.extend(row.stage_ms.iter().map(|&ms| number(ms, 3)));
        table.row(cells);
    }
    Some(table.to_string())
}
