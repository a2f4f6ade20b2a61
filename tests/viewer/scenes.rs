//! Scenes with recognisable pictures.

/// A few large fixed spheres in a line across the picture, on a floor.
pub const ROW: &str = r#"
[world]
dt = 0.02
seed = 11

[[spheres]]
at = [
    { position = [-6, 0, 0], radius = 1.5 },
    { position = [0, 0, 0], radius = 1.5, spin = [0, 0, 2] },
    { position = [6, 0, 0], radius = 1.5 },
    { position = [2.4, 0, 0], radius = 0.5 },
]

[view]
eye = [0, -30, 0]
target = [0, 0, 0]
fov = 30.0
"#;

/// A gas that steps quickly on every backend.
pub const GAS: &str = r#"
[world]
dt = 0.02
seed = 12

[bounds]
x = "periodic"
y = "periodic"
z = "periodic"

[[spheres]]
random = { count = 300, volume_fraction = 0.1, diameter = 1.0 }
temperature = 1.0
"#;

/// A scene that no backend can simulate.
pub const RUNAWAY: &str = r#"
[world]
dt = 0.5

[[spheres]]
at = [{ position = [0, 0, 0], velocity = [1e30, 0, 0] }, { position = [3, 0.1, 0] }]
"#;

/// Three spheres at rest on a floor, one on top of two.
pub const HEAP: &str = r#"
[world]
dt = 0.02
gravity = [0, 0, -10]

[materials.default]
restitution = 0.3
friction = 0.5
rolling_friction = 0.2

[[spheres]]
at = [
    { position = [-0.5, 0, 0.5], radius = 0.5 },
    { position = [0.5, 0, 0.5], radius = 0.5 },
    { position = [0, 0, 1.367], radius = 0.5 },
]

[[walls]]
plane = { point = [0, 0, 0], normal = [0, 0, 1] }

[view]
eye = [0, -12, 1]
target = [0, 0, 1]
fov = 20.0
"#;
