//! NumPy archives (`.npz`): a ZIP archive with one array (`.npy`) for each quantity.
//!
//! The header of an array is read here: the crates that do it parse any Python expression, by recursion without a bound.

use std::{
    borrow::Cow,
    collections::HashMap,
    io::{self, Cursor, ErrorKind, Read, Seek, SeekFrom, Write},
};

use glam::DVec3;
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

use super::{
    FileFault,
    binary::{Columns, Kind, Numbers},
    columns::ARRAYS,
    gather::{self, ColumnKind},
    gzip,
    table::Table,
};
use crate::files::frame::{Frame, FrameBounds};

/// Names of the types of numbers, without the order of bytes.
const KINDS: [(&str, Kind); 11] = [
    ("i1", Kind::I8),
    ("u1", Kind::U8),
    ("b1", Kind::U8),
    ("i2", Kind::I16),
    ("u2", Kind::U16),
    ("i4", Kind::I32),
    ("u4", Kind::U32),
    ("i8", Kind::I64),
    ("u8", Kind::U64),
    ("f4", Kind::F32),
    ("f8", Kind::F64),
];

/// Start of an array.
const MAGIC: &[u8] = b"\x93NUMPY";

/// An array as it is stored.
struct Array {
    bytes: Vec<u8>,
    /// Position of the first element.
    start: usize,
    /// Type as NumPy writes it: `<f8`, `<U12`.
    kind: String,
    is_by_columns: bool,
    shape: Vec<u64>,
}

/// Reads the only frame of a file.
pub(super) fn read(bytes: &[u8], sink: &mut dyn FnMut(Frame)) -> Result<(), FileFault> {
    let arrays = arrays(bytes).map_err(FileFault::of)?;
    sink(frame(&arrays).map_err(FileFault::of)?);
    Ok(())
}

/// Unpacks the arrays that are of interest.
fn arrays(bytes: &[u8]) -> Result<HashMap<String, Array>, String> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| format!("no archive: {error}"))?;
    let mut left = gzip::limit(bytes.len());
    let mut arrays = HashMap::new();
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(|error| format!("damaged archive: {error}"))?;
        let name = entry.name().map_err(|error| format!("damaged archive: {error}"))?;
        let Some(name) = name.strip_suffix(".npy").map(str::to_owned) else { continue };
        let others = ["material_names", "time", "step", "box_min", "box_max", "periodic"];
        if !ARRAYS.iter().any(|(known, ..)| *known == name) && !others.contains(&&*name) {
            continue;
        }
        let mut content = vec![];
        entry
            .take(left + 1)
            .read_to_end(&mut content)
            .map_err(|error| format!("{name} cannot be unpacked: {error}"))?;
        left = left.checked_sub(content.len() as u64).ok_or_else(|| gzip::too_large(bytes.len()))?;
        let array = Array::new(content).map_err(|what| format!("{name}: {what}"))?;
        arrays.insert(name, array);
    }
    Ok(arrays)
}

fn frame(arrays: &HashMap<String, Array>) -> Result<Frame, String> {
    let mut columns = Columns::default();
    let positions =
        arrays.get("position").ok_or("there is no array position; expected one of N x 3 numbers")?;
    let count = positions.shape.first().copied().unwrap_or(0);
    for (name, column, components) in ARRAYS {
        let Some(array) = arrays.get(name) else { continue };
        let expected: &[u64] = if components == 3 { &[count, 3] } else { &[count] };
        if array.shape != expected {
            return Err(format!("{name} has the shape {:?}; expected {expected:?}", array.shape));
        }
        let numbers = array.numbers().map_err(|what| format!("{name}: {what}"))?;
        let size = numbers.kind.size();
        for component in 0..components {
            let mut one = numbers.clone();
            (one.start, one.stride) = if array.is_by_columns {
                let before =
                    usize::try_from(count).ok().and_then(|count| count.checked_mul(component * size));
                let start = before.and_then(|before| before.checked_add(numbers.start));
                // A start beyond the bytes is found where the columns are checked.
                (start.unwrap_or(usize::MAX / 2), size)
            } else {
                (numbers.start + component * size, components * size)
            };
            columns.put(column + component, one);
        }
    }
    columns.materials = arrays.get("material_names").map(Array::texts).transpose()?;
    let values = |name: &str| -> Option<[f64; 3]> {
        let array = arrays.get(name)?;
        let numbers = array.numbers().ok()?;
        let held = (array.bytes.len() - numbers.start) / numbers.kind.size();
        // One number stands for three where only the first is of interest.
        let last = array.shape.first().map_or(0, |count| {
            usize::try_from(*count).map_or(2, |count| count.min(3)) - usize::from(*count > 0)
        });
        (last < held).then(|| [0, 1, 2].map(|index: usize| numbers.get(index.min(last))))
    };
    let mut frame = Frame { spheres: columns.spheres(count)?, ..Frame::default() };
    frame.time = values("time").map(|[time, ..]| time).filter(|time| time.is_finite());
    frame.step = values("step").map(|[step, ..]| step).filter(|step| *step >= 0.0).map(|step| step as u64);
    if let (Some(min), Some(max)) = (values("box_min"), values("box_max")) {
        let periodic = values("periodic").unwrap_or_default().map(|is| is != 0.0);
        frame.bounds = FrameBounds::new(DVec3::from_array(min), DVec3::from_array(max), periodic);
    }
    Ok(frame)
}

