//! The shrinking box of a compression: what depends on its size, and by how much a step shrinks it.
//!
//! An engine shrinks the box at the start of a step. It scales the cells with the box, and chooses new cells when these
//! become too small for the motion margins. All positions scale with the box; the spheres that overlap are then pushed apart
//! ([`Pass::PushApart`](crate::step::schedule::Pass)). If that fails, the engine repeats the step with half of the shrinkage.

use crate::{
    Bounds, System,
    state::{grid::Grid, statistics::SystemStatistics},
    step::{
        domain::Domain,
        plan::{self, Limits, Past},
    },
    system::validate::PERIOD_IN_RADII,
};

/// How often the shrinkage of a step may be halved: down to a 16th. With more halvings a gas creeps towards jamming while
/// its collision rate, and so the cost of a step, grows without bound.
pub const MOST_SHRINK_HALVINGS: u32 = 4;

/// Path that candidate lists allow to spheres which are pushed apart, in units of the length by which a mean diameter would shrink with
/// the box. Near jamming, one sphere in a few hundred is pushed by 15 units; in a gas, all are pushed by less than 2.
const PUSH_REACH: f64 = 16.0;

/// The same in units of the length by which the largest diameter would shrink. A pair of the largest spheres overlaps by one unit.
const PUSH_REACH_OF_LARGEST: f64 = 2.0;

/// Motion margin of new cells, in units of the one that a step needs: they last for several steps.
const LASTING: f64 = 1.25;

/// Bounds and cells of a periodic box, and the other figures that change with its size.
#[derive(Clone, Debug, PartialEq)]
pub struct PeriodicBox {
    /// In the user's units.
    pub bounds: Bounds,
    pub grid: Grid,
    /// Volume and largest motion margin, as in [`SystemStatistics`].
    pub volume: f64,
    pub margin_most: f64,
    /// Contact time of the TC model (scaled units).
    pub contact_time: f64,
}

/// By how much the box shrinks at the start of a step.
#[derive(Clone, Debug)]
pub struct Shrinkage {
    /// Share of its lengths that the box is to lose.
    pub share: f64,
    /// Number of halvings that the shortest permitted period requires.
    pub least_halvings: u32,
    pub from: PeriodicBox,
    /// The box after `least_halvings`.
    pub to: PeriodicBox,
}

/// Result of the shrinkage of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Shrunk {
    /// The box after the step, in the user's units.
    pub bounds: Bounds,
    /// Whether the spheres left no room to shrink it.
    pub is_stuck: bool,
}

impl Shrinkage {
    /// Whether the cells are others than before, apart from their size. Buffers and shaders of a device depend on them.
    #[cfg(feature = "gpu")]
    pub fn changes_cells(&self) -> bool {
        let [old, new] = [&self.from.grid, &self.to.grid];
        let is_alike = (new.count, new.buckets, new.direct, new.levels.parts)
            == (old.count, old.buckets, old.direct, old.levels.parts);
        !is_alike
    }
}

impl Domain {
    /// The present box.
    pub fn periodic_box(&self) -> PeriodicBox {
        PeriodicBox {
            bounds: self.system.bounds.clone(),
            grid: self.grid.clone(),
            volume: self.statistics.volume,
            margin_most: self.statistics.margin_most,
            contact_time: self.contact_time(),
        }
    }

    /// Shrinkage of a box, or of the present one, by a share of its lengths, in a step planned from the figures `past`.
    pub fn shrinkage(&self, base: Option<&PeriodicBox>, share: f64, past: &Past) -> Shrinkage {
        let from = base.cloned().unwrap_or_else(|| self.periodic_box());
        let axes = self.system.dimensions.count();
        let least = PERIOD_IN_RADII * self.statistics.radius_max * self.units.length;
        let has_room = |halvings: &u32| {
            let bounds = from.bounds.shrunk(part(share, *halvings), axes);
            (bounds.max - bounds.min).to_array()[..axes].iter().all(|period| *period >= least)
        };
        let least_halvings = (0..=MOST_SHRINK_HALVINGS).find(has_room).unwrap_or(MOST_SHRINK_HALVINGS + 1);
        let mut to = self.resized(&from, from.bounds.shrunk(part(share, least_halvings), axes));
        let limits = self.limits_while_shrinking(&to, share);
        let wanted = plan::wanted_margin(&limits, past);
        if plan::needs_new_cells(&limits, wanted) {
            let system = System { bounds: to.bounds.clone(), ..self.system.clone() };
            let (volume, margin_most) = (to.volume, to.margin_most);
            let statistics = SystemStatistics { volume, margin_most, ..self.statistics };
            let margin = (LASTING * wanted).min(margin_most);
            // Axes that are not periodic keep their origin.
            let grid = Grid::new(&system, &self.units, &statistics, margin, to.grid.origin);
            // Otherwise the plan of the step asks for new cells before the box shrinks.
            if grid.can_remap_from(&from.grid) {
                to.grid = grid;
            }
        }
        Shrinkage { share, least_halvings, from, to }
    }

    /// The box after so many halvings of a shrinkage, in the cells of [`Shrinkage::to`]; after more than [`MOST_SHRINK_HALVINGS`] it keeps
    /// its size.
    pub fn shrunk_box(&self, shrinkage: &Shrinkage, halvings: u32) -> PeriodicBox {
        let Shrinkage { share, least_halvings, from, to } = shrinkage;
        if halvings == *least_halvings {
            return to.clone();
        }
        let bounds = from.bounds.shrunk(part(*share, halvings), self.system.dimensions.count());
        self.resized(to, bounds)
    }

