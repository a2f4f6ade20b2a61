//! Corrupted files: read or rejected, never a panic.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{
    files::Place,
    shapes::{binary_stl, cube, obj, text_stl},
};

const SEED: u64 = 20_260_101;
/// Corruptions per file.
const ROUNDS: usize = 500;

/// Words similar enough to valid ones to pass some checks.
const WORDS: [&str; 20] = [
    "v",
    "f",
    "vt",
    "-1",
    "0",
    "1e308",
    "-1e39",
    "nan",
    "inf",
    "99999999999999999999",
    "-9223372036854775808",
    "/",
    "\\\n",
    "\n",
    "#",
    "solid ",
    "endsolid",
    "facet",
    "vertex",
    "\u{0}",
];

fn mangle(bytes: &[u8], random: &mut Pcg64Mcg) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.random_range(1..6) {
        let from = random.random_range(0..=bytes.len());
        let to = (from + random.random_range(0..40)).min(bytes.len());
        match random.random_range(0..6) {
            0 => bytes.truncate(from),
            1 => drop(bytes.drain(from..to)),
            2 => bytes[from..to].iter_mut().for_each(|byte| *byte = random.random()),
            3 => bytes.extend_from_within(from..to),
            4 => bytes[from..to].iter_mut().take(1).for_each(|byte| *byte ^= 1 << random.random_range(0..8)),
            _ => {
                let word = WORDS[random.random_range(0..WORDS.len())];
                drop(bytes.splice(from..from + usize::from(from < to), word.bytes()));
            }
        }
    }
    bytes
}

#[test]
fn no_mangled_file_makes_a_panic() {
    let place = Place::new();
    let textured = obj(&cube()).replace("f ", "vt 0 0\nvn 0 0 1\nf 1/1/1 ");
    let files: [(&str, Vec<u8>); 4] = [
        ("binary.stl", binary_stl(&cube(), "solid or not")),
        ("text.stl", text_stl(&cube()).into_bytes()),
        ("plain.obj", obj(&cube()).into_bytes()),
        ("textured.obj", textured.into_bytes()),
    ];
    println!("seed {SEED}");
    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    for (name, bytes) in files {
        let read = (0..ROUNDS).filter(|_| match place.read(name, mangle(&bytes, &mut random)) {
            Ok(mesh) => {
                // A mesh that is read is usable.
                assert!(mesh.facets().flat_map(|facet| facet.gates).all(|gate| gate.length() < 1.0 + 1e-9));
                mesh.warnings().iter().for_each(|warning| assert!(warning.to_string().contains("of its")));
                true
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains(name) && text.len() < 1000, "{text}");
                false
            }
        });
        let read = read.count();
        println!("{name}: {read} of {ROUNDS} read");
        assert!((1..ROUNDS).contains(&read), "{name}: {read}");
    }
}
