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
            backend(row),
            threads(row),
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

// A software adapter is not to be taken for a GPU.
fn backend(row: &Row) -> String {
    match row.adapter_type.as_str() {
        Some(kind @ ("software" | "other")) => format!("{} ({kind})", row.backend),
        _ => row.backend.to_owned(),
    }
}

fn threads(row: &Row) -> String {
    row.threads.map_or("-".to_owned(), |threads| threads.to_string())
}

/// The adapters that rows were measured on, a line for each; none without the gpu backend.
pub fn adapters(rows: &[Row]) -> Vec<String> {
    let mut lines = vec![];
    for row in rows {
        if let (Some(name), Some(kind)) = (row.adapter.as_str(), row.adapter_type.as_str()) {
            let line = match kind {
                "software" => {
                    format!("{}: {name}, a software adapter: the processor above, not a GPU", row.backend)
                }
                _ => format!("{}: {name}, {kind}", row.backend),
            };
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// Milliseconds per step by stage, for the rows whose engine has stages.
pub fn stages(rows: &[Row]) -> Option<String> {
    if rows.iter().all(|row| row.stage_ms.is_empty()) {
        return None;
    }
    let mut header = vec![
        ("scene", Align::Left),
        ("spheres", Align::Right),
        ("backend", Align::Left),
        ("threads", Align::Right),
    ];
    header.extend(STAGES.iter().map(|stage| (stage.name, Align::Right)));
    let mut table = Table::new(&header);
    for row in rows.iter().filter(|row| !row.stage_ms.is_empty()) {
        let mut cells = vec![row.scene.clone(), row.sphere_count.to_string(), backend(row), threads(row)];
        cells.extend(row.stage_ms.iter().map(|&ms| number(ms, 3)));
        table.row(cells);
    }
    Some(table.to_string())
}
