//! Fills: number, fraction, no overlap, the same bits, disorder.

use std::time::Instant;

use carom::scene::{Fill, Scene};

#[test]
fn try_them() {
    for (n, phi) in
        [(32768u64, 0.2), (32768, 0.3), (32768, 0.4), (32768, 0.5), (1_000_000, 0.2), (1_000_000, 0.3)]
    {
        let t = Instant::now();
        let scene = Scene::new(0.01).periodic().fill(Fill::random(n).volume_fraction(phi).temperature(3.0));
        let system = scene.build().unwrap();
        let total = t.elapsed();
        let t = Instant::now();
        system.validate().unwrap();
        println!(
            "{n} {phi}: {total:?}, validate {:?} tc {} {:?}",
            t.elapsed(),
            system.contact_time(),
            system.bounds.max
        );
    }
    for (n, phi) in [(10000u64, 0.45), (10000, 0.7)] {
        let t = Instant::now();
        let scene =
            Scene::new(0.01).flat().periodic().fill(Fill::random(n).volume_fraction(phi).temperature(3.0));
        let system = scene.build().unwrap();
        println!("2D {n} {phi}: {:?} tc {}", t.elapsed(), system.contact_time());
    }
}
