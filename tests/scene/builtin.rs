//! The scenes that come with the crate.

use std::time::Instant;

use carom::files::BUILTIN;

#[test]
fn every_builtin_scene_builds() {
    for builtin in BUILTIN {
        let t = Instant::now();
        let scene = builtin.load(&[]).unwrap_or_else(|e| panic!("{}", e));
        let (system, notes) = scene.build_with_notes().unwrap_or_else(|e| panic!("{}: {e}", builtin.name));
        system.validate().unwrap();
        println!(
            "{:16} {:6} spheres {:?} {:?}",
            builtin.name,
            system.spheres.len(),
            t.elapsed(),
            notes.iter().map(|n| n.to_string()).collect::<Vec<_>>()
        );
    }
}
