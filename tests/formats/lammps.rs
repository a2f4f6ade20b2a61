//! Files that LAMMPS writes.

use std::fs;

use carom::files::{Frame, FrameBounds, read_frames};
use glam::DVec3;

fn read(file: &str, text: &str) -> Result<Frame, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(file);
    fs::write(&path, text).unwrap();
    read_frames(&path).map(|mut frames| frames.remove(0)).map_err(|error| error.to_string())
}

/// A file as `write_data` of LAMMPS (29 Aug 2024) writes it, with one atom type more.
const DATA: &str = "\
LAMMPS data file via write_data, version 29 Aug 2024, timestep = 3000, units = si

2 atoms
3 atom types

0 2 xlo xhi
-1 1 ylo yhi
0 4.5 zlo zhi

Pair Coeffs # gran/hooke

1
2

Atoms # sphere

7 1 0.5 2500 0.25 0 1.5 0 0 -1
3 3 1 7800 1.5 0.5 1e-1 0 0 0

Velocities

3 0 0 -1 0.5 0 0
7 1 2 3 4 5 6
";

#[test]
fn a_data_file_of_grains_is_read() {
    let frame = read("packing.data", DATA).unwrap();
    let bounds =
        FrameBounds { min: DVec3::new(0.0, -1.0, 0.0), max: DVec3::new(2.0, 1.0, 4.5), periodic: [true; 3] };
    assert_eq!((frame.bounds, frame.time, frame.step), (Some(bounds), None, None));
    let [a, b] = &frame.spheres[..] else { panic!("{frame:?}") };
    assert_eq!((a.id, a.radius, a.material.as_deref()), (Some(7), 0.25, Some("1")));
    assert_eq!(
        (a.position, a.velocity, a.spin),
        (DVec3::new(0.25, 0.0, 1.5), DVec3::new(1.0, 2.0, 3.0), DVec3::new(4.0, 5.0, 6.0))
    );
    let mass = 7800.0 * std::f64::consts::PI / 6.0;
    assert!((b.mass.unwrap() - mass).abs() < 1e-12 * mass);
    assert_eq!((b.velocity, b.spin.x, b.material.as_deref()), (-DVec3::Z, 0.5, Some("3")));
}

#[test]
fn types_may_have_labels() {
    let labels = "Atom Type Labels\n\n1 glass\n2 PTFE\n3 steel\n\nAtoms # sphere";
    let frame = read("a.lmp", &DATA.replace("Atoms # sphere", labels)).unwrap();
    let names: Vec<_> = frame.spheres.iter().map(|sphere| sphere.material.as_deref()).collect();
    assert_eq!(names, [Some("glass"), Some("steel")]);
}

#[test]
fn a_tilted_box_is_none_and_the_spheres_remain() {
    let frame = read("a.data", &DATA.replace("0 4.5 zlo zhi", "0 4.5 zlo zhi\n0.5 0 0 xy xz yz")).unwrap();
    assert_eq!((frame.bounds, frame.spheres.len()), (None, 2));
    let frame = read("a.data", &DATA.replace("0 4.5 zlo zhi", "0 4.5 zlo zhi\n0 0 0 xy xz yz")).unwrap();
    assert!(frame.bounds.is_some());
}

