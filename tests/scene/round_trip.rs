//! Files of spheres: written and read back, and errors in files.

use std::{fs, path::Path};

use carom::{
    Sphere, System,
    files::{FrameBounds, SceneErrorKind, builtin, parse_scene, read_frames, write_spheres},
    scene::{Fill, Placed, Scene},
};
use glam::DVec3;

fn read_back(folder: &Path, file: &str, materials: &str) -> Vec<Sphere> {
    let text = format!("[world]\ndt = 0.01\n{materials}\n[[spheres]]\nfile = \"{file}\"\n");
    let scene = parse_scene(&text, "test", Some(folder), &[]).unwrap_or_else(|error| panic!("{error}"));
    let system = scene.build().unwrap();
    system.spheres
}

/// A system with values that need all their digits.
fn system() -> System {
    let scene = Scene::new(0.01)
        .material("glass", 0.9, 2.5)
        .fill(Fill::lattice([4, 4, 4], 1.0 + 1.0 / 3.0).temperature(1e-7 / 3.0).material("glass"))
        .fill(Fill::at([
            Placed {
                id: Some(1000),
                position: DVec3::new(-1e300, 5e-324, 1.0 / 7.0),
                velocity: DVec3::new(-0.0, 1e-17, f64::MIN_POSITIVE),
                spin: DVec3::new(0.1, 0.2, -0.3),
                radius: 0.1,
                mass: Some(1.0 / 3.0),
                ..Placed::default()
            },
            Placed { position: DVec3::splat(50.0), fixed: true, ..Placed::default() },
        ]));
    scene.build().unwrap()
}

#[test]
fn written_spheres_read_back_as_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let system = system();
    for file in ["a.csv", "a.xyz"] {
        write_spheres(&folder.path().join(file), &system, 1.5, &system.spheres).unwrap();
        let read = read_back(folder.path(), file, "[materials.glass]\nrestitution = 0.9\ndensity = 2.5");
        assert_eq!(read, system.spheres, "{file}");
        for (a, b) in read.iter().zip(&system.spheres) {
            for (v, w) in [(a.position, b.position), (a.velocity, b.velocity), (a.spin, b.spin)] {
                assert_eq!(v.to_array().map(f64::to_bits), w.to_array().map(f64::to_bits), "{file}");
            }
        }
    }
    // Only the two files remain: no temporary file is left.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn the_csv_header_is_the_documented_one() {
    let folder = tempfile::tempdir().unwrap();
    let system = Scene::new(0.01).fill(Fill::lattice([2, 1, 1], 1.5)).build().unwrap();
    let path = folder.path().join("a.csv");
    write_spheres(&path, &system, 0.0, &system.spheres).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(
        text,
        "id,x,y,z,vx,vy,vz,radius,mass\n0,0.0,0.0,0.0,0.0,0.0,0.0,0.5,1.0\n1,1.5,0.0,0.0,0.0,0.0,0.0,0.5,1.0\n"
    );
    let path = folder.path().join("a.xyz");
    write_spheres(&path, &system, 0.25, &system.spheres).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let head = "2\nLattice=\"2.5 0.0 0.0 0.0 1.0 0.0 0.0 0.0 1.0\" Origin=\"-0.5 -0.5 -0.5\" \
                Properties=id:I:1:species:S:1:pos:R:3:velo:R:3:radius:R:1:mass:R:1 pbc=\"F F F\" Time=0.25\n\
                0 default 0.0 0.0 0.0 0.0 0.0 0.0 0.5 1.0\n";
    assert!(text.starts_with(head), "{text}");
}

