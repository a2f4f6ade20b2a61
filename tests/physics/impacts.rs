//! Single impacts and chains of them, in closed form.

use carom::{Backend, Dimensions, Materials, Partner, Sphere, System};
use glam::DVec3;

use crate::support::simulate;

on_each_backend!(
    equal_masses_swap_their_normal_velocities,
    any_masses_follow_the_closed_form,
    a_mass_ratio_of_a_million_keeps_momentum,
    a_cradle_passes_the_impulse_to_its_end,
    a_rack_of_exact_ties_ends,
    a_wall_reflects_with_its_restitution,
    a_step_without_spheres_or_impacts_changes_nothing,
);

fn sphere(id: u32, position: [f64; 3], velocity: [f64; 3]) -> Sphere {
    Sphere { id, position: position.into(), velocity: velocity.into(), ..Sphere::default() }
}

fn equal_masses_swap_their_normal_velocities(backend: Backend) {
    // An oblique impact: the line of centres is at 60 degrees to the motion.
    let angle = 60f64.to_radians();
    let mut system = System { dt: 2.0, ..System::default() };
    system.spheres =
        vec![sphere(3, [0.0; 3], [0.0; 3]), sphere(8, [-3.0, angle.sin(), 0.0], [2.0, 0.0, 0.0])];
    let mut simulation = simulate(&system, backend);
    assert_eq!(simulation.step().unwrap().pair_impacts, 1);
    let impact = simulation.impacts()[0];
    let normal = DVec3::new(angle.cos(), -angle.sin(), 0.0);
    assert_eq!((impact.sphere, impact.partner), (3, Partner::Sphere(8)));
    assert!((impact.normal - normal).length() < 1e-6, "{impact:?}");
    assert!((impact.time - (3.0 - angle.cos()) / 2.0).abs() < 1e-6, "{impact:?}");
    assert!((impact.impulse - 2.0 * angle.cos()).abs() < 1e-6, "{impact:?}");
    assert!((impact.point + normal * 0.5).length() < 1e-6, "{impact:?}");
    let [struck, striker] = simulation.spheres()[..] else { panic!() };
    let normal_part = normal * 2.0 * angle.cos();
    assert!((struck.velocity - normal_part).length() < 1e-6, "{struck:?}");
    assert!((striker.velocity - (DVec3::X * 2.0 - normal_part)).length() < 1e-6, "{striker:?}");
    let after = 2.0 - impact.time;
    assert!((struck.position - struck.velocity * after).length() < 2e-6, "{struck:?}");
}

fn any_masses_follow_the_closed_form(backend: Backend) {
    for (m1, m2, r1, r2, e) in [
        (1.0, 3.0, 0.5, 0.5, 1.0),
        (5.0, 0.2, 0.3, 1.2, 0.6),
        (2.0, 2.0, 1.0, 0.25, 0.0),
        (0.1, 40.0, 0.1, 2.0, 0.9),
    ] {
        let mut system = System { dt: 1.0, ..System::default() };
        system.materials = Materials::empty();
        system.materials.push("a", e, 1.0);
        let direction = DVec3::new(2.0, -1.0, 2.0) / 3.0;
        let [v1, v2] = [DVec3::new(1.0, 2.0, -0.5), DVec3::new(1.0, 2.0, -0.5) - direction * 4.0];
        // 1 follows 2 along the direction and catches up.
        let gap = 1.0;
        let start = DVec3::new(0.3, -0.7, 0.1);
        system.spheres = vec![
            Sphere { id: 1, position: start, velocity: v1, radius: r1, mass: m1, ..Sphere::default() },
            Sphere {
                id: 2,
                position: start + direction * (gap + r1 + r2),
                velocity: v2,
                radius: r2,
                mass: m2,
                ..Sphere::default()
            },
        ];
        let mut simulation = simulate(&system, backend);
        let report = simulation.step().unwrap().clone();
        let change = direction * ((1.0 + e) * (v1 - v2).dot(direction) / (m1 + m2));
        let [a, b] = simulation.spheres()[..] else { panic!() };
        let case = format!("{m1} {m2} {e}");
        assert!((a.velocity - (v1 - change * m2)).length() < 4e-6, "{case}: {a:?}");
        assert!((b.velocity - (v2 + change * m1)).length() < 4e-6, "{case}: {b:?}");
        let lost = 0.5 * m1 * m2 / (m1 + m2) * (1.0 - e * e) * 16.0;
        assert!((report.dissipated - lost).abs() <= 4e-6 * lost, "{case}: {report:?}");
        let virial = (r1 + r2) * (1.0 + e) * 4.0 * m1 * m2 / (m1 + m2);
        assert!((report.virial - virial).abs() < 4e-6 * virial, "{case}: {report:?}");
        let impact = simulation.impacts()[0];
        assert!((impact.time - gap / 4.0).abs() < 1e-6, "{case}: {impact:?}");
        let point = start + v1 * 0.25 + direction * r1;
        assert!((impact.point - point).length() < 3e-6, "{case}: {impact:?} {point}");
    }
}