#[test]
fn a_data_file_that_fits_no_spheres_is_refused() {
    for (from, to, what) in [
        ("Atoms # sphere", "Atoms # full", "a.data:15: the atom style is full; expected sphere"),
        (
            "7 1 0.5 2500 0.25 0 1.5 0 0 -1",
            "7 1 0.5 2500 0.25 0",
            "a.data:17: 6 values; expected id type diameter density",
        ),
        ("7 1 0.5", "7 1 0", "a.data:17: radius is 0; expected a number > 0"),
        ("7 1 0.5 2500", "7 1 0.5 0", "a.data:17: mass is 0; expected a number > 0"),
        ("7 1 0.5", "7 1 wide", "a.data:17: diameter is \"wide\"; expected a finite number"),
        ("7 1 0.5", "-7 1 0.5", "a.data:17: id is \"-7\"; expected a whole number"),
        ("7 1 2 3", "8 1 2 3", "a.data:23: no atom before has the id 8"),
        ("2 atoms", "3 atoms", "a.data: the header names 3 atoms; there are 2"),
        ("Atoms # sphere", "Bodies", "a.data: there is no section Atoms; expected a LAMMPS data file"),
    ] {
        let mut text = DATA.replace(from, to);
        if to == "Bodies" {
            text = text.replace("Velocities", "Ellipsoids");
        }
        let error = read("a.data", &text).unwrap_err();
        assert!(error.contains(what), "expected {what:?} in: {error}");
    }
}

/// A dump as `dump custom` of LAMMPS writes it.
const DUMP: &str = "\
ITEM: UNITS
si
ITEM: TIME
0.25
ITEM: TIMESTEP
250
ITEM: NUMBER OF ATOMS
2
ITEM: BOX BOUNDS pp pp fs
0.0000000000000000e+00 2.0000000000000000e+00
-1.0000000000000000e+00 1.0000000000000000e+00
0 4
ITEM: ATOMS id type xs ys zs diameter fx
2 1 0.5 0.5 0.25 1 9
1 2 0 0 0 0.5 9
";

#[test]
fn fractions_of_the_box_and_diameters_are_read() {
    let frame = read("a.lammpstrj", DUMP).unwrap();
    assert_eq!((frame.time, frame.step), (Some(0.25), Some(250)));
    assert_eq!(frame.bounds.unwrap().periodic, [true, true, false]);
    assert_eq!(frame.spheres[0].position, DVec3::new(1.0, 0.0, 1.0));
    assert_eq!((frame.spheres[0].radius, frame.spheres[1].radius), (0.5, 0.25));
    assert_eq!((frame.spheres[1].position.y, frame.spheres[1].id), (-1.0, Some(1)));
    assert_eq!(frame.spheres[1].material.as_deref(), Some("2"));
    let unwrapped = read("a.dump", &DUMP.replace("xs ys zs", "xu yu zu")).unwrap();
    assert_eq!(unwrapped.spheres[0].position, DVec3::new(0.5, 0.5, 0.25));
}

#[test]
fn a_dump_that_cannot_be_read_says_why() {
    for (from, to, what) in [
        (
            "pp pp fs\n0.0000000000000000e+00 2.0000000000000000e+00",
            "xy xz yz pp pp fs\n0 2 0.5",
            "the box is missing or tilted",
        ),
        (
            "diameter",
            "c_1",
            "a.dump:13: there is no column `radius`; x, y and radius are needed: dump custom",
        ),
        ("ITEM: NUMBER OF ATOMS\n2\n", "", "a.dump:11: ITEM: NUMBER OF ATOMS is missing"),
        ("ATOMS\n2\n", "ATOMS\n3\n", "a.dump:16: the file ends after 2 of 3 spheres"),
        ("2 1 0.5 0.5", "2 1 0.5", "a.dump:14: 6 values; ITEM: ATOMS names 7"),
        ("TIMESTEP\n250", "TIMESTEP\nmany", "a.dump:6: ITEM: TIMESTEP is \"many\"; expected a whole number"),
        ("ITEM: UNITS", "UNITS", "a.dump:1: \"UNITS\" is no section of a dump"),
        ("0 4\n", "0 high\n", "a.dump:12: the box is \"0 high\"; expected two numbers"),
    ] {
        let error = read("a.dump", &DUMP.replace(from, to)).unwrap_err();
        assert!(error.contains(what), "expected {what:?} in: {error}");
    }
    let error = read("a.dump", "").unwrap_err();
    assert!(error.contains("there is no ITEM: ATOMS"), "{error}");
}
