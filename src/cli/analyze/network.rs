//! The force network of a contacts file.

use carom::analysis::force_network;
use carom::{Contact, Partner};

use super::{AnalyzeArguments, Input, section::Section};
use crate::cli::{
    chart::{Chart, Form, Series},
    command_error::CommandError,
};

/// Share of the largest possible friction from which a contact counts as fully mobilized.
const FULL: f64 = 0.99;

/// Statistics of the contacts.
pub fn forces(input: &Input, arguments: &AnalyzeArguments) -> Result<Section, CommandError> {
    let contacts = input.contacts.as_deref().expect("checked before");
    let bins = arguments.bins.unwrap_or(50) as usize;
    let found = force_network(contacts, input.dimensions, bins)?;
    let middle = |k: usize| (k as f64 + 0.5) * found.bin_width;
    let points = (0..bins).map(|k| (middle(k), found.density(k))).collect();
    let title = "Normal forces between spheres";
    let chart = Chart {
        title: title.to_owned(),
        labels: ["normal force / mean".to_owned(), "probability density".to_owned()],
        logarithmic: [false, true],
        series: vec![Series::new("contacts", Form::Points, points)],
    };
    let columns = ["normal_force", "contacts", "density", "mobilization", "mobilized_contacts"];
    let mut section = Section::new("forces", title, &columns, chart);
    let mobilization = |k: usize| (k as f64 + 0.5) * found.largest_mobilization / bins as f64;
    for k in 0..bins {
        let (normal, mobilized) = (found.normal_forces[k] as f64, found.mobilizations[k] as f64);
        section.row(&[middle(k), normal, found.density(k), mobilization(k), mobilized]);
    }
    section.figure("sphere_contacts", found.sphere_contacts);
    section.figure("wall_contacts", found.wall_contacts);
    section.figure("unloaded", found.unloaded);
    section.figure("mean_normal_force", found.mean_normal_force);
    section.figure("largest_over_mean", found.largest_normal_force);
    section.figure("strong_share", found.strong_share);
    section.figure("mean_mobilization", found.mean_mobilization);
    section.figure("largest_mobilization", found.largest_mobilization);
    section
        .figure("fully_mobilized_share", friction(input).map(|friction| fully_mobilized(contacts, friction)));
    section.figure("coordination", found.coordination);
    section.figure("fabric", symmetric(found.fabric));
    section.figure("anisotropy", found.anisotropy);
    section.figure("strong_anisotropy", found.strong_anisotropy);
    let volume = volume(input);
    section.figure("stress", volume.map(|volume| symmetric(found.stress(volume))));
    section.figure("stress_volume", volume);
    if volume.is_none() {
        section
            .notes
            .push("no box was given, so there is no stress; give a file of the spheres, or --scene".into());
    }
    Ok(section)
}

// xx, yy, zz, xy, xz, yz; of the stress the mean of both shear components.
fn symmetric(tensor: glam::DMat3) -> Vec<f64> {
    let (x, y, z) = (tensor.x_axis, tensor.y_axis, tensor.z_axis);
    vec![x.x, y.y, z.z, 0.5 * (x.y + y.x), 0.5 * (x.z + z.x), 0.5 * (y.z + z.y)]
}

// The box of the last state, or of the scene if all of its axes end.
fn volume(input: &Input) -> Option<f64> {
    let of_state = input.states.last().and_then(|state| input.domain(state));
    let of_scene = || {
        let system = input.system.as_ref()?;
        let is_open = |axis: usize| system.bounds.sides[axis] == carom::Side::Open;
        (!(0..input.dimensions.count()).any(is_open)).then(|| carom::analysis::Domain::of(system))
    };
    let volume = of_state.or_else(of_scene)?.volume();
    (volume.is_finite() && volume > 0.0).then_some(volume)
}

// The friction coefficient of a scene in which all pairs have the same.
fn friction(input: &Input) -> Option<f64> {
    let surfaces = input.system.as_ref()?.materials.surfaces();
    let friction = surfaces.first()?.friction;
    (friction > 0.0 && surfaces.iter().all(|surface| surface.friction == friction)).then_some(friction)
}

fn fully_mobilized(contacts: &[Contact], friction: f64) -> f64 {
    let parts = |c: &Contact| {
        let normal = c.force.dot(c.normal);
        (normal, (c.force - c.normal * normal).length())
    };
    let between = contacts.iter().filter(|c| matches!(c.partner, Partner::Sphere(_)));
    let loaded: Vec<(f64, f64)> = between.map(parts).filter(|(normal, _)| *normal > 0.0).collect();
    let full = loaded.iter().filter(|(normal, tangential)| *tangential >= FULL * friction * normal).count();
    full as f64 / loaded.len().max(1) as f64
}
