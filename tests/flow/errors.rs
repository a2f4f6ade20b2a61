//! Messages for errors in a source or a sink.

use std::path::Path;

use carom::{Error, Sink, Source, System, files::parse_scene};
use glam::DVec3;

fn message(text: &str) -> String {
    match parse_scene(text, "test.toml", Some(Path::new("/nowhere")), &[]) {
        Err(error) => error.to_string(),
        Ok(scene) => scene.build().expect_err("should be refused").to_string(),
    }
}

const BOX: &str = "min = [1, 1, 1], max = [3, 3, 3]";

fn source(fields: &str) -> String {
    format!("[[spheres]]\nsource = {{ {fields} }}")
}

fn sink(fields: &str) -> String {
    format!("[[sinks]]\n{fields}")
}

// Fails unless the message about the text shows the problem, the line, a caret below the position, and the remedy.
fn is_shown<const N: usize>(cases: [(String, &str, &str, &str); N]) {
    let head = "[world]\ndt = 0.1\n[bounds]\nmax = [10, 10, 10]\nx = \"periodic\"\nz = \"wall\"\n";
    for (text, problem, pointed_at, remedy) in cases {
        let shown = message(&format!("{head}{text}\n"));
        assert!(shown.contains(problem), "{text}:\n{shown}");
        // The line of the text, and the caret below it.
        let lines: Vec<&str> = shown.lines().collect();
        let column = lines[4].find('^').unwrap();
        assert!(lines[3][column..].starts_with(pointed_at), "{text}, expected {pointed_at}:\n{shown}");
        assert!(lines[4].contains(remedy), "{text}:\n{shown}");
    }
}

#[test]
fn every_error_in_a_source_is_shown_at_its_position() {
    is_shown([
        (source(&format!("{BOX}, rate = 0")), "spheres[0].source.rate is 0", "0 }", "finite and > 0"),
        (source(&format!("{BOX}, rate = nan")), "spheres[0].source.rate is NaN", "nan", "finite and > 0"),
        (source(&format!("{BOX}, rate = -3")), "spheres[0].source.rate is -3", "-3", "finite and > 0"),
        (source(BOX), "spheres[0].source.rate is missing", "{ min", "expected rate = 1000"),
        (source("max = [1, 1, 1], rate = 1"), "spheres[0].source.min is missing", "{ max", "expected min"),
        (
            source("min = [1, 1, 1], max = [3, 0, 3], rate = 1"),
            "spheres[0].source runs from 1 to 0 in y",
            "[3, 0, 3]",
            "its upper corner lies above its lower corner",
        ),
        (
            source("min = [1, 1, 1], max = [3, nan, 3], rate = 1"),
            "spheres[0].source.max has the y component NaN",
            "[3, nan",
            "every component is a finite number",
        ),
        (
            source(&format!("{BOX}, rate = 1, diameter = -1")),
            "spheres[0].source.diameter is -1",
            "-1",
            "a diameter is finite and > 0",
        ),
        (
            source(&format!("{BOX}, rate = 1, diameters = [[1, 0.5], [0.5, 0.1]]")),
            "the shares of spheres[0].source.diameters add up to 0.6",
            "[[1, 0.5]",
            "add up to 1",
        ),
        (
            source(&format!("{BOX}, rate = 1, diameter = 1, diameters = [[1, 1]]")),
            "spheres[0].source has both diameter and diameters",
            "diameters",
            "expected only one of",
        ),
        (
            source(&format!("{BOX}, rate = 1, diameter = 2.5")),
            "spheres[0].source is too small for spheres of diameter 2.5",
            "[3, 3, 3]",
            "longer than the largest diameter",
        ),
        (
            source(&format!("{BOX}, rate = 1, from = 2, until = 1")),
            "spheres[0].source.until is 1",
            "1 }",
            "a source ends after it has begun",
        ),
        (source(&format!("{BOX}, rate = 1, spread = -1")), "spheres[0].source.spread is -1", "-1", ">= 0"),
        (
            source(&format!("{BOX}, rate = 1, count = 1.5")),
            "spheres[0].source.count is a float",
            "1.5",
            "whole",
        ),
    ]);
}

