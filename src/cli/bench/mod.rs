//! `carom bench`: measures the speed of every combination of scene, size, backend and thread count, and reports the
//! physics of each run.

mod chart;
mod checks;
mod device;
mod history;
mod machine;
mod measure;
mod physics;
mod tables;

use std::path::PathBuf;
use std::time::SystemTime;

use carom::Backend;
use serde_json::json;

use self::history::History;
use self::measure::{Case, Row, measure};
use super::adapters::{Chosen, choose};
use super::arguments::BenchArguments;
use super::atomic_file::AtomicFile;
use super::command_error::{CommandError, Exit};
use super::interrupt::{self, Phase};
use super::screen::Screen;
use super::text::counted;
use super::{run, source};

/// Runs `carom bench`.
pub fn bench(arguments: &BenchArguments) -> Result<Exit, CommandError> {
    let to_stdout = arguments.json.as_deref().is_some_and(|path| path.as_os_str() == "-");
    let mut screen = Screen::new(false, to_stdout);
    let mut backends = vec![];
    for &choice in &arguments.backends {
        let chosen = choose(choice, arguments.adapter.as_deref())?;
        chosen.note.iter().for_each(|note| screen.note(note));
        backends.push(chosen);
    }
    let cases = cases(arguments, &backends)?;
    // There is only one --adapter, so all cases on a device share one device.
    let copy = match backends.iter().find(|chosen| chosen.is_on_adapter()) {
        Some(chosen) => chosen.copy_bandwidth()?,
        None => None,
    };
    let files = Files::open(arguments, to_stdout)?;
    interrupt::enter(Phase::Stepping);
    let mut rows: Vec<Row> = vec![];
    for (place, case) in cases.iter().enumerate() {
        if interrupt::requested() || (screen.closed() && !Files::is_any_requested(arguments)) {
            break;
        }
        screen.note(&format!("{} of {}: {}", place + 1, cases.len(), case.describe()));
        rows.push(measure(case, arguments, copy)?);
    }
    interrupt::enter(Phase::Writing);
    print(&rows, &mut screen);
    let objects: Vec<serde_json::Value> = rows.iter().map(Row::json).collect();
    let object = json!({ "carom": env!("CARGO_PKG_VERSION"), "machine": machine::json(), "rows": objects });
    if to_stdout {
        run::print_object(&object)?;
    }
    files.write(&rows, &object)?;
    // Last, so that the figures of a failed run can be examined.
    if let Some(message) = wrong_physics(&rows) {
        return Err(CommandError { exit: Exit::RunFailed, message });
    }
    Ok(if interrupt::requested() { Exit::Interrupted } else { Exit::Done })
}

// The requested files, opened before hours of measurement, so that an error shows early.
struct Files {
    json: Option<AtomicFile>,
    svg: Option<AtomicFile>,
    history: Option<History>,
}

impl Files {
    fn is_any_requested(arguments: &BenchArguments) -> bool {
        arguments.json.is_some() || arguments.svg.is_some() || arguments.history.is_some()
    }

    fn open(arguments: &BenchArguments, to_stdout: bool) -> Result<Self, CommandError> {
        let json = arguments.json.as_deref().filter(|_| !to_stdout);
        let requested = [json, arguments.svg.as_deref(), arguments.history.as_deref()];
        // A link and its target are one file, too.
        let mut paths: Vec<PathBuf> = requested
            .into_iter()
            .flatten()
            .map(|path| {
                std::fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or(path.into())
            })
            .collect();
        let count = paths.len();
        paths.sort();
        paths.dedup();
        if paths.len() < count {
            let text = "--json, --svg and --history name the same file; each needs a file of its own";
            return Err(CommandError::usage(text.to_owned()));
        }
        Ok(Self {
            json: json.map(AtomicFile::create).transpose()?,
            svg: arguments.svg.as_deref().map(AtomicFile::create).transpose()?,
            history: arguments.history.as_deref().map(History::open).transpose()?,
        })
    }

    fn write(self, rows: &[Row], object: &serde_json::Value) -> Result<(), CommandError> {
        if let Some(history) = self.history {
            history.append(rows, SystemTime::now())?;
        }
        if let Some(mut file) = self.json {
            file.line(&format!("{object:#}"))?;
            file.commit()?;
        }
        if let Some(mut file) = self.svg {
            let mut caption = vec![machine::describe()];
            caption.extend(tables::adapters(rows));
            let svg =
                chart::svg(rows, &caption).map_err(|e| CommandError::files(format!("no chart: {e}")))?;
            file.line(svg.trim_end())?;
            file.commit()?;
        }
        Ok(())
    }
}

fn print(rows: &[Row], screen: &mut Screen) {
    screen.line(&machine::describe());
    tables::adapters(rows).iter().for_each(|line| screen.line(line));
    screen.line("");
    screen.line(tables::speed(rows).trim_end());
    if let Some(stages) = tables::stages(rows) {
        screen.line(&format!("\nms per step by stage\n{}", stages.trim_end()));
    }
    if let Some(device) = tables::device(rows) {
        screen.line(&format!("\n{}", device.trim_end()));
    }
}

// The failed checks of all rows, one on each line; `None` if the physics is right.
fn wrong_physics(rows: &[Row]) -> Option<String> {
    let lines: Vec<String> = rows
        .iter()
        .flat_map(|row| row.failed_checks.iter().map(|check| format!("{}: {check}", row.label())))
        .collect();
    let count = counted(lines.len() as u64, "check");
    (!lines.is_empty()).then(|| format!("the physics is wrong, {count} failed:\n  {}", lines.join("\n  ")))
}

// All cases; every scene and size is checked before the first measurement.
fn cases(arguments: &BenchArguments, backends: &[Chosen]) -> Result<Vec<Case>, CommandError> {
    let mut cases = vec![];
    for name in &arguments.scenes {
        let source = source::scene(name, &[], None)?;
        let sizes: Vec<Option<u32>> = match arguments.sizes.as_slice() {
            [] => vec![None],
            sizes => sizes.iter().copied().map(Some).collect(),
        };
        for size in sizes {
            let scene = match size {
                Some(count) => source.scene.resized(count).map_err(|why| {
                    CommandError::usage(format!("{}: {why}; leave out --sizes", source.name))
                })?,
                None => source.scene.clone(),
            };
            let label = format!("{}, {}", source.name, counted(scene.sphere_count()?, "sphere"));
            for chosen in backends {
                // The exact engine is serial and an adapter has its own threads: one case, whatever the threads.
                let threads = match chosen.backend {
                    Backend::Exact => &[1],
                    #[cfg(feature = "gpu")]
                    Backend::Gpu => &[1],
                    Backend::Cpu => arguments.threads.as_slice(),
                };
                for &threads in threads {
                    cases.push(Case {
                        name: source.name.clone(),
                        label: label.clone(),
                        scene: scene.clone(),
                        chosen: chosen.clone(),
                        threads,
                    });
                }
            }
        }
    }
    Ok(cases)
}
