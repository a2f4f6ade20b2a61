//! Threats: impacts that may make a sphere so fast that it leaves the reach of other spheres' candidate lists. They lie in a table of
//! coarse cells, so that an impact is tested with those near it only: both impacts and threats grow with the number of spheres.

use std::ops::Range;

use glam::{BVec3, IVec3, Vec3};

use super::event::{Event, View};

/// Up to this number, every impact is tested with all threats.
const FEW: usize = 32;

/// Largest number of coarse cells for each threat.
const CELLS_OF_THREAT: u64 = 4;

/// Multiple of the median reach beyond which a threat is not in the table: one bullet would make all cells too large.
const FAR: f32 = 4.0;

/// An impact after which one of its partners may leave the reach of other spheres' candidate lists.
#[derive(Clone, Copy)]
pub struct Threat {
    pub time: f32,
    pub cell: IVec3,
    pub offset: Vec3,
    pub radius: f32,
    /// Bound on the speed after the impact, relative to the drift.
    pub speed: f32,
}

impl Threat {
    /// The next impact of sphere `i` if it is a threat: the sphere is fast, or may become so fast that its path exceeds
    /// twice its motion margin. (Slightly beyond the motion margin, the lists still contain it, except for equally fast
    /// spheres.)
    pub fn of(view: &View, events: &[Event], motion_margin: &[f32], i: usize) -> Option<Self> {
        let event = events[i];
        let (state, frame) = (view.state, &view.frame);
        let along = state.velocity(i) - frame.drift;
        let leaves = |speed: f32| speed * (frame.h - event.toi) > 2.0 * motion_margin[i];
        let fast = view.dynamic_candidates.is_fast(i);
        // This rejects nearly all impacts.
        if !fast && !leaves(along.length() + event.delta_v_bound) {
            return None;
        }
        let place = view.offset_at(i, event.toi);
        let normal = match event.wall() {
            Some(wall) => match view.feature(wall) {
                Some(feature) => view.touch(feature, &view.instant(i, event.toi)).normal,
                None => view.world.walls[wall].normal,
            },
            None => {
                let partner = event.partner as usize;
                (place - view.offset_at(partner, event.toi) - view.shift(event.link)).normalize_or_zero()
            }
        };
        // Friction tilts the velocity change away from the normal.
        let speed = if view.world.delta_v_bound > 2.0 {
            along.length() + event.delta_v_bound
        } else {
            along.length().max((along + normal * event.delta_v_bound).length())
        };
        (fast || leaves(speed)).then(|| Self {
            time: event.toi,
            cell: view.cell(i),
            offset: place,
            radius: state.radius(i),
            speed,
        })
    }

    // The partner of the threat may become fast too, so its radius counts as well.
    fn radii(&self) -> f32 {
        3.0 * self.radius
    }

    // Distance from its place beyond which it strikes no sphere at rest in the substep.
    fn reach(&self, view: &View) -> f32 {
        self.radii() + self.speed * (view.frame.h - self.time)
    }

    // Whether a sphere from the threat could strike sphere `i` before `limit`.
    fn strikes(&self, view: &View, i: usize, limit: f32) -> bool {
        let (state, drift) = (view.state, view.frame.drift);
        let shift = view.grid.shift(view.grid.nearest(self.cell - view.cell(i)));
        let d = view.offset_at(i, limit) - self.offset - shift - drift * (limit - self.time);
        let speed = self.speed + (state.velocity(i) - drift).length();
        let reach = state.radius(i) + self.radii() + speed * (limit - self.time);
        d.length_squared() <= reach * reach
    }
}

/// The threats of a round.
#[derive(Default)]
pub struct Threats {
    /// Those that are not in the table, by time; then those of each coarse cell, by time.
    pub all: Vec<Threat>,
    far: usize,
    /// First threat of each coarse cell, and the end; empty if there is no table.
    starts: Vec<u32>,
    table: Table,
}

/// Coarse cells. They wrap around where the cells of the grid do.
#[derive(Default)]
struct Table {
    /// Least cell of the grid.
    low: IVec3,
    /// Number of cells of the grid, and of those in a coarse cell.
    cells: IVec3,
    width: IVec3,
    /// Number of coarse cells.
    count: IVec3,
    /// Longest reach of a threat in the table.
    reach: f32,
}

impl Threats {
    pub fn clear(&mut self) {
        self.all.clear();
        self.starts.clear();
        self.far = 0;
    }

