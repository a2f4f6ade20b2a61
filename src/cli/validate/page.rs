//! The pages of a report: HTML in one file, and Markdown with its charts beside it.

use std::fmt::Write;

use carom::validate::{Check, Outcome};

use super::report::{Drawn, Report, cores, measured, summary};
use crate::cli::text::{duration, number};

const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}\
    table{border-collapse:collapse;margin:1rem 0;font-size:.9rem}th,td{padding:.25rem .6rem;border-bottom:1px solid #ddd;\
    text-align:left;vertical-align:top}td.n{text-align:right;white-space:nowrap}.bad{color:#b00020;font-weight:bold}\
    svg{max-width:100%;height:auto}h2{margin-top:3rem;border-top:2px solid #ddd;padding-top:1rem}";

const HEADER: [&str; 8] =
    ["quantity", "expected", "its error", "measured", "largest error", "tolerance", "verdict", "source"];

// The first paragraph of both pages.
const RULE: &str = "A check passes if its measurement lies within the tolerance of the expected value: the error of the theory plus \
    three standard errors of the measurement (after ±). Two numbers are stated before the run: the error of the expected value, for \
    which the method gives the reasons, and the largest standard error. A measurement with a larger standard error is uncertain and \
    does not pass.";

fn facts(report: &Report) -> Vec<String> {
    vec![
        format!(
            "carom {}, {}, depth {}, {} cores",
            env!("CARGO_PKG_VERSION"),
            report.date,
            report.depth(),
            cores()
        ),
        format!("Backends: {}", report.backends.join("; ")),
        format!("{}.", summary(report)),
    ]
}

fn heading(outcome: &Outcome) -> String {
    format!("{} ({})", outcome.case.title, outcome.backend.name())
}

fn anchor(outcome: &Outcome) -> String {
    format!("{}-{}", outcome.case.name, outcome.backend.name())
}

// How many checks of a case passed.
fn tally(outcome: &Outcome) -> String {
    let passed = outcome.checks.iter().filter(|check| check.passed()).count();
    let end = match &outcome.failure {
        Some(_) => ", failed",
        None if outcome.stopped => ", stopped",
        None => "",
    };
    format!("{passed} of {}{end}", outcome.checks.len())
}

fn cells(check: &Check) -> [String; 8] {
    [
        check.quantity.clone(),
        number(check.expected, 6),
        number(check.theory_error, 2),
        measured(check),
        number(check.largest_error, 2),
        number(check.tolerance(), 2),
        check.verdict().name().to_owned(),
        check.source.text(),
    ]
}

// The method of a case, once for all backends.
fn method(report: &Report, k: usize) -> &'static str {
    let case = report.outcomes[k].case;
    let is_first = !report.outcomes[..k].iter().any(|earlier| earlier.case.name == case.name);
    if is_first { case.method } else { "The method is stated above, with the first backend." }
}

// Remarks of a case: published values, notes on checks, notes on the run.
fn remarks(outcome: &Outcome) -> Vec<String> {
    let published = outcome
        .published
        .iter()
        .map(|p| format!("Published {}: {} ({})", p.quantity, p.value, p.source.text()));
    let notes = outcome.checks.iter().filter(|check| !check.note.is_empty());
    let notes = notes.map(|check| format!("{}: {}", check.quantity, check.note));
    let failure = outcome.failure.iter().map(|error| format!("The case failed: {error}"));
    failure.chain(published).chain(notes).chain(outcome.notes.iter().cloned()).collect()
}

/// The report as one HTML file that needs no network.
pub fn html(report: &Report, charts: &[Drawn]) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Validation of carom</title>\
         <style>{STYLE}</style></head><body>\n<h1>Validation of carom</h1>\n"
    );
    for fact in facts(report) {
        let _ = writeln!(page, "<p>{}</p>", escape(&fact));
    }
    let _ = writeln!(
        page,
        "<p>{RULE}</p>\n<table><tr><th>case</th><th>backend</th><th>passed</th><th>time</th></tr>"
    );
    for outcome in &report.outcomes {
        let class = if outcome.passed() { "" } else { " class=\"bad\"" };
        let _ = writeln!(
            page,
            "<tr><td><a href=\"#{}\">{}</a></td><td>{}</td><td{class}>{}</td><td class=\"n\">{}</td></tr>",
            anchor(outcome),
            outcome.case.name,
            outcome.backend.name(),
            tally(outcome),
            duration(outcome.seconds),
        );
    }
    page.push_str("</table>\n");
    for (k, outcome) in report.outcomes.iter().enumerate() {
        let _ = writeln!(page, "<h2 id=\"{}\">{}</h2>", anchor(outcome), escape(&heading(outcome)));
        for paragraph in method(report, k).split("\n\n") {
            let _ = writeln!(page, "<p>{}</p>", escape(paragraph));
        }
        page.push_str("<table><tr>");
        HEADER.iter().for_each(|name| page.push_str(&format!("<th>{name}</th>")));
        page.push_str("</tr>\n");
        for check in &outcome.checks {
            page.push_str("<tr>");
            for (column, cell) in cells(check).iter().enumerate() {
                let class = match column {
                    1..=5 => " class=\"n\"",
                    6 if !check.passed() => " class=\"bad\"",
                    _ => "",
                };
                let _ = write!(page, "<td{class}>{}</td>", escape(cell));
            }
            page.push_str("</tr>\n");
        }
        page.push_str("</table>\n");
        for remark in remarks(outcome) {
            let _ = writeln!(page, "<p>{}</p>", escape(&remark));
        }
        for chart in charts.iter().filter(|chart| chart.outcome == k) {
            page.push_str(&chart.svg);
        }
    }
    page.push_str("</body></html>\n");
    page
}

