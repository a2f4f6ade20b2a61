//! Damaged files: read or rejected, without a panic and without more memory than stated.

use std::{fs, time::Instant};

use carom::files::{read_frames, write_frames};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{
    allocation::peak,
    support::{ENDINGS, frame},
};

const SEED: u64 = 20_261_125;

/// Times the size of its file, or of its content, that reading may allocate, besides the buffers of the decoders.
const TIMES: u64 = 80;
/// Bytes that decoders and short messages take.
const BUFFERS: u64 = 1 << 20;

/// Words similar enough to valid ones to pass some checks.
const WORDS: [&str; 24] = [
    "0",
    "-1",
    "1e308",
    "nan",
    "inf",
    "4294967296",
    "18446744073709551615",
    "999999999999",
    "ITEM: ATOMS id x y z radius\n",
    "ITEM:",
    "Properties=pos:R:3:radius:R:1",
    "property list uchar int x",
    "element vertex 1000000000",
    "offset=\"0\"",
    "NumberOfPoints=\"4000000000\"",
    "<DataArray",
    "<",
    "\"",
    "'shape': (4000000000,)",
    "PK\u{1}\u{2}",
    "\n",
    ",",
    ":",
    "\u{0}",
];

fn mangle(bytes: &[u8], random: &mut Pcg64Mcg) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.random_range(1..5) {
        // Most damage in the first bytes, where the headers are.
        let end = if random.random() { bytes.len() } else { bytes.len().min(600) };
        let from = random.random_range(0..=end);
        let to = (from + random.random_range(0..30)).min(bytes.len());
        match random.random_range(0..7) {
            0 => bytes.truncate(from),
            1 => drop(bytes.drain(from..to)),
            2 => bytes[from..to].iter_mut().for_each(|byte| *byte = random.random()),
            3 => bytes.extend_from_within(from..to),
            4 => bytes[from..to].iter_mut().take(1).for_each(|byte| *byte ^= 1 << random.random_range(0..8)),
            // A digit more or another digit makes a count wrong.
            5 => {
                let digit = bytes[from..].iter().position(u8::is_ascii_digit).map(|at| from + at);
                digit.into_iter().for_each(|at| bytes[at] = b'0' + random.random_range(0..10_u8));
            }
            _ => {
                let word = WORDS[random.random_range(0..WORDS.len())];
                drop(bytes.splice(from..from + usize::from(from < to), word.bytes()));
            }
        }
    }
    bytes
}

/// Files of every format: those that carom writes, and one of LAMMPS.
fn originals() -> Vec<(String, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let mut files = vec![];
    for ending in ENDINGS {
        let path = folder.path().join(format!("a.{ending}"));
        write_frames(&path, &[frame(12, 5)]).unwrap();
        files.push((format!("a.{ending}"), fs::read(&path).unwrap()));
    }
    let data = "packing\n\n2 atoms\n1 atom types\n0 2 xlo xhi\n0 2 ylo yhi\n0 2 zlo zhi\n\nAtoms # sphere\n\n\
                1 1 0.5 2.5 0.25 0 1.5\n2 1 0.5 2.5 0.75 0 1.5\n\nVelocities\n\n1 0 0 1 0 0 0\n2 0 0 1 0 0 0\n";
    let text_ply = "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\n\
                    property float radius\nelement face 1\nproperty list uchar int vertex_index\nend_header\n\
                    0 0 0 0.5\n1 2 3 0.25\n3 0 1 0\n";
    let scaled = "ITEM: TIMESTEP\n5\nITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS pp pp ff\n0 1\n0 1\n0 1\n\
                  ITEM: ATOMS id xs ys zs diameter\n1 0.5 0.5 0.5 0.2\n";
    let texts = [("a.data", data), ("b.ply", text_ply), ("b.dump", scaled)];
    files.extend(texts.map(|(file, text)| (file.to_owned(), text.as_bytes().to_vec())));
    files
}

