//! The static world on the device: surfaces, materials, wall features with their trees, and the positions of all walls in
//! each substep. The functions in shaders/shared/view.wgsl and shaders/shared/feature.wgsl read this data.

use glam::{IVec3, Vec3};

use super::layout::{FEATURE_ROWS, KIND_CAP, KIND_FRUSTUM, KIND_TRIANGLE, LEAF_BITS, RegionOffsets};
use crate::{
    state::{grid::Grid, units::Units},
    system::box_tree::LEAF,
    walls::{
        features::{WallFeature, shape::FeatureShape},
        world::World,
    },
};

const _: () = assert!(LEAF < 1 << LEAF_BITS);

/// Number of elements of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StaticWorld {
    pub planes: u32,
    /// All walls, including planes.
    pub walls: u32,
    pub materials: u32,
    pub features: u32,
    pub fans: u32,
    pub sets: u32,
    pub nodes: u32,
    pub movers: u32,
    /// Boxes of sinks and sources.
    pub watches: u32,
    /// The box may shrink.
    pub shrinks: bool,
    /// The world has wall features, or walls that move or are present only for a time.
    pub has_shapes: bool,
    /// Some wall moves, appears or disappears.
    pub is_restless: bool,
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
            watches: 0,
            shrinks: false,
            has_shapes: world.has_shapes(),
            is_restless: features.is_restless(f64::NEG_INFINITY),
        }
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

/// The rows that never change, except for the boxes of sinks and sources: all before the motion. `materials` has the material of each rank.
pub fn still(at: &RegionOffsets, world: &World, materials: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut words = vec![];
    let mut rows = Rows(&mut words);
    for s in &world.surfaces {
        rows.floats([s.restitution, s.friction, s.rolling, s.twisting]);
        rows.floats([s.threshold, 0.0, 0.0, 0.0]);
    }
    debug_assert_eq!(rows.0.len(), 4 * at.materials as usize);
    if world.material_count > 1 {
        rows.0.extend(materials);
    }
    rows.0.resize(4 * at.features as usize, 0);
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
    let features = &world.features;
    let presence = |wall: u32| {
        let [there, changing] = [&features.there, &features.changing].map(|of| u32::from(of[wall as usize]));
        there | (changing << 1)
    };
    for wall in &world.walls {
        rows.vector(wall.normal, wall.acceleration.to_bits());
        rows.cell(wall.cell, wall.material as u32);
        rows.vector(wall.offset, wall.speed.to_bits());
        rows.words([wall.mover.map_or(0, |k| k + 1), wall.number, presence(wall.number), 0]);
    }
    for number in 0..features.wall_count() as u32 {
        let (cell, offset) = grid.locate_freely(features.pivot(number) / units.length);
        rows.cell(cell, features.mover_number(number).map_or(0, |k| k + 1));
        rows.vector(offset, presence(number));
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
