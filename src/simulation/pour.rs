//! Finds positions for the spheres of sources.

use glam::DVec3;

use super::{Simulation, flow::Progress};
use crate::{
    Error, Plane, Source, Sphere, System, Wall,
    scene::{MAX_SPHERES, rng::SeededRng, scatter::is_free},
    state::columns::Found,
    step::watch::{BoxSet, source_box},
    system::{
        grid::Grid,
        region::{Region, mass},
        space::{Space, SphereProxy, corners},
        wall::Nearby,
    },
};

/// Most positions tried for a sphere in a step. In a box filled at random to three quarters of the random limit (a volume
/// fraction of 0.29), one position in a hundred is free.
const TRIES: usize = 1000;

/// Gap left around a sphere, in radii, so that rounding produces no overlap in any engine, not even next to a sphere a
/// thousand times as large. The gap is too small to be visible.
const SPARE: f64 = 1e-4;

/// Spheres per step for which the grid is sized; with more spheres the grid gets slower, not wrong.
const MOST_EXPECTED: u64 = 1 << 16;

/// The spheres that arrive in a step.
pub(super) struct Pour {
    pub spheres: Vec<Sphere>,
    /// Number of spheres that found no free position.
    pub waiting: u64,
    /// Progress of the sources afterwards.
    pub sources: Vec<Progress>,
}

impl Simulation {
    /// The spheres that arrive at the start of the next step; changes nothing.
    pub(super) fn pour(&self) -> Result<Pour, Error> {
        let mut pour = Pour { spheres: vec![], waiting: 0, sources: self.flow.sources.clone() };
        let end = self.time + self.system.dt;
        let is_due = |k: &usize| self.system.sources[*k].due(end) > pour.sources[*k].poured;
        let due: Vec<usize> = (0..self.system.sources.len()).filter(is_due).collect();
        if due.is_empty() {
            return Ok(pour);
        }
        let space = Space::new(&self.system);
        let sites: Vec<Site> = due.iter().map(|&k| Site::new(&self.system, space, k)).collect();
        let near = self.near(&sites)?;
        let planes = self.system.planes();
        for site in &sites {
            let wanted = site.source.due(end) - pour.sources[site.number].poured;
            self.pour_from(site, wanted, &near, &planes, &mut pour)?;
        }
        Ok(pour)
    }

    fn near(&self, sites: &[Site]) -> Result<Vec<SphereProxy>, Error> {
        let test = |center: DVec3, radius: f64| sites.iter().any(|site| site.is_near(center, radius));
        let mut found = if self.flow.is_read {
            let found = self.system.spheres.iter().filter(|s| test(s.position, s.radius));
            found
                .map(|s| Found {
                    id: s.id,
                    center: s.position,
                    radius: s.radius,
                    velocity: s.velocity,
                    spin: s.spin,
                })
                .collect()
        } else if self.system.spheres.is_empty() {
            vec![]
        } else {
            let numbers = sites.iter().map(|site| source_box(&self.system, site.number));
            self.engine.find(BoxSet::of(numbers), &test)?
        };
        found.retain(|found| self.flow.keeps(found.id));
        let space = Space::new(&self.system);
        Ok(found.iter().map(|f| SphereProxy { center: space.wrap(f.center), radius: f.radius }).collect())
    }

    fn pour_from(
        &self,
        site: &Site,
        wanted: u64,
        near: &[SphereProxy],
        planes: &[Plane],
        pour: &mut Pour,
    ) -> Result<(), Error> {
        let axes = self.system.dimensions.count();
        let mut grid = site.grid(near, &pour.spheres, wanted);
        let walls = site.obstacles(&self.system.walls, self.time);
        for left in (1..=wanted).rev() {
            let progress = &mut pour.sources[site.number];
            let sphere = site.draw(progress.poured, axes);
            let rng = site.rng(&format!("place {}", progress.tries), progress.poured);
            if self.system.spheres.len() + pour.spheres.len() >= MAX_SPHERES as usize {
                return Err(Error::Capacity(format!(
                    "{}: there are {MAX_SPHERES} spheres, and no more are possible; give the source a count",
                    site.source.name
                )));
            }
            let Some(center) = site.place(&grid, planes, &walls, sphere.radius, rng, axes) else {
                progress.tries += 1;
                pour.waiting = pour.waiting.saturating_add(left);
                break;
            };
            let id = u32::try_from(self.flow.next_id + pour.spheres.len() as u64);
            let id = id.map_err(|_| {
                Error::Capacity(format!("{}: no ids are left after {}", site.source.name, u32::MAX))
            })?;
            grid.push(SphereProxy { center, radius: sphere.radius });
            pour.spheres.push(Sphere { id, position: center, ..sphere });
            *progress = Progress { poured: progress.poured + 1, tries: 0 };
        }
        Ok(())
    }
}

