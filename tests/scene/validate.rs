//! `System::validate`: every rule, and its overlap search against a search over all pairs.

use carom::{Bounds, Dimensions, Plane, Side, Sphere, Surface, System, Wall};
use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Two spheres in a box with walls in z, periodic in x.
fn good() -> System {
    System {
        gravity: DVec3::new(0.0, 0.0, -1.0),
        bounds: Bounds {
            min: DVec3::ZERO,
            max: DVec3::splat(10.0),
            sides: [Side::Periodic, Side::Open, Side::Wall],
            material: 0,
        },
        spheres: [2.0, 8.0]
            .into_iter()
            .zip(4..)
            .map(|(x, id)| Sphere { id, position: DVec3::new(x, 5.0, 5.0), ..Sphere::default() })
            .collect(),
        ..System::default()
    }
}

#[test]
fn every_rule_is_enforced() {
    good().validate().unwrap();
    type Change = fn(&mut System);
    let cases: &[(Change, &str)] = &[
        (|s| s.dt = 0.0, "world.dt is 0; a step is finite and > 0"),
        (|s| s.dt = -1.0, "world.dt is -1"),
        (|s| s.dt = f64::NAN, "world.dt is NaN"),
        (|s| s.dt = f64::INFINITY, "world.dt is inf"),
        (|s| s.gravity.y = f64::NAN, "world.gravity has the y component NaN"),
        (
            |s| s.gravity.x = 1.0,
            "gravity acts along x, and x is periodic; make bounds.x \"wall\" or \"open\"",
        ),
        (|s| s.solver.max_initial_overlap = -0.1, "solver.max_initial_overlap is -0.1"),
        (|s| s.solver.max_initial_overlap = f64::NAN, "solver.max_initial_overlap is NaN"),
        (|s| s.solver.contact_time = Some(-1.0), "solver.contact_time is -1"),
        (|s| s.bounds.min.y = f64::NAN, "bounds.min has the y component NaN"),
        (|s| s.bounds.max.z = -1.0, "bounds run from 0 to -1 in z; bounds.max is above bounds.min"),
        (|s| s.bounds.max.z = 0.0, "bounds run from 0 to 0 in z"),
        (
            |s| s.bounds.max.x = 2.09,
            "the period 2.09 in x is too short for spheres of diameter 1; it must be at least 2.1",
        ),
        (|s| s.bounds.material = 1, "bounds.material is 1; there are 1 materials"),
        (|s| s.materials = carom::Materials::empty(), "bounds.material is 0"),
        (|s| _ = s.materials.push("soft", -0.1, 1.0), "materials.soft.restitution is -0.1"),
        (|s| _ = s.materials.push("light", 1.0, 0.0), "materials.light.density is 0"),
        (|s| s.materials.set_restitution(0, 0, 2.0), "materials.default.restitution is 2"),
        (
            |s| {
                s.materials.push("soft", 0.5, 1.0);
                s.materials.set_restitution(0, 1, 2.0);
            },
            "pairs.default-soft.restitution is 2",
        ),
        (
            |s| s.materials.set_surface(0, 0, Surface { friction: -1.0, ..Surface::default() }),
            "materials.default.friction is -1; a coefficient of friction is between 0 and 1000",
        ),
        (
            |s| {
                s.materials.push("soft", 0.5, 1.0);
                let surface = Surface { rolling_friction: f64::NAN, ..Surface::default() };
                s.materials.set_surface(0, 1, surface);
            },
            "pairs.default-soft.rolling_friction is NaN",
        ),
        (
            |s| {
                let surface = Surface { restitution_threshold: f64::INFINITY, ..Surface::default() };
                s.materials.set_surface(0, 0, surface);
            },
            "materials.default.restitution_threshold is inf; a speed is finite and >= 0",
        ),
        (
            |s| s.walls.push(floor(DVec3::Z * 2.0, 0)),
            "walls[0].plane.normal is 2 long; a normal has length 1",
        ),
        (|s| s.walls.push(floor(DVec3::NAN, 0)), "walls[0].plane.normal has the x component NaN"),
        (|s| s.walls.push(floor(DVec3::Z, 3)), "walls[0].material is 3"),
        (|s| s.spheres[1].radius = 0.0, "the radius of sphere 5 is 0; a radius is finite and > 0"),
        (|s| s.spheres[1].radius = f64::INFINITY, "the radius of sphere 5 is inf"),
        (|s| s.spheres[0].mass = -2.0, "the mass of sphere 4 is -2; a mass is finite and > 0"),
        (|s| s.spheres[0].mass = f64::NAN, "the mass of sphere 4 is NaN"),
        (|s| s.spheres[0].position.z = f64::NAN, "the position in z of sphere 4 is NaN"),
        (|s| s.spheres[0].velocity.x = f64::INFINITY, "the velocity in x of sphere 4 is inf"),
        (|s| s.spheres[0].spin.y = f64::NAN, "the spin in y of sphere 4 is NaN"),
        (|s| s.spheres[0].material = 2, "the material of sphere 4 is 2"),
        (|s| s.spheres[0].id = 5, "two spheres have the id 5; every sphere has a unique id"),
        (|s| s.spheres[0].position.z = 0.4, "sphere 4 reaches 0.100 of its diameter into the wall z-min"),
        (|s| s.spheres[0].position.z = 10.6, "sphere 4 lies behind the wall z-max; move it to the free side"),
        (|s| s.spheres[1].position.x = 2.98, "spheres 4 and 5 overlap by 0.020 of their mean diameter"),
        // Across the period: 2.0 and 11.5 - 10 = 1.5.
        (|s| s.spheres[1].position.x = 11.5, "spheres 4 and 5 overlap by 0.500"),
    ];
    for (change, what) in cases {
        let mut system = good();
        change(&mut system);
        let error = system.validate().expect_err(what).to_string();
        assert!(error.contains(what), "expected {what:?} in: {error}");
    }
}

