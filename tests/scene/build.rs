//! Building a system from a scene: ids, masses, materials, images, relaxation.

use carom::{
    Error, Materials, Side, Surface,
    scene::{Fill, LatticeKind, MAX_SPHERES, Note, Pair, Placed, Scene},
};
use glam::DVec3;

fn at(x: f64) -> Placed {
    Placed { position: DVec3::new(x, 0.0, 0.0), ..Placed::default() }
}

fn text(scene: &Scene) -> String {
    scene.build().unwrap_err().to_string()
}

#[test]
fn given_ids_are_kept_and_the_others_numbered_on() {
    let scene = Scene::new(0.01)
        .fill(Fill::lattice([2, 1, 1], 1.5).origin([10.0, 0.0, 0.0]))
        .fill(Fill::at([Placed { id: Some(7), ..at(0.0) }, at(2.0), Placed { id: Some(3), ..at(4.0) }]));
    let ids: Vec<u32> = scene.build().unwrap().spheres.iter().map(|s| s.id).collect();
    assert_eq!(ids, [8, 9, 7, 10, 3]);
    let plain = Scene::new(0.01).fill(Fill::lattice([3, 1, 1], 1.5)).build().unwrap();
    assert_eq!(plain.spheres.iter().map(|s| s.id).collect::<Vec<_>>(), [0, 1, 2]);
    let full = Scene::new(0.01).fill(Fill::at([Placed { id: Some(u32::MAX), ..at(0.0) }, at(2.0)]));
    assert!(text(&full).contains("no ids are left after 4294967295"));
}

#[test]
fn masses_follow_from_density_unless_given() {
    let scene = Scene::new(0.01).material("steel", 0.9, 7800.0).fill(
        Fill::at([
            Placed { radius: 0.1, ..at(0.0) },
            Placed { radius: 0.1, mass: Some(5.0), ..at(1.0) },
            Placed { radius: 0.1, material: Some("default".into()), ..at(2.0) },
        ])
        .material("steel"),
    );
    let system = scene.build().unwrap();
    let volume = 4.0 / 3.0 * std::f64::consts::PI * 0.001;
    assert!((system.spheres[0].mass - 7800.0 * volume).abs() < 1e-12);
    assert_eq!(system.spheres[1].mass, 5.0);
    assert!((system.spheres[2].mass - 0.2f64.powi(3)).abs() < 1e-12);
    assert_eq!(system.materials.find("steel"), Some(system.spheres[0].material));
    assert_eq!(system.spheres[2].material, 0);
}

#[test]
fn pairs_override_the_smaller_restitution() {
    let scene = Scene::new(0.01)
        .material("steel", 0.9, 7800.0)
        .material("glass", 0.8, 2500.0)
        .material("felt", 0.1, 200.0)
        .pair("steel", "glass", 0.95);
    let materials = scene.build().unwrap().materials;
    let [steel, glass, felt] = ["steel", "glass", "felt"].map(|name| materials.find(name).unwrap());
    assert_eq!(materials.restitution(steel, glass), 0.95);
    assert_eq!(materials.restitution(glass, steel), 0.95);
    assert_eq!(materials.restitution(glass, felt), 0.1);
    assert_eq!(materials.restitution(0, glass), 0.8);
}

#[test]
fn surfaces_combine_and_pairs_override_what_they_name() {
    let surface = |restitution, friction, rolling_friction, restitution_threshold| Surface {
        restitution,
        friction,
        rolling_friction,
        twisting_friction: 0.5 * rolling_friction,
        restitution_threshold,
    };
    let own = surface(0.2, 0.9, 0.1, 0.0);
    let mut scene = Scene::new(0.01)
        .surface("steel", surface(0.9, 0.1, 0.02, 0.1), 7800.0)
        .surface("glass", surface(0.8, 0.4, 0.08, 0.3), 2500.0)
        .surface("felt", surface(0.1, 0.9, 0.0, 0.0), 200.0)
        .pair("steel", "glass", 0.95)
        .pair_surface("felt", "felt", own);
    scene.pairs.push(Pair {
        between: ["felt".into(), "glass".into()],
        friction: Some(0.7),
        restitution_threshold: Some(2.0),
        ..Pair::default()
    });
    let materials = scene.build().unwrap().materials;
    let [steel, glass, felt] = ["steel", "glass", "felt"].map(|name| materials.find(name).unwrap());
    let close = |found: &Surface, expected: Surface| {
        assert!((found.friction - expected.friction).abs() < 1e-15, "{found:?}");
        let found = Surface { friction: expected.friction, ..*found };
        assert_eq!(found, expected);
    };
    assert_eq!(*materials.surface(steel, steel), surface(0.9, 0.1, 0.02, 0.1));
    // The smaller restitution, here overridden; the larger threshold; geometric means.
    close(materials.surface(steel, glass), surface(0.95, 0.2, 0.04, 0.3));
    assert_eq!(materials.surface(glass, steel), materials.surface(steel, glass));
    close(materials.surface(glass, felt), surface(0.1, 0.7, 0.0, 2.0));
    assert_eq!(*materials.surface(felt, felt), own);
    // The default material is frictionless, and so are all its pairs.
    close(materials.surface(0, glass), surface(0.8, 0.0, 0.0, 0.3));
}

