//! The built-in scenes.

use carom::{
    Side,
    files::{BUILTIN, builtin, load_scene},
};

#[test]
fn every_builtin_scene_builds_and_explains_itself() {
    for scene in BUILTIN {
        assert!(scene.text.starts_with("# "), "{} has no comment at its head", scene.name);
        let (system, notes) = scene.load(&[]).unwrap().build_with_notes().unwrap();
        system.validate().unwrap();
        // A packing overlaps slightly, and terrain has an edge.
        let has_notes = ["packing", "avalanche"].contains(&scene.name);
        assert_eq!(notes.is_empty(), !has_notes, "{}: {notes:?}", scene.name);
        println!("{}: {} spheres", scene.name, system.spheres.len());
    }
}

#[test]
fn builtin_scenes_are_the_files_of_the_folder() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scenes");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    let mut names: Vec<&str> = BUILTIN.iter().map(|scene| scene.name).collect();
    names.sort_unstable();
    assert_eq!(files, names);
    for scene in BUILTIN {
        let path = format!("{folder}/{}.toml", scene.name);
        assert_eq!(load_scene(path.as_ref(), &[]).unwrap(), scene.load(&[]).unwrap(), "{}", scene.name);
    }
    assert_eq!(builtin("gas").unwrap().name, "gas");
    assert!(builtin("gasp").is_none());
}

#[test]
fn gas_has_its_documented_properties() {
    let scene = builtin("gas").unwrap().load(&[]).unwrap();
    assert_eq!(scene.world.steps, 600);
    let system = scene.build().unwrap();
    assert_eq!(system.spheres.len(), 32_768);
    assert_eq!(system.bounds.sides, [Side::Periodic; 3]);
    assert!((system.bounds.max.x - 44.1035).abs() < 1e-4);
    assert!((system.dt * 60.0 - 1.0).abs() < 1e-7);
    assert!(system.spheres.iter().all(|s| s.radius == 0.5 && (s.mass - 1.0).abs() < 1e-12));
    let kinetic: f64 = system.spheres.iter().map(|s| 0.5 * s.mass * s.velocity.length_squared()).sum();
    assert!((kinetic / (1.5 * 32_768.0 * 3.0) - 1.0).abs() < 1e-12);
    let boxed = builtin("gas_box").unwrap().load(&[]).unwrap().build().unwrap();
    assert_eq!(boxed.bounds.sides, [Side::Wall; 3]);
    assert!(boxed.spheres.iter().all(|s| (s.velocity.length() - 3.0).abs() < 1e-12));
}

#[test]
fn the_size_of_a_builtin_scene_can_be_overridden() {
    let scene = builtin("gas").unwrap().load(&["spheres.0.random.count=1000".into()]).unwrap();
    let system = scene.build().unwrap();
    assert_eq!(system.spheres.len(), 1000);
    let fraction = 1000.0 * std::f64::consts::PI / 6.0 / system.bounds.max.x.powi(3);
    assert!((fraction - 0.2).abs() < 1e-12);
}
