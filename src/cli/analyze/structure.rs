//! Measurements of single states: radial distribution, speeds, packing fraction, coordination.

use carom::Dimensions;
use carom::analysis::{
    Coordination, RadialDistribution, SpeedDistribution, coordination as count_contacts, packing_fraction,
    packing_profile, partial_radial_distributions, radial_distribution, speed_distributions,
};
use glam::DVec3;
use serde_json::json;

use super::{
    AnalyzeArguments, Axis,
    input::{Input, State},
    section::Section,
};
use crate::cli::{
    chart::{Chart, Form, Series},
    command_error::CommandError,
    text::number,
};

/// Default range of rdf, in mean diameters.
const RANGE: f64 = 5.0;

fn linear_chart(title: &str, x: &str, y: &str, series: Vec<Series>) -> Chart {
    let labels = [x.to_owned(), y.to_owned()];
    Chart { title: title.to_owned(), labels, logarithmic: [false, false], series }
}

/// The radial distribution function, and with --partial that between each two materials.
pub fn rdf(input: &Input, arguments: &AnalyzeArguments) -> Result<Vec<Section>, CommandError> {
    let states = input.chosen(arguments);
    let last = &states[states.len() - 1];
    let range = match arguments.range {
        Some(range) => range,
        None => states.iter().map(|state| longest(input, state)).fold(RANGE * last.mean_diameter(), f64::min),
    };
    let bins = arguments.bins.unwrap_or(200) as usize;
    let mut found = vec![];
    for state in states {
        let domain = input.domain_of_centers(state);
        found.push(radial_distribution(&state.positions, &domain, bins, range)?);
    }
    // All have the same bins, and there is at least one state.
    let all = RadialDistribution::average(&found).expect("states with equal bins");
    let mut sections = vec![rdf_section("rdf", "Radial distribution function g(r)", &all, states.len())];
    let domain = input.domain_of_centers(last);
    if let Some(diameter) = last.equal_diameter() {
        sections[0].figure("contact_value", all.contact_value(diameter));
    }
    if input.domain(last).is_none() {
        sections[0]
            .notes
            .push("the file has no box; the box is the extent of the centres, without periodic axes".into());
    } else if domain.axes_without_period().next().is_some() {
        let text = "not all axes are periodic; g(r) allows for the ends of the region of the centres, and tends to 1 only if the \
                    spheres fill it evenly";
        sections[0].notes.push(text.into());
    }
    if arguments.partial {
        sections.extend(partial(input, states, bins, range)?);
    }
    Ok(sections)
}

