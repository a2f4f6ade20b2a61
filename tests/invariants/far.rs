//! Results far from the origin equal results near it.

use carom::{Backend, Impact, Simulation, System};
use glam::DVec3;

use crate::support::{gas, simulate, sphere, to_its_end};

on_each_backend!(
    ten_thousand_diameters_away_the_same_events_happen,
    a_fast_sphere_far_away_keeps_its_line,
    a_sphere_absurdly_far_away_does_not_hold_up_the_others,
    a_single_sphere_absurdly_far_away_keeps_moving,
);

// Position error of a free sphere per unit of path: f32 rounds by 6e-8 of a step's path.
const PATH_ROUNDING: f64 = 1e-7;

// Multiples of 2^-26: adding 10,000 is exact in f64.
fn on_a_grid(value: DVec3) -> DVec3 {
    let unit = 2f64.powi(26);
    (value * unit).round() / unit
}

fn ten_thousand_diameters_away_the_same_events_happen(backend: Backend) {
    let seed = 31;
    println!("seed {seed}");
    let mut near = gas(1000, seed);
    near.bounds.max = on_a_grid(near.bounds.max);
    near.spheres.iter_mut().for_each(|s| s.position = on_a_grid(s.position));
    let shift = DVec3::new(10_000.0, -10_000.0, 10_000.0);
    let mut away = near.clone();
    away.bounds.min += shift;
    away.bounds.max += shift;
    away.spheres.iter_mut().for_each(|s| s.position += shift);
    let mut worlds = [near, away].map(|system| simulate(&system, backend));
    let (mut impacts, mut apart) = (0, 0.0f64);
    for step in 1..=20 {
        for world in &mut worlds {
            let report = world.step().unwrap();
            assert!(report.deepest_overlap <= 2e-6, "step {step}: overlap {:e}", report.deepest_overlap);
        }
        let [near, away] = worlds.each_ref().map(Simulation::impacts);
        let who = |impact: &Impact| (impact.sphere, impact.partner);
        let events = [near, away].map(|list| list.iter().map(who).collect::<Vec<_>>());
        assert_eq!(events[0], events[1], "step {step}");
        for (a, b) in near.iter().zip(away) {
            assert!((a.time - b.time).abs() <= 1e-6, "step {step}: {a:?} {b:?}");
        }
        impacts += near.len();
        for (a, b) in worlds[0].spheres().iter().zip(&worlds[1].spheres()) {
            apart = apart.max(worlds[0].system().separation(a.position + shift, b.position).length());
        }
    }
    println!("{backend:?}: {impacts} impacts, at most {apart:e} apart");
    assert!(impacts > 1000, "too few impacts to tell: {impacts}");
    assert!(apart <= 1e-4, "{apart:e} apart");
}

fn a_fast_sphere_far_away_keeps_its_line(backend: Backend) {
    // 87.5 diameters a step, permanently: neither cells nor clocks may affect the motion.
    let velocity = DVec3::new(100.0, -75.0, 0.0) * 0.7;
    let start = DVec3::new(1e7, -1e7, 1e7);
    // With other spheres present each step takes 59 substeps.
    let steps = match backend {
        Backend::Cpu | Backend::Exact => 200,
        #[cfg(feature = "gpu")]
        Backend::Gpu => 40,
    };
    for company in [false, true] {
        let mut system = System { dt: 1.0, ..System::default() };
        system.spheres.push(sphere(0, start.to_array(), velocity.to_array()));
        if company {
            system
                .spheres
                .extend([sphere(1, [0.0; 3], [0.5, 0.0, 0.0]), sphere(2, [9.0, 0.0, 0.0], [0.0; 3])]);
        }
        let mut simulation = simulate(&system, backend);
        let mut farthest = 0.0f64;
        // The line follows the velocity as the engine holds it.
        let held = simulation.spheres()[0];
        assert!((held.velocity - velocity).length() <= 1e-7 * velocity.length(), "{held:?}");
        assert!((held.position - start).length() <= 1e-6, "{held:?}");
        for step in 1..=steps {
            simulation.step().unwrap();
            let now = simulation.spheres()[0];
            assert_eq!(now.velocity, held.velocity, "step {step}");
            let expected = held.position + held.velocity * f64::from(step);
            farthest = farthest.max((now.position - expected).length());
        }
        let path = f64::from(steps) * velocity.length();
        println!("{backend:?}, company {company}: off the line by {farthest:e} after {path}");
        // Each step's path is rounded to f32 once or twice.
        assert!(farthest <= PATH_ROUNDING * path, "company {company}: {farthest:e}");
    }
}

fn a_sphere_absurdly_far_away_does_not_hold_up_the_others(backend: Backend) {
    for (distance, speed, dt) in
        [(1e10, 0.0, 0.5), (1e10, 1.0, 0.5), (1e10, 300.0, 0.5), (1e15, 1.0, 1.0 / 60.0)]
    {
        to_its_end(move || {
            let mut system = System { dt, ..System::default() };
            system.spheres = vec![
                sphere(0, [0.0; 3], [1.0, 0.0, 0.0]),
                sphere(1, [1.25, 0.0, 0.0], [0.0; 3]),
                sphere(2, [0.0, 3.0, 0.0], [0.0, 0.0, 1.0]),
                sphere(3, [distance; 3], [speed, 0.0, -speed]),
            ];
            let mut simulation = simulate(&system, backend);
            let steps = (1.0 / dt).round() as u32;
            for _ in 0..steps {
                simulation.step().unwrap();
            }
            let case = format!("{backend:?}, {distance:e} away at {speed}");
            assert_eq!(simulation.summary().pair_impacts, 1, "{case}");
            let spheres = simulation.spheres();
            assert!((spheres[0].position.x - 0.25).abs() < 1e-5, "{case}: {spheres:?}");
            assert!((spheres[1].velocity.x - 1.0).abs() < 1e-6, "{case}: {spheres:?}");
            // The engine may choose its resolution there, but it must be no worse than that of f32.
            let away = spheres[3].position - system.spheres[3].position;
            assert!(away.length() <= speed * 1.5 + 2e-7 * distance, "{case}: {spheres:?}");
        });
    }
}

fn a_single_sphere_absurdly_far_away_keeps_moving(backend: Backend) {
    for speed in [0.0, 1.0, 40.0, 1e4] {
        let moved = to_its_end(move || {
            let mut system = System { dt: 0.5, ..System::default() };
            system.spheres.push(sphere(7, [1e10, 0.0, 0.0], [speed, 0.0, 0.0]));
            let mut simulation = simulate(&system, backend);
            (0..20).for_each(|_| drop(simulation.step().unwrap().clone()));
            simulation.spheres()[0].position - system.spheres[0].position
        });
        let expected = DVec3::X * speed * 10.0;
        // f64 itself has steps of 2e-6 there.
        let tolerance = 1e-4 + PATH_ROUNDING * expected.length();
        assert!((moved - expected).length() <= tolerance, "at {speed}: moved by {moved}");
    }
}
