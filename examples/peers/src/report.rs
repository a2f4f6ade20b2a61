//! The figures of all runs, as a table and as JSON.

use serde_json::{Value, json};

/// Figures of one run.
#[derive(Clone, Copy, Default)]
pub struct Run {
    /// Wall-clock time of all steps, in seconds.
    pub seconds: f64,
    /// Deepest overlap after any step, and after the last one, in diameters.
    pub deepest_overlap: f64,
    pub last_overlap: f64,
    /// Change of the energy relative to the start, with its sign: the largest after any step, and after the last one.
    pub energy_error: f64,
    pub last_energy_error: f64,
    /// Spheres outside the box after the last step.
    pub left: usize,
}

/// The runs of an engine with one step length, in the order of their times.
pub struct Row {
    pub name: String,
    /// Number of steps that replace one of 1/60 s.
    pub division: u32,
    /// Length of a step, in seconds.
    pub dt: f64,
    pub steps: u32,
    pub runs: Vec<Run>,
}

impl Row {
    pub fn median(&self) -> Run {
        self.runs[self.runs.len() / 2]
    }

    fn simulated_per_wall(&self) -> f64 {
        self.dt * f64::from(self.steps) / self.median().seconds
    }
}

/// The figures of all engines.
pub struct Table {
    pub sphere_count: usize,
    /// Steps of 1/60 s.
    pub steps: u32,
    pub threads: usize,
    /// In the gas, the volume fraction and whether continuous collision is on.
    pub gas: Option<(f64, bool)>,
    pub rows: Vec<Row>,
}

impl Table {
    pub fn print_head(&self) {
        let Self { sphere_count, steps, threads, .. } = self;
        println!("{sphere_count} spheres, {steps} steps of 1/60 s, {threads} threads");
        if let Some((volume_fraction, ccd)) = self.gas {
            let ccd = if ccd { ", continuous collision on" } else { "" };
            println!("gas of volume fraction {volume_fraction}{ccd}");
            println!(
                "engine         dt   ms/frame    best   worst  M sphere-steps/s  time/carom  \
                 energy error   at the end    deepest   at the end  left"
            );
        } else {
            println!("engine         dt   ms/frame    best   worst  x real time    deepest   at the end");
        }
    }

    /// Prints a row; a frame is 1/60 s.
    pub fn print(&self, row: &Row) {
        let ms = |run: &Run| 1e3 * run.seconds / f64::from(row.steps / row.division);
        let median = row.median();
        let times = format!(
            "{:7} {:>9} {:>9.1} {:>7.1} {:>7.1}",
            row.name,
            format!("1/{}", 60 * row.division),
            ms(&median),
            ms(&row.runs[0]),
            ms(&row.runs[row.runs.len() - 1]),
        );
        let overlap =
            format!("{:>10.2}% {:>9.2}%", 100.0 * median.deepest_overlap, 100.0 * median.last_overlap);
        if self.gas.is_none() {
            println!("{times} {:>11.3} {overlap}", row.simulated_per_wall());
            return;
        }
        // Both simulate the same time.
        let carom = self.rows.iter().find(|row| row.name == "carom");
        let ratio =
            carom.map_or("-".into(), |carom| format!("{:.2}", median.seconds / carom.median().seconds));
        println!(
            "{times} {:>17.2} {ratio:>11} {:>+13.1e} {:>+12.1e} {overlap}  {:>5}",
            1e-6 * self.sphere_steps_per_second(row),
            median.energy_error,
            median.last_energy_error,
            median.left,
        );
    }

    fn sphere_steps_per_second(&self, row: &Row) -> f64 {
        self.sphere_count as f64 * f64::from(row.steps) / row.median().seconds
    }

    pub fn json(&self) -> Value {
        let engines: Vec<_> = self.rows.iter().map(|row| self.json_row(row)).collect();
        let mut report = json!({
            "spheres": self.sphere_count, "steps": self.steps, "threads": self.threads, "engines": engines,
        });
        if let Some((volume_fraction, ccd)) = self.gas {
            report["case"] = "gas".into();
            report["volume_fraction"] = volume_fraction.into();
            report["ccd"] = ccd.into();
        }
        report
    }

    fn json_row(&self, row: &Row) -> Value {
        let median = row.median();
        let mut figures = json!({
            "name": row.name,
            "dt": row.dt,
            "ms_per_step": 1e3 * median.seconds / f64::from(row.steps),
            "simulated_per_wall": row.simulated_per_wall(),
            "deepest_overlap": median.deepest_overlap,
            "deepest_overlap_final": median.last_overlap,
        });
        if self.gas.is_some() {
            figures["sphere_steps_per_second"] = self.sphere_steps_per_second(row).into();
            figures["energy_error"] = median.energy_error.into();
            figures["energy_error_final"] = median.last_energy_error.into();
            figures["left"] = median.left.into();
        }
        figures
    }
}
