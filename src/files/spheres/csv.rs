//! Reads spheres from comma-separated values.

use csv::{ReaderBuilder, Trim};

use super::{BadLine, Layout};
use crate::scene::Placed;

pub(super) fn parse(text: &str) -> Result<Vec<Placed>, BadLine> {
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text.as_bytes());
    let layout = match reader.headers() {
        Ok(header) => Layout::new(header.iter()).map_err(|what| (1, what))?,
        Err(error) => return Err(bad_line(&error)),
    };
    let mut spheres = vec![];
    for record in reader.records() {
        let record = record.map_err(|error| bad_line(&error))?;
        let line = record.position().map_or(0, csv::Position::line);
        let words: Vec<&str> = record.iter().collect();
        spheres.push(layout.read(&words).map_err(|what| (line, what))?);
    }
    Ok(spheres)
}

fn bad_line(error: &csv::Error) -> BadLine {
    let line = error.position().map_or(1, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            (line, format!("{len} values; the header names {expected_len}"))
        }
        _ => (line, error.to_string()),
    }
}
