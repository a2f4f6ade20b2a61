//! Input that is valid but that no engine can step in reasonable time is refused at once.

use std::time::{Duration, Instant};

use crate::harness::{GAS, Place};

// One line of the small gas is replaced.
fn refused(place: &Place, old: &str, new: &str, code: i32, words: &[&str]) {
    assert!(GAS.contains(old), "{old}");
    place.write("extreme.toml", &GAS.replace(old, new));
    let begin = Instant::now();
    let mut ran = place.carom(&["run", "extreme.toml", "--backend", "cpu"]).expect(code).silent();
    for word in words {
        ran = ran.says(word);
    }
    drop(ran);
    assert!(begin.elapsed() < Duration::from_secs(20), "{new}");
}

#[test]
fn sizes_too_far_apart_are_refused_with_both_diameters() {
    let place = Place::new();
    let one = "diameter = 1.0";
    let far = |small: &str| format!("diameters = [[0.9, 0.5], [{small}, 0.5]]");
    refused(
        &place,
        one,
        &far("1e-30"),
        2,
        &["1e-30", "9e-1", "a ratio of 9.0e29", "1e4", "extreme.toml:13", "^"],
    );
    refused(&place, one, &far("8.9e-5"), 2, &["a ratio of 1.0e4"]);
    refused(&place, one, "diameter = 1e-80", 2, &["1e-80", "between 1e-70 and 1e70"]);
    let other = "temperature = 1.0\n[[spheres]]\nat = [{ position = [0, 0, 0], radius = 1e-5 }]\n";
    refused(&place, "temperature = 1.0", other, 2, &["spheres[1].at[0].radius", "ratio"]);
}

#[test]
fn gravity_and_steps_that_need_too_many_substeps_are_refused_with_the_number() {
    let place = Place::new();
    let dt = "dt = 0.02";
    let open = |gravity: &str| format!("dt = 0.02\ngravity = [0, 0, {gravity}]\n");
    let closed = GAS.replace("z = \"periodic\"", "z = \"wall\"");
    for (new, words) in [
        (open("-1e12"), ["gravity of 1e12", "substeps", "1e4"]),
        (open("1e100"), ["gravity of 1e100", "substeps", "1e4"]),
    ] {
        place.write("extreme.toml", &closed.replace(dt, &new));
        let ran = place.carom(&["run", "extreme.toml", "--backend", "cpu"]).expect(2).silent();
        drop(words.iter().fold(ran, |ran, word| ran.says(word)));
    }
    refused(&place, dt, "dt = 1e300", 2, &["world.dt is 1e300", "1e-70"]);
    refused(&place, dt, "dt = 1e-300", 2, &["world.dt is 1e-300", "1e-70"]);
    refused(
        &place,
        "temperature = 1.0",
        "temperature = 1e20",
        2,
        &["200 of 200 spheres", "substeps", "world.dt"],
    );
    refused(&place, "temperature = 1.0", "temperature = 1.5e9", 2, &["collides about", "at most 1229"]);
    refused(&place, "[bounds]", "[solver]\nsubsteps = 4000000000\n[bounds]", 2, &["solver.substeps", "4096"]);
}

#[test]
fn absurd_numbers_of_spheres_and_steps_are_refused() {
    let place = Place::new();
    refused(&place, "count = 200", "count = 1000000000000", 1, &["1000000000000 spheres", "134217728"]);
    let lattice =
        "lattice = { kind = \"cubic\", count = [1000000, 1000000, 1000000], spacing = 1.0, diameter = 1.0 }";
    refused(
        &place,
        "random = { count = 200, volume_fraction = 0.1, diameter = 1.0 }",
        lattice,
        2,
        &["bounds.max"],
    );
    let max = "min = [0, 0, 0]\nmax = [9, 9, 9]\nx = \"periodic\"";
    let closed = GAS.replace("x = \"periodic\"", max);
    let random = "random = { count = 200, volume_fraction = 0.1, diameter = 1.0 }";
    place.write("extreme.toml", &closed.replace(random, lattice));
    place.carom(&["run", "extreme.toml", "--backend", "cpu"]).expect(1).silent().says("134217728");
    let poured = "source = { min = [0, 0, 0], max = [9e5, 9e5, 9e5], rate = 1e300 }\nvelocity = [0, 0, 0]";
    let open = GAS.replace("\"periodic\"", "\"open\"").replace("temperature = 1.0", "");
    place.write("extreme.toml", &open.replace(random, poured));
    place
        .carom(&["run", "extreme.toml", "--backend", "cpu"])
        .expect(2)
        .silent()
        .says("in a step")
        .says("1e7");
    for steps in ["18446744073709551615", "9000000000000000"] {
        place.carom(&["run", "gas.toml", "--steps", steps]).expect(2).silent().says("--steps").says("1e15");
    }
    assert!(!place.path("out").exists());
}
