//! Impacts with friction: single impacts in closed form, and the conserved quantities of a cluster.

use carom::{Backend, Dimensions, Impact, Materials, Plane, Simulation, Sphere, Surface, System};
use glam::DVec3;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

use crate::support::{simulate, simulate_silently};

on_each_engine!(
    a_sphere_leaves_a_plane_as_kharaz_measured,
    sliding_ends_where_the_angle_says,
    any_pair_follows_the_closed_form,
    a_fixed_sphere_rubs_as_an_infinite_mass,
    a_plane_in_gravity_sees_the_slip_of_the_lab,
    smooth_spheres_keep_their_spins,
    in_the_plane_spheres_stay_in_the_plane,
    restitution_fades_below_the_threshold,
    impacts_within_the_contact_time_lose_no_energy,
    every_pair_of_materials_has_its_own_surface,
    a_rough_cluster_keeps_momentum_and_angular_momentum,
);

fn rough(friction: f64, restitution: f64) -> Surface {
    Surface { friction, restitution, ..Surface::default() }
}

fn system_of(surface: Surface, dt: f64) -> System {
    let mut system = System { dt, ..System::default() };
    system.materials = Materials::empty();
    system.materials.add("rough", surface, 1.0);
    system
}

fn floor(system: &mut System, normal: DVec3) {
    system.walls.push(Plane { point: DVec3::ZERO, normal, material: 0, name: "floor".into() }.into());
}

fn normals(rng: &mut Pcg64) -> impl FnMut() -> DVec3 {
    move || DVec3::from_array(std::array::from_fn(|_| StandardNormal.sample(rng)))
}

fn inertia(s: &Sphere) -> f64 {
    0.4 * s.mass * s.radius * s.radius
}

fn energy(spheres: &[Sphere]) -> f64 {
    let of = |s: &Sphere| 0.5 * (s.mass * s.velocity.length_squared() + inertia(s) * s.spin.length_squared());
    spheres.iter().filter(|s| !s.fixed).map(of).sum()
}

fn momentum(spheres: &[Sphere]) -> DVec3 {
    spheres.iter().map(|s| s.mass * s.velocity).sum()
}

// Angular momentum about the origin, and the sum of the magnitudes of its terms.
fn angular_momentum(spheres: &[Sphere]) -> (DVec3, f64) {
    let parts = || spheres.iter().flat_map(|s| [s.mass * s.position.cross(s.velocity), inertia(s) * s.spin]);
    (parts().sum(), parts().map(DVec3::length).sum())
}

/// Velocities and spins after an impact of `a` on `b`, with the unit vector from `b` to `a`, in f64; a fixed sphere has
/// no inverse mass and does not turn. Also returns the lost energy.
fn after_impact(a: Sphere, b: Sphere, normal: DVec3, surface: Surface) -> ([Sphere; 2], f64) {
    let inverse = |s: &Sphere| if s.fixed { 0.0 } else { 1.0 / s.mass };
    let reduced = 1.0 / (inverse(&a) + inverse(&b));
    let still = |s: &Sphere| if s.fixed { DVec3::ZERO } else { s.spin * s.radius };
    let w = a.velocity - b.velocity - (still(&a) + still(&b)).cross(normal);
    let approach = -w.dot(normal);
    let slip = w + normal * approach;
    let pressed = (1.0 + surface.restitution) * reduced * approach;
    let rubbed = (surface.friction * pressed).min(2.0 / 7.0 * reduced * slip.length());
    let across = -slip.normalize_or_zero() * rubbed;
    let after = |s: Sphere, sign: f64| {
        let mut s = s;
        s.velocity += sign * inverse(&s) * (normal * pressed + across);
        s.spin -= 2.5 * inverse(&s) / s.radius * normal.cross(across);
        s
    };
    let lost = 0.5 * reduced * approach.powi(2) * (1.0 - surface.restitution.powi(2));
    let rub = rubbed * (slip.length() - 0.5 * 3.5 / reduced * rubbed);
    ([after(a, 1.0), after(b, -1.0)], lost + rub)
}