#[test]
fn the_default_material_can_be_changed() {
    let scene = Scene::new(0.01).material("default", 0.5, 2.0).fill(at(0.0));
    let system = scene.build().unwrap();
    assert_eq!(system.materials.len(), 1);
    assert_eq!(system.materials.restitution(0, 0), 0.5);
}

#[test]
fn positions_outside_a_periodic_box_are_put_inside() {
    let scene = Scene::new(0.01)
        .sides([Side::Periodic, Side::Open, Side::Open])
        .bounds([-5.0; 3], [5.0; 3])
        .fill(Fill::at([
            at(5.0),
            at(-17.5),
            Placed { position: DVec3::new(1.0, 70.0, 0.0), ..Placed::default() },
        ]));
    let system = scene.build().unwrap();
    assert_eq!(system.spheres[0].position.x, -5.0);
    assert_eq!(system.spheres[1].position.x, 2.5);
    assert_eq!(system.spheres[2].position, DVec3::new(1.0, 70.0, 0.0));
}

#[test]
fn lattices_have_their_spacing() {
    for (kind, flat, neighbors) in [
        (LatticeKind::Cubic, false, 6),
        (LatticeKind::Fcc, false, 12),
        (LatticeKind::Cubic, true, 4),
        (LatticeKind::Triangular, true, 6),
    ] {
        let count = if flat { [7, 7, 1] } else { [5, 5, 5] };
        let mut scene = Scene::new(0.01).fill(Fill::lattice(count, 1.2).kind(kind));
        if flat {
            scene = scene.flat();
        }
        let spheres = scene.build().unwrap().spheres;
        let coordination = |i: usize| {
            spheres
                .iter()
                .filter(|s| ((s.position - spheres[i].position).length() - 1.2).abs() < 1e-9)
                .count()
        };
        assert_eq!((0..spheres.len()).map(coordination).max(), Some(neighbors), "{kind:?}");
        for (i, a) in spheres.iter().enumerate() {
            assert!(spheres[..i].iter().all(|b| (a.position - b.position).length() > 1.2 - 1e-9));
        }
    }
}

#[test]
fn shallow_overlaps_are_relaxed_and_reported() {
    let scene = Scene::new(0.01).wall([0.0; 3], [0.0, 0.0, 1.0], "default").fill(Fill::at([
        Placed { position: DVec3::new(0.0, 0.0, 0.498), ..Placed::default() },
        Placed { position: DVec3::new(0.0, 0.0, 1.496), ..Placed::default() },
        Placed { position: DVec3::new(5.0, 0.0, 5.0), ..Placed::default() },
    ]));
    let (system, notes) = scene.build_with_notes().unwrap();
    let z: Vec<f64> = system.spheres.iter().map(|s| s.position.z).collect();
    assert!(z[0] >= 0.5 && z[1] - z[0] >= 1.0 && z[1] < 1.501, "{z:?}");
    assert_eq!(system.spheres[2].position, DVec3::new(5.0, 0.0, 5.0));
    let [Note::Relaxed { overlaps, deepest, left, moved }] = notes[..] else { panic!("{notes:?}") };
    assert_eq!((overlaps, left), (2, 0.0));
    assert!((deepest - 0.002).abs() < 1e-9 && moved > 0.004 - 1e-9 && moved < 0.005, "{deepest} {moved}");
    assert!(notes[0].to_string().contains("2 initial overlaps, up to 2.00e-3 of the mean diameter deep"));
    // Without corrections there are no notes.
    assert_eq!(Scene::new(0.01).fill(at(0.0)).fill(at(1.0)).build_with_notes().unwrap().1, []);
}

