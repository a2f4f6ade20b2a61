//! Systems of every kind and size on which the passes start.

use glam::{DVec3, IVec3};

use super::{Setup, capacities};
use crate::{
    Dimensions, MaterialIndex, Materials, Oscillation, Rotation, Side, Surface, System, WallMotion,
    WallShape,
    cpu::{audit::Audit, core::Core},
    gpu::{buffer_layout::Capacities, host_mirror::HostMirror, shaders::Variant},
    scene::{Fill, Scene, Wall},
    state::columns::{NEVER, State},
    step::plan::Plan,
};

/// No sphere, one, one less than a workgroup, a workgroup, one more, and many with an odd remainder.
pub const SIZES: [usize; 6] = [0, 1, 63, 64, 65, 10_007];

const KINDS: [&str; 14] = [
    "gas", "box", "floor", "mixture", "open", "dilute", "flat", "fixed", "fast", "rough", "pile", "heap",
    "vessel", "drum",
];

/// A system, and the plan of its step.
pub struct Start {
    pub name: &'static str,
    pub system: System,
    /// Substeps of the step, all on one broad phase; the passes of the last one are compared.
    pub substeps: u32,
    /// Cells and motion margin suit all but a fiftieth of the spheres, which are fast.
    pub for_the_bulk: bool,
}

/// Every kind in every size.
pub fn all() -> impl Iterator<Item = Start> {
    KINDS.into_iter().flat_map(|kind| SIZES.map(|size| start(kind, size)))
}