// Radius 2.5 mm, 3.9 m/s, e = 0.98, mu = 0.092 (Kharaz, Gorham & Salman 2001): velocity and spin after an impact at
// this angle from the normal, `along` the plane.
fn kharaz(degrees: f64, backend: Backend) -> (Sphere, DVec3, f64) {
    let (normal, along) = (DVec3::new(0.48, -0.6, 0.64), DVec3::new(0.8, 0.0, -0.6));
    let mut system = system_of(rough(0.092, 0.98), 1e-3);
    floor(&mut system, normal);
    let angle = degrees.to_radians();
    let radius = 2.5e-3;
    system.spheres.push(Sphere {
        position: normal * (radius + 1e-3),
        velocity: 3.9 * (along * angle.sin() - normal * angle.cos()),
        radius,
        mass: 3950.0 * 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3),
        ..Sphere::default()
    });
    let mut simulation = simulate_silently(&system, backend);
    let before = energy(&system.spheres);
    let lost = simulation.step().unwrap().dissipated;
    assert_eq!(simulation.summary().wall_impacts, 1);
    let sphere = simulation.spheres()[0];
    let ledger = (energy(&[sphere]) + lost) / before - 1.0;
    assert!(ledger.abs() < 1e-6, "{degrees} degrees: ledger {ledger:e}");
    assert!((simulation.summary().ledger_error) < 1e-6, "{}", simulation.summary().ledger_error);
    assert_eq!(simulation.summary().energy_error, None, "friction loses energy");
    assert!((sphere.velocity.dot(normal) / (0.98 * 3.9 * angle.cos()) - 1.0).abs() < 1e-6);
    (sphere, along, normal.cross(along).dot(sphere.spin))
}

fn a_sphere_leaves_a_plane_as_kharaz_measured(backend: Backend) {
    let mut worst = 0.0f64;
    for degrees in [10.0f64, 20.0, 30.0, 40.0, 45.0] {
        let (sphere, along, spin) = kharaz(degrees, backend);
        let (across, fast) = (3.9 * degrees.to_radians().cos(), 3.9 * degrees.to_radians().sin());
        let rubbed = 0.092 * 1.98 * across;
        let (speed, turn) = if fast > 3.5 * rubbed {
            (fast - rubbed, 2.5 * rubbed / 2.5e-3)
        } else {
            (5.0 / 7.0 * fast, 5.0 / 7.0 * fast / 2.5e-3)
        };
        let off = [sphere.velocity.dot(along) / speed - 1.0, spin / turn - 1.0];
        println!("{backend:?} {degrees} degrees: speed {:e}, spin {:e} off, {spin:.2} rad/s", off[0], off[1]);
        worst = worst.max(off[0].abs()).max(off[1].abs());
        if degrees == 45.0 {
            assert!((sphere.velocity.dot(along) / fast - 0.8178).abs() < 1e-4 && (spin - 502.0).abs() < 0.5);
        }
    }
    assert!(worst < 1e-5, "{worst:e}");
}

fn sliding_ends_where_the_angle_says(backend: Backend) {
    // Below this angle the surfaces leave each other at the same speed; above it they still slide.
    let limit = (3.5f64 * 0.092 * 1.98).atan().to_degrees();
    assert!((limit - 32.52).abs() < 0.005, "{limit}");
    for (degrees, slides) in [(limit - 0.005, false), (limit + 0.005, true)] {
        let (sphere, along, spin) = kharaz(degrees, backend);
        let slip = sphere.velocity.dot(along) - 2.5e-3 * spin;
        println!("{backend:?} {degrees} degrees: slip {slip:e} m/s");
        assert_eq!(slip > 1e-5, slides, "{degrees} degrees: slip {slip:e}");
        assert!(slip > -1e-5, "{degrees} degrees: slip {slip:e}");
    }
}

