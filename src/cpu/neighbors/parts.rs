//! Searches for candidates where sizes differ and cells are divided into parts. For each level, the search visits the
//! parts from which spheres of that level could reach the sphere in question.

use crate::state::constants::REACH_HAIR;
use glam::{IVec3, Vec3};

use super::{Candidate, Finder, Row};
use crate::state::{grid::CODES, levels::Level};

/// A row of more spheres is narrowed to the parts within reach. For fewer, testing them all is faster.
const LONG_ROW: u32 = 8;

/// Buffers of the search around one sphere.
#[derive(Default)]
pub(super) struct Buffers {
    rows: Vec<Row>,
    /// Along x, y and z.
    slices: [Vec<Slice>; 3],
}

/// Parts at one place along an axis; along x, parts side by side in one cell.
struct Slice {
    /// Their cell, in cells from the sphere's cell, and within the grid.
    away: i32,
    cell: i32,
    /// First and last part within the cell.
    parts: [i32; 2],
    /// Square of the distance from the sphere along the axis. Along x it is not used.
    square: f32,
}

impl Finder<'_> {
    /// Finds candidates level by level, within a level by z, y and x.
    pub(super) fn in_parts(
        &self,
        starts: &[u32],
        columns: [&[f32]; 4],
        buffers: &mut Buffers,
        entries: &mut Vec<Candidate>,
    ) {
        buffers.rows.clear();
        for level in &self.grid.levels.all {
            self.slice(level, &mut buffers.slices);
            if self.grid.direct {
                self.find_rows(starts, level, buffers);
            } else {
                self.find_hashed(starts, level, &buffers.slices, entries);
            }
        }
        self.in_fours(&buffers.rows, columns, entries);
    }

    // Largest distance of a sphere of a level that is a candidate.
    fn reach(&self, level: &Level) -> f32 {
        ((self.radius + level.largest) + self.skin) * (1.0 + REACH_HAIR)
    }

    // Finds the parts of a level within reach along each axis.
    fn slice(&self, level: &Level, slices: &mut [Vec<Slice>; 3]) {
        let home = self.state.cell[self.i].truncate();
        for (axis, slices) in slices.iter_mut().enumerate() {
            slices.clear();
            let (offset, parts) = (self.offset[axis], level.parts[axis]);
            let (low, high) = level.span(axis, offset, self.reach(level));
            let cell_of = |part: i32| i32::from(part >= parts) - i32::from(part < 0);
            let mut enter = |away: i32, first: i32, last: i32, square: f32| {
                if let Some(cell) = self.grid.wrap(axis, home[axis] + away) {
                    slices.push(Slice {
                        away,
                        cell,
                        parts: [first, last].map(|part| part - away * parts),
                        square,
                    });
                }
            };
            if axis == 0 {
                for away in cell_of(low)..=cell_of(high) {
                    enter(away, low.max(away * parts), high.min((away + 1) * parts - 1), 0.0);
                }
            } else {
                for part in low..=high {
                    let gap = level.gap(axis, offset, part);
                    enter(cell_of(part), part, part, gap * gap);
                }
            }
        }
    }

    // Finds the rows of parts within reach in a direct grid. A row lies in one cell.
    fn find_rows(&self, starts: &[u32], level: &Level, buffers: &mut Buffers) {
        let Buffers { rows, slices: [xs, ys, zs] } = buffers;
        let (grid, parts, reach) = (self.grid, level.parts, self.reach(level));
        for z in zs {
            for y in &*ys {
                let within = reach * reach - (z.square + y.square);
                if within < 0.0 {
                    continue;
                }
                let row = grid.row(y.cell, z.cell);
                let before = level.first as i32 + (z.parts[0] * parts.y + y.parts[0]) * parts.x;
                for x in &*xs {
                    let first = grid.bucket(row, x.cell) as i32 + before;
                    let spheres = |[from, to]: [i32; 2]| {
                        [starts[(first + from) as usize], starts[(first + to) as usize + 1]]
                    };
                    let [mut start, mut end] = spheres(x.parts);
                    if start + LONG_ROW < end {
                        let (low, high) = level.span(0, self.offset.x, within.sqrt());
                        let [from, to] = [low, high].map(|part| part - x.away * parts.x);
                        let narrow = [from.max(x.parts[0]), to.min(x.parts[1])];
                        if narrow[0] > narrow[1] {
                            continue;
                        }
                        [start, end] = spheres(narrow);
                    }
                    if start == end {
                        continue;
                    }
                    // The whole row is left of the middle cell, in it, or right of it.
                    let starts = match x.away {
                        -1 => [start, end, end, end],
                        0 => [start, start, end, end],
                        _ => [start, start, start, end],
                    };
                    rows.push(Row {
                        starts,
                        code: 9 * z.away + 3 * y.away + CODES as i32 / 2,
                        shift: grid.shift(IVec3::new(0, y.away, z.away)),
                        cell: IVec3::new(x.cell, y.cell, z.cell),
                    });
                }
            }
        }
    }

    // Finds the candidates of a level in hashed parts.
    fn find_hashed(
        &self,
        starts: &[u32],
        level: &Level,
        [xs, ys, zs]: &[Vec<Slice>; 3],
        entries: &mut Vec<Candidate>,
    ) {
        let (grid, parts, reach) = (self.grid, level.parts, self.reach(level));
        for z in zs {
            for y in ys.iter().filter(|y| z.square + y.square <= reach * reach) {
                let row = grid.row(y.cell, z.cell);
                let before = level.first as usize + ((z.parts[0] * parts.y + y.parts[0]) * parts.x) as usize;
                for x in xs {
                    let first = grid.bucket(row, x.cell) + before;
                    let [from, to] = x.parts.map(|part| part as usize);
                    let away = IVec3::new(x.away, y.away, z.away);
                    let (shift, cell) = (grid.shift(away), IVec3::new(x.cell, y.cell, z.cell));
                    let code = 9 * away.z + 3 * away.y + away.x + CODES as i32 / 2;
                    for j in starts[first + from] as usize..starts[first + to + 1] as usize {
                        if self.state.cell[j].truncate() == cell && self.is_near(j, shift) {
                            self.push(j, code, entries);
                        }
                    }
                }
            }
        }
    }

    fn is_near(&self, j: usize, shift: Vec3) -> bool {
        let d = (self.offset - self.state.offset(j)) - shift;
        let reach = (self.radius + self.state.radius(j)) + self.skin;
        d.length_squared() <= reach * reach
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::{
        super::{Kept, neighbors, walls_in_reach},
        *,
    };
    use crate::{
        Side, System, Wall, WallShape,
        cpu::{bits::Bits, core::Core, pairs::for_lanes},
        scene::{Fill, Scene},
        step::domain::Domain,
    };

    // Planes through a point, along the axes and oblique.
    fn planes_through(point: DVec3) -> impl Iterator<Item = Wall> {
        let normals = [
            DVec3::X,
            -DVec3::X,
            DVec3::Y,
            -DVec3::Z,
            DVec3::new(1.0, 2.0, -3.0),
            DVec3::new(-4.0, 0.1, 1.0),
        ];
        normals.into_iter().map(move |normal| {
            let normal = normal.normalize();
            Wall::new(WallShape::Plane { point: point - 9.0 * normal, normal }, 0, "plane")
        })
    }

    // (code, index) of all candidates of a sphere, by a test of all spheres in all 27 cells.
    fn among_all(core: &Core, i: usize) -> Vec<(u32, usize)> {
        let (grid, state) = (&core.domain.grid, &core.state);
        let home = state.cell[i].truncate();
        let mut found = vec![];
        for code in 0..CODES {
            let c = code as i32;
            let away = IVec3::new(c % 3 - 1, c / 3 % 3 - 1, c / 9 - 1);
            let wrapped = std::array::from_fn(|axis| grid.wrap(axis, home[axis] + away[axis]));
            let [Some(x), Some(y), Some(z)] = wrapped else { continue };
            if away.z.abs() > grid.layers {
                continue;
            }
            for j in (0..state.len()).filter(|&j| j != i && state.cell[j].truncate() == IVec3::new(x, y, z)) {
                let d = (state.offset(i) - state.offset(j)) - grid.shift(away);
                let reach = (state.radius(i) + state.radius(j)) + 2.0 * core.reach.motion_margin;
                let are_fixed = state.inverse_mass(i) == 0.0 && state.inverse_mass(j) == 0.0;
                if d.length_squared() <= reach * reach && !are_fixed {
                    found.push((code, j));
                }
            }
        }
        found
    }

    // Lists of which a third are made again and the others kept equal those that were made at once.
    fn check_renewed(what: &str, core: &mut Core) {
        let all = |core: &Core| {
            let mut pairs = vec![];
            core.lists.for_fours(0..core.state.len(), |four, lanes| {
                for_lanes(lanes, |lane| pairs.push(four.pair(lane)));
            });
            let of = |i: usize| {
                (core.lists.of(i).to_vec(), core.lists.walls(i), core.lists.near_walls().contains(i))
            };
            ((0..core.state.len()).map(of).collect::<Vec<_>>(), pairs)
        };
        let before = all(core);
        let mut renewed = Bits::default();
        renewed.reset(core.state.len());
        (0..core.state.len()).step_by(3).for_each(|i| renewed.insert(i));
        let Core { domain: Domain { grid, world, .. }, state, starts, reach, lists, .. } = core;
        let kept = Kept { renewed: &renewed, order: None };
        assert!(neighbors(grid, world, state, starts, (*reach, 0.0), Some(kept), lists), "{what}");
        assert!(all(core) == before, "{what}: renewed lists differ");
    }

    fn check(what: &str, system: &System) {
        let mut core = Core::new(system, |_| 0.0).unwrap();
        let motion_margin = core.domain.grid.margin_limit;
        core.bin();
        core.scan();
        core.scatter();
        core.neighbors(motion_margin, 0.0);
        let levels = &core.domain.grid.levels;
        let direct = core.domain.grid.direct;
        assert_eq!(levels.all.len() > 1, !what.starts_with("equal"), "{what}: {levels:?}");
        let mut longest = 0;
        for i in 0..core.state.len() {
            let mut found: Vec<_> = core.lists.of(i).iter().map(|c| (c.code(), c.index())).collect();
            longest = longest.max(found.len());
            found.sort_unstable();
            assert_eq!(found, among_all(&core, i), "{what}, sphere {i} of radius {}", core.state.radius(i));
            let path = motion_margin + core.lists.made_for.1;
            let planes = walls_in_reach(&core.domain.grid, &core.domain.world, &core.state, i, path);
            assert_eq!(core.lists.walls(i), planes, "{what}, planes of sphere {i}");
            assert_eq!(core.lists.near_walls().contains(i), planes != 0, "{what}, sphere {i}");
            let ids = &core.state.id;
            let own = core.lists.of(i).iter().filter(|candidate| ids[candidate.index()] > ids[i]);
            assert!(own.eq(core.lists.own(i)), "{what}, own pairs of sphere {i}");
        }
        println!("{what}: direct {direct}, {} parts of a cell, longest list {longest}", levels.parts);
        check_renewed(what, &mut core);
    }

    const SIDES: [(&str, [Side; 3]); 4] = [
        ("periodic", [Side::Periodic; 3]),
        ("walls", [Side::Wall; 3]),
        ("open", [Side::Open; 3]),
        ("all kinds", [Side::Periodic, Side::Wall, Side::Open]),
    ];

    fn sizes() -> [(&'static str, Fill); 3] {
        let random = Fill::random(1500).temperature(1.0);
        // Each size has the same volume.
        let every = (0..30).map(|k| 10f64.powf(f64::from(k) / 29.0)).map(|d| (d, d.powf(-3.0)));
        let sum: f64 = every.clone().map(|(_, share)| share).sum();
        let every = every.map(|(d, share)| (d, share / sum));
        [
            ("two sizes", random.clone().diameters([(10.0, 0.004), (1.0, 0.996)])),
            ("one to ten", random.clone().diameters(every)),
            ("one to fifty", random.diameters([(50.0, 0.0005), (5.0, 0.02), (1.0, 0.9795)])),
        ]
    }

    #[test]
    fn candidates_of_mixed_sizes_are_those_found_among_all() {
        for (what, fill) in sizes() {
            for (kind, sides) in SIDES {
                for corner in [0.0, 1e6] {
                    let high = if what == "one to fifty" { 120.0 } else { 32.0 };
                    let corner = DVec3::splat(corner);
                    let fill = fill.clone().region(corner, corner + high);
                    let scene = Scene::new(0.02).seed(7).bounds(corner, corner + high).sides(sides);
                    let mut system = scene.fill(fill).build().unwrap();
                    // Some spheres beyond the walls, where they are clamped to the outermost cells.
                    if sides.contains(&Side::Wall) {
                        system.spheres.iter_mut().step_by(20).for_each(|s| s.position.y -= 4.0);
                    }
                    system.spheres.iter_mut().skip(1).step_by(7).for_each(|s| s.fixed = true);
                    system.walls.extend(planes_through(corner + 0.5 * high));
                    check(&format!("{what}, {kind}, from {corner}"), &system);
                }
            }
        }
    }

    // Undivided cells, also in hashed tables whose rows wrap around.
    #[test]
    fn candidates_of_equal_spheres_are_those_found_among_all() {
        let (mut narrow, mut wide) = (SIDES.to_vec(), SIDES.to_vec());
        narrow.push(("open in y and z", [Side::Periodic, Side::Open, Side::Open]));
        wide.push(("open in x", [Side::Open, Side::Periodic, Side::Wall]));
        for (sides, width) in [(narrow, 2.4), (wide, 24.0)] {
            for (kind, sides) in sides {
                for corner in [0.0, 1e6] {
                    let corner = DVec3::splat(corner);
                    let high = corner + DVec3::new(width, 24.0, 24.0);
                    let count = (60.0 * width) as u64;
                    let fill = Fill::random(count).temperature(1.0).region(corner, high);
                    let scene = Scene::new(0.02).seed(9).bounds(corner, high).sides(sides);
                    let mut system = scene.fill(fill).build().unwrap();
                    system.walls.extend(planes_through(0.5 * (corner + high)));
                    check(&format!("equal, {kind}, {width} wide, from {corner}"), &system);
                }
            }
        }
    }

    #[test]
    fn candidates_of_mixed_discs_are_those_found_among_all() {
        for (kind, sides) in SIDES {
            let fill = Fill::random(2000)
                .diameters([(10.0, 0.01), (1.0, 0.99)])
                .region([0.0, 0.0, 0.0], [110.0, 110.0, 0.0])
                .temperature(1.0);
            let mut scene = Scene::new(0.02).flat().seed(8).bounds([0.0; 3], [110.0, 110.0, 0.0]);
            scene = scene.sides([sides[0], sides[1], Side::Open]);
            let mut system = scene.fill(fill).build().unwrap();
            for normal in [DVec3::X, DVec3::new(-0.6, 0.8, 0.0)] {
                let point = DVec3::new(55.0, 55.0, 0.0) - 40.0 * normal;
                system.walls.push(Wall::new(WallShape::Plane { point, normal }, 0, "line"));
            }
            check(&format!("discs, {kind}"), &system);
        }
    }
}
