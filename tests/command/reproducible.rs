//! Equal input gives equal bits.

use std::fmt::Write;

#[cfg(feature = "gpu")]
use crate::harness::Ran;
use crate::harness::{GAS, Place};

fn hash(place: &Place, arguments: &[&str]) -> String {
    let arguments = [&["run"], arguments, &["--json", "--quiet"]].concat();
    place.carom(&arguments).expect(0).object()["state_hash"].as_str().unwrap().to_owned()
}

#[test]
fn two_runs_and_any_number_of_threads_end_in_the_same_state() {
    let place = Place::new();
    for backend in ["cpu", "exact"] {
        let first = hash(&place, &["gas.toml", "--backend", backend]);
        assert_eq!(first, hash(&place, &["gas.toml", "--backend", backend]));
        assert_eq!(first, hash(&place, &["gas.toml", "--backend", backend, "--threads", "1"]));
        assert_eq!(first, hash(&place, &["gas.toml", "--backend", backend, "--threads", "2"]));
        assert_ne!(first, hash(&place, &["gas.toml", "--backend", backend, "--steps", "19"]));
    }
}

// The driver of a software adapter sets its threads for the whole process.
#[cfg(feature = "gpu")]
fn has_the_same_bits_on_any_number_of_driver_threads(run: &[&str]) {
    let place = Place::new();
    let arguments = [&["run"], run, &["--backend", "gpu", "--json", "--quiet"]].concat();
    let hashes = ["1", "2", "3"].map(|threads| {
        let output = place.command(&arguments).env("LP_NUM_THREADS", threads).output().unwrap();
        let object = Ran::new(&arguments, output).expect(0).object();
        assert!(object["impacts"].as_u64() > Some(100), "too few impacts to tell: {object}");
        object["state_hash"].as_str().unwrap().to_owned()
    });
    println!("{arguments:?}: {hashes:?}");
    assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{hashes:?}");
}

#[cfg(feature = "gpu")]
#[test]
fn the_threads_of_a_software_adapter_change_no_bit_of_a_gas() {
    has_the_same_bits_on_any_number_of_driver_threads(&[
        "gas",
        "--set",
        "spheres.0.random.count=6000",
        "--steps",
        "4",
    ]);
}

#[cfg(feature = "gpu")]
tier!(long "50 s": the_threads_of_a_software_adapter_change_no_bit_of_bullets);
#[cfg(feature = "gpu")]
fn the_threads_of_a_software_adapter_change_no_bit_of_bullets() {
    has_the_same_bits_on_any_number_of_driver_threads(&[
        "bullets",
        "--set",
        "spheres.0.lattice.count=[3,12,12]",
        "--set",
        "spheres.1.lattice.count=[1,3,3]",
        "--steps",
        "3",
    ]);
}

// A device runs one step ahead of its reports, except before states that are written during the run. Needs an adapter.
#[cfg(feature = "gpu")]
#[test]
fn a_run_on_a_device_is_the_same_with_intermediate_states() {
    let place = Place::new();
    let gpu = ["gas.toml", "--backend", "gpu"];
    let straight = hash(&place, &gpu);
    assert_eq!(straight, hash(&place, &gpu));
    let with_states = ["--out", "out", "--every", "6", "--metrics", "m.csv", "--log-every", "3"];
    assert_eq!(straight, hash(&place, &[&gpu[..], &with_states].concat()));
    let names = place.names("out");
    let states: Vec<&str> = names.iter().filter_map(|name| name.strip_suffix(".csv")).collect();
    assert_eq!(states, ["final", "state-00000006", "state-00000012", "state-00000018"]);
    let steps: Vec<String> =
        place.read("m.csv").lines().skip(1).map(|line| line.split(',').next().unwrap().to_owned()).collect();
    assert_eq!(steps, (1..=20).map(|k| k.to_string()).collect::<Vec<_>>());
    // Each state equals the final state of a run of that length.
    place.carom(&[&["run"], &gpu[..], &["--steps", "12", "--out", "twelve", "--quiet"]].concat()).expect(0);
    assert_eq!(place.read("twelve/final.csv"), place.read("out/state-00000012.csv"));
    assert_ne!(place.read("twelve/final.csv"), place.read("out/final.csv"));
}

#[test]
fn the_seed_determines_the_random_start() {
    let place = Place::new();
    let seven = hash(&place, &["gas.toml"]);
    assert_eq!(seven, hash(&place, &["gas.toml", "--seed", "7"]));
    assert_eq!(seven, hash(&place, &["gas.toml", "--set", "world.seed=7"]));
    assert_ne!(seven, hash(&place, &["gas.toml", "--seed", "8"]));
}

#[test]
fn the_order_of_the_rows_of_a_file_does_not_matter() {
    let place = Place::new();
    place.carom(&["run", "gas.toml", "--steps", "0", "--out", "start", "--quiet"]).expect(0);
    let text = place.read("start/final.csv");
    let (header, rows) = text.split_once('\n').unwrap();
    let mut rows: Vec<&str> = rows.lines().collect();
    assert_eq!(rows.len(), 200);
    let bounds = {
        // The box of the fill: 200 spheres of diameter 1 at volume fraction 0.1.
        let edge = (200.0 * std::f64::consts::PI / 6.0 / 0.1_f64).cbrt();
        format!("min = [0, 0, 0]\nmax = [{edge}, {edge}, {edge}]\n")
    };
    let world =
        GAS.split("[[spheres]]").next().unwrap().replace("[bounds]\n", &format!("[bounds]\n{bounds}"));
    let mut hashes = vec![];
    for turn in 0..3 {
        let mut csv = format!("{header}\n");
        rows.iter().for_each(|row| writeln!(csv, "{row}").unwrap());
        place.write(&format!("rows{turn}.csv"), &csv);
        place.write(
            &format!("rows{turn}.toml"),
            &format!("{world}\n[[spheres]]\nfile = \"rows{turn}.csv\"\n"),
        );
        hashes.push(hash(&place, &[&format!("rows{turn}.toml")]));
        // A fixed permutation: 77 and 200 have no common factor, so every row has a distinct target.
        rows = (0..rows.len()).map(|i| rows[(i * 77 + 13) % rows.len()]).collect();
    }
    assert_eq!(hashes[0], hashes[1]);
    assert_eq!(hashes[0], hashes[2]);
}