    /// Replaces the threats.
    pub fn set(&mut self, view: &View, threats: impl Iterator<Item = Threat>) {
        self.clear();
        self.all.extend(threats);
        self.far = self.all.len();
        if self.all.len() <= FEW {
            return self.all.sort_unstable_by(|a, b| a.time.total_cmp(&b.time));
        }
        let middle = self.all.len() / 2;
        let (_, median, _) =
            self.all.select_nth_unstable_by(middle, |a, b| a.reach(view).total_cmp(&b.reach(view)));
        let most = FAR * median.reach(view);
        let is_far = |threat: &Threat| threat.reach(view) > most;
        self.table = Table::new(view, self.all.iter().filter(|threat| !is_far(threat)));
        let key = |threat: &Threat| if is_far(threat) { 0 } else { 1 + self.table.index(view, threat) };
        self.all.sort_by_cached_key(|threat| (key(threat), threat.time.to_bits()));
        self.far = self.all.partition_point(is_far);
        for (k, threat) in (self.far as u32..).zip(&self.all[self.far..]) {
            self.starts.resize(self.table.index(view, threat) + 1, k);
        }
        self.starts.resize(self.table.len() + 1, self.all.len() as u32);
    }

    /// Whether a sphere from one of the threats could strike sphere `i` before `limit`.
    pub fn any_strikes(&self, view: &View, i: usize, limit: f32) -> bool {
        let strikes = |threats: &[Threat]| {
            let mut sooner = threats.iter().take_while(|threat| threat.time < limit);
            sooner.any(|threat| threat.strikes(view, i, limit))
        };
        let strikes_in = |k: usize| strikes(&self.all[self.starts[k] as usize..self.starts[k + 1] as usize]);
        strikes(&self.all[..self.far])
            || (!self.starts.is_empty() && self.table.any(view, i, limit, strikes_in))
    }
}

// The cell in which a sphere that moves with the drift from this place and time would have been when the substep began.
fn cell_before(view: &View, cell: IVec3, offset: Vec3, time: f32) -> IVec3 {
    let cells = (offset - view.frame.drift * time) / view.grid.edge;
    cell.saturating_add(cells.floor().as_ivec3())
}

