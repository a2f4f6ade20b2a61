//! Stage 4 against its twin.

use super::{
    Case, Harness, PRESENT, Slip, Twin, agrees,
    memory::rough_place,
    notices,
    starts::{Start, has_sizes, start},
};
use crate::gpu::{
    encode,
    layout::{CANDIDATE_COUNT, CODE_SHIFT, GROUP, INDEX_MASK},
};
use glam::Vec3;

use crate::{
    cpu::sweep::from_wall,
    state::{
        columns::State,
        constants::wall_bit,
        grid::{CODES, Grid},
    },
    walls::{features::Instant, world::World},
};

/// Of squared distances: the squares may be fused with their sums, each step 6e-8.
const RIM: f64 = 1e-6;

/// Of the gap to a plane, as a share of a cell's edge: a sum of three products of lengths up to a few edges.
const WALL_RIM: f32 = 1e-6;

fn case(start: &Start) -> Case {
    let mut harness = Harness::new(start);
    harness.twin.bin();
    harness.twin.scan();
    harness.twin.scatter();
    let mut input = harness.memory();
    let edge = harness.twin.core.domain.grid.edge;
    for (i, node) in input.nodes.iter_mut().enumerate() {
        node.touched = rough_place(&input.bodies[PRESENT][i], &input.tags[PRESENT][i], edge);
    }
    harness.twin.neighbors();
    let (layout, edge) = (harness.layout, harness.frame.edge.max_element());
    // The lists and, for what only one side has, the rims.
    let n = harness.twin.core.state.len();
    let lists: Vec<Vec<u32>> = (0..n).map(|i| entries(&harness.twin, i)).collect();
    let walls: Vec<u32> = (0..n).map(|i| harness.twin.core.lists.walls(i)).collect();
    // Cells of large spheres hold many small ones: one search is near what llvmpipe allows an invocation.
    let blocks = harness.layout.sphere_count.div_ceil(GROUP).max(1);
    let groups = if has_sizes(start.name) { blocks } else { harness.all() };
    let features: Vec<Vec<u32>> = (0..n).map(|i| harness.twin.core.lists.features(i).to_vec()).collect();
    let driven: Vec<bool> = (0..n).map(|i| harness.twin.core.lists.is_near_moving_wall(i)).collect();
    let dispatches = encode::neighbors(groups).to_vec();
    let path = harness.twin.motion_margin + harness.frame.drift_reach;
    let twin = Rim::new(&harness.twin, path);
    Case::new(harness, input, dispatches, true, move |output, verdict| {
        let mut ranges: Vec<_> = (0..n).map(|i| output.list(i).0).filter(|range| !range.is_empty()).collect();
        ranges.sort_by_key(|range| range.start);
        let apart = ranges.windows(2).all(|pair| pair[0].end <= pair[1].start);
        let within = ranges.first().is_none_or(|range| range.start >= layout.entries as usize);
        verdict.equal("lists apart", 0, (apart, within), (true, true));
        verdict.saw("lists of more than 32", ranges.iter().filter(|range| range.len() > 32).count() as u64);
        verdict.saw("planes in reach", walls.iter().map(|set| u64::from(set.count_ones())).sum());
        let feature_ranges = (0..n).map(|i| output.features(&layout, i).0);
        let total: usize = ranges.iter().cloned().chain(feature_ranges).map(|range| range.len()).sum();
        verdict.saw("patches in reach", features.iter().map(|list| list.len() as u64).sum());
        verdict.equal("candidates", 0, output.work[CANDIDATE_COUNT as usize], total as u32);
        for i in 0..n {
            let (found, expected) = (output.list(i).1, &lists[i]);
            let clear = |list: &[u32]| -> Vec<u32> {
                list.iter().copied().filter(|&entry| !twin.is_on_rim(i, entry)).collect()
            };
            if found != expected {
                verdict.near_ties += 1;
                verdict.equal("candidates", i, clear(found), clear(expected));
            }
            verdict.compared += expected.len() as u64;
            let (_, found, is_near_moving_wall) = output.features(&layout, i);
            if found != features[i] {
                verdict.near_ties += 1;
                let all = || found.iter().chain(&features[i]).copied();
                let only_one = all().filter(|k| all().filter(|other| other == k).count() == 1);
                verdict.equal(
                    "patches",
                    i,
                    only_one.filter(|&k| !twin.is_feature_on_rim(i, k, edge)).collect::<Vec<_>>(),
                    vec![],
                );
            } else {
                verdict.equal("driven", i, is_near_moving_wall, driven[i]);
            }
            let bits = output.lists[layout.walls as usize + i];
            if bits != walls[i] {
                verdict.near_ties += 1;
                verdict.equal("planes", i, (bits ^ walls[i]) & !twin.walls_on_rim(i, edge), 0);
            }
        }
    })
}

