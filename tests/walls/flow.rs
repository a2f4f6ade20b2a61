//! Grains in vessels: silos, hoppers, drums, columns, shaken beakers.

use carom::{
    Options, Oscillation, Rotation, Simulation, Sink, Surface, System, WallMotion, WallShape,
    scene::{Fill, Placed, Scene, Wall as SceneWall},
};
use glam::DVec3;
use rayon::prelude::*;

const GRAIN: Surface = Surface {
    restitution: 0.3,
    friction: 0.5,
    rolling_friction: 0.02,
    twisting_friction: 0.02,
    restitution_threshold: 0.0,
};

fn still(shape: WallShape, name: &str) -> SceneWall {
    SceneWall::new(shape, "default").named(name)
}

fn pipe(radius: f64, height: f64) -> WallShape {
    WallShape::Cone { from: DVec3::ZERO, to: DVec3::Z * height, radii: [radius; 2], closed: [false; 2] }
}

// Grains of two sizes, mean 1, poured into a pipe onto the given walls.
fn poured(walls: Vec<SceneWall>, surface: Surface, radius: f64, count: u64, seed: u64) -> System {
    // Filled to a volume fraction of a quarter.
    let height = count as f64 / 6.0 / (0.25 * radius * radius);
    let pipe = still(pipe(radius, height), "pipe");
    let fill = Fill::random(count)
        .diameters([(0.9, 0.5), (1.1, 0.5)])
        .region([-radius, -radius, 0.0], [radius, radius, height])
        .inside("pipe");
    // Like sandpaper: grains in contact with the base do not roll far.
    let base = Surface { rolling_friction: 0.3, twisting_friction: 0.3, ..surface };
    let scene = Scene::new(0.05)
        .gravity(DVec3::NEG_Z)
        .seed(seed)
        .surface("default", surface, 6.0 / std::f64::consts::PI)
        .surface("base", base, 1.0)
        .pair_surface("base", "default", base);
    walls.into_iter().fold(scene.surface_wall(pipe), Scene::surface_wall).fill(fill).build().unwrap()
}

fn simulate(system: System) -> Simulation {
    Simulation::new(system, Options::default()).unwrap()
}

fn mass(simulation: &Simulation) -> f64 {
    simulation.system().spheres.iter().map(|s| s.mass).sum()
}

// The floor carries the weight that the wall does not, and this load saturates with the filling height (Janssen, 1895).
// The floor sinks slowly to mobilise the full friction at the wall; without this motion the friction may have any
// smaller value in either direction.
fn silo(radius: f64, counts: [u64; 2]) {
    let mut floors = vec![];
    for count in counts {
        let floor = WallShape::Disc { center: DVec3::ZERO, normal: DVec3::Z, radius, hole: 0.0 };
        let motion = WallMotion { velocity: DVec3::NEG_Z * 0.01, ..WallMotion::default() };
        let floor = still(floor, "floor").moving(motion);
        let mut simulation = simulate(poured(vec![floor], GRAIN, radius, count, 3));
        let weight = mass(&simulation);
        let (fill, look) = (1600, 400);
        let mut loads = [0.0; 2];
        for step in 0..fill + look {
            simulation.step().unwrap();
            if step >= fill {
                for (sum, load) in loads.iter_mut().zip(simulation.wall_loads()) {
                    *sum -= load.force.z / f64::from(look);
                }
            }
        }
        let all: f64 = loads.iter().sum();
        println!(
            "{count} grains: floor {:.1}, wall {:.1}, together {all:.2} of {weight:.2} at time {}",
            loads[1],
            loads[0],
            simulation.time()
        );
        assert!((all / weight - 1.0).abs() < 0.01, "{all} of {weight}");
        floors.push(loads[1]);
        println!("deepest overlap {:.4}", simulation.summary().deepest_overlap);
    }
    let [small, large] = counts.map(|n| n as f64);
    assert!(floors[1] < 0.7 * large, "the floor carries {} of {large}", floors[1]);
    assert!(floors[1] / floors[0] < 0.5 * (1.0 + large / small), "{floors:?}");
}