impl Array {
    /// Reads the header of an array.
    fn new(bytes: Vec<u8>) -> Result<Self, String> {
        let (length, start) = match bytes.get(..12) {
            Some([head @ .., 1, 0, a, b, _, _]) if head == MAGIC => {
                (usize::from(u16::from_le_bytes([*a, *b])), 10)
            }
            Some([head @ .., 2 | 3, 0, a, b, c, d]) if head == MAGIC => {
                (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 12)
            }
            _ => return Err("no NumPy array of format 1 to 3".into()),
        };
        let header = bytes.get(start..start + length).ok_or("the file ends within the header")?;
        let header = std::str::from_utf8(header).map_err(|_| "the header is no text")?;
        let value = |key: &str| {
            let at = header.find(&format!("'{key}'"))?;
            header[at + key.len() + 2..].trim_start().strip_prefix(':').map(str::trim_start)
        };
        let kind = value("descr").and_then(|rest| rest.strip_prefix('\'')?.split('\'').next());
        let kind = kind.ok_or("descr is not the type of a number or text")?.to_owned();
        let is_by_columns = value("fortran_order").is_some_and(|rest| rest.starts_with("True"));
        let shape = value("shape").and_then(|rest| rest.strip_prefix('(')?.split(')').next());
        let shape = shape.ok_or("there is no shape")?;
        let shape = shape.split(',').map(str::trim).filter(|number| !number.is_empty());
        let shape = shape.map(|number| number.parse().map_err(|_| "the shape is not a list of numbers"));
        Ok(Self {
            shape: shape.collect::<Result<_, _>>()?,
            start: start + length,
            kind,
            is_by_columns,
            bytes,
        })
    }

    fn numbers(&self) -> Result<Numbers<'_>, String> {
        let name = self.kind.trim_start_matches(['<', '>', '|', '=']);
        let kind = KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
        let kind = kind.ok_or_else(|| format!("its type is {:?}; expected numbers", self.kind))?;
        let is_big_endian = self.kind.starts_with('>');
        let bytes = Cow::from(&self.bytes);
        Ok(Numbers { bytes, start: self.start, stride: kind.size(), kind, is_big_endian })
    }

    /// The texts of an array of texts of equal length, in UTF-32 with zeros behind.
    fn texts(&self) -> Result<Vec<String>, String> {
        let width = self.kind.strip_prefix("<U").and_then(|width| width.parse::<usize>().ok());
        let width = width.and_then(|width| width.checked_mul(4)).filter(|width| *width > 0);
        let width =
            width.ok_or_else(|| format!("material_names is of type {:?}; expected texts", self.kind))?;
        let text = |bytes: &[u8]| -> String {
            let codes =
                bytes.chunks_exact(4).map(|code| u32::from_le_bytes([code[0], code[1], code[2], code[3]]));
            codes
                .take_while(|code| *code != 0)
                .map(|code| char::from_u32(code).unwrap_or('\u{fffd}'))
                .collect()
        };
        Ok(self.bytes[self.start..].chunks_exact(width).map(text).collect())
    }
}

/// Writes the arrays of a state one by one.
struct Archive<W: Write + Seek> {
    zip: ZipWriter<W>,
}

