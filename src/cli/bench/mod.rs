//! `carom bench`: measures the speed of every combination of scene, size, backend and thread count, and reports the
//! physics of each run.

mod device;
mod machine;
mod measure;
mod tables;

use carom::Backend;
use serde_json::json;

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
    // Opened before hours of measurement, so that an error shows early.
    let file = match &arguments.json {
        Some(path) if !to_stdout => Some(AtomicFile::create(path)?),
        _ => None,
    };
    interrupt::enter(Phase::Stepping);
    let mut rows: Vec<Row> = vec![];
    for (place, case) in cases.iter().enumerate() {
        if interrupt::requested() || (screen.closed() && arguments.json.is_none()) {
            break;
        }
        screen.note(&format!("{} of {}: {}", place + 1, cases.len(), case.describe()));
        rows.push(measure(case, arguments, copy)?);
    }
    interrupt::enter(Phase::Writing);
    screen.line(&machine::describe());
    tables::adapters(&rows).iter().for_each(|line| screen.line(line));
    screen.line("");
    screen.line(tables::speed(&rows).trim_end());
    if let Some(stages) = tables::stages(&rows) {
        screen.line(&format!("\nms per step by stage\n{}", stages.trim_end()));
    }
    if let Some(device) = tables::device(&rows) {
        screen.line(&format!("\n{}", device.trim_end()));
    }
    let rows: Vec<serde_json::Value> = rows.iter().map(Row::json).collect();
    let object = json!({ "carom": env!("CARGO_PKG_VERSION"), "machine": machine::json(), "rows": rows });
    if to_stdout {
        run::print_object(&object)?;
    }
    if let Some(mut file) = file {
        file.line(&format!("{object:#}"))?;
        file.commit()?;
    }
    Ok(if interrupt::requested() { Exit::Interrupted } else { Exit::Done })
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
            let label = format!("{}, {}", source.name, counted(source::sphere_count(&scene)?, "sphere"));
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
