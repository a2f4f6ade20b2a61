//! Threats: impacts that may make a sphere so fast that it leaves the reach of other spheres' candidate lists. They lie in a table of
//! coarse cells, so that an impact is tested with those near it only: both impacts and threats grow with the number of spheres.
//!
//! Shader twins: shaders/shared/causality.wgsl, and shaders/shared/threat_table.wgsl, whose table lists each threat by its reach.

use std::ops::Range;

use glam::{BVec3, IVec3, Vec3};

use super::event::{Event, View};
use crate::state::grid::FARTHEST;

/// Up to this number, every impact is tested with all threats.
const FEW: usize = 32;

/// Largest number of coarse cells for each threat.
const CELLS_OF_THREAT: usize = 4;

/// Number of threats of the longest reach that are not in the table: one bullet would make all cells too large.
const FAR: usize = 8;

/// Distance of a cell from the origin beyond which the table does not tell cells apart.
const LAST_CELL: i32 = 2 * FARTHEST;

/// An impact after which one of its partners may leave the reach of other spheres' candidate lists.
#[derive(Clone, Copy, Debug, PartialEq)]
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
            // The sum turns -0 into 0, whose bits are in the order of the times.
            time: event.toi + 0.0,
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

    // Distance from its place, apart from the radius of the other sphere, beyond which it strikes no sphere that moves with the drift. A
    // little more than the substep, because `verify` shifts impacts at its end.
    fn reach(&self, view: &View) -> f32 {
        self.radii() + self.speed * (1.01 * view.frame.h - self.time)
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
    /// The threats of the longest reach come first, sorted by time. The threats of each coarse cell follow, sorted by time too.
    pub all: Vec<Threat>,
    /// Number of threats before those in the table.
    far: usize,
    /// First threat of each coarse cell, and the end; empty if there is no table.
    starts: Vec<u32>,
    table: Table,
}

/// Coarse cells. They wrap around where the cells of the grid do.
#[derive(Default)]
struct Table {
    /// First cell of the grid: 0 on periodic axes, elsewhere the least cell of a threat.
    low: IVec3,
    /// Number of cells of the grid from there on: up to the last one on periodic axes, elsewhere up to the last one with a threat.
    cells: IVec3,
    /// Number of cells of the grid in a coarse cell.
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
        let in_table = self.all.len() - FAR;
        let longest_last = |a: &Threat, b: &Threat| a.reach(view).total_cmp(&b.reach(view));
        let (near, ..) = self.all.select_nth_unstable_by(in_table, longest_last);
        self.table = Table::new(view, near);
        let (near, far) = self.all.split_at_mut(in_table);
        near.sort_by_cached_key(|threat| (self.table.index(view, threat), threat.time.to_bits()));
        far.sort_unstable_by(|a, b| a.time.total_cmp(&b.time));
        self.all.rotate_right(FAR);
        self.far = FAR;
        for (k, threat) in (self.far as u32..).zip(&self.all[self.far..]) {
            self.starts.resize(self.table.index(view, threat) + 1, k);
        }
        self.starts.resize(self.table.len() + 1, self.all.len() as u32);
    }

    /// Whether a sphere from one of the threats could strike sphere `i` before `limit`.
    pub fn any_strikes(&self, view: &View, i: usize, limit: f32) -> bool {
        self.any_near(view, (i, limit), |threat| threat.strikes(view, i, limit))
    }

    // Whether `is_wanted` accepts any of the threats that could strike sphere `i` before `limit`, and perhaps of others.
    fn any_near(&self, view: &View, (i, limit): (usize, f32), is_wanted: impl Fn(&Threat) -> bool) -> bool {
        let any_sooner = |threats: &[Threat]| threats.iter().take_while(|t| t.time < limit).any(&is_wanted);
        let (far, near) = self.all.split_at(self.far);
        if any_sooner(far) {
            return true;
        }
        if near.is_empty() {
            return false;
        }
        let around = self.table.around(view, i, limit);
        let cells: usize = around.iter().map(|[a, b]| a.len() + b.len()).product();
        if cells > near.len() {
            return near.iter().any(|threat| threat.time < limit && is_wanted(threat));
        }
        let [xs, ys, zs] = around.map(|ranges| ranges.into_iter().flatten());
        let mut rows = zs.flat_map(|z| ys.clone().map(move |y| (y, z)));
        rows.any(|(y, z)| {
            let mut cells = xs.clone().map(|x| self.table.at([x, y, z]));
            cells.any(|k| any_sooner(&self.all[self.starts[k] as usize..self.starts[k + 1] as usize]))
        })
    }

    pub fn bytes(&self) -> usize {
        size_of::<Threat>() * self.all.capacity() + 4 * self.starts.capacity()
    }
}

