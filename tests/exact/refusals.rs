//! Unsupported cases of the reference return an error that says so, and leave the state unchanged.

use carom::{Backend, Bounds, Error, Materials, Options, Plane, Side, Simulation, Sphere, Surface, System};
use glam::DVec3;

fn exact(system: System) -> Result<Simulation, Error> {
    Simulation::new(system, Options { backend: Backend::Exact, ..Options::default() })
}

fn above_a_floor(restitution: f64, height: f64) -> System {
    let mut system = System { gravity: DVec3::new(0.0, 0.0, -9.81), ..System::default() };
    system
        .walls
        .push(Plane { point: DVec3::ZERO, normal: DVec3::Z, material: 0, name: "floor".into() }.into());
    system.materials = Materials::empty();
    system.materials.push("stone", restitution, 1.0);
    system.solver.contact_time = Some(0.0);
    system.spheres.push(Sphere { id: 42, position: DVec3::Z * (0.5 + height), ..Sphere::default() });
    system
}

// Steps until an error; returns the message and the time.
fn failure(simulation: &mut Simulation) -> String {
    for _ in 0..1000 {
        let before = simulation.spheres();
        match simulation.step() {
            Ok(_) => {}
            Err(Error::NoProgress(text)) => {
                assert_eq!(simulation.spheres(), before, "a failed step changes nothing");
                assert!(matches!(simulation.step(), Err(Error::NoProgress(_))), "and fails again");
                return text;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    panic!("no failure");
}

#[test]
fn coming_to_rest_is_refused_by_sphere_plane_and_time() {
    // A bouncing sphere comes to rest at sqrt(2H/g) (1+e)/(1-e). Cases: at once for e = 0, and at rest from the start.
    let fall = (2.0 * 2.0 / 9.81f64).sqrt();
    for (e, height, time) in [(0.5, 2.0, 3.0 * fall), (0.0, 2.0, fall), (1.0, 0.0, 0.0), (0.3, 0.0, 0.0)] {
        let text = failure(&mut exact(above_a_floor(e, height)).unwrap());
        assert!(text.contains("sphere 42") && text.contains("wall floor"), "{text}");
        let said: f64 = text.split("at time ").nth(1).unwrap().split(':').next().unwrap().parse().unwrap();
        assert!((said - time).abs() < 1e-6, "{text}, expected at {time}");
    }
}

// With drag every sphere changes at the start of a step, in which the spheres are also sorted by cells.
#[test]
fn a_failed_step_with_drag_gives_every_sphere_its_own_state_back() {
    let mut system = above_a_floor(0.5, 2.0);
    system.drag = 0.05;
    for k in 0..300 {
        let place =
            glam::UVec3::new(k % 10, k / 10 % 10, k / 100).as_dvec3() * 2.5 + DVec3::new(4.0, 4.0, 30.0);
        let speed = DVec3::new(f64::from(k * 7 % 11) - 5.0, f64::from(k * 5 % 13) - 6.0, 30.0);
        let radius = 0.3 + f64::from(k % 7) * 0.1;
        system.spheres.push(Sphere {
            id: 100 + k,
            position: place,
            velocity: speed,
            radius,
            ..Sphere::default()
        });
    }
    let text = failure(&mut exact(system).unwrap());
    assert!(text.contains("sphere 42"), "{text}");
}

#[test]
fn a_sphere_that_rests_on_a_fixed_one_is_refused() {
    let mut system = above_a_floor(0.5, 5.0);
    system.walls.clear();
    system.spheres.push(Sphere { id: 7, position: DVec3::Z, fixed: true, ..Sphere::default() });
    let text = failure(&mut exact(system).unwrap());
    assert!(text.contains("sphere 42") && text.contains("strikes sphere 7"), "{text}");
}

#[test]
fn friction_and_thresholds_are_refused_by_name() {
    let smooth = Surface { restitution: 0.9, ..Surface::default() };
    for (what, surface) in [
        ("friction", Surface { friction: 0.1, ..smooth }),
        ("rolling_friction", Surface { rolling_friction: 0.1, ..smooth }),
        ("twisting_friction", Surface { twisting_friction: 0.1, ..smooth }),
        ("restitution_threshold", Surface { restitution_threshold: 0.1, ..smooth }),
    ] {
        let mut system = above_a_floor(0.9, 1.0);
        let felt = system.materials.add("felt", smooth, 1.0);
        assert!(exact(system.clone()).is_ok());
        system.materials.set_surface(0, felt, surface);
        let Err(Error::Unsupported(text)) = exact(system) else { panic!("{what} is not refused") };
        assert!(text.starts_with(&format!("exact: {what} between stone and felt")), "{text}");
    }
}

#[test]
fn gravity_along_a_periodic_axis_is_refused() {
    let mut system = System { gravity: DVec3::new(0.0, -1.0, 0.0), ..System::default() };
    let sides = [Side::Periodic; 3];
    system.bounds = Bounds { max: DVec3::splat(20.0), sides, ..Bounds::default() };
    system.spheres.push(Sphere { position: DVec3::splat(5.0), ..Sphere::default() });
    let Err(Error::Unsupported(text) | Error::Invalid(text)) = exact(system) else { panic!("not refused") };
    assert!(text.contains('y') && text.contains("periodic"), "{text}");
}

#[test]
fn a_sphere_that_would_cross_billions_of_cells_is_refused() {
    let mut system = System { dt: 1.0, ..System::default() };
    system.spheres.push(Sphere { id: 5, velocity: DVec3::X * 1e10, ..Sphere::default() });
    let text = failure(&mut exact(system).unwrap());
    assert!(text.contains("sphere 5") && text.contains("shorter dt"), "{text}");
}

#[test]
fn a_state_that_overflows_is_reported_with_its_id() {
    let mut system = System { dt: 1.0, ..System::default() };
    system.bounds = Bounds { max: DVec3::splat(10.0), sides: [Side::Wall; 3], ..Bounds::default() };
    system.spheres.push(Sphere { id: 3, position: DVec3::splat(5.0), ..Sphere::default() });
    let mut simulation = exact(system).unwrap();
    simulation.step().unwrap();
    simulation.apply_impulse(3, DVec3::X * 1e200).unwrap();
    match simulation.step() {
        Err(Error::NonFinite { id, .. }) => assert_eq!(id, 3),
        Err(Error::Invalid(text)) => assert!(text.contains('3'), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_system_without_spheres_is_valid() {
    let mut simulation = exact(System::default()).unwrap();
    simulation.step().unwrap();
    assert_eq!(simulation.report().pair_impacts, 0);
    assert_eq!(simulation.report().deepest_overlap, 0.0);
}
