//! Every reader of files under random damage: no panic, no hang, and no more memory than stated.
//!
//! A reader is one line of [`READERS`]. Each has some original files, which are damaged from one to many times; files that
//! are still read become originals in turn, so that damage accumulates behind the first checks of a reader.

#[macro_use]
#[path = "../common/tiers.rs"]
mod tiers;

#[path = "../common/allocation.rs"]
mod allocation;
mod originals;

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use carom::files::{load_scene, parse_scene, read_frames, read_mesh};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use allocation::peak;

const SEED: u64 = 20_261_125;

/// Longest time of reading a file of at most [`LONGEST`] bytes.
const SLOWEST: Duration = Duration::from_secs(5);
/// Longest file (bytes).
const LONGEST: usize = 1 << 16;
/// Most files that damage starts from.
const MOST_ORIGINALS: usize = 256;

/// A reader of files.
struct Reader {
    /// Name of the file that it reads; the ending selects the format.
    file: &'static str,
    /// Intact files.
    originals: fn() -> Vec<Vec<u8>>,
    /// Reads the file; an error is the message.
    read: fn(&Path) -> Result<(), String>,
    /// Bytes of memory that reading may take: a constant, and a multiple of the size of the file.
    memory: (u64, u64),
    /// Words of the format, which pass some checks.
    words: &'static [&'static str],
}

const READERS: &[Reader] = &[
    row("a.toml", originals::scenes, scene, (4 << 20, 4000), TOML),
    row("a.csv", || originals::written("csv"), spheres, (1 << 20, 400), COLUMNS),
    row("a.xyz", || originals::written("xyz"), spheres, (1 << 20, 400), COLUMNS),
    row("a.lammpstrj", originals::dump, frames, (1 << 20, 80), LAMMPS),
    row("a.data", originals::data, frames, (1 << 20, 80), LAMMPS),
    row("a.vtp", || originals::written("vtp"), frames, (1 << 20, 80), VTP),
    row("a.npz", || originals::written("npz"), frames, (1 << 20, 80), NPZ),
    row("a.ply", originals::ply, frames, (1 << 20, 80), PLY),
    row("a.safetensors", originals::checkpoints, frames, (1 << 20, 80), CHECKPOINT),
    // The limit is that of the content, which may be 100 times as large as the file.
    row("a.xyz.gz", || originals::written("xyz.gz"), frames, (32 << 20, 8000), COLUMNS),
    row("a.stl", originals::stl, mesh, (1 << 20, 400), MESH),
    row("a.obj", originals::obj, mesh, (1 << 20, 400), MESH),
];

const fn row(
    file: &'static str,
    originals: fn() -> Vec<Vec<u8>>,
    read: fn(&Path) -> Result<(), String>,
    memory: (u64, u64),
    words: &'static [&'static str],
) -> Reader {
    Reader { file, originals, read, memory, words }
}

fn frames(path: &Path) -> Result<(), String> {
    let frames = read_frames(path).map_err(|error| error.to_string())?;
    let mut spheres = frames.iter().flat_map(|frame| &frame.spheres);
    assert!(spheres.all(|s| s.position.is_finite() && s.radius > 0.0), "a sphere that is none was read");
    Ok(())
}

fn scene(path: &Path) -> Result<(), String> {
    let text = fs::read(path).map_err(|error| error.to_string())?;
    // Bytes that are no text are refused by `load_scene`, which also finds the files that a scene names.
    let Ok(text) = String::from_utf8(text) else {
        return load_scene(path, &[]).map(drop).map_err(|e| e.to_string());
    };
    let scene = parse_scene(&text, "a.toml", None, &[]).map_err(|error| error.to_string())?;
    scene.check().map_err(|error| error.to_string())
}

// A sphere file is read as part of a scene.
fn spheres(path: &Path) -> Result<(), String> {
    let text = format!(
        "[world]\ndt = 0.1\n[materials.steel]\n[[spheres]]\nfile = {:?}\n",
        path.file_name().unwrap()
    );
    let scene = path.with_file_name("scene.toml");
    fs::write(&scene, text).map_err(|error| error.to_string())?;
    load_scene(&scene, &[]).map(drop).map_err(|error| error.to_string())
}

fn mesh(path: &Path) -> Result<(), String> {
    read_mesh(path).map(drop).map_err(|error| error.to_string())
}

