//! Motions whose events all have closed forms.

use carom::{
    Backend, Bounds, Dimensions, Materials, Options, Partner, Plane, Side, Simulation, Sphere, System,
};
use glam::DVec3;

fn exact(system: System) -> Simulation {
    let options = Options { backend: Backend::Exact, record_impacts: true, ..Options::default() };
    Simulation::new(system, options).unwrap()
}

fn floor() -> Plane {
    Plane { point: DVec3::ZERO, normal: DVec3::Z, material: 0, name: "floor".into() }
}

#[test]
fn a_sphere_between_two_walls_returns_after_every_period() {
    let mut system = System { dt: 0.37, ..System::default() };
    system.bounds = Bounds {
        max: DVec3::new(4.0, 0.0, 0.0),
        sides: [Side::Wall, Side::Open, Side::Open],
        ..Bounds::default()
    };
    let start = DVec3::new(1.0, -20.0, 1e6);
    system.spheres.push(Sphere {
        position: start,
        velocity: DVec3::new(1.5, 0.25, -2.0),
        ..Sphere::default()
    });
    let mut simulation = exact(system);
    let mut times = vec![];
    for _ in 0..400 {
        simulation.step().unwrap();
        times.extend(simulation.impacts().iter().map(|i| i.time));
    }
    // 3 between the turning points; initially from 1 to 3.5.
    for (k, time) in times.iter().enumerate() {
        let expected = (2.5 + 3.0 * k as f64) / 1.5;
        assert!((time - expected).abs() < 1e-11, "impact {k} at {time}, not {expected}");
    }
    assert_eq!(times.len(), 74);
    let end = simulation.spheres()[0];
    assert!((end.position.y - (-20.0 + 0.25 * 148.0)).abs() < 1e-10);
    assert_eq!(end.velocity.y, 0.25);
}

#[test]
fn an_open_axis_lets_spheres_meet_far_outside_the_start() {
    let mut system = System { dt: 700.0, ..System::default() };
    for (id, x, v) in [(4, -1000.0, 2.0), (9, 3.0, 0.0), (11, 3000.0, -1.0)] {
        system.spheres.push(Sphere {
            id,
            position: DVec3::new(x, 5.0, 0.0),
            velocity: DVec3::new(v, 0.0, 0.0),
            ..Sphere::default()
        });
    }
    let mut simulation = exact(system);
    for _ in 0..3 {
        simulation.step().unwrap();
    }
    // 4 stops at x = 2 after 501, 9 continues with 2 from x = 3; 11 arrives with -1.
    let end = simulation.spheres();
    assert_eq!(end[0].velocity.x, 0.0);
    assert!((end[0].position.x - 2.0).abs() < 1e-9);
    assert_eq!((end[1].velocity.x, end[2].velocity.x), (-1.0, 2.0));
    let meeting = 501.0 + (3000.0 - 501.0 - 4.0) / 3.0;
    assert!((end[2].position.x - (3000.0 - meeting + 2.0 * (2100.0 - meeting))).abs() < 1e-8);
}

#[test]
fn a_fixed_sphere_reflects_a_sphere_that_falls_on_its_top() {
    let (height, g) = (8.0, 9.81);
    let mut system = System { dt: 0.05, gravity: DVec3::new(0.0, 0.0, -g), ..System::default() };
    system.spheres.push(Sphere { id: 0, fixed: true, mass: 7.0, ..Sphere::default() });
    system.spheres.push(Sphere { id: 1, position: DVec3::new(0.0, 0.0, height + 1.0), ..Sphere::default() });
    let mut simulation = exact(system);
    let fall = (2.0 * height / g).sqrt();
    let mut times = vec![];
    for _ in 0..1000 {
        simulation.step().unwrap();
        times.extend(simulation.impacts().iter().map(|i| i.time));
    }
    for (k, time) in times.iter().enumerate() {
        let expected = fall * (1 + 2 * k) as f64;
        assert!((time - expected).abs() < 1e-11 * expected, "impact {k} at {time}, not {expected}");
    }
    assert_eq!(times.len(), 20);
    assert_eq!(simulation.spheres()[0].position, DVec3::ZERO);
    assert!(simulation.summary().energy_error.unwrap().abs() < 1e-12);
}

