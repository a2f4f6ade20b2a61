//! Input that has no answer is refused with the reason.

use carom::Dimensions::{Three, Two};
use carom::analysis::{
    Domain, Snapshot, coordination, flow_rate, force_network, mean_square_displacement, packing_fraction,
    packing_profile, partial_radial_distributions, radial_distribution, speed_distributions,
};
use carom::{Contact, Error, Partner};
use glam::DVec3;

use crate::support::{domain, points, rng};

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, text: &str) {
    match result {
        Err(Error::Invalid(message)) => assert!(message.contains(text), "no `{text}` in: {message}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn radial_distributions_refuse_what_they_cannot_normalize() {
    let box_ = domain([4.0, 5.0, 6.0], [true, true, false], Three);
    let positions = points(&mut rng(1), 20, &box_);
    refused(radial_distribution(&positions, &box_, 10, 2.1), "half of the period");
    refused(radial_distribution(&positions[..1], &box_, 10, 1.0), "two spheres");
    refused(radial_distribution(&positions, &box_, 0, 1.0), "bins");
    refused(radial_distribution(&positions, &box_, 10, -1.0), "range");
    refused(radial_distribution(&positions, &box_, 10, f64::NAN), "range");
    refused(radial_distribution(&[positions[0], DVec3::NAN], &box_, 10, 1.0), "finite position");
    refused(radial_distribution(&[positions[0], DVec3::Z * 99.0], &box_, 10, 1.0), "outside the box along z");
    let flat = Domain::around(&positions.iter().map(|p| p.with_x(0.0)).collect::<Vec<_>>(), Three);
    refused(radial_distribution(&positions, &flat, 10, 1.0), "x = 0");
    refused(partial_radial_distributions(&positions, &[64; 20], &box_, 10, 1.0), "below 64");
    refused(partial_radial_distributions(&positions, &[0; 19], &box_, 10, 1.0), "19 kinds for 20");
}

#[test]
fn the_other_functions_refuse_bad_values() {
    let box_ = domain([4.0, 5.0, 6.0], [true; 3], Three);
    let positions = points(&mut rng(1), 3, &box_);
    refused(speed_distributions(&[DVec3::X; 5], &[1.0; 5], Three, 10), "same velocity");
    refused(speed_distributions(&[DVec3::X], &[1.0], Three, 10), "two spheres");
    refused(speed_distributions(&[DVec3::X, DVec3::Y], &[1.0, 0.0], Three, 10), "mass 0");
    refused(packing_fraction(&positions, &[0.5, 0.5, -1.0], &box_), "radius -1");
    refused(packing_fraction(&positions, &[2.5; 3], &box_), "wider than a period");
    refused(packing_profile(&positions, &[0.5; 3], &Domain { dimensions: Two, ..box_ }, 2, 10), "axis 2");
    refused(coordination(&positions, &[0.5; 3], &box_, 1.5, 4), "tolerance");
    refused(coordination(&positions, &[1.2; 3], &box_, 0.0, 4), "half of a period");
    refused(force_network(&[], Three, 10), "carry no force");
    let bad = Contact {
        sphere: 4,
        partner: Partner::Sphere(5),
        point: DVec3::ZERO,
        normal: DVec3::Z,
        branch: DVec3::Z,
        gap: 0.0,
        force: DVec3::NAN,
        torque: DVec3::ZERO,
    };
    refused(force_network(&[bad], Three, 10), "sphere 4");
    refused(flow_rate(&[1.0], &[1], 5), "at least two");
    refused(flow_rate(&[1.0, 1.0], &[1, 1], 5), "increasing");
    let state =
        |time, ids: &[u32]| Snapshot { time, ids: ids.to_vec(), positions: vec![DVec3::ZERO; ids.len()] };
    refused(mean_square_displacement(&[state(0.0, &[1])], &[box_]), "two states");
    refused(mean_square_displacement(&[state(1.0, &[1]), state(1.0, &[1])], &[box_]), "increasing times");
    refused(mean_square_displacement(&[state(0.0, &[1, 1]), state(1.0, &[1])], &[box_]), "twice");
    refused(mean_square_displacement(&[state(0.0, &[1]), state(1.0, &[2])], &[box_]), "no id");
}