fn damaged_files_are_refused_or_read(rounds: usize) {
    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    let folder = tempfile::tempdir().unwrap();
    let (mut read, mut refused) = (0, 0);
    for (file, original) in originals() {
        let path = folder.path().join(&file);
        for round in 0..rounds {
            let bytes = mangle(&original, &mut random);
            fs::write(&path, &bytes).unwrap();
            let content = if file.ends_with(".gz") { 100 * bytes.len() as u64 } else { bytes.len() as u64 };
            let start = Instant::now();
            let (outcome, held) = peak(|| read_frames(&path));
            assert!(
                held <= TIMES * content + BUFFERS,
                "{file}, round {round}: {held} bytes for {}",
                bytes.len()
            );
            assert!(start.elapsed().as_secs() < 10, "{file}, round {round}");
            match outcome {
                Ok(frames) => {
                    read += 1;
                    let spheres = frames.iter().flat_map(|frame| &frame.spheres);
                    spheres.for_each(|s| assert!(s.position.is_finite() && s.radius > 0.0, "{file}: {s:?}"));
                }
                Err(error) => {
                    refused += 1;
                    assert!(error.to_string().contains(&file), "{error}");
                }
            }
        }
    }
    println!("{read} read, {refused} refused");
    assert!(read > 0 && refused > read / 10);
}

#[test]
fn damaged_files_end_in_an_error_or_in_spheres() {
    damaged_files_are_refused_or_read(150);
}

tier!(campaign "10 min": many_damaged_files_end_in_an_error_or_in_spheres = damaged_files_are_refused_or_read(200_000));

#[test]
fn a_count_without_bytes_allocates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let vtp = "<VTKFile type=\"PolyData\" byte_order=\"LittleEndian\" header_type=\"UInt64\"><PolyData>\
               <Piece NumberOfPoints=\"4000000000000\"><PointData>\
               <DataArray type=\"Float64\" Name=\"radius\" format=\"ascii\">1</DataArray></PointData><Points>\
               <DataArray type=\"Float64\" Name=\"Points\" NumberOfComponents=\"3\" format=\"ascii\">1 2 3</DataArray>\
               </Points></Piece></PolyData></VTKFile>";
    for (file, text) in [
        ("a.xyz", "18446744073709551615\nProperties=pos:R:3:radius:R:1\n0 0 0 1\n"),
        ("b.xyz", "1\nProperties=pos:R:3:radius:R:1:rest:R:65535\n0 0 0 1\n"),
        (
            "a.ply",
            "ply\nformat binary_little_endian 1.0\nelement vertex 99999999999999\nproperty float x\nproperty float y\nproperty uchar radius\nend_header\n12345678",
        ),
        (
            "b.ply",
            "ply\nformat ascii 1.0\nelement vertex 99999999999999\nproperty float x\nproperty float y\nproperty uchar radius\nend_header\n1 2 3\n",
        ),
        ("a.dump", "ITEM: NUMBER OF ATOMS\n99999999999999\nITEM: ATOMS x y radius\n1 2 3\n"),
        ("a.vtp", vtp),
    ] {
        let path = folder.path().join(file);
        fs::write(&path, text).unwrap();
        let (outcome, held) = peak(|| read_frames(&path));
        assert!(outcome.is_err(), "{file}");
        assert!(held < 100_000, "{file}: {held}");
    }
}

#[test]
fn an_archive_made_to_fill_the_memory_is_refused() {
    use std::io::Write;

    let folder = tempfile::tempdir().unwrap();
    let mut packer = flate2::write::GzEncoder::new(vec![], flate2::Compression::best());
    packer.write_all(b"x,y,radius\n").unwrap();
    let lines = b"0,0,1\n".repeat(1 << 16);
    (0..160).for_each(|_| packer.write_all(&lines).unwrap());
    let packed = packer.finish().unwrap();
    let path = folder.path().join("a.csv.gz");
    fs::write(&path, &packed).unwrap();
    let (outcome, held) = peak(|| read_frames(&path));
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("unpack it first"), "{error}");
    // The buffer of the content doubles as it grows.
    let limit = 100 * packed.len() as u64 + (16 << 20);
    assert!(held < 3 * limit, "{held} bytes for {} packed", packed.len());
}