impl Table {
    fn new<'t>(view: &View, threats: impl Iterator<Item = &'t Threat> + Clone) -> Self {
        let grid = view.grid;
        let (mut low, mut high) = (IVec3::MAX, IVec3::MIN);
        for threat in threats.clone() {
            let cell = cell_before(view, threat.cell, threat.offset, threat.time);
            (low, high) = (low.min(cell), high.max(cell));
        }
        let wraps = BVec3::from_array(grid.periodic);
        let low = IVec3::select(wraps, IVec3::ZERO, low);
        let cells = IVec3::select(wraps, grid.count, high - low + 1);
        let reach = threats.clone().map(|threat| threat.reach(view)).fold(0.0, f32::max);
        let mut width = (reach / grid.edge).ceil().as_ivec3().saturating_add(IVec3::ONE);
        let most = CELLS_OF_THREAT * threats.count() as u64;
        let count = |width: IVec3| (cells - 1) / width + 1;
        while count(width).as_u64vec3().element_product() > most {
            width *= 2;
        }
        Self { low, cells, width, count: count(width), reach }
    }

    fn len(&self) -> usize {
        self.count.as_usizevec3().element_product()
    }

    fn at(&self, [x, y, z]: [i32; 3]) -> usize {
        ((z * self.count.y + y) * self.count.x + x) as usize
    }

    // The coarse cell of a threat in the table.
    fn index(&self, view: &View, threat: &Threat) -> usize {
        let mut cell = cell_before(view, threat.cell, threat.offset, threat.time) - self.low;
        for axis in 0..3 {
            if view.grid.periodic[axis] {
                cell[axis] = cell[axis].rem_euclid(self.cells[axis]);
            }
        }
        self.at((cell / self.width).to_array())
    }

    // Whether `is_wanted` accepts any of the coarse cells whose threats could strike sphere `i` before `limit`.
    fn any(&self, view: &View, i: usize, limit: f32, is_wanted: impl Fn(usize) -> bool) -> bool {
        let speed = (view.state.velocity(i) - view.frame.drift).length();
        let reach = self.reach + view.state.radius(i) + speed * limit;
        let cell = cell_before(view, view.cell(i), view.offset_at(i, limit), limit);
        let [xs, ys, zs] = [0, 1, 2].map(|axis| {
            // One more for the rounding of places.
            let cells = (reach / view.grid.edge[axis]).ceil() as i32;
            self.along(axis, cell[axis], cells.saturating_add(1), view.grid.periodic[axis])
        });
        let each = |ranges: &[Range<i32>; 2]| ranges.clone().into_iter().flatten();
        each(&zs).any(|z| each(&ys).any(|y| each(&xs).any(|x| is_wanted(self.at([x, y, z])))))
    }

    // The coarse cells along an axis up to `reach` cells from `cell`; two ranges where the axis wraps around.
    fn along(&self, axis: usize, cell: i32, reach: i32, wraps: bool) -> [Range<i32>; 2] {
        let (cells, width) = (self.cells[axis], self.width[axis]);
        let coarse =
            |first: i32, last: i32| if first > last { 0..0 } else { first / width..last / width + 1 };
        let cell = cell.saturating_sub(self.low[axis]);
        if !wraps {
            return [
                coarse(cell.saturating_sub(reach).max(0), cell.saturating_add(reach).min(cells - 1)),
                0..0,
            ];
        }
        if reach >= cells / 2 {
            return [coarse(0, cells - 1), 0..0];
        }
        let first = (cell - reach).rem_euclid(cells);
        let last = first + 2 * reach;
        [coarse(first, last.min(cells - 1)), coarse(0, last - cells)]
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::{
        System,
        cpu::Stepper,
        scene::{Fill, Scene},
        state::{columns::NEVER, frame::Frame},
    };

    // Compares the answers for all spheres with those of a test of all threats, which come from some of the spheres.
    fn check(system: &System, drift: Vec3, seed: u64) {
        let stepper = Stepper::new(system, |_| NEVER, 0.0).unwrap();
        let core = &stepper.engine.core;
        let h = core.domain.dt as f32;
        let view = core.view(Frame { h, gravity: Vec3::ZERO, drift, drifted: Vec3::ZERO });
        let mut rng = Pcg64::seed_from_u64(seed);
        let count = core.state.len();
        let (mut struck, mut spared, mut threats) = (0, 0, Threats::default());
        for few in [0, 1, FEW, 40, 200, 1000] {
            let drawn: Vec<Threat> = (0..few)
                .map(|k| {
                    let i = rng.random_range(0..count);
                    let path = if k % 50 == 3 { 20.0 } else { 0.5 } * rng.random::<f32>();
                    let time = h * rng.random::<f32>();
                    let (cell, radius) = (view.cell(i), view.state.radius(i));
                    Threat { time, cell, offset: view.offset_at(i, time), radius, speed: path / h }
                })
                .collect();
            threats.set(&view, drawn.iter().copied());
            assert_eq!(threats.all.len(), few);
            assert_eq!(threats.starts.is_empty(), few <= FEW);
            for i in 0..count {
                let limit = h * rng.random::<f32>();
                let expected =
                    drawn.iter().any(|threat| threat.time < limit && threat.strikes(&view, i, limit));
                assert_eq!(
                    threats.any_strikes(&view, i, limit),
                    expected,
                    "{few} threats, sphere {i}, {limit}"
                );
                if few > FEW {
                    *if expected { &mut struck } else { &mut spared } += 1;
                }
            }
        }
        assert!(threats.table.len() > 60 && threats.far > 5, "{} {}", threats.table.len(), threats.far);
        assert!(struck > 500 && spared > 500, "{struck} {spared}");
    }

    #[test]
    fn the_table_finds_the_threats_that_a_test_of_all_finds() {
        let gas = |scene: Scene, fraction: f64| {
            let fill = Fill::random(2000).volume_fraction(fraction).temperature(2.0);
            scene.seed(8).fill(fill).build().unwrap()
        };
        for (seed, drift) in (1..).zip([Vec3::ZERO, Vec3::new(3.0, -20.0, 7.0)]) {
            check(&gas(Scene::new(0.05).periodic(), 0.02), drift, seed);
            check(&gas(Scene::new(0.05).walled(), 0.02), drift, seed);
            check(&gas(Scene::new(0.05).flat().periodic(), 0.05), drift, seed);
            // Short along one axis, and without bounds.
            let mut open = gas(Scene::new(0.05).periodic(), 0.02);
            open.bounds = crate::Bounds::default();
            check(&open, drift, seed);
        }
    }
}
