//! Initial positions next to walls, and fills beside walls.

use carom::{
    Materials, Options, Side, Simulation, Surface, System, Wall, WallMotion, WallShape,
    scene::{Fill, Scene, Wall as SceneWall},
};
use glam::DVec3;
use rand::RngExt;

use crate::support::{cube, motions, rng, shapes, sphere, wall};

const LIMIT: f64 = 0.01;

// Penetration in mean diameters for walls of any shape, triangle by triangle.
fn depth(walls: &[Wall], center: DVec3, radius: f64) -> f64 {
    let deepest =
        walls.iter().map(|wall| radius - wall.distance(center, 0.0)).fold(f64::NEG_INFINITY, f64::max);
    deepest / (2.0 * radius)
}

#[test]
fn a_sphere_that_reaches_into_a_wall_is_refused() {
    let mut rng = rng(5);
    let center = DVec3::new(200.0, -70.0, 31.0);
    let (mut refused, mut accepted) = (0, 0);
    for shape in shapes(center, 3.0) {
        let walls = vec![wall(shape, motions(center, 0.7)[4])];
        for _ in 0..400 {
            let (place, radius) = (center + 5.0 * cube(&mut rng), rng.random_range(0.1..0.8));
            let system = System {
                walls: walls.clone(),
                spheres: vec![sphere(3, place, DVec3::ZERO, radius)],
                ..System::default()
            };
            let depth = depth(&walls, place, radius);
            match system.validate() {
                Ok(()) => {
                    assert!(
                        depth <= LIMIT * (1.0 + 1e-9),
                        "{depth} is accepted at {place} by {:?}",
                        walls[0]
                    );
                    accepted += 1;
                }
                Err(error) => {
                    assert!(depth > LIMIT * (1.0 - 1e-9), "{depth} is refused at {place} by {:?}", walls[0]);
                    let expected = format!(
                        "sphere 3 reaches {depth:.3} of its diameter into the wall {}; move it",
                        walls[0].shape.kind()
                    );
                    assert!(error.to_string().contains(&expected), "{error}, not {expected}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 300 && accepted > 300, "{refused} refused, {accepted} accepted");
}

// Crushed spheres must not prevent later edits, such as removing a sphere.
#[test]
fn spheres_that_a_wall_crushes_can_be_edited() {
    let velocity = DVec3::NEG_Z;
    let press = WallShape::Disc { center: DVec3::Z * 1.1, normal: DVec3::Z, radius: 9.0, hole: 0.0 };
    let floor = WallShape::Disc { center: DVec3::ZERO, normal: DVec3::Z, radius: 9.0, hole: 0.0 };
    let walls = vec![
        wall(press, WallMotion { velocity, ..WallMotion::default() }),
        wall(floor, WallMotion::default()),
    ];
    let spheres = [0.0, 3.0].map(|x| sphere(x as u32, DVec3::new(x, 0.0, 0.55), DVec3::ZERO, 0.5)).to_vec();
    let mut system = System { walls, spheres, dt: 0.05, gravity: DVec3::NEG_Z, ..System::default() };
    system.materials = Materials::empty();
    system.materials.add("grain", Surface { restitution: 0.3, ..Surface::default() }, 1.0);
    let mut simulation = Simulation::new(system, Options { threads: 1, ..Options::default() }).unwrap();
    while simulation.step().unwrap().deepest_overlap < 0.02 {
        assert!(simulation.time() < 1.0);
    }
    simulation.edit(|system| system.gravity = DVec3::X).unwrap();
    simulation.apply_impulse(0, DVec3::X).unwrap();
    simulation.step().unwrap();
    simulation.switch(Options { threads: 2, ..Options::default() }).unwrap();
    simulation.remove(3).unwrap();
    assert_eq!(simulation.step().unwrap().nonfinite, 0);
    assert_eq!(simulation.sphere_count(), 1);
}

// Half of each wall is on the other side of the box.
#[test]
fn the_images_of_walls_count() {
    const PERIOD: f64 = 20.0;
    let (low, mut rng) = (DVec3::new(-3.0, 5.0, 0.0), rng(6));
    let images = |place: DVec3| {
        let steps = (-1..=1).flat_map(|x| (-1..=1).map(move |y| DVec3::new(f64::from(x), f64::from(y), 0.0)));
        steps.map(move |step| place + PERIOD * step)
    };
    for turns in [false, true] {
        // The corner of the box, and a point on one of its sides.
        for center in [low, low + DVec3::new(PERIOD, 0.5 * PERIOD, 10.0)] {
            for shape in shapes(center, 3.0) {
                let motion = motions(center, 0.2)[if turns { 2 } else { 0 }];
                let wall = wall(shape.clone(), motion);
                let scene = Scene::new(0.01).bounds(low, low + PERIOD).sides([
                    Side::Periodic,
                    Side::Periodic,
                    Side::Open,
                ]);
                let high = low + DVec3::new(PERIOD, PERIOD, 10.0);
                let fill = Fill::random(1200).region(low - DVec3::Z * 10.0, high);
                let obstacle = SceneWall::new(shape, "default").named("it").moving(motion);
                let mut system = scene.surface_wall(obstacle).fill(fill).build().unwrap();
                let depth_at = |p: DVec3, radius: f64| {
                    let depths = images(p).map(|p| depth(std::slice::from_ref(&wall), p, radius));
                    depths.fold(f64::NEG_INFINITY, f64::max)
                };
                assert!(system.spheres.iter().all(|s| depth_at(s.position, s.radius) < 0.0), "{wall:?}");
                for _ in 0..60 {
                    let place = center + 6.0 * cube(&mut rng);
                    system.spheres = vec![sphere(0, place, DVec3::ZERO, 0.5)];
                    let depth = depth_at(place, 0.5);
                    assert_eq!(system.validate().is_err(), depth > LIMIT, "{depth} at {place}: {wall:?}");
                }
            }
        }
    }
}

#[test]
fn a_wall_that_is_not_present_yet_is_ignored() {
    let mut late = wall(shapes(DVec3::ZERO, 2.0)[5].clone(), motions(DVec3::ZERO, 1.0)[0]);
    let place = DVec3::X * 2.4;
    let spheres = vec![sphere(0, place, DVec3::ZERO, 0.5)];
    let mut system = System { walls: vec![late.clone()], spheres, ..System::default() };
    system.validate().unwrap_err();
    late.span[0] = 3.0;
    system.walls = vec![late];
    system.validate().unwrap();
    system.walls[0].span[0] = f64::NEG_INFINITY;
    system.spheres[0].fixed = true;
    system.validate().unwrap();
}

#[test]
fn random_fills_keep_clear_of_walls_of_every_shape() {
    for motion in motions(DVec3::splat(10.0), 0.4) {
        for (k, shape) in shapes(DVec3::splat(10.0), 4.0).into_iter().enumerate() {
            let built = Wall { motion, ..Wall::new(shape.clone(), 0, "it") };
            let fill = Fill::random(2500).diameters([(0.8, 0.5), (1.2, 0.5)]).region([0.0; 3], [20.0; 3]);
            let scene = Scene::new(0.01).seed(k as u64);
            let wall = SceneWall::new(shape, "default").named("it").moving(motion);
            let system = scene.surface_wall(wall).fill(fill).build().unwrap();
            assert_eq!(system.spheres.len(), 2500);
            let walls = [built];
            let deepest = system.spheres.iter().map(|s| depth(&walls, s.position, s.radius));
            let deepest = deepest.fold(f64::NEG_INFINITY, f64::max);
            assert!(deepest < 0.0, "{deepest} into {:?}", walls[0]);
            let near = system.spheres.iter().filter(|s| walls[0].distance(s.position, 0.0) < 2.0 * s.radius);
            assert!(near.count() > 10, "nobody is near {:?}", walls[0]);
        }
    }
}

// Denser than sequential addition allows: the fill grows and relaxes spheres in the box, but walls other than planes do
// not push them.
#[test]
fn a_crowd_does_not_reach_into_a_wall() {
    let fill = || Fill::random(3000).volume_fraction(0.45).region([0.0; 3], [15.2; 3]);
    let obstacle = |size| SceneWall::new(shapes(DVec3::splat(7.6), size)[5].clone(), "default").named("ball");
    // Beside a corner that the shape does not reach into.
    let aside = SceneWall::new(shapes(DVec3::splat(-3.0), 2.0)[4].clone(), "default").named("aside");
    Scene::new(0.01).surface_wall(aside).fill(fill()).build().unwrap();
    let error = Scene::new(0.01).surface_wall(obstacle(2.0)).fill(fill()).build().unwrap_err();
    assert!(error.to_string().contains("no room was found for all 3000 spheres"), "{error}");
}
