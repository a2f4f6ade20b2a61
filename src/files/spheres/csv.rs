//! Reads spheres from comma-separated values.

use csv::{ReaderBuilder, StringRecord, Trim};

use super::{FileFault, columns::Layout};
use crate::files::frame::Frame;

/// Reads the only frame of a file.
pub(super) fn read(text: &str, sink: &mut dyn FnMut(Frame)) -> Result<(), FileFault> {
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text.as_bytes());
    let layout = match reader.headers() {
        Ok(header) => Layout::new(header.iter()).map_err(|what| FileFault::at(1, what))?,
        Err(error) => return Err(bad_line(&error)),
    };
    let mut spheres = vec![];
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| bad_line(&error))? {
        let sphere = layout.read(|place| record.get(place));
        spheres.push(sphere.map_err(|what| {
            let line = record.position().map_or(0, csv::Position::line);
            FileFault::at(line, what)
        })?);
    }
    sink(Frame { spheres, ..Frame::default() });
    Ok(())
}

fn bad_line(error: &csv::Error) -> FileFault {
    let line = error.position().map_or(1, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            FileFault::at(line, format!("{len} values; the header names {expected_len}"))
        }
        _ => FileFault::at(line, error.to_string()),
    }
}