// Two spheres of any sizes that collide once in a step, and the recorded impact.
fn meet(a: Sphere, b: Sphere, normal: DVec3, surface: Surface, backend: Backend) -> (Simulation, Impact) {
    let mut system = system_of(surface, 1.0);
    let apart = normal * (a.radius + b.radius) + 0.5 * (b.velocity - a.velocity);
    system.spheres = vec![Sphere { id: 1, position: b.position + apart, ..a }, Sphere { id: 2, ..b }];
    let before = (angular_momentum(&system.spheres), momentum(&system.spheres), energy(&system.spheres));
    let mut simulation = simulate(&system, backend);
    let report = simulation.step().unwrap().clone();
    assert_eq!(report.pair_impacts, 1);
    let spheres = simulation.spheres();
    let ledger = (energy(&spheres) + report.dissipated) / before.2 - 1.0;
    assert!(ledger.abs() < 1e-6, "ledger {ledger:e}");
    if !b.fixed {
        let scale: f64 = system.spheres.iter().map(|s| s.mass * s.velocity.length()).sum();
        let off = (momentum(&spheres) - before.1).length();
        assert!(off < 1e-6 * scale, "momentum {off:e} of {scale}");
        let off = (angular_momentum(&spheres).0 - before.0.0).length();
        assert!(off <= 1e-6 * before.0.1, "angular momentum {off:e} of {}", before.0.1);
    }
    let impact = simulation.impacts()[0];
    (simulation, impact)
}

// Random sizes, speeds and spins, compared with the closed form.
fn compare_with_closed_form(fixed: bool, backend: Backend) {
    let mut rng = Pcg64::seed_from_u64(3);
    let mut normals = normals(&mut rng);
    let sizes = [(1.0, 1.0, 0.5, 0.5), (1.0, 3.0, 0.5, 0.7), (5.0, 0.2, 0.3, 1.2), (2.0, 2.0, 1.0, 0.25)];
    let mut worst = 0.0f64;
    for (m1, m2, r1, r2) in sizes {
        for (friction, restitution) in [(0.1, 1.0), (0.5, 0.9), (0.3, 0.0), (2.0, 0.5), (1e3, 1.0)] {
            for turn in [0.0, 1.0, 20.0] {
                let normal = normals().normalize();
                let sphere = |mass: f64, radius: f64, normals: &mut dyn FnMut() -> DVec3| Sphere {
                    position: normals(),
                    velocity: normals(),
                    spin: normals() * turn,
                    radius,
                    mass,
                    ..Sphere::default()
                };
                let mut a = sphere(m1, r1, &mut normals);
                let mut b = sphere(m2, r2, &mut normals);
                if fixed {
                    (b.fixed, b.velocity) = (true, DVec3::ZERO);
                }
                // The spheres approach at unit speed or more.
                a.velocity -= normal * ((a.velocity - b.velocity).dot(normal) + 2.0);
                let surface = rough(friction, restitution);
                let (simulation, impact) = meet(a, b, normal, surface, backend);
                let case = format!("{m1} {m2} {r1} {r2} {friction} {restitution} {turn}");
                assert!((impact.normal - normal).length() < 1e-5, "{case}: {impact:?}");
                let (closed, lost) = after_impact(a, b, impact.normal, surface);
                let spheres = simulation.spheres();
                let speed =
                    [a, b].iter().map(|s| s.velocity.length() + s.radius * s.spin.length()).sum::<f64>();
                for (before, (found, closed)) in [a, b].iter().zip(spheres.iter().zip(closed)) {
                    let off = (found.velocity - closed.velocity).length() / speed;
                    let off_spin = (found.spin - closed.spin).length() * closed.radius / speed;
                    worst = worst.max(off).max(off_spin);
                    assert!(off < 1e-5 && off_spin < 1e-5, "{case}: {found:?} {closed:?}");
                    // The impact exerts no torque about the normal.
                    let twist = (found.spin - before.spin).dot(impact.normal) * found.radius / speed;
                    assert!(twist.abs() < 1e-6, "{case}: {twist:e}");
                }
                let report = simulation.report();
                assert!(
                    (report.dissipated - lost).abs() < 1e-5 * (lost + 1e-2 * energy(&[a, b])),
                    "{case}: {lost}"
                );
                // The tangential velocity of the surfaces never reverses.
                let slip = |a: &Sphere, b: &Sphere| {
                    let still = if fixed { DVec3::ZERO } else { b.spin * b.radius };
                    let w = a.velocity - b.velocity - (a.spin * a.radius + still).cross(impact.normal);
                    w - impact.normal * impact.normal.dot(w)
                };
                let (before, after) = (slip(&a, &b), slip(&spheres[0], &spheres[1]));
                assert!(after.dot(before) > -2e-6 * speed * before.length(), "{case}: {before} {after}");
                assert!(after.length() < before.length() + 2e-6 * speed, "{case}: {before} {after}");
            }
        }
    }
    println!("{backend:?} fixed {fixed}: velocities and spins within {worst:e} of the speeds");
}

