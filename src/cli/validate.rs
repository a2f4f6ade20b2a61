//! `carom validate`: compares the engine with known physics.

mod page;
mod report;

use std::fs;
use std::path::Path;

use carom::Backend;
use carom::validate::{self, Case, Depth, Outcome, Settings, cases};

use super::{
    adapters::{self, Chosen},
    arguments::ValidateArguments,
    atomic_file::{AtomicFile, cannot_write},
    command_error::{CommandError, Exit},
    interrupt::{self, Phase},
    run::print_object,
    screen::Screen,
    text::{Align, Table, duration, number},
};
use report::{Report, measured, summary};

/// Runs `carom validate`.
pub fn validate(arguments: &ValidateArguments) -> Result<Exit, CommandError> {
    let mut screen = Screen::new(arguments.quiet, arguments.json);
    let depth = if arguments.full { Depth::Full } else { Depth::Quick };
    let selected = selection(&arguments.case, depth)?;
    if arguments.list {
        return list(&mut screen, arguments);
    }
    let mut backends: Vec<Chosen> = vec![];
    for choice in &arguments.backend {
        let chosen = adapters::choose(*choice, arguments.adapter.as_deref())?;
        if !backends.iter().any(|other| other.backend == chosen.backend) {
            backends.push(chosen);
        }
    }
    // Created before minutes of work, so that an error shows early.
    for folder in arguments.keep.iter().chain(&arguments.report) {
        fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    }
    for chosen in &backends {
        chosen.note.iter().for_each(|note| screen.note(note));
    }
    interrupt::enter(Phase::Stepping);
    let mut report = Report::new(depth, backends.iter().map(Chosen::describe).collect());
    for chosen in &backends {
        let settings =
            Settings { depth, options: chosen.options(arguments.threads), keep: arguments.keep.clone() };
        for case in selected.iter().filter(|case| case.exact || chosen.backend != Backend::Exact) {
            if interrupt::requested() || screen.closed() {
                break;
            }
            let outcome = validate::run(case, &settings, &interrupt::requested);
            print(&mut screen, &outcome);
            report.outcomes.push(outcome);
            // Again after each case, so that a run that is killed loses one case.
            arguments.report.iter().try_for_each(|folder| write(folder, &report))?;
        }
    }
    interrupt::enter(Phase::Writing);
    if report.outcomes.is_empty() && !interrupt::requested() {
        return Err(CommandError::usage(
            "none of these cases runs on these backends; `carom validate --list` lists them",
        ));
    }
    screen.line(&format!("\n{}", summary(&report)));
    if arguments.json {
        print_object(&report.object())?;
    }
    end(&report)
}

// The cases with these names; without names, those of the depth.
fn selection(names: &[String], depth: Depth) -> Result<Vec<&'static Case>, CommandError> {
    if names.is_empty() {
        return Ok(cases().filter(|case| case.quick || depth == Depth::Full).collect());
    }
    let find = |name: &String| {
        validate::case(name).ok_or_else(|| {
            let known: Vec<&str> = cases().map(|case| case.name).collect();
            CommandError::usage(format!("no case is called `{name}`; the cases are {}", known.join(", ")))
        })
    };
    let mut selected: Vec<&Case> = vec![];
    for name in names {
        let case = find(name)?;
        if !selected.iter().any(|other| other.name == case.name) {
            selected.push(case);
        }
    }
    Ok(selected)
}

fn list(screen: &mut Screen, arguments: &ValidateArguments) -> Result<Exit, CommandError> {
    if arguments.json {
        print_object(&report::list())?;
        return Ok(Exit::Done);
    }
    let yes = |flag| if flag { "yes" } else { "-" }.to_owned();
    let mut table = Table::new(&[
        ("case", Align::Left),
        ("group", Align::Left),
        ("quick", Align::Left),
        ("exact", Align::Left),
        ("", Align::Left),
    ]);
    for case in cases() {
        let group = case.group.name().to_owned();
        table.row(vec![case.name.to_owned(), group, yes(case.quick), yes(case.exact), case.title.to_owned()]);
    }
    screen.text(&table.to_string());
    Ok(Exit::Done)
}

// Prints the results of a case.
fn print(screen: &mut Screen, outcome: &Outcome) {
    let state = if outcome.stopped { ", stopped" } else { "" };
    let backend = outcome.backend.name();
    screen.line(&format!("\n{} on {backend}: {}{state}", outcome.case.name, duration(outcome.seconds)));
    let mut table = Table::new(&[
        ("quantity", Align::Left),
        ("expected", Align::Right),
        ("measured", Align::Right),
        ("tolerance", Align::Right),
        ("verdict", Align::Left),
        ("source", Align::Left),
    ]);
    for check in &outcome.checks {
        table.row(vec![
            check.quantity.clone(),
            number(check.expected, 6),
            measured(check),
            number(check.tolerance(), 2),
            check.verdict().name().to_owned(),
            check.source.text(),
        ]);
    }
    for line in table.to_string().lines() {
        screen.line(&format!("  {line}"));
    }
    for check in outcome.checks.iter().filter(|check| !check.note.is_empty()) {
        screen.line(&format!("  note on {}: {}", check.quantity, check.note));
    }
    outcome.failure.iter().for_each(|error| screen.line(&format!("  FAILED: {error}")));
    outcome.notes.iter().for_each(|note| screen.line(&format!("  note: {note}")));
}

fn write(folder: &Path, report: &Report) -> Result<(), CommandError> {
    let charts = report.charts()?;
    let file = |name: &str, text: &str| -> Result<(), CommandError> {
        let mut file = AtomicFile::create(&folder.join(name))?;
        file.line(text.trim_end())?;
        file.commit()
    };
    if !charts.is_empty() {
        let path = folder.join("charts");
        fs::create_dir_all(&path).map_err(|error| cannot_write(&path, &error))?;
    }
    for chart in &charts {
        file(&chart.file, &chart.svg)?;
    }
    file("report.json", &format!("{:#}", report.object()))?;
    file("report.md", &page::markdown(report, &charts))?;
    file("index.html", &page::html(report, &charts))
}

fn end(report: &Report) -> Result<Exit, CommandError> {
    let failed: Vec<String> = report
        .outcomes
        .iter()
        .filter(|outcome| !outcome.passed() && !outcome.stopped)
        .map(|outcome| format!("{} on {}", outcome.case.name, outcome.backend.name()))
        .collect();
    if !failed.is_empty() {
        let message = format!("these cases did not pass: {}", failed.join(", "));
        return Err(CommandError { exit: Exit::Mismatch, message });
    }
    Ok(if interrupt::requested() { Exit::Interrupted } else { Exit::Done })
}
