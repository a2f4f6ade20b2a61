//! VTK XML poly data (`.vtp`) for ParaView and VTK: one polyvertex cell, and arrays of numbers as appended raw data.
//!
//! An own writer, because the layout is one piece of XML before the bytes of the columns.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use glam::DVec3;
use roxmltree::{Document, Node};

use super::{
    FileFault,
    binary::{Columns, Kind, Numbers},
    columns::{ARRAYS, column},
    gather::{self, Column, ColumnKind},
    table::Table,
};
use crate::files::frame::{Frame, FrameBounds};

/// Names of the types of numbers.
const KINDS: [(&str, Kind); 10] = [
    ("Int8", Kind::I8),
    ("UInt8", Kind::U8),
    ("Int16", Kind::I16),
    ("UInt16", Kind::U16),
    ("Int32", Kind::I32),
    ("UInt32", Kind::U32),
    ("Int64", Kind::I64),
    ("UInt64", Kind::U64),
    ("Float32", Kind::F32),
    ("Float64", Kind::F64),
];

/// Largest number of nodes of the XML part; files of carom have about sixty. Each node takes some hundred bytes.
const NODES_MAX: u32 = 10_000;

/// The bytes of a file as its XML part describes them.
struct Source<'b> {
    /// The appended bytes.
    appended: &'b [u8],
    is_big_endian: bool,
    /// Type of the length before each array.
    length_kind: Kind,
}

/// Reads the only frame of a file.
pub(super) fn read(bytes: &[u8], sink: &mut dyn FnMut(Frame)) -> Result<(), FileFault> {
    // Raw bytes are no XML: the file is cut before them, and the open element is closed.
    let (xml, appended) = match find(bytes, b"<AppendedData") {
        Some(at) => (&bytes[..at], &bytes[at..]),
        None => (bytes, &[][..]),
    };
    let mut xml = std::str::from_utf8(xml)
        .map_err(|error| FileFault::of(format!("the XML part is no text: {error}")))?
        .to_owned();
    if !appended.is_empty() {
        xml.push_str("</VTKFile>");
    }
    let options = roxmltree::ParsingOptions { nodes_limit: NODES_MAX, ..Default::default() };
    let document = Document::parse_with_options(&xml, options)
        .map_err(|error| FileFault::of(format!("the XML part is invalid: {error}")))?;
    let root = document.root_element();
    let source = Source::new(root, appended).map_err(FileFault::of)?;
    sink(source.frame(root).map_err(FileFault::of)?);
    Ok(())
}

/// Position of a text in some bytes.
fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text)
}

fn child<'a, 'd>(node: Node<'a, 'd>, name: &str) -> Option<Node<'a, 'd>> {
    node.children().find(|child| child.has_tag_name(name))
}

/// The arrays below an element, with their names.
fn arrays<'a, 'd>(node: Option<Node<'a, 'd>>) -> impl Iterator<Item = (&'a str, Node<'a, 'd>)> {
    let children = node.into_iter().flat_map(|node| node.children());
    let is_array = |node: &Node| node.has_tag_name("DataArray") || node.has_tag_name("Array");
    children.filter(is_array).map(|array| (array.attribute("Name").unwrap_or(""), array))
}