// The cell of a place, moved back with the drift from `time` to the start of the substep; not wrapped around.
fn cell_at_start(view: &View, cell: IVec3, offset: Vec3, time: f32) -> IVec3 {
    let cells = (offset - view.frame.drift * time) / view.grid.edge;
    let cell = cell.saturating_add(cells.floor().as_ivec3());
    cell.clamp(IVec3::splat(-LAST_CELL), IVec3::splat(LAST_CELL))
}

impl Table {
    fn new(view: &View, threats: &[Threat]) -> Self {
        let grid = view.grid;
        let (mut low, mut high) = (IVec3::MAX, IVec3::MIN);
        for threat in threats {
            let cell = cell_at_start(view, threat.cell, threat.offset, threat.time);
            (low, high) = (low.min(cell), high.max(cell));
        }
        let wraps = BVec3::from_array(grid.periodic);
        let low = IVec3::select(wraps, IVec3::ZERO, low);
        let cells = IVec3::select(wraps, grid.count, high - low + 1);
        let reach = threats.iter().map(|threat| threat.reach(view)).fold(0.0, f32::max);
        let mut width = (reach / grid.edge).ceil().as_ivec3().saturating_add(IVec3::ONE);
        let count = |width: IVec3| (cells - 1) / width + 1;
        // In floating point, because the product of large numbers of cells overflows.
        while count(width).as_dvec3().element_product() > (CELLS_OF_THREAT * threats.len()) as f64 {
            width = IVec3::select(count(width).cmpgt(IVec3::ONE), width * 2, width);
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
        let mut cell = cell_at_start(view, threat.cell, threat.offset, threat.time) - self.low;
        for axis in 0..3 {
            if view.grid.periodic[axis] {
                cell[axis] = cell[axis].rem_euclid(self.cells[axis]);
            }
        }
        self.at((cell / self.width).to_array())
    }

    // The coarse cells along each axis whose threats could strike sphere `i` before `limit`; two ranges where an axis wraps around.
    fn around(&self, view: &View, i: usize, limit: f32) -> [[Range<i32>; 2]; 3] {
        let speed = (view.state.velocity(i) - view.frame.drift).length();
        let reach = self.reach + view.state.radius(i) + speed * limit;
        let cell = cell_at_start(view, view.cell(i), view.offset_at(i, limit), limit);
        [0, 1, 2].map(|axis| {
            // One more for the rounding of places.
            let cells = (reach / view.grid.edge[axis]).ceil() as i32;
            self.along(axis, cell[axis], cells.saturating_add(1), view.grid.periodic[axis])
        })
    }

    // The coarse cells along an axis up to `reach` cells from `cell`.
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
    use glam::DVec3;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::{
        Bounds, Dimensions, System,
        cpu::Stepper,
        scene::{Fill, Scene},
        state::{columns::NEVER, frame::Frame},
    };

    // Compares the answers for some spheres with those of a test of all threats, which come from some of the spheres. `alike`: all threats
    // have the same reach and begin with the substep, and the limits are close to its end, so that the table covers no more than it must.
    fn check(system: &System, alike: bool) -> [u32; 2] {
        let stepper = Stepper::new(system, |_| NEVER, 0.0).unwrap();
        let core = &stepper.engine.core;
        let (h, count) = (core.domain.dt as f32, core.state.len());
        let drift = core.state.motion.iter().map(|motion| motion.truncate()).sum::<Vec3>() / count as f32;
        let view = core.view(Frame { h, gravity: Vec3::ZERO, drift, drifted: Vec3::ZERO });
        let mut rng = Pcg64::seed_from_u64(8);
        let (mut struck, mut spared, mut threats) = (0, 0, Threats::default());
        for few in [0, 1, FEW, FEW + 1, 40, 200, 1000, 5] {
            let drawn: Vec<Threat> = (0..few)
                .map(|k| {
                    let i = rng.random_range(0..count);
                    let path = if k % 50 == 3 { 20.0 } else { 0.5 } * rng.random::<f32>();
                    let (path, time) = if alike { (6.0, 0.0) } else { (path, h * rng.random::<f32>()) };
                    let (cell, radius) = (view.cell(i), view.state.radius(i));
                    Threat { time, cell, offset: view.offset_at(i, time), radius, speed: path / h }
                })
                .collect();
            threats.set(&view, drawn.iter().copied());
            assert_eq!((threats.all.len(), threats.starts.is_empty()), (few, few <= FEW));
            for i in (0..count).step_by(7) {
                let share = rng.random::<f32>();
                let limit = h * if alike { 0.99 + 0.01 * share } else { share };
                let is_striking = |threat: &&Threat| threat.time < limit && threat.strikes(&view, i, limit);
                let mut striking = drawn.iter().filter(is_striking).peekable();
                let is_struck = striking.peek().is_some();
                assert_eq!(
                    threats.any_strikes(&view, i, limit),
                    is_struck,
                    "{few} threats, sphere {i}, {limit}"
                );
                for one in striking {
                    assert!(
                        threats.any_near(&view, (i, limit), |threat| threat == one),
                        "{one:?}, sphere {i}, {limit}"
                    );
                }
                if few > FEW {
                    *if is_struck { &mut struck } else { &mut spared } += 1;
                }
            }
        }
        [struck, spared]
    }

    // A gas that moves 25 diameters in a substep, with some fast spheres and some large ones.
    fn gas(scene: Scene, fill: Fill) -> System {
        let fill = fill.diameters([(1.0, 0.95), (1.7, 0.05)]).temperature(2.0);
        let mut system = scene.seed(8).fill(fill).build().unwrap();
        for (k, sphere) in system.spheres.iter_mut().enumerate() {
            sphere.velocity *= if k % 100 == 7 { 60.0 } else { 1.0 };
            sphere.velocity +=
                DVec3::new(400.0, -250.0, if system.dimensions == Dimensions::Two { 0.0 } else { 200.0 });
        }
        system
    }

    #[test]
    fn the_table_finds_the_threats_that_a_test_of_all_finds() {
        let fill = || Fill::random(20_000).volume_fraction(0.1);
        let scene = || Scene::new(0.05);
        let mut open = gas(scene().periodic(), fill());
        open.bounds = Bounds::default();
        let thin = scene().periodic().bounds([0.0; 3], [4.0, 60.0, 400.0]);
        for alike in [false, true] {
            for (name, system) in [
                ("periodic", gas(scene().periodic(), fill())),
                ("walled", gas(scene().walled(), fill())),
                ("flat", gas(scene().flat().periodic(), fill())),
                ("open", open.clone()),
                ("thin", gas(thin.clone(), Fill::random(6000))),
            ] {
                let [struck, spared] = check(&system, alike);
                assert!(struck > 200 && spared > 200, "{name}: {struck} {spared}");
            }
        }
    }

    #[test]
    fn the_table_covers_worlds_of_any_width() {
        let near = gas(Scene::new(0.05).periodic(), Fill::random(300).volume_fraction(0.01));
        let mut wide = near.clone();
        (wide.bounds.min, wide.bounds.max) = (DVec3::ZERO, DVec3::splat(1e9));
        let mut apart = near.clone();
        apart.bounds = Bounds::default();
        apart.spheres.iter_mut().step_by(3).for_each(|sphere| sphere.position += 1e8);
        let mut far = apart.clone();
        far.spheres.iter_mut().step_by(5).for_each(|sphere| sphere.position -= 1e12);
        for system in [wide, apart, far] {
            check(&system, false);
        }
    }
}
