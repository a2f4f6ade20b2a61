//! No silent loss: every sphere stays, and the recorded impacts account for every change of velocity.

use std::collections::HashMap;

use carom::{
    Backend, Impact, Partner, Side, Simulation, Sphere, System,
    scene::{Fill, Scene},
};
use glam::DVec3;

use crate::support::{gas, simulate};

on_each_backend!(
    a_gas_loses_nothing,
    a_flat_mixture_loses_nothing,
    falling_spheres_lose_nothing,
    bullets_lose_nothing,
);

const STEPS: u32 = 50;

fn count(backend: Backend) -> u64 {
    match backend {
        Backend::Cpu => 4000,
        Backend::Exact => 1000,
        #[cfg(feature = "gpu")]
        Backend::Gpu => 1000,
    }
}

/// The largest deviations found.
#[derive(Debug, Default)]
struct Worst {
    /// Distance of an impact's point from the surface, relative to the diameter.
    surface: f64,
    /// Deviation of a normal from the line between the point and the centre.
    normal: f64,
    /// Deviation of a velocity after a step, relative to the largest speed.
    velocity: f64,
    /// Deviation of a position after a step (length).
    position: f64,
    /// Distance of a centre outside a periodic box (length).
    outside: f64,
    /// Penetration of a sphere into a wall, relative to its diameter.
    behind: f64,
}

/// Moves spheres through a step using only the recorded impacts.
struct Replay<'a> {
    system: &'a System,
    spheres: HashMap<u32, (Sphere, f64)>,
}

impl<'a> Replay<'a> {
    fn new(system: &'a System, spheres: &[Sphere], time: f64) -> Self {
        Self { system, spheres: spheres.iter().map(|s| (s.id, (*s, time))).collect() }
    }

    fn advance(&mut self, id: u32, time: f64) -> &mut Sphere {
        let (sphere, clock) = self.spheres.get_mut(&id).expect("an impact of a sphere that is there");
        if !sphere.fixed {
            let dt = time - *clock;
            sphere.position += sphere.velocity * dt + self.system.gravity * (0.5 * dt * dt);
            sphere.velocity += self.system.gravity * dt;
        }
        *clock = time;
        sphere
    }

    fn apply(&mut self, impact: &Impact, worst: &mut Worst) {
        let mut parties = vec![(impact.sphere, 1.0)];
        match impact.partner {
            Partner::Sphere(id) => {
                assert!(impact.sphere < id, "of two spheres the smaller id comes first: {impact:?}");
                parties.push((id, -1.0));
            }
            Partner::Wall(index) => {
                let plane = &self.system.planes()[index as usize];
                worst.normal = worst.normal.max((impact.normal - plane.normal).length());
            }
        }
        for (id, sign) in parties {
            let system = self.system;
            let sphere = self.advance(id, impact.time);
            let arm = system.separation(sphere.position, impact.point);
            let diameter = 2.0 * sphere.radius;
            worst.surface = worst.surface.max((arm.length() - sphere.radius).abs() / diameter);
            worst.normal = worst.normal.max((arm / sphere.radius - impact.normal * sign).length());
            sphere.velocity += impact.normal * (sign * impact.impulse * sphere.inverse_mass());
        }
    }
}

fn inspect_list(impacts: &[Impact], start: f64, end: f64) {
    for impact in impacts {
        assert!((start..=end).contains(&impact.time), "{impact:?} outside {start}..={end}");
        assert!(impact.impulse >= 0.0 && impact.impulse.is_finite(), "{impact:?}");
        assert!((impact.normal.length() - 1.0).abs() <= 1e-6, "{impact:?}");
        assert!(impact.point.is_finite(), "{impact:?}");
    }
    assert!(impacts.windows(2).all(|pair| pair[0].time <= pair[1].time), "not in the order of time");
}

fn inspect_place(system: &System, sphere: &Sphere, worst: &mut Worst) {
    assert!(
        sphere.position.is_finite() && sphere.velocity.is_finite() && sphere.spin.is_finite(),
        "{sphere:?}"
    );
    for axis in 0..system.dimensions.count() {
        if system.bounds.sides[axis] == Side::Periodic {
            let (low, high) = (system.bounds.min[axis], system.bounds.max[axis]);
            let x = sphere.position[axis];
            worst.outside = worst.outside.max(low - x).max(x - high);
        }
    }
    for plane in system.planes() {
        let gap = (sphere.position - plane.point).dot(plane.normal) - sphere.radius;
        worst.behind = worst.behind.max(-gap / (2.0 * sphere.radius));
    }
}

