//! What no sphere moves, as it lies on the device: surfaces, materials, patches of walls with their trees, and where all walls are
//! in each substep. Twin of the readers in shaders/shared/view.wgsl and shaders/shared/feature.wgsl.

use glam::{IVec3, Vec3};

use super::layout::{
    FEATURE_ROWS, Frame, KIND_CAP, KIND_FRUSTUM, KIND_TRIANGLE, LEAF_BITS, MOVER_ROWS, NODE_ROWS, SET_ROWS,
    SITE_ROWS, SURFACE_ROWS, WALL_ROWS,
};
use crate::{
    state::{grid::Grid, units::Units},
    system::box_tree::LEAF,
    walls::{
        features::{WallFeature, shape::FeatureShape},
        world::World,
    },
};

const _: () = assert!(LEAF < 1 << LEAF_BITS);

/// How much of everything there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StaticWorld {
    pub planes: u32,
    /// All walls, planes among them.
    pub walls: u32,
    pub materials: u32,
    pub features: u32,
    pub fans: u32,
    pub sets: u32,
    pub nodes: u32,
    pub movers: u32,
    /// Walls are more than planes that stand for ever.
    pub has_shapes: bool,
    /// Walls move, come or go.
    pub is_restless: bool,
}

/// Where it lies, in rows of four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StaticWorldLayout {
    pub surfaces: u32,
    pub materials: u32,
    features: u32,
    fans: u32,
    sets: u32,
    tree: u32,
    /// Where walls are in each substep, one block behind the other.
    pub motion: u32,
    pub rows: u64,
}

impl StaticWorld {
    pub fn of(world: &World) -> Self {
        let features = &world.features;
        Self {
            planes: world.walls.len() as u32,
            walls: features.wall_count() as u32,
            materials: world.material_count as u32,
            features: features.all.len() as u32,
            fans: features.fans.len() as u32,
            sets: features.sets.len() as u32,
            nodes: features.sets.iter().map(|set| set.tree.nodes.len() as u32).sum(),
            movers: features.movers.len() as u32,
            has_shapes: world.has_shapes(),
            is_restless: features.is_restless(f64::NEG_INFINITY),
        }
    }

    /// Rows of a block: where walls are in a substep.
    pub fn block_rows(&self) -> u32 {
        WALL_ROWS * self.planes + SITE_ROWS * self.walls + MOVER_ROWS * self.movers
    }

    /// StaticWorldLayout for so many spheres and blocks of motion.
    pub fn layout(&self, spheres: u64, blocks: u32) -> StaticWorldLayout {
        let mut end = 0;
        let mut take = |rows: u64| {
            let at = end;
            end += rows;
            at as u32
        };
        let several = |count: u32, rows: u32| u64::from(count) * u64::from(rows);
        StaticWorldLayout {
            surfaces: take(several(self.materials * self.materials, SURFACE_ROWS)),
            materials: take(if self.materials > 1 { spheres.div_ceil(4) } else { 0 }),
            features: take(several(self.features, FEATURE_ROWS)),
            fans: take(u64::from(self.fans)),
            sets: take(several(self.sets, SET_ROWS)),
            tree: take(several(self.nodes, NODE_ROWS)),
            motion: take(several(self.block_rows(), blocks)),
            rows: end.max(1),
        }
    }
}

impl StaticWorldLayout {
    /// Puts down where everything is in the substep that has this block.
    pub fn enter(&self, static_world: &StaticWorld, block: u32, frame: &mut Frame) {
        frame.at_surfaces = self.surfaces;
        frame.at_materials = self.materials;
        frame.at_features = self.features;
        frame.at_fans = self.fans;
        frame.at_sets = self.sets;
        frame.at_tree = self.tree;
        frame.set_count = static_world.sets;
        frame.at_motion = self.motion + block * static_world.block_rows();
        frame.at_sites = frame.at_motion + WALL_ROWS * static_world.planes;
        frame.at_movers = frame.at_sites + SITE_ROWS * static_world.walls;
    }
}

// Rows of four words.
struct Rows<'a>(&'a mut Vec<u32>);

impl Rows<'_> {
    fn vector(&mut self, v: Vec3, last: u32) {
        self.0.extend(v.to_array().map(f32::to_bits));
        self.0.push(last);
    }

    fn cell(&mut self, c: IVec3, last: u32) {
        self.0.extend(c.to_array().map(|c| c as u32));
        self.0.push(last);
    }

    fn words(&mut self, words: [u32; 4]) {
        self.0.extend(words);
    }

    fn floats(&mut self, floats: [f32; 4]) {
        self.words(floats.map(f32::to_bits));
    }
}