impl<'b> Source<'b> {
    fn new(root: Node, appended: &'b [u8]) -> Result<Self, String> {
        let kind = root.attribute("type").unwrap_or("");
        if !root.has_tag_name("VTKFile") || kind != "PolyData" {
            return Err(format!(
                "the root is {} of type {kind:?}; expected VTKFile of type \"PolyData\"",
                root.tag_name().name()
            ));
        }
        if let Some(compressor) = root.attribute("compressor") {
            return Err(format!("its arrays are compressed with {compressor}; save it without compression"));
        }
        // The first bytes are `<AppendedData encoding="raw">_`, with blanks anywhere.
        let mut data: &[u8] = &[];
        if let Some(end) = appended.iter().take(200).position(|byte| *byte == b'>') {
            let is_raw = find(&appended[..end], b"raw").is_some();
            let start = appended[end..].iter().take(200).position(|byte| *byte == b'_');
            match start {
                Some(start) if is_raw => data = &appended[end + start + 1..],
                _ => return Err("its appended data are not raw; save it with raw appended data".into()),
            }
        }
        Ok(Self {
            appended: data,
            is_big_endian: root.attribute("byte_order") == Some("BigEndian"),
            length_kind: match root.attribute("header_type") {
                Some("UInt64") => Kind::U64,
                _ => Kind::U32,
            },
        })
    }

    fn frame(&self, root: Node) -> Result<Frame, String> {
        let data = child(root, "PolyData").ok_or("there is no PolyData")?;
        let mut pieces = data.children().filter(|node| node.has_tag_name("Piece"));
        let (Some(piece), None) = (pieces.next(), pieces.next()) else {
            return Err("it does not have one Piece; save it in one piece".into());
        };
        let count = piece.attribute("NumberOfPoints").and_then(|count| count.parse().ok());
        let count: u64 = count.ok_or("NumberOfPoints is missing; expected a whole number")?;
        let mut frame = Frame::default();
        let mut columns = Columns::default();
        self.read_fields(child(data, "FieldData"), &mut frame, &mut columns)?;
        let points = arrays(child(piece, "Points")).next().ok_or("there are no Points")?;
        self.put(&mut columns, column::POSITION, 3, points)?;
        for (name, array) in arrays(child(piece, "PointData")) {
            // The positions are those of the points.
            let known = ARRAYS.iter().find(|known| known.0 == name && known.1 != column::POSITION);
            if let Some((_, column, components)) = known {
                self.put(&mut columns, *column, *components, (name, array))?;
            }
        }
        frame.spheres = columns.spheres(count)?;
        Ok(frame)
    }

    /// Reads time, step, box and names of materials.
    fn read_fields(
        &self,
        fields: Option<Node>,
        frame: &mut Frame,
        columns: &mut Columns<'b>,
    ) -> Result<(), String> {
        let mut corners = [None; 2];
        let mut periodic = [false; 3];
        for (name, array) in arrays(fields) {
            if name == "material_names" {
                columns.materials = Some(strings(array));
                continue;
            }
            if !["TimeValue", "step", "box_min", "box_max", "periodic"].contains(&name) {
                continue;
            }
            let (numbers, held) = self.numbers((name, array))?;
            let first = [0, 1, 2].map(|index| (index < held).then(|| numbers.get(index)));
            match (name, first) {
                ("TimeValue", [Some(time), ..]) => frame.time = Some(time).filter(|time| time.is_finite()),
                ("step", [Some(step), ..]) if step >= 0.0 => frame.step = Some(step as u64),
                ("box_min", [Some(x), Some(y), Some(z)]) => corners[0] = Some(DVec3::new(x, y, z)),
                ("box_max", [Some(x), Some(y), Some(z)]) => corners[1] = Some(DVec3::new(x, y, z)),
                ("periodic", [Some(x), Some(y), Some(z)]) => periodic = [x, y, z].map(|is| is != 0.0),
                _ => {}
            }
        }
        if let [Some(min), Some(max)] = corners {
            frame.bounds = FrameBounds::new(min, max, periodic);
        }
        Ok(())
    }

    /// Adds the components of an array as columns.
    fn put(
        &self,
        columns: &mut Columns<'b>,
        column: usize,
        components: usize,
        (name, array): (&str, Node),
    ) -> Result<(), String> {
        let found = array.attribute("NumberOfComponents").map_or(Some(1), |count| count.parse().ok());
        if found != Some(components) {
            return Err(format!("the array {name:?} has not {components} components"));
        }
        let (numbers, held) = self.numbers((name, array))?;
        let size = numbers.kind.size();
        for component in 0..components {
            // Whether all spheres have a value is checked with the number of the bytes of this array.
            let mut one = numbers.clone();
            if let Cow::Borrowed(bytes) = one.bytes {
                one.bytes = Cow::Borrowed(&bytes[..one.start + held * size]);
            }
            one.start += component * size;
            one.stride = components * size;
            columns.put(column + component, one);
        }
        Ok(())
    }