fn floor(normal: DVec3, material: u16) -> Wall {
    Plane { point: DVec3::ZERO, normal, material, name: "walls[0]".into() }.into()
}

#[test]
fn values_at_their_limits_are_accepted() {
    let changes: [fn(&mut System); 7] = [
        |s| s.bounds.max.x = 2.1 * (1.0 + 1e-12) + 6.0,
        |s| s.spheres[1].position.x = 2.0 + 0.9901,
        |s| s.spheres[1].position.z = 0.4901,
        |s| s.spheres[1].position.x = 1e6,
        |s| s.spheres.clear(),
        |s| s.materials.set_restitution(0, 0, 0.0),
        |s| s.solver.contact_time = Some(0.0),
    ];
    for change in changes {
        let mut system = good();
        change(&mut system);
        system.validate().unwrap();
    }
}

#[test]
fn fixed_spheres_may_overlap_one_another_and_walls() {
    let mut system = good();
    for sphere in &mut system.spheres {
        sphere.fixed = true;
        sphere.position = DVec3::new(2.0, 2.0, 0.1);
    }
    system.validate().unwrap();
    system.spheres[0].fixed = false;
    system.spheres[0].position.z = 0.5;
    assert!(system.validate().is_err());
}

#[test]
fn flat_worlds_have_no_z() {
    let mut flat = System { dimensions: Dimensions::Two, ..System::default() };
    flat.spheres.push(Sphere::default());
    flat.validate().unwrap();
    type Change = fn(&mut System);
    let cases: &[(Change, &str)] = &[
        (|s| s.spheres[0].position.z = 1.0, "the position in z of sphere 0 is 1; in 2D it is 0"),
        (|s| s.spheres[0].velocity.z = 1.0, "the velocity in z of sphere 0 is 1"),
        (|s| s.gravity.z = 1.0, "world.gravity.z is 1; in 2D it is 0"),
        (|s| s.bounds.sides[2] = Side::Wall, "bounds.z is bounded"),
        (|s| s.walls.push(floor(DVec3::Z, 0)), "walls[0].plane.normal.z is 1"),
    ];
    for (change, what) in cases {
        let mut system = flat.clone();
        change(&mut system);
        let error = system.validate().expect_err(what).to_string();
        assert!(error.contains(what), "expected {what:?} in: {error}");
    }
}

/// Deepest overlap of all pairs, in mean diameters, with the two ids.
fn deepest(system: &System) -> (f64, u32, u32) {
    let mut worst = (0.0, 0, 0);
    for (i, a) in system.spheres.iter().enumerate() {
        for b in &system.spheres[i + 1..] {
            let sum = a.radius + b.radius;
            let depth = 1.0 - system.separation(a.position, b.position).length() / sum;
            if depth > worst.0 {
                worst = (depth, a.id.min(b.id), a.id.max(b.id));
            }
        }
    }
    worst
}

#[test]
fn the_deepest_overlap_is_found_wherever_it_is() {
    for seed in 0..400 {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut system = System::default();
        let flat = random.random_bool(0.3);
        if flat {
            system.dimensions = Dimensions::Two;
        }
        // From a box with the shortest allowed periods to one so sparse that cells are hashed.
        let largest = random.random_range(0.5..2.0);
        let size = largest * 4.2 * 10f64.powf(random.random_range(0.01..4.0));
        system.bounds.min = DVec3::splat(-0.3 * size);
        system.bounds.max = DVec3::splat(0.7 * size);
        for axis in 0..system.dimensions.count() {
            if random.random_bool(0.5) {
                system.bounds.sides[axis] = Side::Periodic;
            }
        }
        let spread = 10f64.powf(random.random_range(0.0..2.5));
        let count = random.random_range(2..60);
        let cluster = random.random_range(0.2..1.2) * size;
        for id in 0..count {
            let mut position = DVec3::ZERO;
            for axis in 0..system.dimensions.count() {
                // Also outside the box, where a position on a periodic axis represents its image.
                position[axis] = cluster * random.random_range(-0.7..0.7);
                if random.random_bool(0.5) {
                    position[axis] = position[axis].clamp(-3.0 * largest, 3.0 * largest);
                }
            }
            let radius = largest * spread.powf(-random.random_range(0.0..1.0));
            system.spheres.push(Sphere { id, position, radius, ..Sphere::default() });
        }
        system.solver.max_initial_overlap = 1e-9;
        let (depth, a, b) = deepest(&system);
        match system.validate() {
            Ok(()) => assert!(depth <= 1e-9, "seed {seed}: {a} and {b} overlap by {depth}"),
            Err(error) => {
                let expected = format!("spheres {a} and {b} overlap by {depth:.3}");
                assert!(error.to_string().contains(&expected), "seed {seed}: {expected}; found {error}");
            }
        }
    }
}
