//! Formats the results of a benchmark as tables for the screen.

use carom::schedule::STAGES;

use super::measure::Row;
use crate::cli::text::{Align, Table, number};

/// Speed, with the physics in the same line.
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
        ("crowded", Align::Right),
        ("overlap/d", Align::Right),
    ]);
    let optional = |x: Option<f64>, digits| x.map_or("-".to_owned(), |x| number(x, digits));
    for row in rows {
        table.row(vec![
            row.scene.clone(),
            row.sphere_count.to_string(),
            row.backend_label(),
            threads(row),
            row.steps.to_string(),
            number(row.median_ms, 4),
            number(row.p95_ms, 4),
            number(row.sphere_steps_per_second / 1e6, 3),
            number(row.impacts_per_second / 1e6, 3),
            number(row.rounds_mean, 3),
            number(row.bytes_per_sphere, 4),
            optional(row.physics.energy_error, 2),
            optional(row.physics.compressibility, 4),
            row.physics.late.to_string(),
            row.physics.crowded.to_string(),
            number(row.physics.deepest_overlap, 2),
        ]);
    }
    table.to_string()
}

fn threads(row: &Row) -> String {
    row.threads.map_or("-".to_owned(), |threads| threads.to_string())
}

/// The adapters of the measurements, one per line; none without the gpu backend.
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

/// Milliseconds per step by stage, for engines with stages.
pub fn stages(rows: &[Row]) -> Option<String> {
    let values = |row: &Row| row.stages.ms.iter().map(|&ms| number(ms, 3)).collect();
    by_stage(rows, values)
}

fn by_stage(rows: &[Row], values: impl Fn(&Row) -> Vec<String>) -> Option<String> {
    let mut header = vec![
        ("scene", Align::Left),
        ("spheres", Align::Right),
        ("backend", Align::Left),
        ("threads", Align::Right),
    ];
    header.extend(STAGES.iter().map(|stage| (stage.name, Align::Right)));
    let mut table = Table::new(&header);
    let mut has_rows = false;
    for row in rows {
        let values = values(row);
        if values.is_empty() {
            continue;
        }
        has_rows = true;
        let mut cells =
            vec![row.scene.clone(), row.sphere_count.to_string(), row.backend_label(), threads(row)];
        cells.extend(values);
        table.row(cells);
    }
    has_rows.then(|| table.to_string())
}

/// The work of the devices, with an explanation of the figures.
pub fn device(rows: &[Row]) -> Option<String> {
    let on_device: Vec<_> = rows.iter().filter_map(|row| Some((row, row.device.as_ref()?))).collect();
    let (first, figures) = on_device.first()?;
    let mut table = Table::new(&[
        ("scene", Align::Left),
        ("spheres", Align::Right),
        ("backend", Align::Left),
        ("dispatches", Align::Right),
        ("submits", Align::Right),
        ("waits", Align::Right),
        ("MB at least", Align::Right),
        ("GB/s", Align::Right),
        ("of plain copy", Align::Right),
    ]);
    for (row, figures) in &on_device {
        let share = |copy: f64| format!("{} %", number(100.0 * figures.bytes_per_second / copy, 2));
        table.row(vec![
            row.scene.clone(),
            row.sphere_count.to_string(),
            row.backend_label(),
            number(figures.dispatches, 3),
            number(figures.submits, 3),
            number(figures.blocking_reads, 2),
            number(1e-6 * figures.least_bytes, 3),
            number(1e-9 * figures.bytes_per_second, 3),
            figures.copy_bytes_per_second.map_or("-".to_owned(), share),
        ]);
    }
    let mut text = format!("per step on the device\n{table}");
    if let Some(copy) = figures.copy_bytes_per_second {
        text.push_str(&format!(
            "a plain copy on {}: {} GB/s, reads plus writes; GB/s above: least reads plus writes of the stages, over \
             the time of whole steps\n",
            first.backend_label(),
            number(1e-9 * copy, 3)
        ));
    }
    let rates = |row: &Row| {
        let text = |&rate: &f64| if rate > 0.0 { number(1e-9 * rate, 3) } else { "-".to_owned() };
        row.stages.bytes_per_second.iter().map(text).collect()
    };
    match by_stage(rows, rates) {
        Some(table) => {
            let steps = on_device.iter().map(|(row, _)| row.stages.steps).max().unwrap_or_default();
            text.push_str(&format!(
                "stages on the device are timed by its timestamps, in {steps} additional steps, which are not counted above\n\
                 \nGB/s by stage, at least\n{table}"
            ));
        }
        None => text.push_str("no times by stage: the adapter writes no timestamps\n"),
    }
    Some(text)
}