fn any_pair_follows_the_closed_form(backend: Backend) {
    compare_with_closed_form(false, backend);
}

fn a_fixed_sphere_rubs_as_an_infinite_mass(backend: Backend) {
    compare_with_closed_form(true, backend);
}

fn a_plane_in_gravity_sees_the_slip_of_the_lab(backend: Backend) {
    // An incline: gravity accelerates the sphere along the incline, and the friction loss follows from the speed at the
    // impact. A single substep, so that gravity acts for most of it before the impact.
    let (gravity, normal) = (DVec3::new(3.0, 0.0, -9.0), DVec3::Z);
    let mut system = System { gravity, ..system_of(rough(0.2, 0.8), 0.5) };
    system.solver.substeps = 1;
    floor(&mut system, normal);
    system.spheres.push(Sphere {
        position: DVec3::Z * 1.0,
        velocity: DVec3::new(0.5, -1.0, 0.0),
        spin: DVec3::new(0.0, 3.0, 1.0),
        ..Sphere::default()
    });
    let mut simulation = simulate(&system, backend);
    simulation.step().unwrap();
    let time = simulation.impacts()[0].time;
    assert!((time - (1.0f64 / 9.0).sqrt()).abs() < 1e-6 && simulation.impacts().len() == 1);
    let before = Sphere { velocity: system.spheres[0].velocity + gravity * time, ..system.spheres[0] };
    let wall = Sphere { fixed: true, ..Sphere::default() };
    let ([after, _], lost) = after_impact(before, wall, normal, rough(0.2, 0.8));
    let found = simulation.spheres()[0];
    assert!(
        (found.velocity - after.velocity - gravity * (0.5 - time)).length() < 1e-6,
        "{found:?} {after:?}"
    );
    assert!((found.spin - after.spin).length() < 5e-6, "{found:?} {after:?}");
    assert!((simulation.report().dissipated / lost - 1.0).abs() < 1e-6);
    assert!(simulation.summary().ledger_error < 1e-6, "{}", simulation.summary().ledger_error);
}

fn smooth_spheres_keep_their_spins(backend: Backend) {
    let spin = DVec3::new(0.3, -7.0, 2.0);
    let a = Sphere { velocity: -DVec3::X, spin, ..Sphere::default() };
    let (simulation, _) = meet(a, Sphere::default(), DVec3::X, rough(0.0, 0.7), backend);
    let spins = simulation.spheres().iter().map(|s| s.spin).collect::<Vec<_>>();
    assert!((spins[0] - spin).length() < 1e-6 && spins[1] == DVec3::ZERO, "{spins:?}");
}

fn in_the_plane_spheres_stay_in_the_plane(backend: Backend) {
    let mut rng = Pcg64::seed_from_u64(8);
    let mut normals = normals(&mut rng);
    let mut system = System { dimensions: Dimensions::Two, ..system_of(rough(0.4, 0.9), 0.05) };
    for k in 0..64 {
        let place = DVec3::new(f64::from(k % 8) - 3.5, f64::from(k / 8) - 3.5, 0.0);
        let draw = normals();
        system.spheres.push(Sphere {
            id: k,
            position: place * 1.3,
            velocity: -place + DVec3::new(draw.x, draw.y, 0.0) * 0.3,
            spin: DVec3::Z * draw.z * 3.0,
            ..Sphere::default()
        });
    }
    let before = angular_momentum(&system.spheres);
    let mut simulation = simulate_silently(&system, backend);
    for _ in 0..40 {
        simulation.step().unwrap();
    }
    assert!(simulation.summary().pair_impacts > 100, "{}", simulation.summary().pair_impacts);
    let spheres = simulation.spheres();
    assert!(spheres.iter().all(|s| s.position.z == 0.0 && s.velocity.z == 0.0));
    assert!(spheres.iter().all(|s| s.spin.x == 0.0 && s.spin.y == 0.0 && s.spin.z != 0.0));
    assert!((angular_momentum(&spheres).0 - before.0).length() < 1e-5 * before.1);
}