fn partial(input: &Input, states: &[State], bins: usize, range: f64) -> Result<Vec<Section>, CommandError> {
    let mut pairs: Vec<((usize, usize), Vec<RadialDistribution>)> = vec![];
    for state in states {
        let domain = input.domain_of_centers(state);
        for part in partial_radial_distributions(&state.positions, &state.materials, &domain, bins, range)? {
            let key = (part.first, part.second);
            match pairs.iter_mut().find(|(known, _)| *known == key) {
                Some((_, list)) => list.push(part.distribution),
                None => pairs.push((key, vec![part.distribution])),
            }
        }
    }
    let section = |((first, second), list): &((usize, usize), Vec<RadialDistribution>)| {
        let all = RadialDistribution::average(list).expect("distributions with equal bins");
        let [a, b] = [first, second].map(|k| input.materials[*k].as_str());
        let plain = |name: &str| name.replace(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'), "_");
        // The numbers keep names apart that differ in other characters only.
        let stem = format!("rdf_{first}_{}_{second}_{}", plain(a), plain(b));
        rdf_section(&stem, &format!("g(r) between {a} and {b}"), &all, list.len())
    };
    Ok(pairs.iter().map(section).collect())
}

fn rdf_section(stem: &str, title: &str, all: &RadialDistribution, state_count: usize) -> Section {
    let points = (0..all.g.len()).map(|k| (all.radius(k), all.g[k])).collect();
    let one = vec![(0.0, 1.0), (all.bin_width * all.g.len() as f64, 1.0)];
    let series = vec![Series::new("g(r)", Form::Line, points), Series::new("ideal gas", Form::Line, one)];
    let columns = ["r", "g", "pairs", "ideal_pairs", "neighbors"];
    let mut section = Section::new(stem, title, &columns, linear_chart(title, "r", "g(r)", series));
    for k in 0..all.g.len() {
        let within = all.neighbors(all.bin_width * (k + 1) as f64);
        section.row(&[all.radius(k), all.g[k], all.pairs[k] as f64, all.ideal_pairs[k], within]);
    }
    let highest = (0..all.g.len()).max_by(|a, b| all.g[*a].total_cmp(&all.g[*b])).unwrap_or(0);
    section.figure("states", state_count);
    section.figure("range", all.bin_width * all.g.len() as f64);
    section.figure("bin_width", all.bin_width);
    section.figure("pairs", all.pairs.iter().sum::<u64>());
    section.figure("peak_r", all.radius(highest));
    section.figure("peak_g", all.g[highest]);
    section.figure("g_at_range", all.g[all.g.len() - 1]);
    section
}

// The largest range of rdf that the box allows.
fn longest(input: &Input, state: &State) -> f64 {
    let domain = input.domain_of_centers(state);
    let length = |axis: usize| {
        let length = domain.max[axis] - domain.min[axis];
        if domain.periodic[axis] { 0.5 * length } else { length }
    };
    // An axis of length 0 is refused with its own message.
    (0..input.dimensions.count()).map(length).filter(|length| *length > 0.0).fold(f64::INFINITY, f64::min)
}

/// The distributions of speeds.
pub fn speeds(input: &Input, arguments: &AnalyzeArguments) -> Result<Vec<Section>, CommandError> {
    let (mut velocities, mut masses): (Vec<DVec3>, Vec<f64>) = (vec![], vec![]);
    for state in input.chosen(arguments) {
        for k in (0..state.ids.len()).filter(|k| !state.fixed[*k]) {
            velocities.push(state.velocities[k]);
            masses.push(state.masses[k]);
        }
    }
    let bins = arguments.bins.unwrap_or(50) as usize;
    let found = speed_distributions(&velocities, &masses, input.dimensions, bins)?;
    let has_classes = found.len() > 1;
    let sections = found.iter().enumerate().map(|(k, distribution)| {
        let stem = if k == 0 { "speeds".to_owned() } else { format!("speeds_{k}") };
        let mut section = speed_section(stem, distribution, has_classes);
        if input.chosen(arguments).len() > 1 {
            section.notes.push(
                "states of one run are not independent; the probabilities hold for a single state".into(),
            );
        }
        section
    });
    Ok(sections.collect())
}

fn speed_section(stem: String, of: &SpeedDistribution, has_classes: bool) -> Section {
    let title = match of.mass {
        None => "Speeds of all spheres, in thermal speeds sqrt(T / mass)".to_owned(),
        Some(mass) if has_classes => format!("Speeds of the spheres of mass {}", number(mass, 6)),
        Some(_) => "Speeds".to_owned(),
    };
    let bins = 0..of.counts.len();
    let series = vec![
        Series::new("measured", Form::Bars, bins.clone().map(|k| (of.speed(k), of.density(k))).collect()),
        Series::new(
            "Maxwell-Boltzmann",
            Form::Line,
            bins.clone().map(|k| (of.speed(k), of.expected_density(k))).collect(),
        ),
    ];
    let columns = ["speed", "spheres", "expected_spheres", "density", "expected_density"];
    let mut section =
        Section::new(stem, &title, &columns, linear_chart(&title, "speed", "probability density", series));
    for k in bins {
        let (counts, expected) = (of.counts[k] as f64, of.expected[k]);
        section.row(&[of.speed(k), counts, expected, of.density(k), of.expected_density(k)]);
    }
    section.figure("mass", of.mass);
    section.figure("spheres", of.sphere_count);
    section.figure("temperature", of.temperature);
    section.figure("drift", of.drift.to_array().to_vec());
    section.figure("chi_square", of.chi_square);
    section.figure("degrees_of_freedom", of.degrees_of_freedom);
    section.figure("chi_square_probability", of.chi_square_probability);
    section.figure("kolmogorov_distance", of.kolmogorov_distance);
    section.figure("kolmogorov_probability", of.kolmogorov_probability);
    section
}

/// The packing fraction and its profile.
pub fn packing(input: &Input, arguments: &AnalyzeArguments) -> Result<Section, CommandError> {
    let axis = match (arguments.axis, input.dimensions) {
        (Some(Axis::X), _) => 0,
        (Some(Axis::Y), _) | (None, Dimensions::Two) => 1,
        (Some(Axis::Z), _) | (None, Dimensions::Three) => 2,
    };
    let bins = arguments.bins.unwrap_or(50) as usize;
    let states = input.chosen(arguments);
    let (mut whole, mut profile, mut edges) = (0.0, vec![0.0; bins], (0.0, 0.0));
    for state in states {
        let Some(domain) = input.domain(state) else {
            return Err(CommandError::usage(
                "the packing fraction needs a box, and the file has none; give --scene",
            ));
        };
        whole += packing_fraction(&state.positions, &state.radii, &domain)? / states.len() as f64;
        let slabs = packing_profile(&state.positions, &state.radii, &domain, axis, bins)?;
        profile.iter_mut().zip(slabs).for_each(|(sum, slab)| *sum += slab / states.len() as f64);
        // A box that shrinks has slabs that shrink with it; the places are those of the last state.
        edges = (domain.min[axis], (domain.max[axis] - domain.min[axis]) / bins as f64);
    }
    let letter = ["x", "y", "z"][axis];
    let middle = |k: usize| edges.0 + (k as f64 + 0.5) * edges.1;
    let points = profile.iter().enumerate().map(|(k, share)| (middle(k), *share)).collect();
    let title = format!("Packing fraction along {letter}");
    let series = vec![Series::new("slabs", Form::Bars, points)];
    let chart = linear_chart(&title, letter, "packing fraction", series);
    let mut section = Section::new("packing", title, &[letter, "packing_fraction"], chart);
    profile.iter().enumerate().for_each(|(k, share)| section.row(&[middle(k), *share]));
    section.figure("packing_fraction", whole);
    section.figure("axis", letter);
    section.figure("slab_least", profile.iter().copied().fold(f64::INFINITY, f64::min));
    section.figure("slab_most", profile.iter().copied().fold(0.0, f64::max));
    Ok(section)
}

/// Contacts by distance.
pub fn coordination(input: &Input, arguments: &AnalyzeArguments) -> Result<Section, CommandError> {
    let has_friction =
        input.system.as_ref().is_some_and(|s| s.materials.surfaces().iter().any(|s| s.friction > 0.0));
    let default = if has_friction { 2 } else { input.dimensions.count() as u32 + 1 };
    let least = arguments.least_contacts.unwrap_or(default);
    let states = input.chosen(arguments);
    let mut found: Vec<Coordination> = vec![];
    for state in states {
        let domain = input.domain_of_centers(state);
        // Without a periodic axis the box plays no role and may be flat.
        let domain = if domain.periodic.contains(&true) { domain } else { around_all(domain) };
        found.push(count_contacts(&state.positions, &state.radii, &domain, arguments.tolerance, least)?);
    }
    let spheres: usize = found.iter().map(|one| one.counts.len()).sum();
    if spheres == 0 {
        return Err(CommandError::usage("there are no spheres"));
    }
    let longest = found.iter().map(|one| one.histogram.len()).max().unwrap_or(0);
    let of = |contacts: usize| {
        found.iter().map(|one| one.histogram.get(contacts).copied().unwrap_or(0)).sum::<u64>()
    };
    let share = |contacts: usize| of(contacts) as f64 / spheres as f64;
    let points = (0..longest).map(|k| (k as f64, share(k))).collect();
    let title = "Contacts of a sphere with others";
    let series = vec![Series::new("spheres", Form::Bars, points)];
    let chart = linear_chart(title, "contacts", "share of the spheres", series);
    let mut section = Section::new("coordination", title, &["contacts", "spheres", "share"], chart);
    (0..longest).for_each(|k| section.row(&[k as f64, of(k) as f64, share(k)]));
    let contacts: u64 = found.iter().map(|one| one.contacts).sum();
    let rattlers: u64 = found.iter().map(|one| one.rattlers).sum();
    let held = |one: &Coordination| (one.counts.len() as u64 - one.rattlers) as f64;
    let held_all: f64 = found.iter().map(held).sum();
    let held_ends: f64 = found.iter().map(|one| held(one) * one.mean_without_rattlers.unwrap_or(0.0)).sum();
    section.figure("spheres", spheres);
    section.figure("tolerance", arguments.tolerance);
    section.figure("contacts", contacts);
    section.figure("mean", 2.0 * contacts as f64 / spheres as f64);
    section.figure("least_contacts", least);
    section.figure("rattlers", rattlers);
    section.figure("rattler_share", rattlers as f64 / spheres as f64);
    section.figure("mean_without_rattlers", json!((held_all > 0.0).then(|| held_ends / held_all)));
    Ok(section)
}

// A box of positive volume around everything.
fn around_all(mut domain: carom::analysis::Domain) -> carom::analysis::Domain {
    let space = DVec3::splat(1.0) + domain.max.abs().max(domain.min.abs());
    domain.min -= space;
    domain.max += space;
    domain
}