fn entries(twin: &Twin, i: usize) -> Vec<u32> {
    twin.core.lists.of(i).iter().map(|c| c.code() << CODE_SHIFT | c.index() as u32).collect()
}

// What tells whether a candidate is on the rim of the reach.
struct Rim {
    state: State,
    grid: Grid,
    world: World,
    motion_margin: f32,
    path: f32,
}

impl Rim {
    fn new(twin: &Twin, path: f32) -> Self {
        let core = &twin.core;
        Self {
            state: core.state.clone(),
            grid: core.domain.grid.clone(),
            world: core.domain.world.clone(),
            motion_margin: twin.motion_margin,
            path,
        }
    }

    fn is_on_rim(&self, i: usize, entry: u32) -> bool {
        let (j, code) = ((entry & INDEX_MASK) as usize, entry >> CODE_SHIFT);
        if j >= self.state.len() || code >= CODES {
            return false;
        }
        let shift = self.grid.shifts()[code as usize];
        let d = ((self.state.offset(i) - self.state.offset(j)) - shift).as_dvec3().length_squared();
        let near = f64::from(self.state.radius(i) + self.state.radius(j) + 2.0 * self.motion_margin).powi(2);
        (d - near).abs() <= RIM * near
    }

    fn is_feature_on_rim(&self, i: usize, feature: u32, edge: f32) -> bool {
        let features = &self.world.features;
        let Some(feature) = features.all.get(feature as usize) else { return false };
        let (cell, offset, radius) =
            (self.state.cell[i].truncate(), self.state.offset(i), self.state.radius(i));
        let at = Instant { cell, offset, velocity: Vec3::ZERO, radius, t: 0.0 };
        let x = features.sight(&self.grid, feature, &at, Vec3::ZERO).x;
        let reach = radius + self.path * 1.001 + self.world.slop;
        (features.near(feature, x).distance - reach).abs() <= WALL_RIM * (edge + x.length())
    }

    fn walls_on_rim(&self, i: usize, edge: f32) -> u32 {
        let mut set = 0;
        for (k, wall) in self.world.walls.iter().enumerate() {
            let gap =
                wall.normal.dot(from_wall(&self.grid, self.state.columns(), wall, i)) - self.state.radius(i);
            if (gap - (self.path * 1.001 + self.world.slop)).abs() <= WALL_RIM * edge {
                set |= wall_bit(k);
            }
        }
        set
    }
}

#[test]
fn neighbors_agree_with_their_twin() {
    agrees("neighbors", case);
}

#[test]
fn neighbors_of_sizes_from_one_to_ten_agree() {
    for (kind, size) in ["sizes", "strewn"].into_iter().flat_map(|kind| [65, 1500, 4001].map(|n| (kind, n))) {
        let case = case(&start(kind, size));
        let verdict = case.verdict(&case.run());
        verdict.assert_clean();
        assert!(size < 1000 || verdict.compared > size as u64 / 2, "{kind}: {} compared", verdict.compared);
    }
}

#[test]
fn a_slip_in_neighbors_is_noticed() {
    let input: &[Slip] = &[
        ("an offset", |m, _, _| m.bodies[1][30].offset.x += 0.6),
        ("a radius", |m, _, _| m.bodies[1][64].radius *= 4.0),
        ("a start", |m, layout, _| {
            // Of a bucket that is not empty.
            let at = layout.starts as usize;
            let bucket = (0..).find(|k| m.work[at + k] < m.work[at + k + 1]).unwrap();
            m.work[at + bucket] += 1;
        }),
    ];
    let output: &[Slip] = &[
        ("a candidate", |m, layout, _| m.lists[layout.entries as usize + 5] ^= 1),
        ("the place of a list", |m, _, _| m.lists[20] += 1),
        ("a plane", |m, layout, _| m.lists[layout.walls as usize + 64] ^= 1),
        ("the count", |m, _, _| m.work[CANDIDATE_COUNT as usize] -= 1),
    ];
    for kind in ["gas", "open", "box"] {
        notices(&start(kind, 65), case, input, output);
    }
    // Hashed cells are searched without.
    let rough: &[Slip] = &[("a rough place", |m, _, _| m.nodes[30].touched ^= 512 << 2)];
    notices(&start("gas", 65), case, rough, &[]);
}
