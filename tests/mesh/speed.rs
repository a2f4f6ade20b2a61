//! Duration of work on large meshes.

use std::time::{Duration, Instant};

use carom::Mesh;

use crate::shapes::{sheet, soup};

/// Time to build a mesh from a sheet of `2 n^2` loose triangles.
fn time(n: u32) -> Duration {
    let (vertices, triangles) = soup(&sheet(n, |x, y| (x * 0.1).sin() + (y * 0.07).cos()));
    let start = Instant::now();
    let mesh = Mesh::new(vertices, triangles).unwrap();
    let time = start.elapsed();
    assert_eq!(mesh.vertices().len() as u32, (n + 1) * (n + 1));
    time
}

// Work that grows quadratically with the number of triangles would take hours here.
#[test]
fn two_hundred_thousand_loose_triangles_are_welded() {
    println!("200,000 triangles: {:?}", time(316));
}

tier!(campaign "5 s": a_million_loose_triangles_take_less_than_two_seconds);
fn a_million_loose_triangles_take_less_than_two_seconds() {
    // The shortest of five.
    let time = (0..5).map(|_| time(707)).min().unwrap();
    println!("1,000,000 triangles: {time:?}");
    assert!(time < Duration::from_secs(2), "{time:?}");
}