fn restitution_fades_below_the_threshold(backend: Backend) {
    let surface = Surface { restitution_threshold: 0.5, ..rough(0.0, 0.8) };
    for (speed, e) in [(2.0, 0.8), (0.5, 0.8), (0.499, 0.7984), (0.25, 0.4), (0.01, 0.016), (1e-4, 1.6e-4)] {
        let mut system = system_of(surface, 1.0);
        floor(&mut system, DVec3::Z);
        let sphere = Sphere { velocity: -DVec3::Z * speed, ..Sphere::default() };
        system.spheres = vec![Sphere { position: DVec3::Z * (0.5 + 0.5 * speed), ..sphere }];
        let mut on_wall = simulate_silently(&system, backend);
        on_wall.step().unwrap();
        let found = on_wall.spheres()[0].velocity.z / speed;
        assert!((found - e).abs() < 2e-6, "{speed}: {found}, not {e}");
        for fixed in [false, true] {
            let other = Sphere { fixed, ..Sphere::default() };
            let (simulation, _) = meet(sphere, other, DVec3::Z, surface, backend);
            let [a, b] = simulation.spheres()[..] else { panic!() };
            let found = (a.velocity.z - b.velocity.z) / speed;
            assert!((found - e).abs() < 2e-6, "{speed}, fixed {fixed}: {found}, not {e}");
        }
    }
    // An elastic surface with a threshold is not elastic.
    let fading = Surface { restitution_threshold: 1.0, ..Surface::default() };
    let a = Sphere { velocity: -DVec3::X * 0.5, ..Sphere::default() };
    let (simulation, _) = meet(a, Sphere::default(), DVec3::X, fading, backend);
    assert_eq!(simulation.summary().energy_error, None);
}

fn impacts_within_the_contact_time_lose_no_energy(backend: Backend) {
    // Between two planes: the second impact follows the first within the contact time, is elastic and has no friction.
    let mut system = system_of(rough(0.1, 0.5), 2.0);
    system.solver.contact_time = Some(10.0);
    floor(&mut system, DVec3::Z);
    system
        .walls
        .push(Plane { point: DVec3::Z * 1.5, normal: -DVec3::Z, material: 0, name: "roof".into() }.into());
    let velocity = DVec3::new(3.0, 1.0, -1.0);
    system.spheres.push(Sphere { position: DVec3::Z * 0.75, velocity, ..Sphere::default() });
    let mut simulation = simulate(&system, backend);
    let report = simulation.step().unwrap().clone();
    assert_eq!((report.wall_impacts, report.contact_time_impacts), (2, 1));
    let wall = Sphere { fixed: true, ..Sphere::default() };
    let ([after, _], first) = after_impact(system.spheres[0], wall, DVec3::Z, rough(0.1, 0.5));
    let ([after, _], second) = after_impact(after, wall, -DVec3::Z, rough(0.0, 1.0));
    let found = simulation.spheres()[0];
    assert!((found.velocity - after.velocity).length() < 2e-6, "{found:?} {after:?}");
    assert!((found.spin - after.spin).length() < 5e-6, "{found:?} {after:?}");
    assert!((report.dissipated / (first + second) - 1.0).abs() < 1e-6);
}