    /// The numbers of an array, and how many there are.
    fn numbers(&self, (name, array): (&str, Node)) -> Result<(Numbers<'b>, usize), String> {
        let kind = array.attribute("type").unwrap_or("");
        let kind = KINDS.iter().find(|(known, _)| *known == kind).map(|(_, kind)| *kind);
        let kind = kind.ok_or_else(|| format!("the array {name:?} has no type of numbers"))?;
        match array.attribute("format") {
            Some("appended") => {
                let offset = array.attribute("offset").and_then(|offset| offset.parse::<usize>().ok());
                let beyond = || format!("the array {name:?} lies beyond the end of the file");
                let offset = offset.filter(|at| *at <= self.appended.len()).ok_or_else(beyond)?;
                let length = Numbers {
                    bytes: Cow::Borrowed(&self.appended[offset..]),
                    start: 0,
                    stride: 8,
                    kind: self.length_kind,
                    is_big_endian: self.is_big_endian,
                };
                let start = offset + self.length_kind.size();
                let rest = self.appended.len().checked_sub(start).ok_or_else(beyond)?;
                let length = length.get(0);
                if length > rest as f64 {
                    return Err(beyond());
                }
                let numbers = Numbers {
                    bytes: Cow::Borrowed(self.appended),
                    start,
                    stride: kind.size(),
                    kind,
                    is_big_endian: self.is_big_endian,
                };
                Ok((numbers, length as usize / kind.size()))
            }
            Some("ascii") => {
                let words = array.text().unwrap_or("").split_ascii_whitespace();
                let values = words.map(|word| word.parse::<f64>().map(f64::to_le_bytes));
                let values: Vec<[u8; 8]> = values
                    .collect::<Result<_, _>>()
                    .map_err(|_| format!("the array {name:?} holds more than numbers"))?;
                let bytes = Cow::Owned(values.concat());
                let numbers = Numbers { bytes, start: 0, stride: 8, kind: Kind::F64, is_big_endian: false };
                Ok((numbers, values.len()))
            }
            _ => Err(format!(
                "the array {name:?} is neither appended nor ascii; save it with raw appended data"
            )),
        }
    }
}

/// The texts of an array of strings, which are numbers of bytes, each text with a 0 behind it.
fn strings(array: Node) -> Vec<String> {
    let bytes = array.text().unwrap_or("").split_ascii_whitespace().map_while(|word| word.parse::<u8>().ok());
    let bytes: Vec<u8> = bytes.collect();
    let texts = bytes.split_inclusive(|byte| *byte == 0);
    texts.map(|text| String::from_utf8_lossy(text.strip_suffix(&[0]).unwrap_or(text)).into_owned()).collect()
}

/// The element of an appended array; moves the offset behind the array.
fn declare(column: &Column, count: usize, offset: &mut usize) -> String {
    let (kind, components) = match column.kind {
        ColumnKind::Byte => ("UInt8", 1),
        ColumnKind::Short => ("UInt16", 1),
        ColumnKind::Id => ("UInt32", 1),
        ColumnKind::Number => ("Float64", 1),
        ColumnKind::Vector => ("Float64", 3),
    };
    let name = if column.name == "position" { "Points" } else { column.name };
    let text = format!(
        "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{components}\" format=\"appended\" \
         offset=\"{offset}\"/>\n"
    );
    *offset += 8 + column.kind.size() * count;
    text
}