#[test]
fn the_wall_of_a_silo_carries_what_its_floor_does_not() {
    silo(3.0, [250, 500]);
}

tier!(long "about 5 min": the_floor_of_a_tall_silo_feels_no_more_of_twice_the_grains);
fn the_floor_of_a_tall_silo_feels_no_more_of_twice_the_grains() {
    silo(4.0, [2000, 4000]);
}

// A bin with a flat bottom and grains at rest.
fn filled(radius: f64, count: u64, seed: u64) -> System {
    let bottom = WallShape::Disc { center: DVec3::ZERO, normal: DVec3::Z, radius, hole: 0.0 };
    let mut system = poured(vec![still(bottom, "bottom")], GRAIN, radius, count, seed);
    // The longest substeps for the grains, five to a step.
    system.dt = 0.06;
    let mut simulation = simulate_alone(system);
    while simulation.time() < 20.0 {
        simulation.step().unwrap();
    }
    let kinetic = simulation.report().kinetic_energy;
    assert!(kinetic < 1e-3 * count as f64, "the grains have not come to rest: {kinetic}");
    System { spheres: simulation.spheres().to_vec(), ..simulation.system().clone() }
}

// One thread per simulation, because many run side by side.
fn simulate_alone(system: System) -> Simulation {
    Simulation::new(system, Options { threads: 1, ..Options::default() }).unwrap()
}