impl<W: Write + Seek> Archive<W> {
    /// Starts an array of this type and shape.
    fn start(&mut self, name: &str, kind: &str, shape: &str, is_large: bool) -> io::Result<()> {
        // Not compressed: digits of moving spheres are random, and packing would cost more time than a step.
        let options =
            SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(is_large);
        self.zip.start_file(format!("{name}.npy"), options)?;
        let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
        // Magic, version, length and header take a multiple of 64 bytes; the header ends with a line feed.
        let padded = (MAGIC.len() + 4 + header.len() + 1).next_multiple_of(64) - MAGIC.len() - 4;
        header.extend(std::iter::repeat_n(' ', padded - header.len() - 1));
        header.push('\n');
        self.zip.write_all(MAGIC)?;
        self.zip.write_all(&[1, 0])?;
        self.zip.write_all(&(header.len() as u16).to_le_bytes())?;
        self.zip.write_all(header.as_bytes())
    }

    /// Writes a whole array.
    fn array(&mut self, name: &str, kind: &str, shape: &str, bytes: &[u8]) -> io::Result<()> {
        self.start(name, kind, shape, bytes.len() > (u32::MAX / 2) as usize)?;
        self.zip.write_all(bytes)
    }
}

/// A file that after its first error takes everything and writes nothing. A `ZipWriter` that is given up completes the
/// archive anyway, and prints to stderr if it cannot.
struct Latch<W> {
    out: W,
    /// Position in the file; after an error the one that it would have.
    position: u64,
    error: Option<io::Error>,
}

impl<W> Latch<W> {
    /// The value of a successful call; after an error `lost`.
    fn call<T>(&mut self, lost: T, call: impl FnOnce(&mut W) -> io::Result<T>) -> io::Result<T> {
        if self.error.is_some() {
            return Ok(lost);
        }
        match call(&mut self.out) {
            Err(error) if error.kind() != ErrorKind::Interrupted => {
                self.error = Some(error);
                Ok(lost)
            }
            outcome => outcome,
        }
    }
}

impl<W: Write> Write for Latch<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.call(bytes.len(), |out| out.write(bytes))?;
        self.position += taken as u64;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.call((), Write::flush)
    }
}

impl<W: Seek> Seek for Latch<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let lost = match to {
            SeekFrom::Start(position) => position,
            SeekFrom::Current(distance) => self.position.saturating_add_signed(distance),
            SeekFrom::End(distance) => self.position.saturating_add_signed(distance),
        };
        self.position = self.call(lost, |out| out.seek(to))?;
        Ok(self.position)
    }
}

/// Writes a state.
pub(super) fn write(out: impl Write + Seek, table: &Table) -> io::Result<()> {
    let mut latch = Latch { out, position: 0, error: None };
    let outcome = write_archive(&mut latch, table);
    // The first error is the cause of any other.
    latch.error.map_or(outcome, Err)
}

fn write_archive(out: impl Write + Seek, table: &Table) -> io::Result<()> {
    let mut archive = Archive { zip: ZipWriter::new(out) };
    let columns = gather::needed(table);
    let count = table.spheres.len();
    for (column, bytes) in columns.iter().zip(gather::gather(&table.spheres, &columns)) {
        let (kind, shape) = match column.kind {
            ColumnKind::Byte => ("|b1", format!("({count},)")),
            ColumnKind::Short => ("<u2", format!("({count},)")),
            ColumnKind::Id => ("<u4", format!("({count},)")),
            ColumnKind::Number => ("<f8", format!("({count},)")),
            ColumnKind::Vector => ("<f8", format!("({count}, 3)")),
        };
        archive.array(column.name, kind, &shape, &bytes)?;
    }
    let put = |bytes: &mut Vec<u8>, v: DVec3| v.to_array().iter().for_each(|x| bytes.extend(x.to_le_bytes()));
    if table.has_material {
        let width = table.materials.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(1);
        let mut bytes = vec![];
        for name in table.materials.iter() {
            let codes = name.chars().map(u32::from).chain(std::iter::repeat(0)).take(width);
            bytes.extend(codes.flat_map(u32::to_le_bytes));
        }
        let shape = format!("({},)", table.materials.len());
        archive.array("material_names", &format!("<U{width}"), &shape, &bytes)?;
    }
    if let Some(time) = table.time {
        archive.array("time", "<f8", "()", &time.to_le_bytes())?;
    }
    if let Some(step) = table.step {
        archive.array("step", "<u8", "()", &step.to_le_bytes())?;
    }
    if let Some(FrameBounds { min, max, periodic }) = table.bounds {
        for (name, corner) in [("box_min", min), ("box_max", max)] {
            let mut bytes = vec![];
            put(&mut bytes, corner);
            archive.array(name, "<f8", "(3,)", &bytes)?;
        }
        archive.array("periodic", "|b1", "(3,)", &periodic.map(u8::from))?;
    }
    archive.zip.finish()?.flush()
}