/// Random numbers in [0, 1) from a seed, the same on every platform.
pub fn dice(mut seed: u64) -> impl FnMut() -> f64 {
    move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl Start {
    /// Time of the last contact (scaled units): never for most spheres, recent or long ago for some.
    pub fn last_contact(&self, id: u32) -> f32 {
        match id % 7 {
            0 => 0.0,
            1 => -1e-5,
            2 => -0.3,
            _ => NEVER,
        }
    }
}

/// The start of a kind and size.
pub fn start(kind: &'static str, size: usize) -> Start {
    // Enough to fill a box; the excess is removed below.
    let count = size.max(if has_sizes(kind) { 1500 } else { 60 }) as u64;
    let side = (count as f64).cbrt().ceil() as u64;
    let gas = |fraction: f64| Fill::random(count).volume_fraction(fraction).temperature(3.0);
    let scene = Scene::new(0.03).seed(size as u64 + 1);
    let tight = || Fill::lattice([side; 3], 1.004).temperature(1e-4);
    let lattice = || Fill::lattice([side; 3], 1.12).origin(DVec3::splat(0.5)).temperature(3.0);
    let one_to_ten = [(10.0, 0.002), (3.0, 0.02), (1.0, 0.978)];
    // So tight that many spheres meet another one or a plane in a step.
    let (spacing, corner) = if kind == "rough" { (1.03, 0.51) } else { (1.12, 0.55) };
    let scene = match kind {
        "gas" | "fast" => scene.periodic().fill(gas(0.3)),
        "fixed" => scene
            .sides([Side::Periodic, Side::Periodic, Side::Wall])
            .gravity([0.0, 0.0, -9.0])
            .fill(gas(0.25)),
        "mixture" => scene
            .periodic()
            .fill(gas(0.3).diameters([(6.0, 0.003), (2.0, 0.04), (1.0, 0.957)]).temperature(1.0)),
        // Divided cells, in a periodic box and in unbounded space.
        "sizes" => scene.periodic().fill(gas(0.2).diameters(one_to_ten).temperature(1.0)),
        "strewn" => {
            let side = (8.0 * count as f64).cbrt();
            let fill = Fill::random(count).diameters(one_to_ten).region([-side; 3], [0.0; 3]);
            scene.gravity([0.1, 0.0, -1.0]).fill(fill.temperature(1.0))
        }
        // Tight, on a sloping plane, so that most spheres meet a plane.
        "box" | "rough" => scene
            .walled()
            .gravity([0.0, 1.0, -10.0])
            .bounds(DVec3::ZERO, DVec3::splat(1.15 * side as f64) + 2.0 * DVec3::Z)
            .wall([0.5 * side as f64, 0.0, 0.05], [0.05, 0.0, 1.0], "default")
            .fill(Fill::lattice([side; 3], spacing).origin([corner, corner, 1.3]).temperature(3.0)),
        // A layer at rest on the floor, and layers that fall on it.
        "floor" => scene.gravity([0.0, 0.0, -10.0]).wall(DVec3::ZERO, DVec3::Z, "default").fill(lattice()),
        // Spheres that almost touch each other, in a box and on an open floor.
        "pile" => scene
            .sides([Side::Periodic, Side::Wall, Side::Wall])
            .bounds(DVec3::ZERO, DVec3::new(1.004 * side as f64, 1.01 * side as f64, 2.0 * side as f64))
            .gravity([0.0, 0.1, -1.0])
            .fill(tight().origin([0.502, 0.505, 0.5])),
        "heap" => scene
            .gravity([0.1, 0.0, -1.0])
            .wall(DVec3::ZERO, DVec3::Z, "default")
            .fill(tight().origin([-0.2 * side as f64, 0.4, 0.5])),
        "open" => scene.fill(lattice()),
        "vessel" => vessel(scene, 1.12 * side as f64).fill(lattice()),
        "drum" => drum(scene, 1.004 * side as f64).fill(tight().origin([0.502, 0.505, 0.5])),
        "dilute" => scene.periodic().fill(gas(0.002).temperature(3e3)),
        "flat" => scene.flat().sides([Side::Periodic, Side::Wall, Side::Open]).fill(gas(0.45)),
        _ => unreachable!("{kind}"),
    };
    let build = |scene: Scene| scene.build().unwrap_or_else(|e| panic!("{kind} of {size}: {e}"));
    let mut system = match kind {
        // Validation refuses spheres that overlap these walls; the overlapping ones are removed below.
        "vessel" | "drum" => {
            let spheres = build(Scene { walls: vec![], ..scene.clone() }).spheres;
            System { spheres, ..build(Scene { fills: vec![], ..scene }) }
        }
        _ => build(scene),
    };
    system.spheres.truncate(size);
    // No sphere overlaps a wall.
    let walls: Vec<_> = system.walls.iter().filter(|wall| wall.span[0] < 0.0 && wall.span[1] > 0.0).collect();
    system.spheres.retain(|s| walls.iter().all(|wall| wall.distance(s.position, 0.0) > 0.999 * s.radius));
    dress(kind, &mut system, size as u64);
    let is_fast = matches!(kind, "fast" | "dilute" | "vessel");
    // The warm start passes from one substep to the next.
    let substeps = if is_fast || is_pile(kind) { 2 } else { 1 };
    Start { name: kind, system, substeps, for_the_bulk: is_fast }
}

/// Whether radii differ so much that cells of the largest hold many of the smallest.
pub fn has_sizes(kind: &str) -> bool {
    matches!(kind, "mixture" | "sizes" | "strewn")
}

fn is_pile(kind: &str) -> bool {
    matches!(kind, "pile" | "heap" | "drum")
}

fn wall(shape: WallShape, motion: WallMotion) -> Wall {
    Wall::new(shape, "default").moving(motion)
}

fn turning(point: DVec3, axis: DVec3, speed: f64) -> WallMotion {
    WallMotion { rotation: Some(Rotation { point, axis, speed }), ..WallMotion::default() }
}

// Walls of every shape in a lattice of spheres of this size; one of each stands still, the others move, appear or vanish.
fn vessel(scene: Scene, size: f64) -> Scene {
    let middle = DVec3::splat(0.5 * size);
    let still = WallMotion::default();
    let drifting = WallMotion { velocity: DVec3::new(0.7, -0.4, 0.2), ..still };
    let swing = Oscillation { amplitude: DVec3::new(0.1, 0.0, 0.2), frequency: 0.4, phase: 1.0 };
    let swinging = WallMotion { oscillation: Some(swing), ..still };
    let cuboid = |share: f64| WallShape::Box {
        center: middle,
        size: DVec3::splat(share * size),
        turn: DVec3::new(0.2, -0.1, 0.4),
    };
    let pipe = |at: f64, radii: [f64; 2], closed| WallShape::Cone {
        from: DVec3::new(at * size, 0.5 * size, 0.0),
        to: DVec3::new(at * size, 0.6 * size, size),
        radii: radii.map(|r| r * size),
        closed,
    };
    let bowl = |share: f64, angle| WallShape::Sphere {
        center: middle,
        radius: share * size,
        axis: DVec3::new(0.1, 0.2, -1.0),
        angle,
    };
    let disc = |height: f64, hole: f64| WallShape::Disc {
        center: DVec3::new(0.5, 0.5, height) * size,
        normal: DVec3::new(0.1, 0.0, 1.0),
        radius: 0.6 * size,
        hole: hole * size,
    };
    let plane = |height: f64| WallShape::Plane { point: DVec3::Z * height, normal: DVec3::Z };
    [
        wall(cuboid(1.05), still),
        wall(cuboid(0.8), turning(middle, DVec3::new(0.3, 1.0, 0.2), 1.5)),
        wall(pipe(0.3, [0.2, 0.2], [false; 2]), still),
        wall(pipe(0.7, [0.1, 0.2], [true, false]), turning(middle, DVec3::Z, -2.0)),
        wall(pipe(0.5, [0.3, 0.3], [true; 2]), drifting),
        wall(bowl(0.4, std::f64::consts::PI), swinging),
        wall(bowl(0.48, 1.2), turning(DVec3::ZERO, DVec3::X, 1.0)),
        wall(disc(0.4, 0.2), still),
        wall(disc(0.6, 0.0), drifting),
        wall(disc(0.5, 0.0), still).there(1.0, 2.0),
        wall(plane(-0.3), swinging),
        wall(plane(0.6), still).there(-1.0, 0.0),
    ]
    .into_iter()
    .fold(scene, Scene::surface_wall)
}

// A pile on a rising disc, in a shaking box and a cylinder that turns about its axis, with a column of spheres in a narrow
// pipe and an obstacle.
fn drum(scene: Scene, size: f64) -> Scene {
    let middle = DVec3::new(0.5 * size, 0.5 * size, 0.0);
    let still = WallMotion::default();
    let floor = WallShape::Disc { center: middle, normal: DVec3::Z, radius: 2.0 * size, hole: 0.0 };
    let rising = WallMotion { velocity: DVec3::new(0.01, 0.0, 0.02), ..still };
    let cuboid = WallShape::Box {
        center: middle + DVec3::Z * 0.5 * size,
        size: DVec3::new(size + 0.005, size + 0.01, 2.0 * size),
        turn: DVec3::ZERO,
    };
    let swing = Oscillation { amplitude: DVec3::new(0.01, 0.0, 0.0), frequency: 0.5, phase: 0.3 };
    let upright = |x: f64, y: f64, radius: f64| {
        let at = DVec3::new(x, y, -1.0);
        WallShape::Cone { from: at, to: at + DVec3::Z * 2.0 * size, radii: [radius; 2], closed: [false; 2] }
    };
    let ball = WallShape::Sphere {
        center: middle - DVec3::Z * 0.9 * size,
        radius: size,
        axis: DVec3::Z,
        angle: std::f64::consts::PI,
    };
    [
        wall(floor, rising),
        wall(cuboid, WallMotion { oscillation: Some(swing), ..still }),
        wall(upright(0.5 * size, 0.5 * size, 0.5 * size), turning(middle, DVec3::Z, 0.3)),
        wall(upright(0.502, 0.505, 0.504), still),
        wall(upright(1.506, 0.505, 0.503), turning(middle, DVec3::Z, 0.01)),
        wall(ball, turning(middle, DVec3::X, 0.2)),
    ]
    .into_iter()
    .fold(scene.gravity([0.1, 0.0, -1.0]), Scene::surface_wall)
}

// Properties that scenes do not set: gaps in the ids, several materials, spin, fixed and fast spheres.
fn dress(kind: &str, system: &mut System, seed: u64) {
    let mut draw = dice(seed);
    let soft = system.materials.push("soft", 0.6, 1.0);
    if kind == "mixture" {
        // Without gravity no contact rests: some impacts follow each other too soon to lose energy.
        system.solver.contact_time = Some(0.01);
    }
    if is_pile(kind) {
        let rough =
            Surface { friction: 0.4, rolling_friction: 0.02, twisting_friction: 0.01, ..Surface::default() };
        system.materials.set_surface(0, 0, Surface { restitution: 0.5, ..rough });
        system.materials.set_surface(soft, soft, Surface { restitution: 0.0, ..rough });
    }
    if kind == "rough" {
        roughen(&mut system.materials, soft);
    }
    let flat = system.dimensions == Dimensions::Two;
    if kind == "floor" {
        // Pairs at rest on the floor that are about to touch each other slowly.
        for k in (1..system.spheres.len()).step_by(2) {
            let left = system.spheres[k - 1].position;
            let sphere = &mut system.spheres[k];
            if sphere.position.z < 0.6 && sphere.position.x > left.x {
                sphere.position = left + DVec3::X * (1.0 + 1e-6);
            }
        }
    }
    for (k, sphere) in system.spheres.iter_mut().enumerate() {
        sphere.id = 3 * k as u32 + 7;
        sphere.spin = DVec3::new(draw(), draw(), draw()) - 0.5;
        if matches!(kind, "box" | "floor" | "flat" | "mixture" | "pile" | "heap" | "vessel" | "drum")
            && k % 3 == 0
        {
            sphere.material = soft;
        }
        match kind {
            "rough" => {
                sphere.spin *= 4.0;
                sphere.material = (k % 3) as u16;
                if k % 10 == 3 {
                    (sphere.fixed, sphere.velocity) = (true, DVec3::ZERO);
                }
            }
            "heap" if k % 12 == 5 => (sphere.fixed, sphere.velocity) = (true, DVec3::ZERO),
            // Spheres that fall on the pile.
            "pile" | "drum" if k % 30 == 7 => sphere.velocity.z -= 0.5,
            "fixed" if k % 10 == 3 => (sphere.fixed, sphere.velocity) = (true, DVec3::ZERO),
            "floor" if sphere.position.z < 0.6 => {
                sphere.velocity = if k % 2 == 1 { DVec3::X * -2e-4 } else { DVec3::ZERO };
            }
            "floor" if k % 8 == 0 => sphere.velocity.z -= 1.0,
            "vessel" if k % 40 == 3 => sphere.velocity *= 8.0,
            "fast" => {
                sphere.velocity *= if k % 60 == 4 { 25.0 } else { 1.0 };
                sphere.velocity += DVec3::new(4.0, -2.0, 1.0);
            }
            _ => {}
        }
        if flat {
            sphere.velocity.z = 0.0;
            sphere.spin.x = 0.0;
        }
    }
}

// A third material, surfaces that slide, stick or are smooth, and a restitution that falls with the speed.
fn roughen(materials: &mut Materials, soft: MaterialIndex) {
    let rough = |friction, restitution| Surface { friction, restitution, ..Surface::default() };
    materials.add("faint", Surface { restitution_threshold: 3.0, ..rough(0.5, 0.8) }, 1.0);
    materials.set_surface(0, 0, rough(0.2, 1.0));
    materials.set_surface(0, soft, rough(0.8, 0.9));
}

/// A start on both sides with equal cells, and the plan of its step.
pub fn setup(start: &Start) -> Setup {
    let (mut host, mut state) = HostMirror::new(&start.system, |id| start.last_contact(id));
    let mut core = Core::new(&start.system, |id| start.last_contact(id)).unwrap();
    let mut audit = Audit::default();
    let still = audit.run(&core.domain.grid, &core.state, DVec3::ZERO);
    let sums = audit.run(&core.domain.grid, &core.state, still.drift);
    let speed = if start.for_the_bulk { sums.crowd_speed } else { sums.high_speed };
    let path = 1.02 * f64::from(speed) * start.system.dt / core.domain.units.time;
    let made_for = path.clamp(core.domain.statistics.margin_least, core.domain.statistics.margin_most);
    core.regrid(made_for);
    host.domain.regrid(&mut state, made_for);
    assert_eq!(host.domain.grid, core.domain.grid, "both sides have the same cells");
    let motion_margin = core.domain.grid.margin_limit.min(made_for as f32);
    unsettle(&mut core);
    let plan = Plan {
        substeps: start.substeps,
        substeps_per_build: start.substeps,
        motion_margin,
        drift: sums.drift,
        regrid: None,
        needed: 0.0,
    };
    let n = start.system.spheres.len();
    let capacities = Capacities { constraints: 16 * n as u32 + 1024, blocks: 64, ..capacities(4 * n) };
    // With code for planes, fixed spheres and a box that shrinks, whether there are any or not.
    let variant =
        Variant { has_walls: true, has_fixed: true, is_mixed: true, shrinks: true, ..host.variant() };
    Setup { host, core, plan, capacities, variant, shrink: None }
}

// Puts the spheres into random order, and counts many offsets from a neighbouring cell; positions stay.
fn unsettle(core: &mut Core) {
    let mut draw = dice(core.state.len() as u64);
    let mut pick = |count: usize| (draw() * count as f64) as usize;
    let State { place, cell, motion, spin, id } = &mut core.state;
    for i in (1..id.len()).rev() {
        let k = pick(i + 1);
        place.swap(i, k);
        cell.swap(i, k);
        motion.swap(i, k);
        spin.swap(i, k);
        id.swap(i, k);
    }
    for (place, cell) in place.iter_mut().zip(cell) {
        if pick(2) == 0 {
            let z = if core.domain.grid.layers > 0 { pick(3) as i32 - 1 } else { 0 };
            let cells = IVec3::new(pick(3) as i32 - 1, pick(5) as i32 - 2, z);
            for axis in 0..3 {
                let (last, from) = (core.domain.grid.count[axis] - 1, cell[axis] - cells[axis]);
                let to = match (core.domain.grid.periodic[axis], last) {
                    (true, last) => from.rem_euclid(last + 1),
                    (false, -1) => from,
                    (false, last) => from.clamp(0, last),
                };
                // A move once around a periodic axis changes no position.
                let moved = if core.domain.grid.periodic[axis] { cells[axis] } else { cell[axis] - to };
                cell[axis] = to;
                place[axis] += moved as f32 * core.domain.grid.edge[axis];
            }
        }
    }
}