fn account(system: &System, backend: Backend) {
    let mut simulation: Simulation = simulate(system, backend);
    let mut before = simulation.spheres();
    let ids: Vec<u32> = before.iter().map(|s| s.id).collect();
    let (mut worst, mut recorded, mut reported) = (Worst::default(), 0, 0);
    for step in 1..=STEPS {
        let start = simulation.time();
        let report = simulation.step().unwrap().clone();
        let impacts = simulation.impacts();
        assert_eq!(report.pair_impacts + report.wall_impacts, impacts.len() as u64, "step {step}");
        let on_walls = impacts.iter().filter(|i| matches!(i.partner, Partner::Wall(_))).count();
        assert_eq!(report.wall_impacts, on_walls as u64, "step {step}");
        inspect_list(impacts, start, simulation.time());
        let mut replay = Replay::new(system, &before, start);
        impacts.iter().for_each(|impact| replay.apply(impact, &mut worst));
        let after = simulation.spheres();
        assert!(after.iter().map(|s| s.id).eq(ids.iter().copied()), "step {step}: other ids");
        assert_eq!(simulation.sphere_count(), ids.len());
        let fastest = before.iter().chain(&after).map(|s| s.velocity.length()).fold(0.0, f64::max);
        for (sphere, old) in after.iter().zip(&before) {
            inspect_place(system, sphere, &mut worst);
            let kept = |s: &Sphere| (s.id, s.radius, s.mass, s.material, s.fixed);
            assert_eq!(kept(sphere), kept(old));
            let expected = replay.advance(sphere.id, simulation.time());
            worst.velocity = worst.velocity.max((sphere.velocity - expected.velocity).length() / fastest);
            let apart = system.separation(sphere.position, expected.position).length();
            worst.position = worst.position.max(apart);
        }
        before = after;
        recorded += impacts.len();
        reported += report.pair_impacts + report.wall_impacts;
    }
    let summary = simulation.summary();
    println!(
        "{backend:?}: {} spheres, {recorded} impacts, late {}, overlap {:e}, {worst:?}, {:.1} s",
        ids.len(),
        summary.late,
        summary.deepest_overlap,
        summary.wall_seconds
    );
    assert!(recorded > 500, "too few impacts to tell: {recorded}");
    assert_eq!((summary.impacts(), summary.nonfinite), (reported, 0));
    assert!(worst.surface <= 1e-5, "{worst:?}");
    // Twice the surface tolerance, because this one is relative to the radius.
    assert!(worst.normal <= 2e-5, "{worst:?}");
    assert!(worst.velocity <= 1e-5, "{worst:?}");
    assert!(worst.position <= 1e-4, "{worst:?}");
    assert!(worst.behind <= 2e-5, "{worst:?}");
    // Rounding of the box length to f32.
    assert!(worst.outside <= 1e-6, "{worst:?}");
}

fn a_gas_loses_nothing(backend: Backend) {
    println!("seed 51");
    account(&gas(count(backend), 51), backend);
}

fn a_flat_mixture_loses_nothing(backend: Backend) {
    println!("seed 52");
    let fill = Fill::random(count(backend))
        .diameters([(1.0, 0.7), (1.75, 0.3)])
        .volume_fraction(0.4)
        .temperature(3.0);
    account(&Scene::new(1.0 / 60.0).seed(52).flat().periodic().fill(fill).build().unwrap(), backend);
}

fn falling_spheres_lose_nothing(backend: Backend) {
    println!("seed 53");
    let count = count(backend);
    let side = (count as f64 * 5.0).cbrt();
    let scene = Scene::new(1.0 / 60.0)
        .seed(53)
        // Lossy spheres under gravity come to rest, and resting contacts are not impacts.
        .material("default", 1.0, 6.0 / std::f64::consts::PI)
        .gravity([1.0, 0.0, -9.81])
        .bounds([0.0; 3], [side; 3])
        .walled()
        // A slope in a corner.
        .wall([0.0, 0.0, 2.0], DVec3::new(1.0, 1.0, 1.0), "default")
        .fill(Fill::random(count).region([3.0, 3.0, 3.0], [side; 3]).temperature(3.0));
    account(&scene.build().unwrap(), backend);
}

fn bullets_lose_nothing(backend: Backend) {
    println!("seed 54");
    // A tenth of the spheres move at up to 50 diameters a step; the others are at rest, and a few are fixed.
    let count = count(backend) / 4;
    let mut system = Scene::new(1.0 / 60.0)
        .seed(54)
        .sides([Side::Periodic, Side::Wall, Side::Periodic])
        .fill(Fill::random(count).volume_fraction(0.02))
        .build()
        .unwrap();
    for (k, sphere) in system.spheres.iter_mut().enumerate() {
        sphere.fixed = k % 10 == 0;
        if k % 10 == 1 {
            let direction = DVec3::new((k % 7) as f64 - 3.0, (k % 11) as f64 - 5.0, (k % 13) as f64 - 6.5);
            sphere.velocity = direction.normalize() * 3000.0;
        }
    }
    account(&system, backend);
}
