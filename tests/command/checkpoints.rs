//! `run --checkpoint-every` and `run --resume`.

use std::fs;
use std::process::Command;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::harness::{Place, Ran};

fn resumed_run_has_the_hash_of_a_whole_run(backend: &str) {
    let place = Place::new();
    let run = ["run", "gas.toml", "--backend", backend, "--quiet"];
    let whole = place.carom(&[&run[..], &["--steps", "30", "--json"]].concat()).expect(0).object();
    let first = [&run[..], &["--steps", "20", "--out", "out", "--checkpoint-every", "6"]].concat();
    place.carom(&first).expect(0).silent();
    let kept = ["checkpoint-00000018.safetensors", "checkpoint-00000020.safetensors"];
    assert_eq!(place.names("out"), [kept[0], kept[1], "final.csv", "final.xyz"]);
    for (name, steps) in kept.into_iter().zip(["12", "10"]) {
        let file = format!("out/{name}");
        let arguments = ["run", "--resume", &file, "--steps", steps, "--json", "--quiet"];
        let object = place.carom(&arguments).expect(0).object();
        for key in ["state_hash", "steps", "impacts", "backend", "energy_error", "total_energy"] {
            assert_eq!(object[key], whole[key], "{name}: {key}");
        }
    }
}

#[test]
fn a_resumed_run_has_the_hash_of_a_whole_run_on_cpu() {
    resumed_run_has_the_hash_of_a_whole_run("cpu");
}

#[test]
fn a_resumed_run_has_the_hash_of_a_whole_run_on_exact() {
    resumed_run_has_the_hash_of_a_whole_run("exact");
}

// Needs an adapter.
#[cfg(feature = "gpu")]
#[test]
fn a_resumed_run_has_the_hash_of_a_whole_run_on_gpu() {
    resumed_run_has_the_hash_of_a_whole_run("gpu");
}

#[test]
fn without_a_number_of_steps_the_run_goes_on_to_its_end() {
    let place = Place::new();
    let to_the_end = place.carom(&["run", "gas.toml", "--json", "--quiet", "--backend", "cpu"]).object();
    let arguments =
        ["run", "gas.toml", "--out", "out", "--checkpoint-every", "7", "--quiet", "--backend", "cpu"];
    place.carom(&arguments).expect(0);
    let file = "out/checkpoint-00000014.safetensors";
    let object = place.carom(&["run", "--resume", file, "--json", "--out", "out"]).expect(0).object();
    assert_eq!((&object["steps"], &object["state_hash"]), (&to_the_end["steps"], &to_the_end["state_hash"]));
    // The checkpoints before belong to the same run: the last two stay.
    let kept = ["checkpoint-00000014.safetensors", "checkpoint-00000020.safetensors"];
    assert_eq!(place.names("out")[..2], kept);
    place
        .carom(&["run", "--resume", "out/checkpoint-00000020.safetensors"])
        .expect(2)
        .says("has ended at its step 20");
    place.carom(&["run", "--resume", file, "--set", "world.dt=1"]).expect(2).says("leave out --set");
    place.carom(&["run", "pair.toml", "--resume", file]).expect(2).says("scene gas.toml, not pair.toml");
    place.carom(&["run", "gas.toml", "--seed", "3", "--resume", file]).expect(2).says("not world.seed=3");
    place.carom(&["run", "gas.toml", "--resume", file, "--steps", "1", "--quiet"]).expect(0);
    place.carom(&["run", "gas.toml", "--checkpoint-every", "7"]).expect(2).says("--out");
    let other = ["run", "--resume", file, "--steps", "1", "--backend", "exact"];
    place.carom(&other).expect(0).says("not with the same bits");
}

