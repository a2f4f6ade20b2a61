//! Displacements and flow rates.

use carom::Dimensions::{Three, Two};
use carom::analysis::{Domain, Snapshot, flow_rate, mean_square_displacement};
use glam::DVec3;

use crate::support::{domain, normal, points, rng};

#[test]
fn uniform_motion_across_a_periodic_boundary_grows_with_the_square_of_time() {
    let domain = domain([5.0, 4.0, 3.0], [true, true, false], Three);
    let start = points(&mut rng(1), 50, &domain);
    let velocity = DVec3::new(1.7, -0.9, 0.3);
    let states: Vec<Snapshot> = (0..40)
        .map(|k| {
            let time = 0.5 * f64::from(k);
            // Written wrapped, and in another order each time.
            let mut spheres: Vec<(u32, DVec3)> =
                (0..).zip(start.iter().map(|p| domain.wrap(*p + velocity * time))).collect();
            spheres.rotate_left(k as usize);
            let (ids, positions) = spheres.into_iter().unzip();
            Snapshot { time: 7.0 + time, ids, positions }
        })
        .collect();
    let found = mean_square_displacement(&states, &[domain]).unwrap();
    assert!(found.averages_origins && found.sphere_count == 50 && found.points.len() == 40);
    for (k, point) in found.points.iter().enumerate() {
        let expected = (velocity * point.lag) * (velocity * point.lag);
        assert!((point.squares - expected).length() < 1e-11 * (1.0 + expected.length()), "lag {}", point.lag);
        assert_eq!(point.origins, 40 - k);
    }
    // 0.85 of 5 along x.
    assert!((found.largest_jump - 0.9 * 0.5 / 4.0).abs() < 0.06 && found.largest_jump < 0.5);
    let fit = found.diffusion(0.1, 0.9, Three).unwrap();
    assert!((fit.exponent - 2.0).abs() < 1e-10);
}

#[test]
fn a_random_walk_diffuses() {
    for dimensions in [Two, Three] {
        let domain = domain([6.0, 6.0, 6.0], [true, true, dimensions == Three], dimensions);
        let mut rng = rng(9);
        let (count, step) = (2000, 0.3);
        let mut positions = points(&mut rng, count, &domain);
        let mut states = vec![];
        for k in 0..60 {
            states.push(Snapshot {
                time: 0.1 * f64::from(k),
                ids: (0..count as u32).collect(),
                positions: positions.clone(),
            });
            positions.iter_mut().for_each(|p| *p = domain.wrap(*p + normal(&mut rng, dimensions) * step));
        }
        let found = mean_square_displacement(&states, &[domain]).unwrap();
        let fit = found.diffusion(0.1, 0.5, dimensions).unwrap();
        // step^2 / (2 dt) on each axis.
        assert!((fit.coefficient / 0.45 - 1.0).abs() < 0.05, "{dimensions:?}: {fit:?}");
        assert!((fit.exponent - 1.0).abs() < 0.03, "{dimensions:?}: {fit:?}");
        assert!(found.points[1].squares.z == 0.0 || dimensions == Three);
    }
}

#[test]
fn spheres_that_come_or_go_are_left_out_and_uneven_times_have_one_origin() {
    let open = Domain::around(&[], Three);
    let state = |time: f64, ids: &[u32]| Snapshot {
        time,
        ids: ids.to_vec(),
        positions: ids.iter().map(|id| DVec3::X * time * f64::from(*id)).collect(),
    };
    // Sphere 1 is missing once, sphere 5 comes late, sphere 3 goes.
    let states = [state(0.0, &[2, 1, 3, 4]), state(1.0, &[4, 2, 3]), state(3.0, &[1, 2, 5, 4])];
    let found = mean_square_displacement(&states, &[open]).unwrap();
    assert_eq!((found.sphere_count, found.averages_origins, found.largest_jump), (2, false, 0.0));
    let totals: Vec<f64> = found.points.iter().map(|point| point.total()).collect();
    assert_eq!(totals, [0.0, (4.0 + 16.0) / 2.0, 9.0 * (4.0 + 16.0) / 2.0]);
    assert_eq!(found.diffusion(0.0, 1.0, Three), None);
}

#[test]
fn a_flow_has_its_rate_between_its_start_and_its_end() {
    // One sphere in each step of 0.5 from 10 to 30, nothing before and after.
    let times: Vec<f64> = (1..=100).map(|k| 0.5 * f64::from(k)).collect();
    let counts: Vec<u64> = times.iter().map(|t| u64::from(*t > 10.0 && *t <= 30.0)).collect();
    let flow = flow_rate(&times, &counts, 10).unwrap();
    assert_eq!((flow.total, flow.active), (40, Some([10.5, 30.0])));
    assert_eq!(flow.steady_rate, Some(2.0));
    assert_eq!((flow.edges[0], flow.edges[10]), (0.0, 50.0));
    for (k, rate) in flow.rates.iter().enumerate() {
        let expected = if (2..6).contains(&k) { 2.0 } else { 0.0 };
        assert!((rate - expected).abs() < 1e-12, "{k}: {rate}");
    }
    // Bins that divide steps share their counts.
    let fine = flow_rate(&times, &counts, 333).unwrap();
    let sum: f64 = fine.rates.iter().map(|rate| rate * 50.0 / 333.0).sum();
    assert!((sum - 40.0).abs() < 1e-9);
    let none = flow_rate(&times, &[0; 100], 10).unwrap();
    assert_eq!((none.total, none.active, none.steady_rate), (0, None, None));
}
