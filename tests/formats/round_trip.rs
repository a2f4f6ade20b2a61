//! Each format keeps each number bit by bit.

use carom::{
    files::{Frame, FrameBounds, parse_scene, read_frames, write_frames},
    scene::Placed,
};
use glam::DVec3;
use proptest::{
    collection::vec,
    prelude::{Just, Strategy, any, prop_oneof},
    test_runner::{Config, RngSeed, TestRunner},
};

use crate::support::{ENDINGS, assert_same_spheres, frame};

/// Seed of every property; a failure prints it.
const SEED: u64 = 0x5eed_0010;

fn property<T: Strategy>(cases: u32, strategy: T, test: impl Fn(T::Value)) {
    let config =
        Config { cases, rng_seed: RngSeed::Fixed(SEED), failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&strategy, |value| {
        test(value);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("seed {SEED:#x}: {error}"));
}

/// Any finite number, and the ends of the range more often than by chance.
fn number() -> impl Strategy<Value = f64> {
    let finite = any::<f64>().prop_filter("finite", |x| x.is_finite());
    const ENDS: [f64; 10] =
        [0.0, -0.0, 5e-324, -5e-324, f64::MIN_POSITIVE, f64::MAX, f64::MIN, 1.0 / 3.0, 1e16, 123456789.0];
    prop_oneof![3 => finite, 2 => -1e3..1e3, 1 => proptest::sample::select(&ENDS[..])]
}

fn vector() -> impl Strategy<Value = DVec3> {
    [number(), number(), number()].prop_map(DVec3::from_array)
}

fn above_zero() -> impl Strategy<Value = f64> {
    number().prop_map(|x| if x == 0.0 { 5e-324 } else { x.abs() })
}

/// Names of materials: any text in formats that keep it, one word in the others.
fn name(is_word: bool) -> impl Strategy<Value = String> {
    let names = ["glass", "steel", "PTFE_2", "\u{e9}tain", "a,b\"c", "two words", "7"];
    let names: Vec<&str> = names.into_iter().filter(|name| !is_word || !name.contains(' ')).collect();
    proptest::sample::select(names).prop_map(str::to_owned)
}

fn sphere(is_word: bool) -> impl Strategy<Value = Placed> {
    let vectors = (vector(), vector(), vector());
    let rest = (any::<u32>(), above_zero(), above_zero(), name(is_word), any::<bool>());
    (vectors, rest).prop_map(|((position, velocity, spin), (id, radius, mass, material, fixed))| Placed {
        id: Some(id),
        position,
        velocity,
        spin,
        radius,
        mass: Some(mass),
        material: Some(material),
        fixed,
    })
}

fn any_frame(is_word: bool) -> impl Strategy<Value = Frame> {
    let corners = (vector(), vector(), any::<[bool; 3]>());
    let bounds = corners.prop_map(|(a, b, periodic)| FrameBounds { min: a.min(b), max: a.max(b), periodic });
    let step = prop_oneof![Just(None), (0_u64..1 << 50).prop_map(Some)];
    let time = prop_oneof![Just(None), number().prop_map(Some)];
    (vec(sphere(is_word), 0..12), bounds, step, time).prop_map(|(spheres, bounds, step, time)| Frame {
        time,
        step,
        bounds: Some(bounds),
        spheres,
    })
}

#[test]
fn any_state_reads_back_as_the_same_bits() {
    for ending in ENDINGS {
        let is_word = ending.contains("xyz") || ending.contains("lammps") || ending.contains("dump");
        let is_csv = ending.contains("csv");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("a.{ending}"));
        property(60, any_frame(is_word), |written| {
            write_frames(&path, std::slice::from_ref(&written)).unwrap();
            let read = read_frames(&path).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(read.len(), 1);
            assert_same_spheres(&read[0].spheres, &written.spheres, ending);
            if is_csv {
                assert_eq!((read[0].time, read[0].step, read[0].bounds), (None, None, None));
                return;
            }
            assert_eq!(read[0].time.map(f64::to_bits), written.time.map(f64::to_bits), "{ending}");
            if is_word && ending.contains("xyz") {
                assert_eq!(read[0].step, written.step);
            } else {
                // A dump always has a number of the step.
                let expected = if is_word { written.step.or(Some(0)) } else { written.step };
                assert_eq!(read[0].step, expected, "{ending}");
                assert_eq!(read[0].bounds, written.bounds, "{ending}");
            }
        });
        // No temporary file is left.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[test]
fn the_box_of_an_xyz_file_reads_back_to_rounding() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xyz");
    let written = frame(10, 1);
    write_frames(&path, std::slice::from_ref(&written)).unwrap();
    let (read, expected) = (read_frames(&path).unwrap()[0].bounds.unwrap(), written.bounds.unwrap());
    // The format stores the size of the box, not its upper corner.
    assert_eq!((read.min, read.periodic), (expected.min, expected.periodic));
    assert!((read.max - expected.max).abs().max_element() <= 4e-15, "{read:?}");
}

#[test]
fn only_known_quantities_are_written() {
    let bare = Placed { radius: 0.25, position: DVec3::new(1.0, 2.0, 3.0), ..Placed::default() };
    let numbered = Placed { id: Some(4), ..bare.clone() };
    let frame = Frame { spheres: vec![bare.clone(), numbered, bare], ..Frame::default() };
    let folder = tempfile::tempdir().unwrap();
    for ending in ENDINGS {
        let path = folder.path().join(format!("a.{ending}"));
        write_frames(&path, std::slice::from_ref(&frame)).unwrap();
        let read = read_frames(&path).unwrap_or_else(|error| panic!("{error}"));
        let [read] = &read[..] else { panic!("{ending}") };
        let ids: Vec<Option<u32>> = read.spheres.iter().map(|sphere| sphere.id).collect();
        assert_eq!(ids, [Some(5), Some(4), Some(6)], "{ending}: numbered on after the largest id");
        assert!(read.spheres.iter().all(|s| s.mass.is_none() && s.radius == 0.25 && !s.fixed), "{ending}");
        assert_eq!(read.time, None, "{ending}");
        // A dump has a box in any case: here that of the spheres.
        let is_dump = ending.contains("dump") || ending.contains("lammps");
        assert_eq!(
            read.bounds.map(|bounds| bounds.min),
            is_dump.then_some(DVec3::new(0.75, 1.75, 2.75)),
            "{ending}"
        );
    }
}

#[test]
fn a_trajectory_keeps_its_frames() {
    let frames: Vec<Frame> = (0..5).map(|step| frame(20, step)).collect();
    let folder = tempfile::tempdir().unwrap();
    for ending in ENDINGS {
        let path = folder.path().join(format!("a.{ending}"));
        let is_text = ["xyz", "lammpstrj", "dump"].iter().any(|name| ending.starts_with(name));
        let outcome = write_frames(&path, &frames);
        if !is_text {
            let error = outcome.unwrap_err().to_string();
            assert!(error.contains("5 frames do not fit into a file of one frame"), "{error}");
            assert!(!path.exists());
            continue;
        }
        outcome.unwrap();
        let read = read_frames(&path).unwrap();
        assert_eq!(read.len(), 5);
        for (a, b) in read.iter().zip(&frames) {
            assert_same_spheres(&a.spheres, &b.spheres, ending);
        }
    }
}

#[test]
fn every_format_starts_a_scene() {
    let written = frame(30, 3);
    let folder = tempfile::tempdir().unwrap();
    for ending in ENDINGS {
        let file = format!("a.{ending}");
        write_frames(&folder.path().join(&file), std::slice::from_ref(&written)).unwrap();
        let text = format!(
            "[world]\ndt = 0.01\n[materials.steel]\nrestitution = 0.5\n\
             [materials.glass]\nfriction = 0.2\n[[spheres]]\nfile = \"{file}\"\n"
        );
        let scene = parse_scene(&text, "test", Some(folder.path()), &[]).unwrap_or_else(|e| panic!("{e}"));
        let carom::scene::Shape::At(read) = &scene.fills[0].shape else { panic!("{ending}") };
        assert_same_spheres(read, &written.spheres, ending);
        // Of another material, a text of chemistry or of LAMMPS says nothing; in the other formats it is a mistake.
        let other = text.replace("steel", "brass");
        match parse_scene(&other, "test", Some(folder.path()), &[]) {
            Ok(scene) => {
                let carom::scene::Shape::At(read) = &scene.fills[0].shape else { panic!("{ending}") };
                assert!(["xyz", "lammpstrj", "dump"].iter().any(|name| ending.starts_with(name)), "{ending}");
                assert_eq!(read[1].material, None);
                assert_eq!(read[0].material.as_deref(), Some("glass"));
            }
            Err(error) => assert!(error.to_string().contains("there is no material \"steel\""), "{error}"),
        }
    }
}

#[test]
fn a_material_with_a_blank_finds_itself_again() {
    let mut written = frame(3, 3);
    written.spheres.iter_mut().for_each(|sphere| sphere.material = Some("soda lime glass".to_owned()));
    let folder = tempfile::tempdir().unwrap();
    for ending in ENDINGS {
        let file = format!("a.{ending}");
        write_frames(&folder.path().join(&file), std::slice::from_ref(&written)).unwrap();
        let text = format!(
            "[world]\ndt = 0.01\n[materials.\"soda lime glass\"]\n\
             friction = 0.2\n[[spheres]]\nfile = \"{file}\"\n"
        );
        let scene = parse_scene(&text, "test", Some(folder.path()), &[]).unwrap_or_else(|e| panic!("{e}"));
        let carom::scene::Shape::At(read) = &scene.fills[0].shape else { panic!("{ending}") };
        assert_same_spheres(read, &written.spheres, ending);
    }
}