// A checkpoint is removed only if it is one of the same run in the same folder.
#[test]
fn checkpoints_of_other_runs_and_folders_stay() {
    let place = Place::new();
    let first = [
        "run",
        "gas.toml",
        "--backend",
        "cpu",
        "--quiet",
        "--out",
        "first",
        "--checkpoint-every",
        "1",
        "--steps",
    ];
    place.carom(&[&first[..], &["3"]].concat()).expect(0);
    fs::copy(
        place.path("first/checkpoint-00000002.safetensors"),
        place.path("first/checkpoint-2.safetensors"),
    )
    .unwrap();
    let before = place.names("first");
    let file = "first/checkpoint-00000003.safetensors";
    let resume = ["run", "--resume", file, "--quiet", "--checkpoint-every", "1", "--steps", "4", "--out"];
    place.carom(&[&resume[..], &["second"]].concat()).expect(0);
    assert_eq!(place.names("first"), before);
    let numbers = ["checkpoint-00000006.safetensors", "checkpoint-00000007.safetensors"];
    assert_eq!(place.names("second")[..2], numbers);
    // In the same folder, spelled in another way.
    place.carom(&[&resume[..], &["./second/../first"]].concat()).expect(0);
    let names = place.names("first");
    assert_eq!(names[..3], [numbers[0], numbers[1], "checkpoint-2.safetensors"]);
    // Another run in the folder of a longer one.
    let fresh = [&first[..], &["2"]].concat();
    let loud: Vec<_> = fresh.into_iter().filter(|argument| *argument != "--quiet").collect();
    place.carom(&loud).expect(0).says("first holds checkpoints of another run");
    assert_eq!(place.names("first").len(), names.len() + 2);
}

// A piston presses spheres deeper into each other and into walls than a start may have them.
#[test]
fn a_state_that_a_run_reached_is_resumed() {
    let place = Place::new();
    let walls = "[[walls]]\ndisc = { center = [2, 2, 4.4], normal = [0, 0, -1], radius = 4 }\nvelocity = [0, 0, -2.2]\n";
    let bounds = "[bounds]\nmin = [0, 0, 0]\nmax = [4, 4, 9]\nx = \"wall\"\ny = \"wall\"\nz = \"wall\"\n";
    let spheres = "[[spheres]]\nlattice = { count = [4, 4, 1], spacing = 1.0, origin = [0.5, 0.5, 0.5], diameter = 1.0 }\n";
    let world =
        "[world]\ndt = 0.05\nsteps = 40\ngravity = [0, 0, -1]\n[materials.default]\nrestitution = 0.3\n";
    place.write("piston.toml", &[world, bounds, spheres, walls].concat());
    let run = ["run", "piston.toml", "--backend", "cpu", "--json", "--quiet"];
    let whole =
        place.carom(&[&run[..], &["--out", "out", "--checkpoint-every", "33"]].concat()).expect(0).object();
    assert!(whole["deepest_overlap"].as_f64().unwrap() > 0.02, "{whole}");
    let file = "out/checkpoint-00000033.safetensors";
    let resumed = place.carom(&["run", "--resume", file, "--json", "--quiet"]).expect(0).object();
    assert_eq!(resumed["state_hash"], whole["state_hash"]);
    let dry = place.carom(&["run", "--resume", file, "--dry-run", "--json"]).expect(0).object();
    assert_eq!(dry["steps"], 7);
}

#[test]
fn a_checkpoint_starts_a_scene_and_converts() {
    let place = Place::new();
    let arguments =
        ["run", "gas.toml", "--out", "out", "--checkpoint-every", "20", "--quiet", "--backend", "cpu"];
    place.carom(&arguments).expect(0);
    let file = "out/checkpoint-00000020.safetensors";
    let object = place.carom(&["info", file, "--json"]).expect(0).object();
    assert_eq!((&object["format"], &object["frames"]), (&"checkpoint".into(), &1.into()));
    assert_eq!((&object["spheres"], &object["step"]), (&200.into(), &20.into()));
    place.carom(&["convert", file, "state.csv"]).expect(0);
    assert_eq!(place.read("state.csv"), place.read("out/final.csv"));
    place.write("again.toml", &format!("[world]\ndt = 0.02\n[[spheres]]\nfile = \"{file}\"\n"));
    let again = place.carom(&["run", "again.toml", "--steps", "0", "--json", "--backend", "exact"]).expect(0);
    assert_eq!(again.object()["sphere_count"], 200);
    place.carom(&["convert", "state.csv", "state.safetensors"]).expect(2).says("spheres are written as");
}

#[test]
fn a_file_that_is_no_whole_checkpoint_is_refused() {
    let place = Place::new();
    let arguments =
        ["run", "gas.toml", "--out", "out", "--checkpoint-every", "20", "--quiet", "--backend", "cpu"];
    place.carom(&arguments).expect(0);
    let whole = fs::read(place.path("out/checkpoint-00000020.safetensors")).unwrap();
    let refuse = |bytes: &[u8], text: &str| {
        fs::write(place.path("bad.safetensors"), bytes).unwrap();
        place.carom(&["run", "--resume", "bad.safetensors", "--steps", "1"]).expect(2).silent().says(text);
    };
    refuse(b"", "no checkpoint of carom");
    refuse(b"id,x,y,z\n", "no checkpoint of carom");
    refuse(&[0xff; 4096], "no checkpoint of carom");
    for part in [7, 8, 100, whole.len() / 2, whole.len() - 1] {
        refuse(&whole[..part], "no checkpoint of carom, or only a part");
    }
    refuse(&[&whole[..], b"\0"].concat(), "no checkpoint of carom");
    let version = b"\"version\":\"1\"";
    let at = whole.windows(version.len()).position(|window| window == version).unwrap();
    let mut bytes = whole.clone();
    bytes[at + version.len() - 2] = b'2';
    refuse(&bytes, "a checkpoint of version 2");
    place.carom(&["run", "--resume", "none.safetensors"]).expect(2).says("cannot read none.safetensors");
}

