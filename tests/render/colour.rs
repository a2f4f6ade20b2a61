//! Colours agree with the colour map.

use carom::render::{Camera, Colour, Image, Map, Range, Recent, RenderWorld, Spheres, Studio, Style};
use carom::{Impact, Partner, Sphere, System};
use glam::DVec3;

use super::tools::{bare, camera, difference, different, open, picture, sphere, system};

const SIZE: [u32; 2] = [240, 80];

// A row of spheres with speeds 0, 1, 2, ... and a camera that sees all of them.
fn row(count: u32) -> (System, Camera) {
    let spheres = (0..count)
        .map(|k| Sphere {
            velocity: DVec3::new(0.6, -0.8, 0.0) * f64::from(k),
            material: (k % 2) as u16,
            ..sphere(
                10 * k + 10,
                DVec3::new(1.2 * (f64::from(k) - 0.5 * f64::from(count - 1)), 0.0, 0.0),
                0.5,
            )
        })
        .map(|s| Sphere { radius: 0.3 + 0.02 * f64::from(s.id) / 10.0, ..s })
        .collect();
    let mut system = system(spheres);
    system.materials.push("other", 1.0, 1.0);
    (system, camera(DVec3::ZERO, 8.0, 20.0))
}

fn at(image: &Image, camera: &Camera, point: DVec3) -> [u8; 4] {
    let (x, y, _) = camera.project(point, [image.width, image.height]).unwrap();
    image.pixel(x as u32, y as u32)
}

fn of_map(map: Map, value: f64) -> [u8; 4] {
    let [r, g, b] = map.colour(value).map(|c| (255.0 * c).round() as u8);
    [r, g, b, 255]
}

#[test]
fn a_known_speed_has_the_colour_that_the_map_gives_it() {
    let context = open();
    let (system, camera) = row(6);
    for map in Map::ALL.iter().copied() {
        let style = Style { map, range: Range::Locked(0.5, 4.5), ..bare() };
        let image = picture(&context, &system, &camera, &style, SIZE);
        for (k, sphere) in system.spheres.iter().enumerate() {
            let (seen, right) = (at(&image, &camera, sphere.position), of_map(map, (k as f64 - 0.5) / 4.0));
            assert!(difference(seen, right) <= 2, "{map:?}: speed {k} is {seen:?}, not {right:?}");
        }
        assert!(difference(of_map(map, 0.1), of_map(map, 0.9)) > 50, "the map would tell nothing");
    }
}

#[test]
fn light_changes_the_lightness_of_a_colour_and_hardly_its_hue() {
    let context = open();
    let (system, camera) = row(6);
    let style = Style { map: Map::Turbo, range: Range::Locked(0.0, 5.0), ..bare() };
    let lit = Style { flat: false, ..style };
    let flat = picture(&context, &system, &camera, &style, SIZE);
    let lit = picture(&context, &system, &camera, &lit, SIZE);
    for sphere in &system.spheres {
        let [a, b] = [&flat, &lit].map(|image| {
            let [r, g, b, _] = at(image, &camera, sphere.position).map(f64::from);
            DVec3::new(r, g, b)
        });
        assert!(a.angle_between(b) < 0.2, "{a} became {b}");
    }
    assert!(different(&flat, &lit, 10) > 1000, "no light at all");
}

#[test]
fn an_automatic_range_ends_where_the_values_do_and_a_locked_one_does_not() {
    let context = open();
    let (system, camera) = row(6);
    let draw = |range, colour| {
        let style = Style { map: Map::Turbo, range, colour, ..bare() };
        picture(&context, &system, &camera, &style, SIZE)
    };
    let (first, last) = (&system.spheres[0], &system.spheres[5]);
    // Radii from the least to the greatest.
    let image = draw(Range::Automatic, Colour::Radius);
    assert!(difference(at(&image, &camera, first.position), of_map(Map::Turbo, 0.0)) <= 2);
    assert!(difference(at(&image, &camera, last.position), of_map(Map::Turbo, 1.0)) <= 2);
    // Speeds from 0 to 5, the greatest of so few spheres.
    let image = draw(Range::Automatic, Colour::Speed);
    assert!(difference(at(&image, &camera, system.spheres[2].position), of_map(Map::Turbo, 0.4)) <= 12);
    let locked = draw(Range::Locked(0.0, 50.0), Colour::Speed);
    assert!(difference(at(&locked, &camera, last.position), of_map(Map::Turbo, 0.1)) <= 2);
    assert!(different(&image, &locked, 20) > 500);
}