const NUMBERS: [&str; 16] = [
    "0",
    "-1",
    "1e308",
    "-1e39",
    "1e-320",
    "nan",
    "inf",
    "-inf",
    "4294967296",
    "18446744073709551615",
    "99999999999999999999",
    "-9223372036854775808",
    "0x7f",
    "1_000",
    "+1",
    ".",
];

const CHECKPOINT: &[&str] = &[
    "\"shape\":[",
    "\"data_offsets\":[",
    "\"dtype\":\"F64\"",
    "__metadata__",
    "checksum",
    "\"version\":\"1\"",
    "head",
];

const TOML: &[&str] = &[
    "[world]",
    "[[spheres]]",
    "[[walls]]",
    "[bounds]",
    "[materials.",
    "[[pairs]]",
    "=",
    "{",
    "}",
    "[",
    "]",
    "[[",
    "\"\"\"",
    "'''",
    "random = { ",
    "lattice = { ",
    "at = [",
    "source = { ",
    "count = ",
    "diameters = [[",
    "volume_fraction = ",
    "min = ",
    "max = ",
    "true",
    "1979-05-27",
    "\\u",
    "a.b.c.d = 1\n",
    "file = \"a.toml\"",
    "mesh = { file = \"a.toml\" }",
    "\"periodic\"",
];
const COLUMNS: &[&str] = &[
    "id",
    "x",
    "y",
    "z",
    "vx",
    "radius",
    "mass",
    "wx",
    "fixed",
    "material",
    ",",
    "\"",
    "\n",
    "\r\n",
    "Properties=",
    "pos:R:3",
    "radius:R:1",
    "id:I:1",
    "species:S:1",
    "Lattice=\"",
    "pbc=\"T T T\"",
    ":",
    "S:99999999999",
    "1000000000\n",
];
const MESH: &[&str] = &[
    "v ",
    "f ",
    "vt ",
    "vn ",
    "g ",
    "o ",
    "l ",
    "usemtl ",
    "/",
    "//",
    "\\\n",
    "\n",
    "#",
    "solid ",
    "endsolid",
    "facet normal",
    "outer loop",
    "vertex ",
    "endloop",
    "endfacet",
    "-99999999 ",
];

const LAMMPS: &[&str] = &[
    "ITEM: TIMESTEP\n",
    "ITEM: NUMBER OF ATOMS\n",
    "ITEM: BOX BOUNDS pp pp ff\n",
    "ITEM: ATOMS id x y z radius\n",
    "ITEM:",
    "xs",
    "diameter",
    "vx",
    " atoms\n",
    "xlo xhi",
    "Atoms # sphere\n\n",
    "Velocities\n\n",
    "Masses\n\n",
    "4000000000\n",
    " ",
    "\n",
];
const VTP: &[&str] = &[
    "<",
    "</",
    ">",
    "/>",
    "\"",
    "<DataArray",
    "<Piece NumberOfPoints=\"4000000000\"",
    "offset=\"0\"",
    "<AppendedData encoding=\"raw\">_",
    "Float64",
    "UInt64",
    "&#0;",
    "<!--",
    "]]>",
];
const NPZ: &[&str] = &[
    "PK\u{1}\u{2}",
    "PK\u{3}\u{4}",
    "PK\u{5}\u{6}",
    "'shape': (4000000000,)",
    "'descr': '<f8'",
    "'fortran_order': True",
    "NUMPY",
    "position.npy",
    "radius.npy",
    "\u{0}\u{0}\u{0}\u{0}",
];
const PLY: &[&str] = &[
    "ply\n",
    "format ascii 1.0\n",
    "element vertex 1000000000\n",
    "element face 3\n",
    "property float x\n",
    "property double radius\n",
    "property list uchar int vertex_index\n",
    "end_header\n",
    "comment ",
];

fn damaged(bytes: &[u8], words: &[&str], random: &mut Pcg64Mcg) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.random_range(1..6) {
        // Half of the damage is in the first bytes, where headers are.
        let end = if random.random() { bytes.len() } else { bytes.len().min(400) };
        let from = random.random_range(0..=end);
        let to = (from + random.random_range(0..40)).min(bytes.len());
        match random.random_range(0..9) {
            0 => bytes.truncate(from.max(1)),
            1 => drop(bytes.drain(from..to)),
            2 => bytes[from..to].iter_mut().for_each(|byte| *byte = random.random()),
            3 => bytes.extend_from_within(from..to),
            4 => bytes[from..to].iter_mut().take(1).for_each(|byte| *byte ^= 1 << random.random_range(0..8)),
            5 => {
                let digit = bytes[from..].iter().position(u8::is_ascii_digit).map(|at| from + at);
                digit.into_iter().for_each(|at| bytes[at] = b'0' + random.random_range(0..10_u8));
            }
            6 => {
                let number = NUMBERS[random.random_range(0..NUMBERS.len())];
                drop(bytes.splice(from..from + usize::from(from < to), number.bytes()));
            }
            7 => {
                // One word many times: nesting, and long lines.
                let word = words[random.random_range(0..words.len())];
                let many = word.repeat(random.random_range(1..300));
                drop(bytes.splice(from..from, many.bytes()));
            }
            _ => {
                let word = words[random.random_range(0..words.len())];
                drop(bytes.splice(from..to, word.bytes()));
            }
        }
    }
    bytes.truncate(LONGEST);
    bytes
}

