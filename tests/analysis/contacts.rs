//! Coordination by distance, and force networks.

use carom::Dimensions::{Three, Two};
use carom::analysis::{Domain, coordination, force_network};
use carom::{Contact, Partner};
use glam::DVec3;

use crate::support::{domain, points, rng, uniform};

#[test]
fn contacts_are_those_of_brute_force_for_spheres_of_many_sizes() {
    for seed in 0..12 {
        let dimensions = if seed % 3 == 2 { Two } else { Three };
        let periodic = [true, seed % 2 == 0, seed % 4 == 0 && dimensions == Three];
        let domain = domain([14.0, 15.0, 16.0], periodic, dimensions);
        let mut rng = rng(seed);
        let positions = points(&mut rng, 500, &domain);
        let radii: Vec<f64> = (0..500).map(|_| 0.02 * (100f64).powf(uniform(&mut rng))).collect();
        let mut counts = vec![0; 500];
        for i in 0..500 {
            for j in 0..i {
                if domain.separation(positions[i], positions[j]).length() <= 1.1 * (radii[i] + radii[j]) {
                    counts[i] += 1;
                    counts[j] += 1;
                }
            }
        }
        let found = coordination(&positions, &radii, &domain, 0.1, 4).unwrap();
        assert_eq!(found.counts, counts, "seed {seed}");
        assert_eq!(found.contacts, counts.iter().map(|c| u64::from(*c)).sum::<u64>() / 2);
        assert_eq!(found.histogram.iter().sum::<u64>(), 500);
        assert_eq!(found.mean, found.contacts as f64 / 250.0);
    }
}

#[test]
fn rattlers_are_removed_until_none_is_left() {
    // A ring of six touching discs, with a tail of three: the tail goes one by one, the ring holds with two contacts each.
    let on_ring = |k: u32| DVec3::X.rotate_z(f64::from(k) * std::f64::consts::PI / 3.0);
    let mut positions: Vec<DVec3> = (0..6).map(on_ring).collect();
    positions.extend((2..5).map(|k| DVec3::X * f64::from(k)));
    positions.push(DVec3::new(0.0, 9.0, 0.0));
    let domain =
        Domain { max: DVec3::splat(20.0), min: DVec3::splat(-20.0), periodic: [false; 3], dimensions: Two };
    let found = coordination(&positions, &[0.5; 10], &domain, 1e-9, 2).unwrap();
    assert_eq!(found.counts, [3, 2, 2, 2, 2, 2, 2, 2, 1, 0]);
    assert_eq!(found.histogram, [1, 1, 7, 1]);
    assert_eq!((found.rattlers, found.mean_without_rattlers), (4, Some(2.0)));
    let strict = coordination(&positions, &[0.5; 10], &domain, 1e-9, 3).unwrap();
    assert_eq!((strict.rattlers, strict.mean_without_rattlers), (10, None));
}

fn contact(sphere: u32, partner: Partner, normal: DVec3, normal_force: f64, friction: DVec3) -> Contact {
    Contact {
        sphere,
        partner,
        point: DVec3::ZERO,
        normal,
        branch: normal,
        gap: 0.0,
        force: normal * normal_force + friction,
        torque: DVec3::ZERO,
    }
}

#[test]
fn a_force_network_has_the_figures_that_it_has_on_paper() {
    let contacts = [
        contact(0, Partner::Sphere(1), DVec3::Z, 1.0, DVec3::X * 0.3),
        contact(1, Partner::Sphere(2), DVec3::Z, 2.0, DVec3::ZERO),
        contact(2, Partner::Sphere(3), DVec3::X, 6.0, DVec3::Y * -1.2),
        contact(3, Partner::Sphere(4), DVec3::Y, 0.0, DVec3::ZERO),
        contact(0, Partner::Wall(0), DVec3::Z, 10.0, DVec3::X * 5.0),
    ];
    let found = force_network(&contacts, Three, 8).unwrap();
    assert_eq!((found.sphere_contacts, found.wall_contacts, found.unloaded), (4, 1, 1));
    assert_eq!(found.mean_normal_force, 9.0 / 4.0);
    assert!((found.largest_normal_force - 6.0 / 2.25).abs() < 1e-15);
    // Shares 4/9, 8/9, 24/9 and 0 in bins of 1/3.
    assert_eq!(found.normal_forces, [1, 1, 1, 0, 0, 0, 0, 1]);
    assert!(((0..8).map(|k| found.density(k) * found.bin_width).sum::<f64>() - 1.0).abs() < 1e-12);
    // Mobilizations 0.3, 0, 0.2.
    assert!((found.mean_mobilization - 0.5 / 3.0).abs() < 1e-15);
    assert!((found.largest_mobilization - 0.3).abs() < 1e-15);
    assert_eq!(found.mobilizations, [1, 0, 0, 0, 0, 1, 0, 1]);
    // Two normals along z, one along x, one along y.
    assert_eq!(found.fabric.to_cols_array(), [0.25, 0.0, 0.0, 0.0, 0.25, 0.0, 0.0, 0.0, 0.5]);
    assert!((found.anisotropy - 0.25).abs() < 1e-7);
    // Only the contact along x is strong.
    assert_eq!(found.strong_share, 0.25);
    assert!((found.strong_anisotropy.unwrap() - 1.0).abs() < 1e-7);
    // Contacts of spheres 0 to 4: 2, 2, 2, 2, 1.
    assert_eq!((found.coordination, &found.coordinations[..]), (9.0 / 5.0, &[0, 1, 4][..]));
    // Sum of force times branch: zz 1 + 2 + 10, xx 6; of the shears xz 0.3 + 5 and yx -1.2.
    let stress = found.stress(2.0);
    assert!((stress.z_axis - DVec3::new(5.3, 0.0, 13.0) / 2.0).length() < 1e-12);
    assert!((stress.x_axis - DVec3::new(6.0, -1.2, 0.0) / 2.0).length() < 1e-12);
    assert_eq!(stress.y_axis, DVec3::ZERO);
}