#[test]
fn an_automatic_range_covers_all_but_a_few_fast_spheres() {
    let context = open();
    let mut spheres: Vec<_> = (0..1000)
        .map(|k| {
            let place = DVec3::new(f64::from(k % 40) - 20.0, 5.0 + f64::from(k / 40), -3.0);
            Sphere { velocity: DVec3::X * f64::from(k) / 1000.0, ..sphere(k, place, 0.3) }
        })
        .collect();
    spheres[3].velocity = DVec3::X * 1e4;
    let middle = Sphere { velocity: DVec3::Z * 0.49, ..sphere(5000, DVec3::ZERO, 0.5) };
    spheres.push(middle);
    let system = system(spheres);
    let camera = camera(DVec3::ZERO, 8.0, 20.0);
    let style = Style { map: Map::Turbo, ..bare() };
    let image = picture(&context, &system, &camera, &style, SIZE);
    // Half of the 98th percentile of the speed, regardless of the fastest sphere. Histogram bins are an eighth wide.
    let near: Vec<_> = [0.47, 0.48, 0.49, 0.5, 0.51, 0.52, 0.53]
        .iter()
        .map(|&value| difference(at(&image, &camera, middle.position), of_map(Map::Turbo, value)))
        .collect();
    assert!(near.iter().any(|&off| off <= 6), "{near:?}");
}

#[test]
fn every_colour_shows_what_it_stands_for() {
    let context = open();
    let (mut system, camera) = row(4);
    // All spheres are equal except in one property, which spheres 0 and 1 share and 2 and 3 do not.
    for sphere in &mut system.spheres {
        (sphere.velocity, sphere.radius, sphere.material) = (DVec3::X, 0.5, 0);
    }
    let mut recent = Recent::new();
    let struck = |id, time| Impact {
        time,
        sphere: id,
        partner: Partner::Wall(0),
        point: DVec3::ZERO,
        normal: DVec3::Z,
        impulse: 1.0,
    };
    recent.note(&[struck(10, 0.5), struck(20, 0.5), struck(30, 0.9)], 1.0);
    type Change = fn(&mut Sphere);
    let cases: [(Colour, Range, Change); 7] = [
        (Colour::Speed, Range::Locked(0.0, 4.0), |s| s.velocity *= 2.0),
        (Colour::Radius, Range::Locked(0.1, 1.0), |s| s.radius = 0.4),
        (Colour::Material, Range::Automatic, |s| s.material = 1),
        (Colour::Id, Range::Locked(0.0, 100.0), |s| s.id = 90),
        (Colour::Impacts, Range::Locked(0.0, 1.0), |_| {}),
        (Colour::Overlap, Range::Locked(0.0, 0.2), |s| s.position.x += 0.25),
        (Colour::Spin, Range::Locked(0.0, 4.0), |s| s.spin.y = 3.0),
    ];
    // `contacts` tests the colours that need contacts or a second run.
    let others = [Colour::Contacts, Colour::Force, Colour::Difference].len();
    assert_eq!(cases.len() + others, Colour::ALL.len());
    let mut studio = Studio::new(&context, SIZE).unwrap();
    for (colour, range, change) in cases {
        let mut system = system.clone();
        change(&mut system.spheres[2]);
        let spheres = Spheres::upload(&context, &system.spheres, &system, Some(&recent));
        let style = Style { colour, range, map: Map::Turbo, ..bare() };
        let image = studio.picture(&spheres, &RenderWorld::of(&system), &camera, &style).unwrap();
        let seen: Vec<_> = system.spheres.iter().map(|s| at(&image, &camera, s.position)).collect();
        assert!(difference(seen[0], seen[2]) > 20, "{colour:?} does not show: {seen:?}");
        if colour == Colour::Overlap {
            // Two spheres overlap by .05 of a diameter, two not at all.
            assert!(difference(seen[2], of_map(Map::Turbo, 0.25)) <= 3, "{seen:?}");
            assert!(difference(seen[3], of_map(Map::Turbo, 0.25)) <= 3, "{seen:?}");
            assert!(difference(seen[0], of_map(Map::Turbo, 0.0)) <= 3, "{seen:?}");
        } else if colour == Colour::Impacts {
            assert!(difference(seen[0], of_map(Map::Turbo, 0.5)) <= 3, "{seen:?}");
            assert!(difference(seen[2], of_map(Map::Turbo, 0.9)) <= 3, "{seen:?}");
            // No contact so far.
            assert!(difference(seen[3], of_map(Map::Turbo, 0.0)) <= 3, "{seen:?}");
        } else if colour != Colour::Id {
            assert!(difference(seen[0], seen[1]) <= 2, "{colour:?} shows something else: {seen:?}");
        }
    }
}