#[test]
fn a_failed_write_keeps_the_existing_file() {
    let folder = tempfile::tempdir().unwrap();
    let system = system();
    assert!(write_spheres(&folder.path().join("a.vtk"), &system, 0.0, &system.spheres).is_err());
    assert!(write_spheres(&folder.path().join("none/a.csv"), &system, 0.0, &system.spheres).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_settled_packing_is_read_and_relaxed() {
    let scene = builtin("packing").unwrap().load(&[]).unwrap();
    let (system, notes) = scene.build_with_notes().unwrap();
    println!("{}", notes[0]);
    assert_eq!(system.spheres.len(), 5746);
    assert!(system.spheres.iter().all(|s| s.mass == 0.994837674 && s.radius >= 0.4 && s.radius <= 0.6));
    assert_eq!(system.spheres[0].id, 1);
    let strict = System {
        solver: carom::Solver { max_initial_overlap: 0.0, ..system.solver.clone() },
        ..system.clone()
    };
    strict.validate().unwrap();
    let folder = tempfile::tempdir().unwrap();
    for file in ["a.csv", "a.xyz"] {
        write_spheres(&folder.path().join(file), &system, 0.0, &system.spheres).unwrap();
        let text = format!(
            "[world]\ndt = 0.01\n[bounds]\nmax = [18, 18, 90]\nx = \"periodic\"\ny = \"periodic\"\nz = \"wall\"\n\
             [[spheres]]\nfile = \"{file}\"\n"
        );
        let (again, notes) =
            parse_scene(&text, "test", Some(folder.path()), &[]).unwrap().build_with_notes().unwrap();
        assert_eq!(again.spheres, system.spheres);
        assert_eq!(notes, []);
    }
}

#[test]
fn columns_may_come_in_any_order_and_most_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.csv"), "radius, y, x\r\n0.5, 1, 2\r\n\r\n0.25, 3, -4e0\r\n").unwrap();
    let read = read_back(folder.path(), "a.csv", "");
    assert_eq!(read.len(), 2);
    assert_eq!(read[1].position, DVec3::new(-4.0, 3.0, 0.0));
    assert_eq!((read[1].id, read[1].mass), (1, 0.125));
    fs::write(
        folder.path().join("b.xyz"),
        "1\nProperties=species:S:1:pos:R:3:forces:R:3:radius:R:1\nAr 1 2 3 9 9 9 0.5\n",
    )
    .unwrap();
    let read = read_back(folder.path(), "b.xyz", "");
    assert_eq!(read[0].position, DVec3::new(1.0, 2.0, 3.0));
    assert_eq!(read[0].radius, 0.5);
}

#[test]
fn errors_name_the_file_the_line_and_what_is_expected() {
    let folder = tempfile::tempdir().unwrap();
    let properties = "Properties=id:I:1:pos:R:3:radius:R:1";
    let cases: Vec<(&str, String, &str)> = vec![
        (
            "a.csv",
            "x,y,z,radius\n0,0,0,0.5\n0,0,5,-1\n".into(),
            "a.csv:3: radius is -1; expected a number > 0",
        ),
        (
            "a.csv",
            "x,y,z,radius\n0,0,0,0.5\n0,0,nan,1\n".into(),
            "a.csv:3: z is \"nan\"; expected a finite number",
        ),
        ("a.csv", "x,y,z,radius\n0,0,zero,1\n".into(), "a.csv:2: z is \"zero\""),
        ("a.csv", "x,y,z,radius\n0,0,0\n".into(), "a.csv:2: 3 values; the header names 4"),
        ("a.csv", "x,y,z,radius\n0,0,0,\n".into(), "a.csv:2: radius is missing"),
        ("a.csv", "x,y,z,radiuss\n".into(), "a.csv:1: unknown column `radiuss`; did you mean `radius`?"),
        ("a.csv", "x,y,z\n".into(), "a.csv:1: there is no column `radius`"),
        ("a.csv", "x,x,y,radius\n".into(), "a.csv:1: there are two columns `x`"),
        ("a.csv", "id,x,y,radius\n-1,0,0,1\n".into(), "a.csv:2: id is \"-1\"; expected a whole number"),
        ("a.csv", "x,y,radius,mass\n0,0,1,0\n".into(), "a.csv:2: mass is 0; expected a number > 0"),
        ("a.csv", "x,y,radius,fixed\n0,0,1,maybe\n".into(), "a.csv:2: fixed is \"maybe\"; expected 0 or 1"),
        ("a.csv", String::new(), "a.csv:1: there is no column `x`"),
        ("a.xyz", String::new(), "a.xyz:1: the file is empty"),
        ("a.xyz", "many\n".into(), "a.xyz:1: the first line is \"many\"; expected a number of spheres"),
        ("a.xyz", "1\n".into(), "a.xyz:2: the line with Properties is missing"),
        ("a.xyz", "1\nhello\n".into(), "a.xyz:2: there is no Properties=..."),
        ("a.xyz", "1\nProperties=pos:R\n".into(), "a.xyz:2: Properties is cut short"),
        ("a.xyz", "1\nProperties=pos:R:2\n".into(), "a.xyz:2: property pos has 2 columns; expected 3"),
        ("a.xyz", format!("2\n{properties}\n1 0 0 0 0.5\n"), "a.xyz:3: the file ends after 1 of 2 spheres"),
        (
            "a.xyz",
            format!("1\n{properties}\n1 0 0 0 0.5\n1\n"),
            "a.xyz:5: the line with Properties is missing",
        ),
        ("a.xyz", format!("1\n{properties}\n1 0 0 0\n"), "a.xyz:3: 4 values; Properties names 5"),
        ("a.xyz", format!("1\n{properties}\n1 0 0 0 0\n"), "a.xyz:3: radius is 0; expected a number > 0"),
        ("a.npy", "x".into(), "spheres are read from files with the endings .csv, .xyz"),
    ];
    for (file, content, what) in cases {
        fs::write(folder.path().join(file), content).unwrap();
        let text = format!("[world]\ndt = 0.01\n[[spheres]]\nfile = \"{file}\"\n");
        let error = parse_scene(&text, "test.toml", Some(folder.path()), &[]).expect_err(what);
        assert_eq!(error.kind(), SceneErrorKind::Invalid);
        let error = error.to_string();
        assert!(error.contains(what), "expected {what:?} in: {error}");
        assert!(error.contains("test.toml:4:8"), "{error}");
    }
    fs::write(folder.path().join("b.csv"), [0xff, 0xfe, 0x00]).unwrap();
    let text = "[world]\ndt = 0.01\n[[spheres]]\nfile = \"b.csv\"\n";
    let error = parse_scene(text, "test.toml", Some(folder.path()), &[]).unwrap_err().to_string();
    assert!(error.contains("b.csv: not a text"), "{error}");
}

#[test]
fn a_trajectory_has_several_frames_and_a_scene_takes_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xyz");
    let frame = |x: f64, time: f64| {
        format!(
            "1\nLattice=\"2 0 0 0 3 0 0 0 4\" Origin='-1 0 1' Properties=pos:R:3:radius:R:1 pbc=\"T F T\" Time={time}\n\
             {x} 0 0 0.5\n"
        )
    };
    fs::write(&path, frame(1.0, 0.25) + "\n" + &frame(2.0, 0.5) + "\n\n").unwrap();
    let frames = read_frames(&path).unwrap();
    assert_eq!(frames.iter().map(|frame| frame.time).collect::<Vec<_>>(), [Some(0.25), Some(0.5)]);
    assert_eq!(frames[0].spheres[0].position, DVec3::X);
    let bounds = FrameBounds {
        min: DVec3::new(-1.0, 0.0, 1.0),
        max: DVec3::new(1.0, 3.0, 5.0),
        periodic: [true, false, true],
    };
    assert_eq!(frames[1].bounds, Some(bounds));
    assert_eq!(read_back(folder.path(), "a.xyz", "")[0].position, 2.0 * DVec3::X);
    let missing = read_frames(&folder.path().join("b.xyz")).unwrap_err();
    assert_eq!(missing.kind(), SceneErrorKind::Missing);
}
