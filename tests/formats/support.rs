//! Frames to write, and their comparison bit by bit.

use carom::{
    files::{Frame, FrameBounds},
    scene::Placed,
};
use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Endings of all formats that keep every quantity of a sphere bit by bit.
pub const ENDINGS: [&str; 11] = carom::files::WRITTEN_ENDINGS;

/// A frame of this many moving spheres with every quantity, in a periodic box with an irregular corner.
pub fn frame(count: u32, seed: u64) -> Frame {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut unit = || random.random_range(-1.0..1.0);
    let mut vector = |size: f64| DVec3::new(size * unit(), size * unit(), size * unit());
    let spheres = (0..count).map(|index| Placed {
        // Not in order, and with gaps.
        id: Some(7 * count - 7 * index + 3),
        position: vector(10.0),
        velocity: vector(3.0),
        spin: vector(40.0),
        radius: 0.5 + 0.1 * vector(1.0).x,
        mass: Some(1.0 + 0.5 * vector(1.0).x),
        material: Some(if index % 3 == 0 { "glass" } else { "steel" }.to_owned()),
        fixed: index % 10 == 9,
    });
    let bounds = FrameBounds {
        min: DVec3::new(-10.1, -10.2, -10.3),
        max: DVec3::new(10.4, 10.5, 10.6),
        periodic: [true, false, true],
    };
    Frame { time: Some(1.0 / 3.0), step: Some(40), bounds: Some(bounds), spheres: spheres.collect() }
}

fn bits(v: DVec3) -> [u64; 3] {
    v.to_array().map(f64::to_bits)
}

/// Panics unless both have the same spheres, bit by bit.
pub fn assert_same_spheres(read: &[Placed], written: &[Placed], context: &str) {
    assert_eq!(read.len(), written.len(), "{context}");
    for (a, b) in read.iter().zip(written) {
        assert_eq!(a, b, "{context}");
        for (v, w) in [(a.position, b.position), (a.velocity, b.velocity)] {
            assert_eq!(bits(v), bits(w), "{context}");
        }
        assert_eq!(a.radius.to_bits(), b.radius.to_bits(), "{context}");
        assert_eq!(a.mass.map(f64::to_bits), b.mass.map(f64::to_bits), "{context}");
    }
}
