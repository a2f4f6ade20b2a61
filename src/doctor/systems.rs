//! Systems that the sections simulate.

use glam::DVec3;

use crate::{
    Compression, Error, Side, Surface, System, WallMotion, WallShape,
    scene::{Fill, LatticeKind, Scene, Wall},
};

/// Grains that come to rest.
pub const GRAINS: Surface = Surface {
    restitution: 0.3,
    friction: 0.5,
    rolling_friction: 0.01,
    twisting_friction: 0.01,
    restitution_threshold: 0.0,
};

/// Mass/volume at which a sphere of diameter 1 has mass 1.
pub const DENSITY: f64 = 6.0 / std::f64::consts::PI;

/// A hard-sphere gas like the built-in scene: a fifth of a periodic box, kT = 3.
pub fn gas(count: u64, seed: u64) -> Result<System, Error> {
    let fill = Fill::random(count).volume_fraction(0.2).temperature(3.0);
    Scene::new(1.0 / 60.0).seed(seed).periodic().fill(fill).build()
}

fn ground(width: f64, height: f64) -> Scene {
    Scene::new(0.05)
        .gravity([0.0, 0.0, -1.0])
        .surface("default", GRAINS, DENSITY)
        .bounds([0.0; 3], [width, width, height])
        .sides([Side::Periodic, Side::Periodic, Side::Wall])
}

/// Layers of `side` times `side` spheres that fall a little and come to rest.
pub fn layers(side: u64, count: u64) -> Result<System, Error> {
    let (width, height) = (1.05 * side as f64, 1.05 * count as f64 + 3.0);
    let fill = Fill::lattice([side, side, count], 1.05).origin(DVec3::splat(0.53)).temperature(0.01);
    ground(width, height).seed(3).fill(fill).build()
}

/// A dense pile of about four times `side * side * height` spheres, nearly settled at the start.
pub fn pile([side, height]: [u64; 2]) -> Result<System, Error> {
    let spacing = 1.02;
    let edge = spacing * std::f64::consts::SQRT_2;
    let fill = Fill::lattice([side, side, height], spacing)
        .kind(LatticeKind::Fcc)
        .origin(DVec3::splat(0.52))
        .temperature(1e-3);
    ground(edge * side as f64, edge * height as f64 + 3.0).seed(4).fill(fill).build()
}

/// Edge of the box of [`bullets`].
pub const BULLETS_EDGE: f64 = 20.0;

/// Fast spheres on both sides of a disc without thickness that divides an elastic box, at so many diameters a step.
pub fn bullets(diameters: f64) -> Result<System, Error> {
    let dt = 1.0 / 60.0;
    let (edge, middle) = (BULLETS_EDGE, 0.5 * BULLETS_EDGE);
    let disc = WallShape::Disc { center: DVec3::splat(middle), normal: DVec3::Z, radius: edge, hole: 0.0 };
    let half = |low: f64, high: f64| {
        Fill::random(20).region([0.0, 0.0, low], [edge, edge, high]).speed_uniform(diameters / dt)
    };
    Scene::new(dt)
        .seed(5)
        .bounds([0.0; 3], [edge; 3])
        .walled()
        .surface_wall(Wall::new(disc, "default"))
        .fill(half(0.0, middle - 0.5))
        .fill(half(middle + 0.5, edge))
        .build()
}

/// Small systems of every kind, by name: together they need all properties for which shaders are specialised.
pub fn kinds() -> Vec<(&'static str, Result<System, Error>)> {
    let fill = || Fill::random(300).volume_fraction(0.3).temperature(3.0);
    let base = || Scene::new(0.03).seed(5);
    let sides = [Side::Periodic, Side::Periodic, Side::Wall];
    let rough = Surface { friction: 0.3, restitution: 0.9, restitution_threshold: 0.5, ..Surface::default() };
    vec![
        ("gas", base().periodic().fill(fill()).build()),
        ("open", base().fill(Fill::random(300).region([-30.0; 3], [30.0; 3]).temperature(3.0)).build()),
        ("fall", base().sides(sides).gravity([0.0, 0.0, -9.0]).fill(fill()).build()),
        (
            "rough",
            base().surface("default", rough, 1.9).walled().gravity([0.0, 1.0, -9.0]).fill(fill()).build(),
        ),
        ("plane", plane()),
        ("mixed", base().periodic().fill(mixed().volume_fraction(0.15)).build()),
        (
            "mixed grains",
            ground(13.0, 30.0).fill(mixed().region([0.0, 0.0, 0.5], [13.0, 13.0, 28.0])).build(),
        ),
        ("fast", fast()),
        ("pins", pins()),
        ("pile", pile([3, 4])),
        ("vessel", vessel(GRAINS)),
        ("elastic vessel", vessel(Surface::default())),
        ("drag", with_drag(base().periodic().fill(fill()).build())),
        ("compression", compressed(base().periodic().fill(fill()).build())),
    ]
}

fn plane() -> Result<System, Error> {
    let fill = Fill::random(300).volume_fraction(0.4).temperature(3.0);
    Scene::new(0.03).seed(6).flat().walled().gravity([0.0, -3.0, 0.0]).fill(fill).build()
}

// Spheres that overlap after every step, because their box shrinks.
fn compressed(system: Result<System, Error>) -> Result<System, Error> {
    let compression = Some(Compression { rate: 0.3, fraction: Some(0.6), pressure: None });
    system.map(|system| System { compression, ..system })
}

// Diameters from 1 to 6: cells are divided.
fn mixed() -> Fill {
    Fill::random(250).diameters([(1.0, 0.97), (6.0, 0.03)]).temperature(1.0)
}

fn fast() -> Result<System, Error> {
    let fill = Fill::random(300).volume_fraction(0.2).temperature(3.0);
    let mut system = Scene::new(1.0 / 60.0).seed(7).periodic().fill(fill).build()?;
    system
        .spheres
        .iter_mut()
        .step_by(25)
        .for_each(|s| s.velocity = s.velocity.normalize_or(DVec3::X) * 300.0);
    Ok(system)
}

// Spheres that fall onto fixed ones.
fn pins() -> Result<System, Error> {
    let mut system = layers(5, 6)?;
    for sphere in system.spheres.iter_mut().filter(|sphere| sphere.id % 7 == 0) {
        sphere.fixed = true;
        sphere.velocity = DVec3::ZERO;
    }
    Ok(system)
}

// Spheres in a cylinder that turns.
fn vessel(surface: Surface) -> Result<System, Error> {
    let shape = WallShape::Cone {
        from: DVec3::ZERO,
        to: DVec3::new(0.0, 0.0, 12.0),
        radii: [4.0, 4.0],
        closed: [true, true],
    };
    let rotation = crate::Rotation { point: DVec3::ZERO, axis: DVec3::Z, speed: 0.2 };
    let motion = WallMotion { rotation: Some(rotation), ..WallMotion::default() };
    let fill = Fill::random(150).region([-4.0, -4.0, 0.0], [4.0, 4.0, 9.0]).temperature(0.2).inside("vessel");
    Scene::new(0.05)
        .seed(8)
        .gravity([0.0, 0.0, -1.0])
        .surface("default", surface, DENSITY)
        .surface_wall(Wall::new(shape, "default").named("vessel").moving(motion))
        .fill(fill)
        .build()
}

fn with_drag(system: Result<System, Error>) -> Result<System, Error> {
    Ok(System { drag: 0.1, ..system? })
}