// Every bit counts: a flipped one anywhere is found, at the latest by the checksum.
#[test]
fn a_flipped_bit_is_found() {
    let place = Place::new();
    place.write("one.toml", crate::harness::PAIR);
    let arguments =
        ["run", "one.toml", "--out", "out", "--checkpoint-every", "2", "--quiet", "--backend", "cpu"];
    place.carom(&arguments).expect(0);
    let path = place.path("out/checkpoint-00000002.safetensors");
    let whole = fs::read(&path).unwrap();
    carom::files::read_checkpoint(&path).unwrap();
    let mut found = 0;
    for at in 0..8 * whole.len() {
        let mut bytes = whole.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        // Through memory instead of files: there are tens of thousands of bits.
        let outcome = carom::files::parse_checkpoint(&bytes);
        assert!(outcome.is_err(), "bit {} of byte {} is not missed", at % 8, at / 8);
        found += 1;
    }
    assert!(found > 10_000, "{found}");
}

// A step is under way when the process is killed; a checkpoint may be half written.
fn survives(kills: u32, seed: u64) {
    println!("seed {seed}");
    let mut random = Pcg64::seed_from_u64(seed);
    let place = Place::new();
    let run = ["run", "gas.toml", "--backend", "cpu", "--quiet", "--steps", "1000000", "--out", "out"];
    let arguments = [&run[..], &["--checkpoint-every", "1"]].concat();
    let mut most = 0;
    for kill in 0..kills {
        let _ = fs::remove_dir_all(place.path("out"));
        let mut child = place.command(&arguments).spawn().unwrap();
        while !place.path("out").is_dir() || place.names("out").iter().all(|name| name.starts_with('.')) {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(random.random_range(0..60_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let names = place.names("out");
        let whole: Vec<_> = names.iter().filter(|name| name.starts_with("checkpoint-")).collect();
        // The third is one that was to be removed next.
        assert!((1..=3).contains(&whole.len()), "kill {kill}: {names:?}");
        for name in whole {
            let checkpoint = carom::files::read_checkpoint(&place.path("out").join(name)).unwrap();
            most = most.max(checkpoint.steps());
        }
    }
    assert!(most > 1, "{most}");
}

#[cfg(unix)]
#[test]
fn a_checkpoint_is_there_after_a_kill() {
    survives(8, 11);
}

#[cfg(unix)]
tier!(long "60 s": after_each_of_a_hundred_kills_a_checkpoint_is_there = survives(100, 5));

// The shell ignores the signal and limits the size of files, so that a write beyond the limit fails as on a full disk.
#[cfg(unix)]
#[test]
fn on_a_full_disk_the_last_good_checkpoint_stays() {
    let place = Place::new();
    let first = [
        "run",
        "gas.toml",
        "--out",
        "out",
        "--checkpoint-every",
        "5",
        "--steps",
        "5",
        "--backend",
        "cpu",
        "--quiet",
    ];
    place.carom(&first).expect(0);
    let before = fs::read(place.path("out/checkpoint-00000005.safetensors")).unwrap();
    let line = format!(
        "trap '' XFSZ; ulimit -f {}; exec {} run --resume out/checkpoint-00000005.safetensors --steps 10 --out out \
         --checkpoint-every 5 --quiet",
        before.len() / 1024 / 2,
        env!("CARGO_BIN_EXE_carom")
    );
    let output = Command::new("bash").args(["-c", &line]).current_dir(place.path(".")).output().unwrap();
    Ran::new(&[&line], output).expect(4).says("cannot write out/checkpoint-00000010.safetensors");
    assert_eq!(fs::read(place.path("out/checkpoint-00000005.safetensors")).unwrap(), before);
    let names = place.names("out");
    assert_eq!(names, ["checkpoint-00000005.safetensors", "final.csv", "final.xyz"]);
}
