//! Scenes in TOML: equal to scenes from the builder, and with overrides.

use carom::{
    Dimensions, Side, Solver, Surface,
    scene::{Fill, LatticeKind, Pair, Placed, Scene, View},
};
use glam::DVec3;

use super::errors::{W, message, parse};

#[test]
fn overrides_are_laid_over_the_scene_before_it_is_checked() {
    let text = "[world]\ndt = -1\n[[spheres]]\nrandom = { count = 5, volume_fraction = 0.1 }\n";
    let scene =
        parse(text, &["world.dt=0.5", "world.seed = 7", "spheres.0.random.count=20", "world.dt=0.25"])
            .unwrap();
    assert_eq!(scene.world.dt, 0.25);
    assert_eq!(scene.world.seed, 7);
    assert_eq!(scene.build().unwrap().spheres.len(), 20);
    let large = parse(text, &["world.dt=1", "world.seed=18446744073709551615"]).unwrap();
    assert_eq!(large.world.seed, u64::MAX);
    let default = parse(W, &["materials.default.restitution=0.5"]).unwrap();
    assert_eq!(default.build().unwrap().materials.restitution(0, 0), 0.5);
    for (over, what) in [
        (
            "world.dtt=0.1",
            "unknown field `dtt` in world\n --> override:1:7\n  |\n1 | world.dtt=0.1\n  |       ^^^ did you mean `dt`?",
        ),
        ("wurld.dt=0.1", "unknown field `wurld` in the scene"),
        ("world.dt=0", "world.dt is 0\n --> override:1:10"),
        ("world.dt=fast", "--> override:1:10"),
        ("world.dt", "expected KEY=VALUE, as in world.dt=0.001"),
        ("spheres.1.random.count=5", "there is no entry \"1\" in this list"),
        ("spheres.0.radom.count=5", "did you mean `random`?"),
        ("spheres.0.lattice.count=[3,22,22]", "spheres[0] has both random and lattice\n --> override:1:11"),
        ("materials.defalt.restitution=0.5", "the scene has no material `defalt`"),
        ("world=5", "world is an integer"),
    ] {
        let text = text.replace("-1", "1");
        let found = message(&text, &[over]);
        assert!(found.contains(what), "expected {what:?} in: {found}");
    }
}

// A scene with every available key.
const COMPLETE: &str = r#"
        [world]
        dimensions = 3
        gravity = [0, 0, -9.81]
        dt = 1e-3
        steps = 50
        seed = 9
        [solver]
        strict_order = true
        substeps = 3
        max_initial_overlap = 0.02
        contact_time = 1e-6
        sleeping = false
        [bounds]
        min = [0, 0, 0]
        max = [20, 20, 40]
        x = "periodic"
        y = "open"
        z = "wall"
        material = "oak"
        [materials.steel]
        restitution = 0.9
        density = 7800
        [materials.oak]
        restitution = 0.6
        friction = 0.4
        rolling_friction = 0.01
        twisting_friction = 0.02
        restitution_threshold = 0.1
        density = 700
        [[pairs]]
        between = ["steel", "oak"]
        restitution = 0.7
        [[pairs]]
        between = ["oak", "oak"]
        friction = 0.5
        rolling_friction = 0.02
        twisting_friction = 0.03
        restitution_threshold = 0
        [[spheres]]
        random = { count = 100, diameters = [[1.0, 0.75], [0.5, 0.25]], min = [0, 0, 20], max = [20, 20, 40] }
        temperature = 3.0
        material = "steel"
        [[spheres]]
        lattice = { kind = "fcc", count = [2, 3, 4], spacing = 1.5, origin = [1, 1, 1], diameter = 0.5 }
        speed_uniform = 2
        [[spheres]]
        at = [{ position = [1, 2, 12], velocity = [1, 0, 0], spin = [0, 0, 1], radius = 0.25, mass = 2, id = 7, material = "oak", fixed = true }]
        fixed = true
        [[walls]]
        plane = { point = [0, 0, 0], normal = [0, 1, 1] }
        material = "steel"
        [view]
        eye = [0, -50, 20]
        target = [0, 0, 0]
        fov = 40
        color = "speed"
    "#;

// The same scene from the builder.
fn complete() -> Scene {
    let on_oak = Pair {
        between: ["oak".into(), "oak".into()],
        friction: Some(0.5),
        rolling_friction: Some(0.02),
        twisting_friction: Some(0.03),
        restitution_threshold: Some(0.0),
        ..Pair::default()
    };
    let mut expected = Scene::new(1e-3)
        .gravity([0.0, 0.0, -9.81])
        .steps(50)
        .seed(9)
        .solver(Solver {
            strict_order: true,
            substeps: 3,
            max_initial_overlap: 0.02,
            contact_time: Some(1e-6),
            sleeping: false,
        })
        .bounds([0.0; 3], [20.0, 20.0, 40.0])
        .sides([Side::Periodic, Side::Open, Side::Wall])
        .wall_material("oak")
        .material("steel", 0.9, 7800.0)
        .surface(
            "oak",
            Surface {
                restitution: 0.6,
                friction: 0.4,
                rolling_friction: 0.01,
                twisting_friction: 0.02,
                restitution_threshold: 0.1,
            },
            700.0,
        )
        .pair("steel", "oak", 0.7)
        .fill(
            Fill::random(100)
                .diameters([(1.0, 0.75), (0.5, 0.25)])
                .region([0.0, 0.0, 20.0], [20.0, 20.0, 40.0])
                .temperature(3.0)
                .material("steel"),
        )
        .fill(
            Fill::lattice([2, 3, 4], 1.5)
                .kind(LatticeKind::Fcc)
                .origin([1.0; 3])
                .diameter(0.5)
                .speed_uniform(2.0),
        )
        .fill(
            Fill::at([Placed {
                id: Some(7),
                position: DVec3::new(1.0, 2.0, 12.0),
                velocity: DVec3::X,
                spin: DVec3::Z,
                radius: 0.25,
                mass: Some(2.0),
                material: Some("oak".into()),
                fixed: true,
            }])
            .fixed(),
        )
        .wall([0.0; 3], [0.0, 1.0, 1.0], "steel");
    expected.pairs.push(on_oak);
    expected.view = View {
        eye: Some(DVec3::new(0.0, -50.0, 20.0)),
        target: Some(DVec3::ZERO),
        fov: Some(40.0),
        color: Some("speed".into()),
    };
    expected
}

#[test]
fn a_scene_in_code_equals_the_same_in_toml() {
    let expected = complete();
    let scene = parse(COMPLETE, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scene, expected);
    assert_eq!(scene.build().unwrap(), expected.build().unwrap());
    let flat = parse("[world]\ndt = 0.1\ndimensions = 2\n", &[]).unwrap();
    assert_eq!(flat, Scene::new(0.1).flat());
    assert_eq!(flat.world.dimensions, Dimensions::Two);
}
