//! Sources, sinks and compression: from tables to those of a scene.

use super::fields::{Fields, ParseError, number, string, vector, whole};
use super::read::diameters;
use super::tree::Node;
use crate::{Compression, Sink, scene::Source};

/// The field `source` of a group of spheres.
pub(super) fn source(fields: &Fields) -> Result<Source, ParseError> {
    let path = fields.path("source");
    let known = ["min", "max", "rate", "diameter", "diameters", "count", "from", "until", "spread", "name"];
    let node = fields.get("source");
    let inner = Fields::new(node, &path, &known)?;
    let mut source = Source::new(
        inner.required("min", "[0, 0, 9]", vector)?,
        inner.required("max", "[10, 10, 10]", vector)?,
        inner.required("rate", "1000", number)?,
    );
    source.diameters = diameters(&inner, node, &path)?;
    source.count = inner.optional("count", whole)?;
    inner.set("from", &mut source.span[0], number)?;
    inner.set("until", &mut source.span[1], number)?;
    inner.set("spread", &mut source.spread, number)?;
    source.name = inner.optional("name", string)?;
    Ok(source)
}

/// One table of `[[sinks]]`, which messages call `path`.
pub(super) fn sink(node: &Node, path: &str) -> Result<Sink, ParseError> {
    let fields = Fields::new(Some(node), path, &["min", "max", "name", "every"])?;
    let mut sink = Sink::new(
        fields.required("min", "[0, 0, -2]", vector)?,
        fields.required("max", "[10, 10, -1]", vector)?,
        path,
    );
    fields.set("name", &mut sink.name, string)?;
    fields.set("every", &mut sink.every, whole)?;
    Ok(sink)
}

/// The table `[compression]`.
pub(super) fn compression(top: &Fields) -> Result<Option<Compression>, ParseError> {
    let Some(node) = top.get("compression") else { return Ok(None) };
    let fields = Fields::new(Some(node), "compression", &["rate", "fraction", "pressure"])?;
    Ok(Some(Compression {
        rate: fields.required("rate", "0.01", number)?,
        fraction: fields.optional("fraction", number)?,
        pressure: fields.optional("pressure", number)?,
    }))
}
