//! Places random fills: chooses a method by volume fraction, and checks the limits of the methods.

use glam::DVec3;
use rayon::prelude::*;

use crate::{
    Dimensions, System, WallShape,
    scene::{
        crowd::{Growth, crowd},
        portable::side,
        rng::SeededRng,
        scatter::{Run, Site, scatter},
    },
    system::{
        region::{Region, content},
        space::{Space, SphereProxy},
        validation_error::ValidationError,
        wall::Nearby,
    },
};

/// A random group to place.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// Index in [`Scene::fills`](super::Scene::fills).
    pub group: usize,
    pub region: Region,
    /// Radii, with the number of spheres of each.
    pub runs: Vec<(f64, usize)>,
    /// The vessel that encloses the group.
    pub vessel: Option<WallShape>,
}

/// Largest volume fractions (2D: area fractions) of each method.
struct Limits {
    sequential: f64,
    crowded: f64,
    /// Fraction at which growing starts.
    thin: f64,
    /// Slightly below the largest fraction that pushing reaches (0.64, in 2D 0.84). Growing inflates half way to this
    /// fraction.
    jammed: f64,
}

/// Sequential addition jams at 0.38 (2D: 0.547), in the limit of endless tries. Beyond 0.50 (0.70) a fluid of equal
/// spheres tends to crystallise, and a random fill would not be an equilibrium state.
const fn limits(dimensions: Dimensions) -> Limits {
    match dimensions {
        Dimensions::Three => Limits { sequential: 0.30, crowded: 0.50, thin: 0.22, jammed: 0.62 },
        Dimensions::Two => Limits { sequential: 0.45, crowded: 0.70, thin: 0.35, jammed: 0.80 },
    }
}

/// Tolerance on the limits: a count is a whole number, and count, fraction and box need to agree only within 1%.
const SLACK: f64 = 1.01;

/// Finds a position for every wanted sphere among the spheres and walls of `system`; group by group, and the largest first
/// in each group.
pub(crate) fn pack(
    system: &System,
    wanted: &[Wanted],
    seed: u64,
) -> Result<Vec<Vec<SphereProxy>>, ValidationError> {
    let dimensions = system.dimensions;
    let limits = limits(dimensions);
    let crowding = crowding(system, wanted, &limits)?;
    let space = Space::new(system);
    let planes = system.planes();
    let standing: Vec<SphereProxy> = system
        .spheres
        .iter()
        .map(|s| SphereProxy { center: space.wrap(s.position), radius: s.radius })
        .collect();
    let vessels: Vec<WallShape> = wanted.iter().filter_map(|group| group.vessel.clone()).collect();
    let walls = walls_of(system, wanted, space);
    let site =
        Site { space, dimensions, planes: &planes, walls: &walls, vessels: &vessels, standing: &standing };
    let mut next = 0..vessels.len();

    let mut runs = vec![];
    for (at, group) in wanted.iter().enumerate() {
        let vessel = group.vessel.as_ref().and_then(|_| next.next());
        for &(radius, count) in &group.runs {
            let (low, high) = group.region.centers(radius).ok_or_else(|| too_small(group, radius))?;
            runs.push((at, Run { radius, count, low, high, vessel }));
        }
    }
    // Sequential addition, the largest first.
    runs.sort_by(|(_, a), (_, b)| b.radius.total_cmp(&a.radius));
    let (owners, runs): (Vec<usize>, Vec<Run>) = runs.into_iter().unzip();

    let mut rng = SeededRng::new(seed, "place", 0);
    let mut packed = None;
    if crowding <= limits.sequential * SLACK {
        packed = scatter(&site, &runs, &mut rng);
    }
    // `crowd` moves spheres inside boxes and ignores vessels.
    if packed.is_none() && vessels.is_empty() {
        let scale = |fraction: f64| side(fraction / crowding, dimensions.count());
        let growth = Growth {
            // Slightly below the target, because existing spheres keep their size.
            start: 0.95 * scale(limits.thin).min(1.0),
            inflated: scale(0.5 * (crowding + limits.jammed)),
        };
        let ranges: Vec<(DVec3, DVec3)> =
            owners.iter().zip(&runs).map(|(&at, run)| wanted[at].region.limits(run.low, run.high)).collect();
        packed = crowd(&site, &runs, &ranges, growth, &mut rng);
        // `crowd` also ignores walls other than planes at rest.
        let is_clear = |round: &SphereProxy| site.is_clear(round.center, round.radius);
        packed = packed.filter(|rounds| rounds[standing.len()..].par_iter().all(is_clear));
    }
    let packed = packed.ok_or_else(|| {
        let count: usize = runs.iter().map(|run| run.count).sum();
        ValidationError::field(
            path(&wanted[0]),
            format!("no room was found for all {count} spheres of the random fills"),
            "walls and other spheres leave less room than the volume fraction suggests: ask for fewer or \
             smaller spheres, or for a larger box",
        )
    })?;
    let mut places = vec![vec![]; wanted.len()];
    let mut rest = &packed[standing.len()..];
    for (owner, run) in owners.into_iter().zip(&runs) {
        let (own, others) = rest.split_at(run.count);
        rest = others;
        places[owner].extend_from_slice(own);
    }
    Ok(places)
}

/// The parts of walls, other than planes at rest, that reach into the regions at the start.
fn walls_of<'a>(system: &'a System, wanted: &[Wanted], space: Space) -> Vec<Nearby<'a>> {
    let ends = wanted.iter().map(|group| (group.region.low, group.region.high));
    let Some((mut low, mut high)) = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { return vec![] };
    // Positions are wrapped, whatever the regions are.
    for axis in (0..3).filter(|&axis| space.period[axis] > 0.0) {
        (low[axis], high[axis]) = (space.origin[axis], space.origin[axis] + space.period[axis]);
    }
    let largest = wanted.iter().flat_map(|group| &group.runs).map(|&(radius, _)| radius).fold(0.0, f64::max);
    let ends = (low - 2.0 * largest, high + 2.0 * largest);
    let others = system.walls.iter().filter(|wall| wall.as_plane().is_none() && wall.is_there(0.0));
    others.flat_map(|wall| Nearby::images(wall, 0.0, ends, space)).collect()
}

/// The largest fraction of any region, including the spheres that overlapping regions contribute.
fn crowding(system: &System, wanted: &[Wanted], limits: &Limits) -> Result<f64, ValidationError> {
    let dimensions = system.dimensions;
    let content_of = |group: &Wanted| {
        group.runs.iter().map(|&(r, count)| count as f64 * content(dimensions, r)).sum::<f64>()
    };
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
        if fraction > limits.crowded * SLACK {
            let count: usize = group.runs.iter().map(|&(_, count)| count).sum();
            let most = (limits.crowded * volume - standing - others).max(0.0) / own * count as f64;
            let kind = ["area", "volume"][dimensions.count() - 2];
            let extent = region.high - region.low;
            let size: Vec<String> =
                (0..dimensions.count()).map(|axis| format!("{}", extent[axis] as f32)).collect();
            return Err(ValidationError::field(
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

fn too_small(group: &Wanted, radius: f64) -> ValidationError {
    ValidationError::field(
        path(group),
        format!("a sphere of diameter {} does not fit into the box", 2.0 * radius),
        "make the box larger than the largest diameter on every axis that is not periodic",
    )
}
