//! Searches for candidates where sizes differ and cells are divided into parts. For each level, the search visits the
//! parts from which spheres of that level could reach the sphere in question.

use crate::state::constants::REACH_HAIR;
use std::ops::Range;

use glam::{IVec3, Vec3};

use super::{Candidate, Finder, Row};
use crate::state::{grid::CODES, levels::Level};

impl Finder<'_> {
    /// Finds candidates level by level, within a level by z, y and x; `rows` is a buffer.
    pub(super) fn in_parts(
        &self,
        starts: &[u32],
        columns: [&[f32]; 4],
        rows: &mut Vec<Row>,
        entries: &mut Vec<Candidate>,
    ) {
        let grid = self.grid;
        rows.clear();
        for level in &grid.levels.all {
            self.for_parts(starts, level, |cell, away, spheres| {
                let code = 9 * away.z + 3 * away.y + CODES as i32 / 2;
                if grid.direct {
                    // The whole row is in one cell: left of the middle cell, in it, or right of it.
                    let Range { start, end } = spheres;
                    let starts = match away.x {
                        -1 => [start, end, end, end],
                        0 => [start, start, end, end],
                        _ => [start, start, start, end],
                    };
                    let shift = grid.shift(IVec3::new(0, away.y, away.z));
                    rows.push(Row { starts, code, shift, cell });
                } else {
                    let shift = grid.shift(away);
                    for j in spheres {
                        let j = j as usize;
                        if self.state.cell[j].truncate() == cell && self.is_near(j, shift) {
                            self.push(j, code + away.x, entries);
                        }
                    }
                }
            });
        }
        self.in_fours(rows, columns, entries);
    }

    fn is_near(&self, j: usize, shift: Vec3) -> bool {
        let d = (self.offset - self.state.offset(j)) - shift;
        let reach = (self.radius + self.state.radius(j)) + self.skin;
        d.length_squared() <= reach * reach
    }

    // Calls `visit(cell, cells away, spheres)` for the parts of a level within reach. Parts of a cell that are adjacent
    // along x are visited together.
    fn for_parts(&self, starts: &[u32], level: &Level, mut visit: impl FnMut(IVec3, IVec3, Range<u32>)) {
        let (grid, offset) = (self.grid, self.offset);
        let home = self.state.cell[self.i].truncate();
        let parts = level.parts;
        let away = |part: i32, axis: usize| i32::from(part >= parts[axis]) - i32::from(part < 0);
        let reach = ((self.radius + level.largest) + self.skin) * (1.0 + REACH_HAIR);
        let (low, high) = level.span(2, offset.z, reach);
        for part_z in low..=high {
            let dz = away(part_z, 2);
            let Some(z) = grid.wrap(2, home.z + dz) else { continue };
            let gap = level.gap(2, offset.z, part_z);
            let within = (reach * reach - gap * gap).max(0.0);
            let (low, high) = level.span(1, offset.y, within.sqrt());
            for part_y in low..=high {
                let dy = away(part_y, 1);
                let Some(y) = grid.wrap(1, home.y + dy) else { continue };
                let gap = level.gap(1, offset.y, part_y);
                let within = (within - gap * gap).max(0.0);
                let (low, high) = level.span(0, offset.x, within.sqrt());
                let row = grid.row(y, z);
                let before = ((part_z - dz * parts.z) * parts.y + (part_y - dy * parts.y)) * parts.x;
                for dx in away(low, 0)..=away(high, 0) {
                    let Some(x) = grid.wrap(0, home.x + dx) else { continue };
                    let first = grid.bucket(row, x) as i32 + level.first as i32 + before;
                    let from = (low - dx * parts.x).max(0);
                    let to = (high - dx * parts.x).min(parts.x - 1);
                    let spheres = starts[(first + from) as usize]..starts[(first + to) as usize + 1];
                    if !spheres.is_empty() {
                        visit(IVec3::new(x, y, z), IVec3::new(dx, dy, dz), spheres);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::{
        Side, System,
        cpu::core::Core,
        scene::{Fill, Scene},
    };

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
        }
        println!("{what}: direct {direct}, {} parts of a cell, longest list {longest}", levels.parts);
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
                    let system = scene.fill(fill).build().unwrap();
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
            check(&format!("discs, {kind}"), &scene.fill(fill).build().unwrap());
        }
    }
}