// Damages files until the time or the number of rounds is used up.
fn fuzz(reader: &Reader, time: Duration, rounds: u64, seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(reader.file);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut originals = (reader.originals)();
    for (number, original) in originals.iter().enumerate() {
        fs::write(&path, original).unwrap();
        (reader.read)(&path).unwrap_or_else(|error| panic!("{} {number} is not read: {error}", reader.file));
    }
    let own = originals.len();
    let (mut read, mut done, mut most, mut slowest) = (0, 0, 0, Duration::ZERO);
    let begin = Instant::now();
    while done < rounds && begin.elapsed() < time {
        let bytes = damaged(&originals[random.random_range(0..originals.len())], reader.words, &mut random);
        fs::write(&path, &bytes).unwrap();
        let (start, size) = (Instant::now(), bytes.len());
        let (outcome, held) = peak(|| (reader.read)(&path));
        let taken = start.elapsed();
        let place = format!("{}, seed {seed}, round {done}", reader.file);
        let keep = || {
            let kept = std::env::temp_dir().join(format!("carom-fuzz-{}", reader.file));
            fs::write(&kept, &bytes).unwrap();
            kept.display().to_string()
        };
        assert!(taken < SLOWEST, "{place}: {taken:?}; the file is {}", keep());
        let (constant, times) = reader.memory;
        assert!(
            held <= constant + times * size as u64,
            "{place}: {held} bytes of memory for {size} bytes; the file is {}",
            keep()
        );
        match outcome {
            Ok(()) => {
                read += 1;
                if originals.len() < MOST_ORIGINALS {
                    originals.push(bytes);
                } else {
                    let at = random.random_range(own..MOST_ORIGINALS);
                    originals[at] = bytes;
                }
            }
            // A message may show a line of the file, and marks below it.
            Err(text) => assert!(!text.is_empty() && text.len() < 2000 + 10 * size, "{place}: {text}"),
        }
        (most, slowest) = (held.max(most), taken.max(slowest));
        done += 1;
    }
    println!("{}: {done} files, {read} read; at most {most} bytes, {slowest:?}; seed {seed}", reader.file);
    assert!(read > 0 && read < done, "{}: {read} of {done} read", reader.file);
}

fn reader(file: &str) -> &'static Reader {
    READERS.iter().find(|reader| reader.file == file).unwrap()
}

#[test]
fn damaged_files_are_refused_or_read() {
    for reader in READERS {
        fuzz(reader, Duration::from_secs(60), 800, SEED);
    }
}

// A campaign has another seed every day, and says which.
fn campaign_of(file: &str) {
    let day = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() / 86_400;
    fuzz(reader(file), Duration::from_secs(600), u64::MAX, SEED.wrapping_add(day));
}

tier!(campaign "10 min": damaged_scenes = campaign_of("a.toml"));
tier!(campaign "10 min": damaged_csv = campaign_of("a.csv"));
tier!(campaign "10 min": damaged_xyz = campaign_of("a.xyz"));
tier!(campaign "10 min": damaged_dumps = campaign_of("a.lammpstrj"));
tier!(campaign "10 min": damaged_data = campaign_of("a.data"));
tier!(campaign "10 min": damaged_vtp = campaign_of("a.vtp"));
tier!(campaign "10 min": damaged_npz = campaign_of("a.npz"));
tier!(campaign "10 min": damaged_ply = campaign_of("a.ply"));
tier!(campaign "10 min": damaged_checkpoints = campaign_of("a.safetensors"));
tier!(campaign "10 min": damaged_gzip = campaign_of("a.xyz.gz"));
tier!(campaign "10 min": damaged_stl = campaign_of("a.stl"));
tier!(campaign "10 min": damaged_obj = campaign_of("a.obj"));