fn a_mass_ratio_of_a_million_keeps_momentum(backend: Backend) {
    let momentum = |spheres: &[Sphere]| spheres.iter().map(|s| s.velocity * s.mass).sum::<DVec3>();
    // The light sphere hits the heavy one at rest, the heavy one hits the light one at rest, and both approach. Each
    // time the momentum is compared with its initial value.
    for (light, heavy) in [(1.0, 0.0), (0.0, -1.0), (1.0, -1.0)] {
        let mut system = System { dt: 3.0, ..System::default() };
        system.spheres = vec![
            sphere(0, [-1.5, 0.2, 0.0], [light, 0.0, 0.0]),
            Sphere { mass: 1e6, ..sphere(1, [0.0; 3], [heavy, 0.0, 0.0]) },
        ];
        let mut simulation = simulate(&system, backend);
        assert_eq!(simulation.step().unwrap().pair_impacts, 1);
        let scale = momentum(&system.spheres).length();
        let change = (momentum(&simulation.spheres()) - momentum(&system.spheres)).length() / scale;
        println!("{backend:?} {light} {heavy}: momentum {change:e}");
        assert!(change <= 1e-5, "{light} {heavy}: momentum off by {change:e}");
    }
    // A light sphere between two heavy ones collides with both repeatedly.
    let mut system = System { dt: 0.1, ..System::default() };
    system.spheres = vec![
        Sphere { mass: 1e6, ..sphere(0, [0.0; 3], [1e-3, 0.0, 0.0]) },
        sphere(1, [2.0, 0.1, 0.0], [5.0, 0.0, 0.2]),
        Sphere { mass: 1e6, ..sphere(2, [4.0, 0.0, 0.1], [-1e-3, 0.0, 0.0]) },
        Sphere { mass: 1e6, ..sphere(3, [2.0, 3.5, 0.1], [0.0, -1e-3, 0.0]) },
    ];
    let mut simulation = simulate(&system, backend);
    let before = momentum(&simulation.spheres());
    for _ in 0..100 {
        simulation.step().unwrap();
    }
    assert!(simulation.summary().pair_impacts >= 2, "{}", simulation.summary().pair_impacts);
    let scale: f64 = system.spheres.iter().map(|s| s.mass * s.velocity.length()).sum();
    let change = (momentum(&simulation.spheres()) - before).length() / scale;
    println!("momentum {change:e}, energy {:?}", simulation.summary().energy_error);
    assert!(change <= 1e-5, "{change}");
}

fn a_cradle_passes_the_impulse_to_its_end(backend: Backend) {
    // Touching from the start, and hit from a distance.
    for first in [0.0, -0.75] {
        let mut system = System { dt: 0.5, ..System::default() };
        system.spheres = (0..5)
            .map(|k| {
                let x = if k == 0 { first } else { f64::from(k) };
                sphere(k, [x, 0.0, 0.0], [f64::from(u8::from(k == 0)), 0.0, 0.0])
            })
            .collect();
        let mut simulation = simulate(&system, backend);
        for _ in 0..4 {
            simulation.step().unwrap();
        }
        for (k, s) in simulation.spheres().iter().enumerate() {
            let expected = DVec3::X * f64::from(u8::from(k == 4));
            assert!((s.velocity - expected).length() <= 1e-6, "start {first}: {s:?}");
            let place = if k == 4 { 4.0 + 2.0 + first } else { k as f64 };
            assert!((s.position - DVec3::X * place).length() <= 2e-6, "start {first}: {s:?}");
        }
        assert_eq!(simulation.summary().pair_impacts, 4);
    }
}

