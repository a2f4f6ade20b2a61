//! How long a large mesh takes.

use std::time::{Duration, Instant};

use carom::Mesh;

use crate::shapes::{sheet, soup};

/// Time to make a mesh of a sheet of `2 n^2` loose triangles; the shortest of a few, the machine may be busy.
fn time(n: u32) -> Duration {
    let loose = soup(&sheet(n, |x, y| (x * 0.1).sin() + (y * 0.07).cos()));
    let tries = (0..3).map(|_| {
        let (vertices, triangles) = loose.clone();
        let start = Instant::now();
        let mesh = Mesh::new(vertices, triangles).unwrap();
        let time = start.elapsed();
        assert_eq!(mesh.vertices().len() as u32, (n + 1) * (n + 1));
        time
    });
    tries.min().unwrap()
}

#[test]
fn two_hundred_thousand_loose_triangles_take_less_than_a_second() {
    let time = time(316);
    println!("200,000 triangles: {time:?}");
    assert!(time < Duration::from_secs(1), "{time:?}");
}

#[test]
#[ignore = "a bulk case"]
fn a_million_loose_triangles_take_less_than_two_seconds() {
    let time = time(707);
    println!("1,000,000 triangles: {time:?}");
    assert!(time < Duration::from_secs(2), "{time:?}");
}