fn every_pair_of_materials_has_its_own_surface(backend: Backend) {
    // Later materials, and overrides for pairs, follow the first material in every table.
    let mut system = system_of(rough(0.9, 0.9), 1.0);
    let ice = system.materials.add("ice", rough(0.01, 0.8), 1.0);
    let felt = system.materials.add("felt", Surface { restitution_threshold: 3.0, ..rough(0.16, 0.6) }, 1.0);
    let own = Surface { restitution_threshold: 1.0, ..rough(0.3, 0.7) };
    system.materials.set_surface(ice, felt, own);
    for (k, (a, b)) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)].into_iter().enumerate() {
        let y = 5.0 * k as f64;
        let at = |x: f64, material| Sphere {
            id: 2 * k as u32 + u32::from(x > 0.0),
            position: DVec3::new(x, y, 0.0),
            velocity: DVec3::new(-x, 0.3 - 0.6 * f64::from(u8::from(x > 0.0)), 0.1),
            spin: DVec3::new(1.0, 0.0, -2.0),
            material,
            ..Sphere::default()
        };
        system.spheres.extend([at(-1.0, a), at(1.0, b)]);
    }
    let mut simulation = simulate(&system, backend);
    assert_eq!(simulation.step().unwrap().pair_impacts, 7);
    for impact in simulation.impacts() {
        let of = |spheres: &[Sphere], id: u32| spheres[id as usize];
        let carom::Partner::Sphere(other) = impact.partner else { panic!() };
        let [a, b] = [impact.sphere, other].map(|id| of(&system.spheres, id));
        let mut surface = *system.materials.surface(a.material, b.material);
        let speed = -(a.velocity - b.velocity).dot(impact.normal);
        if speed < surface.restitution_threshold {
            surface.restitution *= speed / surface.restitution_threshold;
        }
        let (closed, _) = after_impact(a, b, impact.normal, surface);
        for (id, closed) in [impact.sphere, other].into_iter().zip(closed) {
            let found = of(&simulation.spheres(), id);
            assert!((found.velocity - closed.velocity).length() < 1e-5, "{found:?} {closed:?}");
            assert!((found.spin - closed.spin).length() < 3e-5, "{found:?} {closed:?}");
        }
    }
}

fn a_rough_cluster_keeps_momentum_and_angular_momentum(backend: Backend) {
    let seed = 21;
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut normals = normals(&mut rng);
    let mut system = system_of(rough(0.5, 0.9), 1.0 / 60.0);
    for k in 0..216u32 {
        let place = DVec3::new(f64::from(k % 6), f64::from(k / 6 % 6), f64::from(k / 36)) - 2.5;
        system.spheres.push(Sphere {
            id: k,
            position: place * 1.4,
            velocity: -3.0 * place + normals() * 0.5 + DVec3::new(0.2, 0.0, -0.1),
            spin: normals() * 4.0,
            radius: 0.5 - 0.1 * f64::from(k % 3),
            mass: 1.0 + f64::from(k % 2),
            ..Sphere::default()
        });
    }
    let before = (angular_momentum(&system.spheres), momentum(&system.spheres), energy(&system.spheres));
    let mut simulation = simulate_silently(&system, backend);
    let mut dissipated = 0.0;
    for _ in 0..120 {
        dissipated += simulation.step().unwrap().dissipated;
    }
    let (summary, spheres) = (simulation.summary(), simulation.spheres());
    let collisions = 2.0 * summary.pair_impacts as f64 / 216.0;
    let scale: f64 = system.spheres.iter().map(|s| s.mass * s.velocity.length()).sum();
    let linear = (momentum(&spheres) - before.1).length() / scale;
    let angular = (angular_momentum(&spheres).0 - before.0.0).length() / before.0.1;
    let ledger = ((energy(&spheres) + dissipated) / before.2 - 1.0).abs();
    println!(
        "{backend:?}: seed {seed}, {collisions:.1} collisions per sphere, {:.1}% of the energy left, momentum {linear:e}, \
         angular momentum {angular:e}, ledger {ledger:e}, late {}",
        100.0 * energy(&spheres) / before.2,
        summary.late
    );
    assert!(collisions > 8.0, "{collisions}");
    assert!(linear < 1e-5 && angular < 1e-5 && ledger < 1e-5);
    assert!(summary.ledger_error < 1e-5 && summary.momentum_error.unwrap() < 1e-5);
}