/// A source and the box that it fills.
struct Site<'a> {
    source: &'a Source,
    number: usize,
    region: Region,
    space: Space,
    seed: u64,
    density: f64,
    /// Wrapped centre of the box, and half of its edges.
    middle: DVec3,
    half: DVec3,
}

impl<'a> Site<'a> {
    fn new(system: &'a System, space: Space, number: usize) -> Self {
        let source = &system.sources[number];
        let region = Region::new(system, Some((source.min, source.max)));
        Self {
            source,
            number,
            middle: space.wrap(0.5 * (region.low + region.high)),
            half: 0.5 * (region.high - region.low),
            region,
            space,
            seed: system.seed,
            density: system.materials.density(source.material),
        }
    }

    /// Whether a sphere reaches into the box.
    fn is_near(&self, center: DVec3, radius: f64) -> bool {
        let reach = radius + 2.0 * SPARE * (radius + self.source.largest_radius());
        let from = self.space.separation(self.space.wrap(center), self.middle);
        from.abs().cmple(self.half + reach).all()
    }

    /// Walls, other than planes at rest, that reach into the box at a time.
    fn obstacles(&self, walls: &'a [Wall], time: f64) -> Vec<Nearby<'a>> {
        let reach = self.half + self.source.largest_radius();
        let ends = (self.middle - reach, self.middle + reach);
        let others = walls.iter().filter(|wall| wall.as_plane().is_none() && wall.is_there(time));
        others.flat_map(|wall| Nearby::images(wall, time, ends, self.space)).collect()
    }

    /// A grid with the spheres `near` the box and the newly arrived ones, with capacity for `more`.
    fn grid(&self, near: &[SphereProxy], come: &[Sphere], more: u64) -> Grid {
        let come = come.iter().map(|s| SphereProxy { center: s.position, radius: s.radius });
        let standing = near.iter().copied().chain(come).filter(|r| self.is_near(r.center, r.radius));
        let standing: Vec<SphereProxy> = standing.collect();
        let (low, high) = corners(&standing);
        let mut radii: Vec<f64> = standing.iter().map(|r| r.radius).collect();
        let more = more.min(MOST_EXPECTED) as usize;
        radii.extend(std::iter::repeat_n(self.source.largest_radius(), more));
        radii.extend(self.source.diameters.iter().map(|&(diameter, _)| 0.5 * diameter));
        let mut grid = Grid::new(self.space, low.min(self.region.low), high.max(self.region.high), radii);
        grid.hold(standing);
        grid
    }

    /// A generator of random numbers for one sphere of the source and one purpose.
    fn rng(&self, purpose: &str, sphere: u64) -> SeededRng {
        SeededRng::new(self.seed, &format!("{purpose} {}", self.number), sphere as usize)
    }

    /// A sphere without position and id.
    fn draw(&self, sphere: u64, axes: usize) -> Sphere {
        let source = self.source;
        let mut rng = self.rng("pour", sphere);
        let total: f64 = source.diameters.iter().map(|&(_, share)| share).sum();
        let mut left = total * rng.unit();
        let chosen = source.diameters.iter().find(|&&(_, share)| {
            left -= share;
            left < 0.0
        });
        // Rounding may leave a remainder, which goes to the last diameter.
        let diameter = chosen.or(source.diameters.last()).map_or(1.0, |&(diameter, _)| diameter);
        let mut velocity = source.velocity;
        if source.spread > 0.0 {
            (0..axes).for_each(|axis| velocity[axis] += source.spread * rng.normal());
        }
        let radius = 0.5 * diameter;
        let mass = mass(self.density, radius);
        Sphere { velocity, radius, mass, material: source.material, ..Sphere::default() }
    }

    /// A free position in the box, if the search finds one.
    fn place(
        &self,
        grid: &Grid,
        planes: &[Plane],
        walls: &[Nearby],
        radius: f64,
        mut rng: SeededRng,
        axes: usize,
    ) -> Option<DVec3> {
        let room = radius * (1.0 + SPARE);
        let (low, high) = self.region.centers(room)?;
        (0..TRIES).find_map(|_| {
            let mut center = DVec3::ZERO;
            for axis in 0..axes {
                center[axis] = rng.within(low[axis], high[axis]);
            }
            let center = self.space.wrap(center);
            let is_clear = || walls.iter().all(|wall| wall.within(center, room).is_none());
            (is_free(grid, planes, None, center, room) && is_clear()).then_some(center)
        })
    }
}