#[test]
fn impossible_sources_are_shown_at_their_position() {
    is_shown([
        (source(&format!("{BOX}, rte = 1")), "unknown field `rte` in spheres[0].source", "rte", "`rate`?"),
        (
            format!("{}\ntemperature = 1", source(&format!("{BOX}, rate = 1"))),
            "spheres[0] is a source and has temperature",
            "1",
            "a source has velocity, and source.spread",
        ),
        (
            format!("{}\nfixed = true", source(&format!("{BOX}, rate = 1"))),
            "spheres[0] is a source of fixed spheres",
            "true",
            "fixed spheres exist from the start",
        ),
        (
            format!("{}\nmaterial = \"oak\"", source(&format!("{BOX}, rate = 1"))),
            "there is no material \"oak\"",
            "\"oak\"",
            "the materials are default",
        ),
        (
            source("min = [1, 1, -9], max = [3, 3, -5], rate = 1"),
            "spheres[0].source has no room for spheres of diameter 1 in front of the wall z-min",
            "[1, 1, -9]",
            "inside the bounds",
        ),
        (
            source("min = [-5, 1, 1], max = [3, 3, 3], rate = 1"),
            "spheres[0].source runs from -5 to 3 in x, and the bounds from 0 to 10",
            "[-5",
            "x is periodic",
        ),
    ]);
}

#[test]
fn every_error_in_a_sink_is_shown_at_its_position() {
    is_shown([
        (
            sink("min = [0, 0, 0]\nmax = [1, 1, 0]"),
            "sinks[0] runs from 0 to 0 in z",
            "[1, 1, 0]",
            "its upper corner lies above its lower corner",
        ),
        (sink("min = [0, 0, 0]"), "sinks[0].max is missing", "[[sinks]]", "expected max"),
        (
            sink("min = [0, 0, 0]\nmax = [1, 1, 1]\nevery = 0"),
            "sinks[0].every is 0",
            "0",
            "a number of steps is >= 1",
        ),
        (
            sink(
                "min = [0, 0, 0]\nmax = [1, 1, 1]\nname = \"a\"\n[[sinks]]\nmin = [0, 0, 0]\nmax = [1, 1, 1]\nname = \"a\"",
            ),
            "there are two sinks called \"a\"",
            "\"a\"",
            "give each a unique name",
        ),
    ]);
}

#[test]
fn a_negative_drag_is_shown_at_its_position() {
    let shown = message("[world]\ndt = 0.1\ndrag = -1\n");
    assert!(shown.contains("world.drag is -1") && shown.contains("test.toml:3:8"), "{shown}");
}

#[test]
fn systems_are_checked_as_scenes_are() {
    let with = |change: &dyn Fn(&mut System)| {
        let mut system = System::default();
        system.sources.push(Source::new(DVec3::ZERO, DVec3::splat(2.0), 1.0));
        system.sinks.push(Sink::new(DVec3::ZERO, DVec3::ONE, "drain"));
        system.validate().unwrap();
        change(&mut system);
        match system.validate() {
            Err(Error::Invalid(text)) => text,
            other => panic!("{other:?}"),
        }
    };
    for (text, expected) in [
        (with(&|s| s.drag = f64::NAN), "world.drag is NaN"),
        (with(&|s| s.sources[0].rate = f64::INFINITY), "sources[0].rate is inf"),
        (with(&|s| s.sources[0].from = f64::NEG_INFINITY), "sources[0].from is -inf"),
        (with(&|s| s.sources[0].velocity.y = f64::NAN), "sources[0].velocity has the y component NaN"),
        (with(&|s| s.sources[0].material = 3), "sources[0].material is 3"),
        (with(&|s| s.sources[0].diameters.clear()), "sources[0].diameters is empty"),
        (with(&|s| s.sinks[0].max.x = f64::NAN), "sinks[0] runs from 0 to NaN in x"),
    ] {
        assert!(text.contains(expected), "{text}; expected {expected}");
    }
}