#[test]
fn a_throw_over_a_tilted_plane_bounces_at_the_closed_form_times() {
    // In the plane's frame the normal motion is that of a ball in gravity g cos(a): equal intervals in the elastic
    // case.
    let angle = 0.3f64;
    let (g, v) = (9.81, 3.0);
    let mut system = System { dt: 0.02, gravity: DVec3::new(0.0, 0.0, -g), ..System::default() };
    let normal = DVec3::new(angle.sin(), 0.0, angle.cos());
    system.walls.push(Plane { point: DVec3::ZERO, normal, material: 0, name: "ramp".into() }.into());
    system.spheres.push(Sphere { position: normal * 0.5, velocity: normal * v, ..Sphere::default() });
    let mut simulation = exact(system);
    let interval = 2.0 * v / (g * angle.cos());
    let mut count = 0;
    for _ in 0..500 {
        simulation.step().unwrap();
        for impact in simulation.impacts() {
            count += 1;
            assert!((impact.time - interval * f64::from(count)).abs() < 1e-10, "bounce {count}: {impact:?}");
            assert!((impact.impulse - 2.0 * v).abs() < 1e-10);
            assert_eq!(impact.partner, Partner::Wall(0));
        }
    }
    assert_eq!(count, (10.0 / interval) as i32);
}

#[test]
fn bounces_lose_energy_until_the_contact_time_makes_them_elastic() {
    let (height, g, e) = (10.0, 9.81, 0.5);
    let mut system = System { dt: 0.1, gravity: DVec3::new(0.0, 0.0, -g), ..System::default() };
    system.walls.push(floor().into());
    system.materials = Materials::empty();
    system.materials.push("rubber", e, 1.0);
    system.solver.contact_time = Some(0.01);
    system.spheres.push(Sphere { position: DVec3::new(0.0, 0.0, height + 0.5), ..Sphere::default() });
    let mut simulation = exact(system);
    let fall = (2.0 * height / g).sqrt();
    let (mut time, mut interval) = (fall, 2.0 * fall * e);
    let (mut bounces, mut elastic, mut dissipated) = (0, 0, 0.0);
    for _ in 0..60 {
        let report = simulation.step().unwrap().clone();
        elastic += report.contact_time_impacts;
        dissipated += report.dissipated;
        for impact in simulation.impacts() {
            assert!((impact.time - time).abs() < 1e-11, "bounce {bounces} at {}, not {time}", impact.time);
            time += interval;
            // The first impact that follows within the contact time keeps its speed, and so do all later impacts.
            if interval >= 0.01 {
                interval *= e;
            }
            bounces += 1;
        }
    }
    assert!(elastic > 300 && bounces > 308, "{elastic} of {bounces}");
    let energy = g * height;
    let left = 0.5 * (g * interval / 2.0).powi(2);
    assert!((dissipated - (energy - left)).abs() < 1e-11 * energy);
}

#[test]
fn a_sphere_in_a_corner_of_three_walls_comes_back_reversed() {
    let mut system = System { dt: 1.0, ..System::default() };
    system.bounds = Bounds { max: DVec3::splat(9.0), sides: [Side::Wall; 3], ..Bounds::default() };
    // Exactly along the diagonal: three simultaneous impacts, in the order of the walls.
    system.spheres.push(Sphere {
        position: DVec3::splat(2.5),
        velocity: DVec3::splat(-4.0),
        ..Sphere::default()
    });
    let mut simulation = exact(system);
    simulation.step().unwrap();
    let walls: Vec<_> = simulation.impacts().iter().map(|i| (i.time, i.partner)).collect();
    assert_eq!(walls, [0, 2, 4].map(|k| (0.5, Partner::Wall(k))));
    assert_eq!(simulation.spheres()[0].velocity, DVec3::splat(4.0));
    assert_eq!(simulation.spheres()[0].position, DVec3::splat(2.5));
}

