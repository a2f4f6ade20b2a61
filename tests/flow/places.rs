//! Sources place spheres only in free space.

use std::sync::Arc;

use carom::{Backend, Bounds, Mesh, Rotation, Side, Source, Sphere, System, Wall, WallMotion, WallShape};
use glam::DVec3;

use crate::{
    oracle::distance,
    support::{on, shower, sphere},
};

#[test]
fn nothing_is_poured_into_spheres_or_planes() {
    for sides in [[Side::Wall; 3], [Side::Periodic; 3], [Side::Open; 3]] {
        let mut system = shower(400.0, 0.05);
        system.bounds = Bounds { max: DVec3::new(10.0, 10.0, 8.0), sides, ..Bounds::default() };
        system.sources[0].velocity = DVec3::ZERO;
        system.sources[0].diameters = vec![(1.0, 0.3), (0.4, 0.4), (0.1, 0.3)];
        // One large sphere, across the boundary on periodic sides.
        let at = if sides[0] == Side::Periodic { DVec3::ZERO } else { DVec3::new(2.5, 2.5, 2.6) };
        system.spheres.push(Sphere { radius: 1.7, fixed: true, ..sphere(0, at) });
        let mut simulation = on(Backend::Exact, system);
        for _ in 0..20 {
            simulation.step().unwrap();
        }
        assert!(simulation.sphere_count() > 250, "{sides:?}: {}", simulation.sphere_count());
        // A sphere at rest without contacts stays where the source placed it.
        assert_eq!(simulation.summary().impacts(), 0);
        let (spheres, system) = (simulation.spheres(), simulation.system());
        for (i, a) in spheres.iter().enumerate() {
            for b in &spheres[..i] {
                let gap = system.separation(a.position, b.position).length() - a.radius - b.radius;
                assert!(gap > 0.0, "{sides:?}: {} and {} overlap by {gap}", a.id, b.id);
            }
            for plane in system.planes() {
                let gap = (a.position - plane.point).dot(plane.normal) - a.radius;
                assert!(gap > 0.0 || a.fixed, "{sides:?}: {} and {}: {gap}", a.id, plane.name);
            }
        }
        let reaches_across = spheres[1..].iter().any(|s| s.position.x < s.radius);
        assert_eq!(reaches_across, sides[0] == Side::Periodic);
    }
}

#[test]
fn nothing_is_poured_into_walls_of_any_shape() {
    let middle = DVec3::splat(5.0);
    let axis = DVec3::new(0.5, 0.2, 1.0).normalize() * 2.5;
    let tetrahedron = Mesh::new(
        vec![middle, middle + DVec3::X * 4.0, middle + DVec3::Y * 4.0, middle + DVec3::Z * 4.0],
        vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
    );
    let shapes = [
        WallShape::Box { center: middle, size: DVec3::new(5.0, 4.0, 3.0), turn: DVec3::new(0.3, 0.2, 1.0) },
        WallShape::Cone { from: middle - axis, to: middle + axis, radii: [2.0, 2.0], closed: [false, true] },
        WallShape::Cone { from: middle - axis, to: middle + axis, radii: [3.5, 1.0], closed: [true, false] },
        WallShape::Disc { center: middle, normal: axis, radius: 4.0, hole: 1.0 },
        WallShape::Sphere { center: middle, radius: 3.0, axis, angle: 2.0 },
        WallShape::Mesh(Arc::new(tetrahedron.unwrap())),
    ];
    let rotation = Some(Rotation { point: middle + 0.5, axis: DVec3::new(1.0, 1.0, 0.0), speed: 2.0 });
    let moves = WallMotion { velocity: DVec3::X * 0.2, rotation, ..WallMotion::default() };
    for shape in shapes {
        for motion in [WallMotion::default(), moves] {
            let mut system = System { dt: 0.01, ..System::default() };
            system.walls.push(Wall { motion, ..Wall::new(shape.clone(), 0, "wall") });
            let source = Source::new(DVec3::ZERO, DVec3::splat(10.0), 1e4);
            system.sources.push(Source { diameters: vec![(0.8, 1.0)], from: -0.01, ..source });
            // The spheres wait until the wall has turned, then all appear at once.
            system.sources[0].from = 0.6;
            let mut simulation = on(Backend::Cpu, system);
            while simulation.summary().poured == 0 {
                simulation.step().unwrap();
            }
            let start = simulation.time() - 0.01;
            assert!(simulation.sphere_count() > 50, "{} came", simulation.sphere_count());
            let wall = &simulation.system().walls[0];
            let mut least = f64::INFINITY;
            // Their source positions: the system is from the time of the last arrival.
            for s in &simulation.system().spheres {
                let gap = distance(wall, s.position, start) - s.radius;
                assert!(gap > 0.0, "{}: {gap}", wall.shape.kind());
                least = least.min(gap);
            }
            assert!(least < 0.1, "{}: all keep {least} away", wall.shape.kind());
        }
    }
}

// Only the spheres near the source box are tested closely.
#[test]
fn a_source_in_a_crowd_finds_free_positions() {
    let mut system = shower(1000.0, 1e-3);
    system.sources[0].min = DVec3::splat(10.0);
    system.sources[0].max = DVec3::splat(16.0);
    system.sources[0].diameters = vec![(0.3, 1.0)];
    system.sources[0].velocity = DVec3::ZERO;
    for k in 0..20 * 20 * 20u32 {
        let [x, y, z] = [k % 20, k / 20 % 20, k / 400].map(|i| 1.3 * f64::from(i));
        system.spheres.push(sphere(k, DVec3::new(x, y, z)));
    }
    let mut simulation = on(Backend::Cpu, system);
    for _ in 0..100 {
        simulation.step().unwrap();
    }
    assert_eq!((simulation.summary().poured, simulation.summary().impacts()), (100, 0));
    assert_eq!(simulation.summary().deepest_overlap, 0.0);
}
