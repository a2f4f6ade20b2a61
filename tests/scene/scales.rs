//! The zero of potential energy, and the contact time.

use carom::{
    Plane, Side, Sphere, System, Wall,
    scene::{Fill, Scene},
};
use glam::DVec3;

#[test]
fn the_reference_is_the_floor_else_the_lowest_sphere() {
    let mut system = System { gravity: DVec3::new(0.0, 0.0, -2.0), ..System::default() };
    assert_eq!(system.gravity_reference().z, 0.0);
    for (id, z) in [(0, 3.0), (1, -7.0), (2, 5.0)] {
        system.spheres.push(Sphere { id, position: DVec3::new(1.0, 1.0, z), ..Sphere::default() });
    }
    assert_eq!(system.gravity_reference().z, -7.0);
    let plane = |z: f64, normal: DVec3| {
        let point = DVec3::new(0.0, 0.0, z);
        Wall::from(Plane { point, normal, material: 0, name: "plane".into() })
    };
    system.walls =
        vec![plane(-20.0, DVec3::Z), plane(-10.0, DVec3::Z), plane(30.0, -DVec3::Z), plane(-5.0, DVec3::X)];
    assert_eq!(system.gravity_reference().z, -10.0);
    system.bounds.min = DVec3::splat(-15.0);
    system.bounds.max = DVec3::splat(40.0);
    system.bounds.sides[2] = Side::Wall;
    assert_eq!(system.gravity_reference().z, -15.0);
    // With gravity reversed, the ceiling acts as the floor.
    system.gravity = DVec3::Z;
    assert_eq!(system.gravity_reference().z, 40.0);
    // With gravity along x too, the spheres fall along the open x axis without end.
    system.gravity = DVec3::new(1.0, 0.0, -1.0);
    system.walls.clear();
    assert_eq!(system.gravity_reference().z, -7.0);
    system.gravity = DVec3::ZERO;
    assert!(system.gravity_reference().is_finite());
}

#[test]
fn contact_time_is_a_thousandth_of_the_mean_free_time() {
    // Collisions per sphere and time at kT = m = d = 1, from the molecular-dynamics fit to Z.
    for (fraction, rate) in [(0.1, 1.7658), (0.2, 4.7710), (0.4, 20.126)] {
        let gas =
            Scene::new(0.01).periodic().fill(Fill::random(2000).volume_fraction(fraction).temperature(4.0));
        let time = gas.build().unwrap().contact_time();
        // The time to cross half a diameter exceeds the free time at all three.
        assert!((time * 1000.0 * rate * 2.0 - 1.0).abs() < 0.01 || fraction == 0.1, "{fraction}: {time}");
        assert!(time * 1000.0 * rate * 2.0 <= 1.01, "{fraction}: {time}");
    }
    // In 2D at an area fraction of 0.4, Henderson: Z - 1 = 2 x 0.4 x 0.825/0.36, rate = 4/sqrt(pi) (Z - 1).
    let disks =
        Scene::new(0.01).flat().periodic().fill(Fill::random(2000).volume_fraction(0.4).temperature(1.0));
    let rate = 4.0 / std::f64::consts::PI.sqrt() * 2.0 * 0.4 * 0.825 / 0.36;
    let time = disks.build().unwrap().contact_time();
    assert!((time * 1000.0 * rate - 1.0).abs() < 1e-3, "{time}");
}

#[test]
fn contact_time_is_always_there() {
    let mut system = System::default();
    assert_eq!(system.contact_time(), 1e-3 * system.dt);
    system.spheres.push(Sphere::default());
    assert_eq!(system.contact_time(), 1e-3 * system.dt);
    system.gravity.z = -4.0;
    assert_eq!(system.contact_time(), 1e-3 * 0.5);
    let fast = Sphere { id: 1, position: DVec3::splat(9.0), velocity: DVec3::X * 1e3, ..Sphere::default() };
    system.spheres.push(fast);
    // Velocity spread about the mean: 500.
    assert!((system.contact_time() - 1e-3 / 500.0).abs() < 1e-12);
    // A common velocity does not contribute to the temperature.
    system.gravity = DVec3::ZERO;
    system.spheres[0].velocity = system.spheres[1].velocity;
    assert_eq!(system.contact_time(), 1e-3 * system.dt);
    system.spheres[0].velocity *= 1e300;
    assert!(system.contact_time() > 0.0 && system.contact_time().is_finite());
    system.solver.contact_time = Some(0.25);
    assert_eq!(system.contact_time(), 0.25);
}