#[test]
fn simultaneous_impacts_come_in_the_order_of_the_ids() {
    let mut system = System { dt: 1.0, dimensions: Dimensions::Two, ..System::default() };
    // Distant pairs that all meet after 0.5, with ids in another order than the positions.
    for (k, id) in [70u32, 10, 50, 30].into_iter().enumerate() {
        for (side, extra) in [(-1.0, 0), (1.0, 5)] {
            system.spheres.push(Sphere {
                id: id + extra,
                position: DVec3::new(side, 3.0 * k as f64, 0.0),
                velocity: DVec3::new(-side, 0.0, 0.0),
                ..Sphere::default()
            });
        }
    }
    let mut simulation = exact(system);
    simulation.step().unwrap();
    let pairs: Vec<_> = simulation.impacts().iter().map(|i| (i.time, i.sphere, i.partner)).collect();
    assert_eq!(pairs, [10, 30, 50, 70].map(|id| (0.5, id, Partner::Sphere(id + 5))));
}

#[test]
fn two_spheres_in_a_short_period_meet_through_both_of_its_ends() {
    let mut system = System { dt: 1.0, ..System::default() };
    system.bounds = Bounds { max: DVec3::splat(4.0), sides: [Side::Periodic; 3], ..Bounds::default() };
    for (id, x, v) in [(0, 0.5, 0.0), (1, 2.5, 1.0)] {
        system.spheres.push(Sphere {
            id,
            position: DVec3::new(x, 1.0, 1.0),
            velocity: DVec3::new(v, 0.0, 0.0),
            ..Sphere::default()
        });
    }
    let mut simulation = exact(system);
    let mut impacts = vec![];
    for _ in 0..12 {
        simulation.step().unwrap();
        impacts.extend_from_slice(simulation.impacts());
    }
    // 1 reaches 3.5 and hits 0's image at 4.5; 0 has 2 to go to 1, which has 2 to go to the image of 0, and so on.
    let times: Vec<f64> = impacts.iter().map(|i| i.time).collect();
    assert_eq!(times, [1.0, 3.0, 5.0, 7.0, 9.0, 11.0]);
}

#[test]
fn overlapping_spheres_that_approach_collide_at_once_and_others_do_not() {
    for (speed, count) in [(-1.0, 1), (1.0, 0)] {
        let mut system = System { dt: 0.5, ..System::default() };
        system.spheres.push(Sphere { id: 1, ..Sphere::default() });
        system.spheres.push(Sphere {
            id: 2,
            position: DVec3::X * 0.995,
            velocity: DVec3::X * speed,
            ..Sphere::default()
        });
        let mut simulation = exact(system);
        assert!((simulation.summary().deepest_overlap_final - 0.005).abs() < 1e-12);
        let report = simulation.step().unwrap();
        assert_eq!(report.pair_impacts, count);
        assert_eq!(report.deepest_overlap, 0.0);
        assert!(simulation.impacts().iter().all(|i| i.time == 0.0));
    }
}

#[test]
fn contacts_are_remembered_through_an_edit() {
    let mut system = System { dt: 1.0, ..System::default() };
    system.walls.push(floor().into());
    system.materials = Materials::empty();
    system.materials.push("rubber", 0.5, 1.0);
    system.solver.contact_time = Some(3.0);
    let sphere = Sphere { id: 8, position: DVec3::Z, velocity: -DVec3::Z, ..Sphere::default() };
    system.spheres.push(sphere);
    let mut simulation = exact(system);
    assert_eq!(simulation.step().unwrap().contact_time_impacts, 0);
    assert_eq!(simulation.spheres()[0].velocity.z, 0.5);
    // Downwards again, with a new neighbour: the next impact follows 1.25 after the last one at .5.
    simulation.apply_impulse(8, -DVec3::Z * 1.5).unwrap();
    simulation.add(Sphere { id: 3, position: DVec3::X * 9.0 + DVec3::Z, ..sphere }).unwrap();
    let report = simulation.step().unwrap();
    assert_eq!((report.wall_impacts, report.contact_time_impacts), (2, 1), "the new sphere has no memory");
    assert_eq!(simulation.spheres()[0].velocity.z, 0.5);
    assert_eq!(simulation.spheres()[1].velocity.z, 1.0);
}