    /// A box with other bounds and the same cells, apart from their size.
    pub fn resized(&self, base: &PeriodicBox, bounds: Bounds) -> PeriodicBox {
        let axes = self.system.dimensions.count();
        let extents = ((bounds.max - bounds.min) / self.units.length).to_array();
        let volume = extents[..axes].iter().product();
        PeriodicBox {
            grid: base.grid.resized(&bounds, &self.units, self.statistics.radius_max),
            margin_most: self.statistics.margin_most_in(volume, axes),
            contact_time: base.contact_time * self.free_path(volume) / self.free_path(base.volume),
            bounds,
            volume,
        }
    }

    // Mean free path in a box of this volume, up to a factor that does not depend on the volume; 1 if the user has set the contact time.
    fn free_path(&self, volume: f64) -> f64 {
        if self.system.solver.contact_time.is_some() {
            return 1.0;
        }
        let density = self.statistics.count as f64 / volume;
        self.system.dimensions.free_path(density, self.statistics.mean_diameter)
    }

    /// The limits of a plan in a box that loses this share of its lengths.
    pub fn limits_while_shrinking(&self, at: &PeriodicBox, share: f64) -> Limits {
        let limits = self.limits_in(at);
        let Self { statistics, .. } = self;
        let reach =
            (PUSH_REACH * statistics.mean_diameter).max(PUSH_REACH_OF_LARGEST * 2.0 * statistics.radius_max);
        let pushed = share * reach;
        Limits { margin_least: limits.margin_least.max(pushed).min(limits.margin_most), ..limits }
    }
}

// The share of its lengths that the box loses after so many halvings.
fn part(share: f64, halvings: u32) -> f64 {
    if halvings > MOST_SHRINK_HALVINGS { 0.0 } else { share * 0.5f64.powi(halvings as i32) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        scene::{Fill, Scene},
        state::{columns::NEVER, sums::Sums},
    };

    // The motion margin for which the cells of the gas are made.
    const MARGIN: f64 = 0.3;

    fn gas() -> Domain {
        let fill = Fill::random(400).volume_fraction(0.02).temperature(1.0);
        let system = Scene::new(0.02).seed(1).periodic().fill(fill).build().unwrap();
        let (mut domain, mut state) = Domain::new(&system, |_| NEVER);
        domain.regrid(&mut state, MARGIN);
        domain
    }

    // Speeds at which a step needs this motion margin.
    fn past(domain: &Domain) -> Past {
        let sums = Sums { high_speed: (MARGIN / domain.limits().dt / 1.02) as f32, ..Sums::default() };
        Past { sums, ..Past::default() }
    }

    #[test]
    fn cells_that_have_become_too_small_are_replaced_whether_or_not_the_box_shrinks_further() {
        let domain = gas();
        let past = past(&domain);
        let present = domain.periodic_box();
        let smaller = domain.resized(&present, present.bounds.shrunk(0.2, 3));
        let margin = f64::from(smaller.grid.margin_limit);
        let wanted = plan::wanted_margin(&domain.limits_in(&smaller), &past);
        assert!(margin < 0.75 * wanted, "{margin} is enough for {wanted}");
        let regrid = |at: &PeriodicBox| plan::plan(&domain.limits_in(at), &past).regrid;
        assert_eq!((regrid(&present), regrid(&smaller)), (None, Some(wanted)));
        let shrinkage = domain.shrinkage(Some(&smaller), 1e-3, &past);
        assert!(f64::from(shrinkage.to.grid.margin_limit) >= wanted, "{shrinkage:?}");
        let kept = domain.shrinkage(Some(&present), 1e-3, &past);
        assert_eq!(kept.to.grid.count, present.grid.count);
    }

    #[test]
    fn the_last_halving_keeps_the_bounds_to_the_bit() {
        let mut domain = gas();
        for axis in 0..3 {
            domain.system.bounds.min[axis] -= 0.1 / 3.0;
            domain.system.bounds.max[axis] += 1.0 / 7.0;
        }
        let shrinkage = domain.shrinkage(None, 1e-3, &past(&domain));
        let lengths = [0, 1, MOST_SHRINK_HALVINGS, MOST_SHRINK_HALVINGS + 1].map(|halvings| {
            let bounds = domain.shrunk_box(&shrinkage, halvings).bounds;
            (bounds.max - bounds.min).x
        });
        assert!(lengths.is_sorted_by(|a, b| a < b), "{lengths:?}");
        assert_eq!(domain.shrunk_box(&shrinkage, MOST_SHRINK_HALVINGS + 1).bounds, domain.system.bounds);
    }

    #[cfg(feature = "gpu")]
    #[test]
    fn a_step_ahead_does_not_meet_cells_of_another_kind() {
        let domain = gas();
        let kept = domain.shrinkage(None, 1e-3, &past(&domain));
        assert!(!kept.changes_cells());
        let changes: [fn(&mut Grid); 4] = [
            |grid| grid.count.y -= 1,
            |grid| grid.buckets *= 2,
            |grid| grid.direct = !grid.direct,
            |grid| grid.levels.parts += 1,
        ];
        for change in changes {
            let mut changed = kept.clone();
            change(&mut changed.to.grid);
            assert!(changed.changes_cells());
        }
    }
}