// Number of grains that leave through a hole in the bottom per time interval, until half of them have left; with the
// depth of the remaining grains.
fn discharge(mut system: System, diameter: f64, interval: f64) -> Vec<f64> {
    let count = system.spheres.len();
    let bottom = system.walls.iter_mut().find(|wall| wall.name == "bottom").unwrap();
    let WallShape::Disc { hole, .. } = &mut bottom.shape else { panic!("{bottom:?}") };
    *hole = 0.5 * diameter;
    // A sphere this far down has been in free fall for at least three units of time.
    let below = DVec3::new(f64::INFINITY, f64::INFINITY, -3.0);
    system.sinks.push(Sink { every: 10, ..Sink::new(DVec3::NEG_INFINITY, below, "ground") });
    let mut simulation = simulate_alone(system);
    let (mut left, mut begin, mut rates) = (count, 0.0, vec![]);
    while 2 * left > count {
        // The sink removes the grains at the end of every tenth step.
        for _ in 0..10 {
            simulation.step().unwrap();
        }
        let (now, time) = (simulation.sphere_count(), simulation.time());
        if time - begin > interval * (1.0 - 1e-6) {
            rates.push((left - now) as f64 / (time - begin));
            (left, begin) = (now, time);
        }
    }
    rates
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

// W ~ (D - k d)^2.5, k about 1.4 (Beverloo, Leniger & van de Velde, Chem. Eng. Sci. 15, 260, 1961), independent of the
// filling height.
fn hopper(diameters: &[f64], radius: f64, count: u64, seeds: &[u64], slack: f64) {
    let bins: Vec<_> = seeds.par_iter().map(|&seed| (seed, filled(radius, count, seed))).collect();
    // Each run starts when a core is free.
    let runs: Vec<_> = diameters.iter().flat_map(|&d| bins.iter().map(move |bin| (d, bin))).collect();
    let rates = runs.iter().par_bridge().map(|&(diameter, (seed, bin))| {
        let interval = 0.06 * count as f64 / (0.58 * 1.15 * (diameter - 1.4f64).powf(2.5));
        let rates = discharge(bin.clone(), diameter, interval);
        // The bed first has to loosen up to its top, which takes as long as a fall from there; the last interval may be
        // incomplete.
        let depth = count as f64 / 6.0 / (0.58 * radius * radius);
        let start = 1 + ((2.0 * depth).sqrt() / interval) as usize;
        let steady = &rates[start..rates.len() - 1];
        let (early, late) = steady.split_at(steady.len() / 2);
        let (rate, early, late) = (mean(steady), mean(early), mean(late));
        println!(
            "D {diameter}, seed {seed}: {rate:.2} a time, early {early:.2}, late {late:.2}: {rates:.1?}"
        );
        (diameter, rate, late / early - 1.0)
    });
    let rates: Vec<_> = rates.collect();
    let points: Vec<_> = rates.iter().map(|(d, rate, _)| ((d - 1.4).ln(), rate.ln())).collect();
    let n = points.len() as f64;
    let (sx, sy) = points.iter().fold((0.0, 0.0), |(a, b), p| (a + p.0 / n, b + p.1 / n));
    let exponent = points.iter().map(|p| (p.0 - sx) * (p.1 - sy)).sum::<f64>()
        / points.iter().map(|p| (p.0 - sx) * (p.0 - sx)).sum::<f64>();
    println!("exponent {exponent:.3}");
    assert!((exponent - 2.5).abs() < 0.15, "{exponent}");
    assert!(rates.iter().all(|(_, _, change)| change.abs() < slack), "{rates:?}");
}

tier!(campaign "four hours": thirty_thousand_grains_leave_a_hopper_as_beverloo_says);
fn thirty_thousand_grains_leave_a_hopper_as_beverloo_says() {
    // Initially twice as deep as the largest hole is wide, and always at least as deep as that hole is wide: the flow
    // from a shallower bed is smaller.
    hopper(&[14.0, 11.0, 8.0], 16.0, 30_000, &[1, 2, 3], 0.05);
}

tier!(campaign "about two days": a_hundred_thousand_grains_leave_a_hopper_as_beverloo_says);
fn a_hundred_thousand_grains_leave_a_hopper_as_beverloo_says() {
    hopper(&[20.0, 16.0, 12.0, 8.0], 25.0, 100_000, &[1, 2, 3], 0.05);
}

tier!(long "10 min on two cores": grains_leave_a_small_hopper_as_beverloo_says);
fn grains_leave_a_small_hopper_as_beverloo_says() {
    hopper(&[6.0, 8.0], 9.0, 6000, &[1, 2], 0.15);
}

// Angle in degrees between the vertical and the line from the axis to the centre of mass; mean and spread over part of
// a turn.
fn drum(friction: f64, radius: f64, count: u64, steps: u32) -> (f64, f64) {
    let from = DVec3::Y * -2.5;
    let shape = WallShape::Cone { from, to: -from, radii: [radius; 2], closed: [true; 2] };
    let rotation = Some(Rotation { point: DVec3::ZERO, axis: DVec3::Y, speed: 0.03 });
    let wall = still(shape, "drum").moving(WallMotion { rotation, ..WallMotion::default() });
    let fill = Fill::random(count)
        .diameters([(0.9, 0.5), (1.1, 0.5)])
        .region([-radius, -2.5, -radius], [radius, 2.5, radius])
        .inside("drum");
    let surface = Surface { friction, ..GRAIN };
    let scene =
        Scene::new(0.05).gravity(DVec3::NEG_Z).surface("default", surface, 6.0 / std::f64::consts::PI);
    let mut simulation = simulate(scene.surface_wall(wall).fill(fill).build().unwrap());
    let mut angles = vec![];
    for step in 0..steps {
        simulation.step().unwrap();
        if step > steps / 2 && step % 20 == 0 {
            let middle = simulation.spheres().iter().map(|s| s.position * s.mass).sum::<DVec3>();
            angles.push((-middle.x).atan2(-middle.z).to_degrees());
        }
    }
    let angle = mean(&angles);
    let (early, late) = angles.split_at(angles.len() / 2);
    let spread = (angles.iter().map(|a| (a - angle) * (a - angle)).sum::<f64>() / angles.len() as f64).sqrt();
    println!(
        "friction {friction}: {angle:.1} +- {spread:.1} degrees, early {:.1}, late {:.1}",
        mean(early),
        mean(late)
    );
    assert!(simulation.summary().ledger_error < 1e-4);
    (angle, (mean(late) - mean(early)).abs())
}

tier!(long "70 s": rougher_grains_lie_steeper_in_a_turning_drum);
fn rougher_grains_lie_steeper_in_a_turning_drum() {
    let angles = [0.1, 0.3, 0.6].map(|friction| drum(friction, 10.0, 600, 4000));
    for pair in angles.windows(2) {
        assert!(pair[1].0 > pair[0].0 + 2.0, "{angles:?}");
    }
    assert!(angles.iter().all(|(_, change)| *change < 2.0), "{angles:?}");
}

// Run-out over the initial radius is about 1.2 times the aspect ratio up to 1.7 (Lube et al., J. Fluid Mech. 508, 175,
// 2004; Lajeunesse et al., Phys. Fluids 16, 2371, 2004), for many grains on a base where they do not roll: perfectly
// round beads on a smooth base keep rolling.
tier!(long "about 6 min": a_column_runs_out_as_far_as_its_aspect_ratio_says);
fn a_column_runs_out_as_far_as_its_aspect_ratio_says() {
    for (count, aspect) in [(6000, 0.7), (12_000, 1.35)] {
        let radius = 14.0;
        let plane = WallShape::Plane { point: DVec3::ZERO, normal: DVec3::Z };
        let floor = SceneWall::new(plane, "base").named("floor");
        let gone = 40.0;
        let mut system = poured(vec![floor], GRAIN, radius, count, 5);
        system.walls[0].span[1] = gone;
        let mut simulation = simulate(system);
        while simulation.time() < gone {
            simulation.step().unwrap();
        }
        let top = |simulation: &Simulation| {
            let mut heights: Vec<f64> = simulation.spheres().iter().map(|s| s.position.z).collect();
            heights.sort_by(f64::total_cmp);
            heights[heights.len() * 98 / 100] + 0.5
        };
        let height = top(&simulation);
        // Ten times the duration of the fall; single grains keep rolling.
        for _ in 0..1200 {
            simulation.step().unwrap();
        }
        // The front of the heap; only single grains lie beyond.
        let mut far: Vec<f64> = simulation.spheres().iter().map(|s| s.position.truncate().length()).collect();
        far.sort_by(f64::total_cmp);
        let front = far[far.len() * 97 / 100];
        let (a, run) = (height / radius, (front - radius) / radius);
        println!("aspect ratio {a:.2} ({aspect}): run-out {run:.2}, expected {:.2}", 1.2 * a);
        assert!((run / (1.2 * a) - 1.0).abs() < 0.25, "aspect ratio {a}: {run}");
    }
}

tier!(long "about 5 min": the_large_sphere_comes_to_the_top_of_a_shaken_mix);
fn the_large_sphere_comes_to_the_top_of_a_shaken_mix() {
    let shape =
        WallShape::Cone { from: DVec3::ZERO, to: DVec3::Z * 30.0, radii: [5.0; 2], closed: [true; 2] };
    let swing = Oscillation { amplitude: DVec3::Z * 0.7, frequency: 0.33, phase: 0.0 };
    let motion = WallMotion { oscillation: Some(swing), ..WallMotion::default() };
    let large = Placed { position: DVec3::Z * 2.1, radius: 2.0, ..Default::default() };
    let fill = Fill::random(500)
        .diameters([(0.9, 0.5), (1.1, 0.5)])
        .region([-5.0, -5.0, 0.0], [5.0, 5.0, 30.0])
        .inside("vessel");
    let scene = Scene::new(0.05)
        .gravity(DVec3::NEG_Z)
        .surface("default", Surface { friction: 0.3, ..GRAIN }, 6.0 / std::f64::consts::PI)
        .surface_wall(still(shape, "vessel").moving(motion))
        .fill(Fill::at([large]))
        .fill(fill);
    let mut simulation = simulate(scene.build().unwrap());
    let above = |simulation: &Simulation| {
        let spheres = simulation.spheres();
        let large = spheres.iter().find(|s| s.radius > 1.0).unwrap().position.z;
        spheres.iter().filter(|s| s.radius < 1.0 && s.position.z > large).count()
    };
    for _ in 0..400 {
        simulation.step().unwrap();
    }
    let before = above(&simulation);
    let mut after = before;
    for k in 0..12_000 {
        simulation.step().unwrap();
        after = above(&simulation);
        if k % 1000 == 0 {
            println!("{k}: {after} above it");
        }
        if after < 50 {
            break;
        }
    }
    println!("{before} above it, then {after}");
    assert!(before > 250 && after < 50, "{before} above it, then {after}");
}