// Pushes of many small spheres on one large one must not add up: no sphere moves further than a few overlap depths.
#[test]
fn a_large_sphere_among_small_ones_is_not_thrown_about() {
    const SMALL: usize = 140;
    let turn = std::f64::consts::PI * (3.0 - 5.0f64.sqrt());
    for (large, depth) in [(5.0, 0.009), (5.0, 1e-4), (20.0, 0.009)] {
        // On the lower half of the large sphere, as on a bed.
        let distance = (large + 0.5) * (1.0 - depth);
        let low = |k: usize| {
            let z = -(k as f64 + 0.5) / SMALL as f64;
            let (r, angle) = ((1.0 - z * z).sqrt(), turn * k as f64);
            DVec3::new(r * angle.cos(), r * angle.sin(), z) * distance
        };
        let placed: Vec<_> = std::iter::once(Placed { radius: large, ..Placed::default() })
            .chain((0..SMALL).map(|k| Placed { position: low(k), ..Placed::default() }))
            .collect();
        let (system, notes) = Scene::new(0.01).fill(Fill::at(placed.clone())).build_with_notes().unwrap();
        let [Note::Relaxed { overlaps, left, moved, .. }] = notes[..] else { panic!("{notes:?}") };
        assert!(overlaps >= SMALL && left == 0.0, "{notes:?}");
        let deep = (large + 0.5) * depth;
        assert!(moved < 2.0 * deep, "{moved} for overlaps of {deep}");
        let shift = system.spheres[0].position - placed[0].position;
        assert!(shift.length() < 0.2 * deep, "the large one by {shift}");
        system.validate().unwrap();
    }
}

#[test]
fn fixed_spheres_are_not_moved_by_relaxation() {
    let scene = Scene::new(0.01).fill(Fill::at([at(0.0)]).fixed()).fill(at(0.995));
    let system = scene.build().unwrap();
    assert_eq!(system.spheres[0].position.x, 0.0);
    assert!(system.spheres[1].position.x >= 1.0 && system.spheres[1].position.x < 1.0001);
}

#[test]
fn relaxation_across_the_boundary_of_a_period() {
    let scene = Scene::new(0.01).periodic().bounds([0.0; 3], [4.0; 3]).fill(at(0.1)).fill(at(3.104));
    let system = scene.build().unwrap();
    let [a, b] = [0, 1].map(|i| system.spheres[i].position);
    assert!(system.separation(a, b).length() >= 1.0);
}

