//! Places for random fills: which way they are found, and whether there are any.

use glam::DVec3;

use super::{
    Fault,
    crowd::crowd,
    dice::Dice,
    grid::{Round, Space},
    region::{Region, content},
    scatter::{Seat, scatter},
};
use crate::{Dimensions, System};

/// A random group whose spheres are to be placed.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// Its place in [`Scene::fills`](super::Scene::fills).
    pub group: usize,
    pub region: Region,
    pub radii: Vec<f64>,
}

/// Fractions of the volume (2D: area) up to which a way of filling is used.
struct Limits {
    sequential: f64,
    crowded: f64,
    /// Where growing starts.
    thin: f64,
}

/// Sequential addition jams at 0.38 (2D: 0.547), at the end with endless tries. Beyond 0.50 (0.70) a fluid of equal
/// spheres wants to crystallise, and a random fill would be no equilibrium state of anything.
const fn limits(dimensions: Dimensions) -> Limits {
    match dimensions {
        Dimensions::Three => Limits { sequential: 0.30, crowded: 0.50, thin: 0.22 },
        Dimensions::Two => Limits { sequential: 0.45, crowded: 0.70, thin: 0.35 },
    }
}

/// Finds a centre for every sphere wanted, among the spheres and the walls of `system`.
pub(crate) fn pack(system: &System, wanted: &[Wanted], seed: u64) -> Result<Vec<Vec<DVec3>>, Fault> {
    let dimensions = system.dimensions;
    let limits = limits(dimensions);
    let crowding = crowding(system, wanted, &limits)?;
    let space = Space::new(system);
    let planes = system.planes();

    let mut rounds: Vec<Round> =
        system.spheres.iter().map(|s| Round { center: space.wrap(s.position), radius: s.radius }).collect();
    let first = rounds.len();
    let mut seats = vec![];
    let mut ranges = vec![];
    for group in wanted {
        for &radius in &group.radii {
            let (low, high) = group.region.centers(radius).ok_or_else(|| too_small(group, radius))?;
            seats.push(Seat { index: rounds.len(), low, high });
            ranges.push(group.region.limits(low, high));
            rounds.push(Round { center: low, radius });
        }
    }
    // The largest first, while there is room for them.
    let mut order: Vec<usize> = (0..seats.len()).collect();
    order.sort_by(|&a, &b| rounds[first + b].radius.total_cmp(&rounds[first + a].radius));
    let seats: Vec<Seat> = order.iter().map(|&at| seats[at]).collect();
    let ranges: Vec<(DVec3, DVec3)> = order.iter().map(|&at| ranges[at]).collect();

    let mut dice = Dice::new(seed, "place", 0);
    let mut packed = None;
    if crowding <= limits.sequential {
        packed = scatter(space, &planes, dimensions, rounds.clone(), &seats, &mut dice);
    }
    if packed.is_none() {
        let scale = (limits.thin / crowding).min(1.0).powf(1.0 / dimensions.count() as f64) * 0.95;
        packed = crowd(space, &planes, dimensions, &rounds, &seats, &ranges, scale, &mut dice);
    }
    let packed = packed.ok_or_else(|| {
        let group = &wanted[0];
        Fault::field(
            path(group),
            format!("no room was found for all {} spheres of the random fills", seats.len()),
            "walls and other spheres leave less room than the volume fraction suggests: ask for fewer or \
             smaller spheres, or for a larger box",
        )
    })?;
    let mut rest = &packed[first..];
    Ok(wanted
        .iter()
        .map(|group| {
            let (own, others) = rest.split_at(group.radii.len());
            rest = others;
            own.iter().map(|round| round.center).collect()
        })
        .collect())
}

/// The largest fraction that any region is filled to, with what others contribute to it.
fn crowding(system: &System, wanted: &[Wanted], limits: &Limits) -> Result<f64, Fault> {
    let dimensions = system.dimensions;
    let content_of = |group: &Wanted| group.radii.iter().map(|&r| content(dimensions, r)).sum::<f64>();
    let mut largest: f64 = 0.0;
    for group in wanted {
        let region = &group.region;
        let volume = region.volume();
        let own = content_of(group);
        let standing: f64 = system
            .spheres
            .iter()
            .filter(|s| region.contains(s.position))
            .map(|s| content(dimensions, s.radius))
            .sum();
        let others: f64 = wanted
            .iter()
            .filter(|other| other.group != group.group)
            .map(|other| content_of(other) * region.share_of(&other.region))
            .sum();
        let fraction = (own + standing + others) / volume;
        if fraction > limits.crowded * (1.0 + 1e-9) {
            let count = group.radii.len();
            let most = (limits.crowded * volume - standing - others).max(0.0) / own * count as f64;
            let kind = ["area", "volume"][dimensions.count() - 2];
            let extent = region.high - region.low;
            let size: Vec<String> =
                (0..dimensions.count()).map(|axis| format!("{}", extent[axis] as f32)).collect();
            return Err(Fault::field(
                path(group),
                format!(
                    "more spheres than the {kind} holds: {count} spheres in a box of {} fill a fraction of {:.3}",
                    size.join(" x "),
                    fraction as f32,
                ),
                format!(
                    "random fills reach {:.2}: at most {} spheres of this size, or a larger box",
                    limits.crowded,
                    most.floor(),
                ),
            ));
        }
        largest = largest.max(fraction);
    }
    Ok(largest)
}

fn path(group: &Wanted) -> String {
    format!("spheres[{}].random", group.group)
}

fn too_small(group: &Wanted, radius: f64) -> Fault {
    Fault::field(
        path(group),
        format!("a sphere of diameter {} does not fit into the box", 2.0 * radius),
        "make the box larger than the largest diameter on every axis that is not periodic",
    )
}
