//! Compressed files, and how far they may expand.

use std::io::{Read, Write};

use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};

/// Times its own size to which a compressed file may expand, besides [`SPARE`]. Files of moving spheres expand to twice
/// their size, a lattice at rest to 12 times; DEFLATE reaches a thousand times, in files made to fill a memory.
const EXPANSION_MAX: u64 = 100;

/// Bytes to which a compressed file of any size may expand: small files of equal lines compress further.
const SPARE: u64 = 16 << 20;

/// Largest size of the content of a compressed file of this size.
pub(super) fn limit(packed: usize) -> u64 {
    (packed as u64).saturating_mul(EXPANSION_MAX).saturating_add(SPARE)
}

/// The error for a file that expands further.
pub(super) fn too_large(packed: usize) -> String {
    format!(
        "its {packed} bytes expand to more than {} bytes, {EXPANSION_MAX} times as many and 16 MiB; unpack it first",
        limit(packed)
    )
}

/// Unpacks the content of a file.
pub(super) fn unpack(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut content = vec![];
    let limit = limit(packed.len());
    MultiGzDecoder::new(packed)
        .take(limit + 1)
        .read_to_end(&mut content)
        .map_err(|error| format!("cannot be unpacked: {error}"))?;
    if content.len() as u64 > limit { Err(too_large(packed.len())) } else { Ok(content) }
}

/// Packs what is written to it. The fastest level: digits of moving spheres gain little from a better one.
pub(super) fn packer<W: Write>(out: W) -> GzEncoder<W> {
    GzEncoder::new(out, Compression::fast())
}