/// Writes a state.
pub(super) fn write(out: &mut dyn Write, table: &Table) -> io::Result<()> {
    let count = table.spheres.len();
    let columns = gather::needed(table);
    let (points, point_data) = columns.split_first().expect("positions are the first column");
    let mut offset = 0;
    let mut text = String::from(
        "<?xml version=\"1.0\"?>\n\
         <VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n<PolyData>\n",
    );
    text += &field_data(table);
    // One cell that holds all points: a cell for each point would take 16 bytes more a sphere.
    let cells = usize::from(count > 0);
    text += &format!(
        "<Piece NumberOfPoints=\"{count}\" NumberOfVerts=\"{cells}\" NumberOfLines=\"0\" NumberOfStrips=\"0\" \
         NumberOfPolys=\"0\">\n<Points>\n"
    );
    text += &declare(points, count, &mut offset);
    text += "</Points>\n<PointData Scalars=\"radius\" Vectors=\"velocity\">\n";
    for column in point_data {
        text += &declare(column, count, &mut offset);
    }
    text += &format!(
        "</PointData>\n<Verts>\n<DataArray type=\"Int32\" Name=\"connectivity\" format=\"appended\" offset=\"{offset}\"/>\n"
    );
    let ends = if count > 0 { count.to_string() } else { String::new() };
    text += &format!("<DataArray type=\"Int32\" Name=\"offsets\" format=\"ascii\">{ends}</DataArray>\n");
    text += "</Verts>\n</Piece>\n</PolyData>\n<AppendedData encoding=\"raw\">_";
    out.write_all(text.as_bytes())?;
    let connectivity = (0..count as u32).flat_map(u32::to_le_bytes).collect();
    let gathered = gather::gather(&table.spheres, &columns);
    for bytes in gathered.into_iter().chain([connectivity]) {
        out.write_all(&(bytes.len() as u64).to_le_bytes())?;
        out.write_all(&bytes)?;
    }
    out.write_all(b"\n</AppendedData>\n</VTKFile>\n")
}

/// Time, step, box and names of materials as field data, which ParaView shows and keeps.
fn field_data(table: &Table) -> String {
    let mut text = String::from("<FieldData>\n");
    let mut field = |kind: &str, name: &str, values: &[String]| {
        text += &format!(
            "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfTuples=\"{}\" format=\"ascii\">{}</DataArray>\n",
            values.len(),
            values.join(" ")
        );
    };
    if let Some(time) = table.time {
        field("Float64", "TimeValue", &[format!("{time:?}")]);
    }
    if let Some(step) = table.step {
        field("Int64", "step", &[step.to_string()]);
    }
    if let Some(FrameBounds { min, max, periodic }) = table.bounds {
        let words = |corner: DVec3| corner.to_array().map(|x| format!("{x:?}"));
        field("Float64", "box_min", &words(min));
        field("Float64", "box_max", &words(max));
        field("UInt8", "periodic", &periodic.map(|is| u8::from(is).to_string()));
    }
    if table.has_material {
        let codes =
            table.materials.iter().flat_map(|name| name.bytes().chain([0])).map(|byte| byte.to_string());
        let codes: Vec<String> = codes.collect();
        text += &format!(
            "<Array type=\"String\" Name=\"material_names\" NumberOfTuples=\"{}\" format=\"ascii\">{}</Array>\n",
            table.materials.len(),
            codes.join(" ")
        );
    }
    text + "</FieldData>\n"
}

/// The text of a series for ParaView (`.pvd`): file names relative to the series, with their times.
pub(super) fn series(files: &[(f64, String)]) -> String {
    let mut text = String::from(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\" byte_order=\"LittleEndian\">\n<Collection>\n",
    );
    for (time, file) in files {
        text += &format!("<DataSet timestep=\"{time:?}\" group=\"\" part=\"0\" file=\"{file}\"/>\n");
    }
    text + "</Collection>\n</VTKFile>\n"
}
