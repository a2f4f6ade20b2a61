//! Screen output of a run: a progress bar on a terminal, plain lines elsewhere, and a table.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::time::{Duration, Instant};

use carom::StepReport;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::text::{duration, grouped, number};

// Time between progress lines without a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Destination of a command's texts.
pub struct Screen {
    quiet: bool,
    to_stderr: bool,
    bar: Option<ProgressBar>,
    closed: bool,
}

impl Screen {
    /// `quiet`: print errors only. `to_stderr`: keep stdout free for a JSON object.
    pub fn new(quiet: bool, to_stderr: bool) -> Self {
        Self { quiet, to_stderr, bar: None, closed: false }
    }

    /// Whether the reader of stdout has gone (`carom ... | head`), so that further output is useless.
    pub fn closed(&self) -> bool {
        self.closed
    }

    /// Prints a line of the report.
    pub fn line(&mut self, text: &str) {
        self.text(&format!("{text}\n"));
    }

    /// Prints a part of the report that includes its line ends.
    pub fn text(&mut self, text: &str) {
        if self.quiet || self.closed {
            return;
        }
        let to_stderr = self.to_stderr;
        let print = || if to_stderr { write_stderr(text) } else { write_stdout(text) };
        let result = match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        };
        self.closed |= result.is_err_and(|e| e.kind() == ErrorKind::BrokenPipe);
    }

    /// Prints a note on stderr, beside the report.
    pub fn note(&self, text: &str) {
        if self.quiet {
            return;
        }
        let print = || {
            // If stderr is closed, the note is lost.
            let _ = write_stderr(&format!("{text}\n"));
        };
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    fn draws_bars(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }
}

/// Prints an error on stderr, even on a quiet screen.
pub fn error(message: &str) {
    // If stderr is closed, only the exit code reports the error.
    let _ = write_stderr(&format!("\u{1b}[1;31merror:\u{1b}[0m {message}\n"));
}

/// Prints on stdout and flushes.
pub fn write_stdout(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn write_stderr(text: &str) -> io::Result<()> {
    anstream::stderr().lock().write_all(text.as_bytes())
}

/// A writer of whole log messages to stderr.
pub struct StderrLines;

impl Write for StderrLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        anstream::stderr().lock().write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Progress of a run: done, rate, remaining time.
pub struct Progress {
    total: u64,
    noun: &'static str,
    started: Instant,
    last_line: Instant,
}

impl Progress {
    /// Starts the progress of steps; draws a bar if there is a terminal.
    pub fn start(screen: &mut Screen, total: u64) -> Self {
        Self::of(screen, total, "step")
    }

    /// Starts the progress of other items, counted by `noun`.
    pub fn of(screen: &mut Screen, total: u64, noun: &'static str) -> Self {
        if screen.draws_bars() && total > 0 {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            let template = format!("{{wide_bar}} {{pos}}/{{len}} {noun}s  {{rate}}  {{eta}} left");
            let style = ProgressStyle::with_template(&template).expect("a valid template").with_key(
                "rate",
                move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                    // An error while writing the bar is ignored.
                    let _ = write!(out, "{} {noun}s/s", number(state.per_sec(), 3));
                },
            );
            bar.set_style(style);
            screen.bar = Some(bar);
        }
        let now = Instant::now();
        Self { total, noun, started: now, last_line: now }
    }

    /// Updates the progress after a step.
    pub fn advance(&mut self, screen: &mut Screen, done: u64) {
        if let Some(bar) = &screen.bar {
            bar.set_position(done);
        } else if self.last_line.elapsed() >= LINE_INTERVAL {
            self.last_line = Instant::now();
            let rate = done as f64 / self.started.elapsed().as_secs_f64();
            let left = (self.total.saturating_sub(done)) as f64 / rate;
            screen.note(&format!(
                "{0} {1} of {2}, {3} {0}s/s, {4} left",
                self.noun,
                grouped(done),
                grouped(self.total),
                number(rate, 3),
                duration(left)
            ));
        }
    }

    /// Removes the bar from the screen.
    pub fn finish(self, screen: &mut Screen) {
        if let Some(bar) = screen.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// The table printed during a run: each line sums up the steps since the previous line.
pub struct Log {
    every: u64,
    impacts: u64,
    rounds: u32,
    late: u64,
    crowded: u64,
    deepest_overlap: f64,
    wall_seconds: f64,
    steps: u64,
}

impl Log {
    /// A table with a line every `every` steps.
    pub fn new(every: u64) -> Self {
        Self {
            every,
            impacts: 0,
            rounds: 0,
            late: 0,
            crowded: 0,
            deepest_overlap: 0.0,
            wall_seconds: 0.0,
            steps: 0,
        }
    }

    /// Prints the header.
    pub fn header(&self, screen: &mut Screen) {
        screen.line(&format!(
            "{:>9}  {:>10}  {:>12}  {:>12}  {:>10}  {:>6}  {:>6}  {:>8}  {:>9}  {:>9}",
            "step",
            "time",
            "kinetic",
            "energy",
            "impacts",
            "rounds",
            "late",
            "crowded",
            "overlap/d",
            "ms/step"
        ));
    }

    /// Adds a step.
    pub fn add(&mut self, screen: &mut Screen, report: &StepReport) {
        self.steps += 1;
        self.impacts += report.pair_impacts + report.wall_impacts;
        self.rounds = self.rounds.max(report.rounds);
        self.late += report.late;
        self.crowded += report.crowded;
        self.deepest_overlap = self.deepest_overlap.max(report.deepest_overlap);
        self.wall_seconds += report.wall_seconds;
        if report.step.is_multiple_of(self.every) {
            self.row(screen, report);
        }
    }

    /// Prints the remaining steps after the last one.
    pub fn finish(mut self, screen: &mut Screen, last: &StepReport) {
        if self.steps > 0 {
            self.row(screen, last);
        }
    }

    fn row(&mut self, screen: &mut Screen, report: &StepReport) {
        screen.line(&format!(
            "{:>9}  {:>10}  {:>12}  {:>12}  {:>10}  {:>6}  {:>6}  {:>8}  {:>9}  {:>9}",
            report.step,
            number(report.time, 5),
            number(report.kinetic_energy, 7),
            number(report.kinetic_energy + report.potential_energy, 7),
            self.impacts,
            self.rounds,
            self.late,
            self.crowded,
            number(self.deepest_overlap, 2),
            number(1e3 * self.wall_seconds / self.steps as f64, 3)
        ));
        *self = Self::new(self.every);
    }
}