fn a_rack_of_exact_ties_ends(backend: Backend) {
    let mut system = System { dt: 0.05, dimensions: Dimensions::Two, ..System::default() };
    let mut id = 0;
    for row in 0..5 {
        for k in 0..=row {
            let place = [f64::from(row) * 0.75f64.sqrt(), f64::from(k) - 0.5 * f64::from(row), 0.0];
            system.spheres.push(sphere(id, place, [0.0; 3]));
            id += 1;
        }
    }
    system.spheres.push(sphere(id, [-4.0, 0.0, 0.0], [10.0, 0.0, 0.0]));
    let mut simulation = simulate(&system, backend);
    for _ in 0..100 {
        simulation.step().unwrap();
    }
    let summary = simulation.summary().clone();
    println!("{} impacts, {} rounds, {summary:?}", summary.pair_impacts, summary.rounds_max);
    assert_eq!((summary.unresolved, summary.stopped, summary.nonfinite), (0, 0, 0));
    assert!(summary.pair_impacts >= 15, "every sphere is struck");
    assert!(summary.energy_error.unwrap().abs() < 1e-6);
    assert!(summary.momentum_error.unwrap() < 1e-6);
    let spheres = simulation.spheres();
    assert!(spheres.iter().all(|s| s.position.z == 0.0 && s.velocity.z == 0.0));
    // The break is over: all spheres separate.
    let closing = (0..16).any(|i| {
        (0..i).any(|j| {
            let (a, b): (&Sphere, &Sphere) = (&spheres[i], &spheres[j]);
            let (d, w) = (a.position - b.position, a.velocity - b.velocity);
            let b = d.dot(w);
            b < 0.0 && b * b - w.length_squared() * (d.length_squared() - 1.0) > 1e-3
        })
    });
    assert!(!closing, "a collision is still to come after 5 time units");
}

fn a_wall_reflects_with_its_restitution(backend: Backend) {
    let mut system = System { dt: 1.0, ..System::default() };
    system.materials = Materials::empty();
    let rubber = system.materials.push("rubber", 0.9, 1.0);
    let felt = system.materials.push("felt", 0.5, 1.0);
    system.materials.set_restitution(rubber, felt, 0.7);
    let normal = DVec3::new(1.0, 2.0, 2.0) / 3.0;
    let plane =
        carom::Plane { point: DVec3::new(5.0, -3.0, 1.0), normal, material: felt, name: "felt".into() };
    let velocity = DVec3::new(1.0, -3.0, -2.0);
    let start = plane.point + normal * 1.5;
    system.spheres =
        vec![Sphere { id: 6, position: start, velocity, radius: 0.25, mass: 4.0, ..Sphere::default() }];
    system.walls.push(plane.into());
    let mut simulation = simulate(&system, backend);
    let report = simulation.step().unwrap().clone();
    assert_eq!((report.pair_impacts, report.wall_impacts), (0, 1));
    // v.n = -3; the gap is 1.25.
    let time = 1.25 / 3.0;
    let after = velocity + normal * 3.0 * 1.7;
    let end = simulation.spheres()[0];
    assert!((end.velocity - after).length() < 2e-6, "{end:?}");
    assert!((end.position - (start + velocity * time + after * (1.0 - time))).length() < 3e-6, "{end:?}");
    let impact = simulation.impacts()[0];
    assert_eq!((impact.sphere, impact.partner), (6, Partner::Wall(0)));
    assert!(
        (impact.time - time).abs() < 1e-6 && (impact.impulse - 4.0 * 3.0 * 1.7).abs() < 1e-5,
        "{impact:?}"
    );
    assert!((impact.point - (start + velocity * time - normal * 0.25)).length() < 3e-6, "{impact:?}");
    assert!((report.dissipated - 0.5 * 4.0 * 9.0 * (1.0 - 0.49)).abs() < 1e-5, "{report:?}");
}

fn a_step_without_spheres_or_impacts_changes_nothing(backend: Backend) {
    let mut simulation = simulate(&System { dt: 1.0, ..System::default() }, backend);
    assert_eq!(simulation.step().unwrap().pair_impacts, 0);
    let mut system = System { dt: 0.25, ..System::default() };
    system.spheres =
        vec![sphere(5, [1.0, 2.0, 3.0], [0.5, -0.25, 1.0]), sphere(2, [-4.0, 0.0, 0.0], [0.0; 3])];
    let mut simulation = simulate(&system, backend);
    for _ in 0..8 {
        assert_eq!(simulation.step().unwrap().pair_impacts, 0);
    }
    let [still, moving] = simulation.spheres()[..] else { panic!() };
    assert_eq!(still, system.spheres[1]);
    assert!((moving.position - DVec3::new(2.0, 1.5, 5.0)).length() < 1e-6);
    assert_eq!(moving.velocity, system.spheres[0].velocity);
}