#[test]
fn overlaps_are_found_across_the_periodic_boundary_and_beyond_the_nearest_cell() {
    let context = open();
    let mut system = system(vec![
        sphere(1, DVec3::new(0.02, 5.0, 5.0), 0.5),
        sphere(2, DVec3::new(9.1, 5.0, 5.0), 0.5),
        sphere(3, DVec3::new(5.0, 5.0, 5.0), 0.1),
    ]);
    system.bounds.max = DVec3::splat(10.0);
    system.bounds.sides = [carom::Side::Periodic; 3];
    let camera = camera(DVec3::splat(5.0), 20.0, 40.0);
    let style = Style { colour: Colour::Overlap, range: Range::Locked(0.0, 0.16), map: Map::Turbo, ..bare() };
    let image = picture(&context, &system, &camera, &style, [400, 400]);
    for (sphere, depth) in system.spheres.iter().zip([0.08, 0.08, 0.0]) {
        let (seen, right) = (at(&image, &camera, sphere.position), of_map(Map::Turbo, depth / 0.16));
        assert!(difference(seen, right) <= 3, "{}: {seen:?}, not {right:?}", sphere.id);
    }
}

#[test]
fn maps_agree_with_the_published_tables() {
    // From the published tables: ends and middle.
    for (map, value, rgb) in [
        (Map::Turbo, 0.0, [48, 18, 59]),
        (Map::Turbo, 0.5, [164, 252, 60]),
        (Map::Turbo, 1.0, [122, 4, 3]),
        (Map::Viridis, 0.0, [68, 1, 84]),
        (Map::Viridis, 0.5, [33, 145, 140]),
        (Map::Viridis, 1.0, [253, 231, 37]),
    ] {
        let [r, g, b] = rgb;
        let seen = of_map(map, value);
        assert!(difference(seen, [r, g, b, 255]) <= 2, "{map:?} at {value}: {seen:?}");
    }
    // Lightness of viridis and grey rises monotonically.
    for map in [Map::Viridis, Map::Grey] {
        let light = |k: i32| {
            let [r, g, b] = map.colour(f64::from(k) / 64.0);
            0.2126 * r.powf(2.2) + 0.7152 * g.powf(2.2) + 0.0722 * b.powf(2.2)
        };
        assert!((1..=64).all(|k| light(k) > light(k - 1)), "{map:?}");
    }
}

#[test]
fn names_are_read_back() {
    for colour in Colour::ALL.iter().copied() {
        assert_eq!(colour.name().parse(), Ok(colour));
        assert_ne!(colour.next(), colour);
    }
    for map in Map::ALL.iter().copied() {
        assert_eq!(map.name().parse(), Ok(map));
    }
    assert!("sped".parse::<Colour>().unwrap_err().contains("speed, radius"));
}