#[test]
fn every_error_of_a_scene_is_named() {
    let random = || Fill::random(10).volume_fraction(0.1);
    let new = || Scene::new(0.01);
    let cases: Vec<(Scene, &str)> = vec![
        (new().material("a", 1.0, 1.0).material("a", 0.5, 1.0), "two materials called \"a\""),
        (new().material("a", 1.1, 1.0), "materials.a.restitution is 1.1; a restitution is between 0 and 1"),
        (new().material("a", f64::NAN, 1.0), "materials.a.restitution is NaN"),
        (new().material("a", 1.0, 0.0), "materials.a.density is 0; a density is finite and > 0"),
        (new().pair("default", "b", 0.5), "there is no material \"b\"; the materials are default"),
        (new().pair("default", "default", -0.5), "pairs[0].restitution is -0.5"),
        (
            new().surface("a", Surface { friction: -0.1, ..Surface::default() }, 1.0),
            "materials.a.friction is -0.1; a coefficient of friction is between 0 and 1000",
        ),
        (
            new().pair_surface(
                "default",
                "default",
                Surface { friction: f64::INFINITY, ..Surface::default() },
            ),
            "pairs[0].friction is inf",
        ),
        (new().wall([0.0; 3], [0.0; 3], "default"), "walls[0].plane.normal is zero"),
        (
            new().wall([0.0; 3], [0.0, f64::INFINITY, 0.0], "default"),
            "walls[0].plane.normal has the y component inf",
        ),
        (new().wall([0.0; 3], [1.0, 0.0, 0.0], "b"), "there is no material \"b\""),
        (new().fill(Fill::at([at(f64::NAN)])), "spheres[0].at[0].position has the x component NaN"),
        (
            new().fill(Placed { radius: 0.0, ..at(0.0) }),
            "spheres[0].at[0].radius is 0; a radius is finite and > 0",
        ),
        (
            new().fill(Placed { mass: Some(-1.0), ..at(0.0) }),
            "spheres[0].at[0].mass is -1; a mass is finite and > 0",
        ),
        (
            new().fill(random().diameter(-1.0)),
            "spheres[0].random.diameter is -1; a diameter is finite and > 0",
        ),
        (new().fill(random().diameters([])), "spheres[0].random.diameters is empty"),
        (new().fill(random().diameters([(1.0, 0.5), (2.0, 0.2)])), "add up to 0.7"),
        (new().fill(random().volume_fraction(0.0)), "volume_fraction is 0"),
        (new().fill(random().temperature(-1.0)), "spheres[0].temperature is -1; kT is finite and >= 0"),
        (new().fill(random().speed_uniform(f64::NAN)), "spheres[0].speed_uniform is NaN"),
        (new().fill(random().velocity([0.0, f64::NAN, 0.0])), "spheres[0].velocity has the y component NaN"),
        (
            new().flat().fill(random().velocity([0.0, 0.0, 1.0])),
            "spheres[0].velocity has the z component 1; in 2D",
        ),
        (new().flat().gravity([0.0, 0.0, -1.0]), "world.gravity.z is -1; in 2D it is 0"),
        (new().fill(Fill::random(10)), "spheres[0].random does not say how large a box to fill"),
        (new().walled(), "bounds.x is bounded but bounds.max is missing"),
        (new().fill(Fill::lattice([2, 2, 2], 0.0)), "spheres[0].lattice.spacing is 0"),
        (new().fill(Fill::lattice([2, 2, 2], 1.0).kind(LatticeKind::Triangular)), "does not exist in 3D"),
        (new().flat().fill(Fill::lattice([2, 2, 2], 1.0)), "spheres[0].lattice.count has layers along z"),
        (
            new().fill(Fill::fraction(0.1).region([1.0; 3], [1.0; 3])),
            "spheres[0].random runs from 1 to 1 in x",
        ),
        (new().fill(at(0.0)).fill(at(0.5)), "spheres 0 and 1 overlap by 0.500 of their mean diameter"),
        (
            new().fill(Fill::at([at(0.0), at(5.0), at(5.5)])),
            "move them apart; overlap up to 0.01 (solver.max_initial_overlap) is relaxed (in spheres[0].at[2])",
        ),
    ];
    for (scene, what) in cases {
        let error = scene.build().unwrap_err();
        assert!(matches!(error, Error::Invalid(_)));
        assert!(error.to_string().contains(what), "expected {what:?} in: {error}");
    }
    let many = Scene::new(0.01).fill(Fill::lattice([u64::MAX, 2, 2], 1.5));
    assert!(matches!(many.build(), Err(Error::Capacity(text)) if text.contains(&MAX_SPHERES.to_string())));
}

#[test]
#[should_panic(expected = "volume_fraction is for random fills")]
fn a_lattice_has_no_volume_fraction() {
    let _ = Fill::lattice([2, 2, 2], 1.0).volume_fraction(0.1);
}

#[test]
fn settings_without_effect_are_noted() {
    let surface = Surface { restitution: 0.5, friction: 0.5, rolling_friction: 0.01, ..Surface::default() };
    let elastic = Surface { restitution: 1.0, ..surface };
    for (surface, gravity, has_effect) in [(surface, 0.0, false), (elastic, 1.0, false), (surface, 1.0, true)]
    {
        let scene = Scene::new(0.01).surface("default", surface, 1.0).gravity(-gravity * DVec3::Z);
        let (system, notes) = scene.build_with_notes().unwrap();
        assert_eq!(system.materials.surface(0, 0).rolling_friction, 0.01);
        if has_effect {
            assert_eq!(notes, []);
        } else {
            assert_eq!(notes, [Note::WithoutEffect { field: "rolling_friction" }]);
            assert!(notes[0].to_string().starts_with("rolling_friction has no effect"));
        }
    }
}

#[test]
#[should_panic(expected = "materials 0 and 1 of 1")]
fn a_missing_material_panics() {
    Materials::default().surface(0, 1);
}
