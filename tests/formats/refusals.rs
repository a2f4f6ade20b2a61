//! Errors in binary files say what is wrong.

use std::fs;

use carom::files::{SceneErrorKind, read_frames, write_frames};

use crate::support::frame;

/// Replaces the first occurrence of some bytes by others of the same length, in a file with this ending.
fn read_changed(ending: &str, from: &str, to: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("a.{ending}"));
    write_frames(&path, &[frame(12, 5)]).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    assert_eq!(from.len(), to.len());
    let at = bytes.windows(from.len()).position(|window| window == from.as_bytes());
    let at = at.unwrap_or_else(|| panic!("{ending} has no {from:?}"));
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    fs::write(&path, bytes).unwrap();
    let error = read_frames(&path).expect_err(to);
    assert_eq!(error.kind(), SceneErrorKind::Invalid);
    error.to_string()
}

#[test]
fn a_changed_header_is_refused_with_its_reason() {
    for (ending, from, to, what) in [
        (
            "vtp",
            "PolyData",
            "ImageDat",
            "a.vtp: the root is VTKFile of type \"ImageDat\"; expected VTKFile of type \"PolyData\"",
        ),
        (
            "vtp",
            "NumberOfPoints=\"12\"",
            "NumberOfPoints=\"13\"",
            "a.vtp: the file ends before its last sphere",
        ),
        (
            "vtp",
            "Name=\"radius\"",
            "Name=\"radios\"",
            "a.vtp: there is no radius; x, y and radius are needed",
        ),
        ("vtp", "offset=\"0\"", "offset=\"9\"", "lies beyond the end of the file"),
        ("vtp", "format=\"appended\"", "format=\"appendix\"", "is neither appended nor ascii"),
        (
            "vtp",
            "encoding=\"raw\"",
            "encoding=\"b64\"",
            "its appended data are not raw; save it with raw appended data",
        ),
        (
            "vtp",
            "version=\"1.0\" byte_order",
            "compressor=\"a\" x_order_a",
            "its arrays are compressed with a; save it without",
        ),
        ("vtp", "<Piece ", "<piece ", "the XML part is invalid"),
        ("ply", "ply\n", "plx\n", "a.ply:1: the first line is not \"ply\""),
        ("ply", "vertex 12", "vertex 13", "a.ply: the file ends before its last sphere"),
        ("ply", "double radius", "double radios", "a.ply: there is no radius"),
        ("ply", "double mass", "dooble mass", "\"property dooble mass\" has an unknown type"),
        (
            "ply",
            "binary_little_endian",
            "binary_litter_endian",
            "the format \"binary_litter_endian\" is unknown",
        ),
        ("ply", "element vertex", "element vortex", "the vertices have to be the first element"),
        ("ply", "comment material 0", "comment moterial 0", "material is 1; the file names 1 materials"),
        ("npz", "'descr': '<u4'", "'descr': '<c4'", "a.npz: id cannot be unpacked"),
    ] {
        let error = read_changed(ending, from, to);
        assert!(error.contains(what), "expected {what:?} in: {error}");
    }
}

#[test]
fn a_number_that_no_sphere_has_is_refused_with_its_sphere() {
    let folder = tempfile::tempdir().unwrap();
    for (ending, what) in [
        ("vtp", "a.vtp: sphere 3: radius is 0; expected a number > 0"),
        ("npz", "a.npz: sphere 3: radius is 0; expected a number > 0"),
        ("ply", "a.ply: sphere 3: radius is 0; expected a number > 0"),
        ("csv", "a.csv:5: radius is 0; expected a number > 0"),
        ("xyz", "a.xyz:6: radius is 0; expected a number > 0"),
        ("dump", "a.dump:15: radius is 0; expected a number > 0"),
    ] {
        let mut frame = frame(12, 5);
        frame.spheres[3].radius = 0.0;
        let path = folder.path().join(format!("a.{ending}"));
        write_frames(&path, &[frame]).unwrap();
        let error = read_frames(&path).unwrap_err().to_string();
        assert!(error.contains(what), "expected {what:?} in: {error}");
    }
}

#[test]
fn a_file_that_is_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (file, content, what) in [
        ("a.npz", "no archive", "a.npz: no archive"),
        ("a.vtp", "", "a.vtp: the XML part is invalid"),
        ("a.ply", "", "a.ply:1: the header does not end"),
        ("a.csv.gz", "x,y,radius\n0,0,1\n", "a.csv.gz: cannot be unpacked"),
        ("a.vtp.gz", "", "a.vtp.gz: spheres are read from files with the endings .csv, .xyz, .lammpstrj"),
        ("a", "", "a: spheres are read from files with the endings .csv"),
    ] {
        let path = folder.path().join(file);
        fs::write(&path, content).unwrap();
        let error = read_frames(&path).unwrap_err().to_string();
        assert!(error.contains(what), "expected {what:?} in: {error}");
    }
    for file in ["a.data", "a.npy", "a", "b.ply.gz"] {
        let error = write_frames(&folder.path().join(file), &[frame(1, 1)]).unwrap_err().to_string();
        assert!(error.contains("spheres are written as .csv, .xyz, .lammpstrj"), "{error}");
    }
    let mut some = frame(3, 1);
    some.spheres[1].mass = None;
    let error = write_frames(&folder.path().join("a.vtp"), &[some]).unwrap_err().to_string();
    assert!(error.contains("2 of 3 spheres have a mass"), "{error}");
}