/// The report as Markdown; it shows the charts from their files.
pub fn markdown(report: &Report, charts: &[Drawn]) -> String {
    let mut page = "# Validation of carom\n\n".to_owned();
    for fact in facts(report) {
        let _ = writeln!(page, "{fact}\n");
    }
    let _ = writeln!(page, "{RULE}\n\n| case | backend | passed | time |\n|---|---|---|---|");
    for outcome in &report.outcomes {
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} |",
            outcome.case.name,
            outcome.backend.name(),
            tally(outcome),
            duration(outcome.seconds),
        );
    }
    for (k, outcome) in report.outcomes.iter().enumerate() {
        let _ = writeln!(page, "\n## {}\n\n{}\n", heading(outcome), method(report, k));
        let _ = writeln!(page, "| {} |\n|---|---:|---:|---:|---:|---:|---|---|", HEADER.join(" | "));
        for check in &outcome.checks {
            let _ = writeln!(page, "| {} |", cells(check).map(|cell| cell.replace('|', "\\|")).join(" | "));
        }
        for remark in remarks(outcome) {
            let _ = writeln!(page, "\n{remark}");
        }
        for chart in charts.iter().filter(|chart| chart.outcome == k) {
            let _ = writeln!(page, "\n![{}]({})", chart.title, chart.file);
        }
    }
    page
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use carom::Backend;
    use carom::validate::{Check, Depth, Estimate, Outcome, Source, case};

    use super::{escape, html, markdown};
    use crate::cli::validate::{end, report::Report};

    fn report(means: &[f64], stopped: bool) -> Report {
        let check = |mean: &f64| Check {
            quantity: "a < b | c".to_owned(),
            backend: Backend::Cpu,
            expected: 1.0,
            source: Source::Derived,
            measured: Estimate { mean: *mean, error: 0.1 * mean },
            theory_error: 0.0,
            largest_error: 0.2,
            note: String::new(),
        };
        let mut report = Report::new(Depth::Quick, vec!["cpu".to_owned()]);
        report.outcomes.push(Outcome {
            case: case("cradle").unwrap(),
            backend: Backend::Cpu,
            checks: means.iter().map(check).collect(),
            published: vec![],
            charts: vec![],
            notes: vec![],
            failure: None,
            stopped,
            seconds: 0.0,
        });
        report
    }

    #[test]
    fn markup_in_a_text_is_shown_and_not_obeyed() {
        assert_eq!(escape("a < b & \"c\""), "a &lt; b &amp; &quot;c&quot;");
        let report = report(&[1.0], false);
        assert!(html(&report, &[]).contains("a &lt; b | c"));
        assert!(markdown(&report, &[]).contains("a < b \\| c"));
    }

    #[test]
    fn a_check_that_does_not_pass_is_marked_and_fails_the_command() {
        let report = report(&[1.0, 1.9, 3.0], false);
        let page = html(&report, &[]);
        for text in ["<td>passed</td>", "<td class=\"bad\">differs</td>", "<td class=\"bad\">uncertain</td>"]
        {
            assert!(page.contains(text), "{text}");
        }
        assert!(page.contains("<td class=\"bad\">1 of 3</td>") && markdown(&report, &[]).contains("1 of 3"));
        assert_eq!(end(&report).unwrap_err().exit as u8, 5);
    }

    #[test]
    fn a_case_without_a_check_fails_the_command_unless_it_was_stopped() {
        assert_eq!(end(&report(&[], false)).unwrap_err().exit as u8, 5);
        assert!(end(&report(&[], true)).is_ok() && end(&report(&[1.0], false)).is_ok());
    }
}