/// What stays as it is: all up to the motion. `materials` are those of the ranks.
pub fn still(layout: &StaticWorldLayout, world: &World, materials: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut words = vec![];
    let mut rows = Rows(&mut words);
    for s in &world.surfaces {
        rows.floats([s.restitution, s.friction, s.rolling, s.twisting]);
        rows.floats([s.threshold, 0.0, 0.0, 0.0]);
    }
    debug_assert_eq!(rows.0.len(), 4 * layout.materials as usize);
    if world.material_count > 1 {
        rows.0.extend(materials);
    }
    rows.0.resize(4 * layout.features as usize, 0);
    let features = &world.features;
    for feature in &features.all {
        let turns = features.sets[feature.set as usize].turns;
        put_feature(&mut rows, feature, features.mover_number(feature.wall).map_or(0, |k| k + 1), turns);
    }
    features.fans.iter().for_each(|&fan| rows.vector(fan, 0));
    let mut first = 0;
    for set in &features.sets {
        let count = set.tree.nodes.len() as u32;
        rows.cell(set.cell, set.mover.map_or(0, |k| k + 1));
        rows.vector(set.offset, u32::from(set.turns));
        rows.words([first, first + count, 0, 0]);
        first += count;
    }
    let mut first = 0;
    for set in &features.sets {
        for node in &set.tree.nodes {
            rows.vector(node.low, first + node.skip);
            rows.vector(node.high, node.first << LEAF_BITS | node.count);
        }
        first += set.tree.nodes.len() as u32;
    }
    words
}

fn put_feature(rows: &mut Rows, feature: &WallFeature, mover: u32, turns: bool) {
    let end = rows.0.len() + 4 * FEATURE_ROWS as usize;
    let kind = match feature.shape {
        FeatureShape::Frustum(_) => KIND_FRUSTUM,
        FeatureShape::Cap(_) => KIND_CAP,
        FeatureShape::Triangle(_) => KIND_TRIANGLE,
    };
    rows.cell(feature.cell, kind);
    rows.vector(feature.offset, feature.wall);
    rows.words([feature.material as u32, mover, u32::from(turns), 0]);
    match &feature.shape {
        FeatureShape::Frustum(frustum) => {
            rows.vector(frustum.axis, frustum.length.to_bits());
            rows.floats([frustum.from.x, frustum.from.y, frustum.along.x, frustum.along.y]);
            let [a, b] = frustum.gates;
            rows.floats([a.x, a.y, b.x, b.y]);
        }
        FeatureShape::Cap(cap) => {
            rows.vector(cap.axis, cap.radius.to_bits());
            rows.floats([cap.rim.x, cap.rim.y, f32::from(u8::from(cap.is_whole)), 0.0]);
        }
        FeatureShape::Triangle(t) => {
            let [a, b, c] = t.fans;
            rows.vector(t.edges[0], t.normal.x.to_bits());
            rows.vector(t.edges[1], t.normal.y.to_bits());
            rows.vector(t.gates[0], t.normal.z.to_bits());
            rows.vector(t.gates[1], a[0]);
            rows.vector(t.gates[2], a[1]);
            rows.words([b[0], b[1], c[0], c[1]]);
        }
    }
    rows.0.resize(end, 0);
}

/// Where walls are in the present substep, appended to `words`.
pub fn motion(world: &World, units: &Units, grid: &Grid, words: &mut Vec<u32>) {
    let mut rows = Rows(words);
    for wall in &world.walls {
        rows.vector(wall.normal, wall.acceleration.to_bits());
        rows.cell(wall.cell, wall.material as u32);
        rows.vector(wall.offset, wall.speed.to_bits());
        rows.words([wall.mover.map_or(0, |k| k + 1), wall.number, u32::from(wall.there), 0]);
    }
    let features = &world.features;
    for number in 0..features.wall_count() as u32 {
        let (cell, offset) = grid.locate_freely(features.pivot(number) / units.length);
        rows.cell(cell, features.mover_number(number).map_or(0, |k| k + 1));
        rows.vector(offset, u32::from(features.there[number as usize]));
    }
    for mover in &features.movers {
        rows.cell(mover.cell, 0);
        rows.vector(mover.offset, 0);
        rows.vector(mover.velocity, 0);
        rows.vector(mover.spin, 0);
        for column in [mover.turn.x_axis, mover.turn.y_axis, mover.turn.z_axis] {
            rows.vector(column, 0);
        }
    }
}
