//! What no sphere moves, as it lies on the device: surfaces, materials, patches of walls with their trees, and where all walls are
//! in each substep. Twin of the readers in shaders/shared/view.wgsl and shaders/shared/form.wgsl.

use glam::{IVec3, Vec3};

use super::layout::{
    Frame, KIND_CAP, KIND_RING, KIND_TRIANGLE, LEAF_BITS, MOVER_ROWS, NODE_ROWS, PATCH_ROWS, SET_ROWS,
    SITE_ROWS, SURFACE_ROWS, WALL_ROWS,
};
use crate::model::{
    grid::Grid,
    patches::{Patch, form::Form, tree::LEAF},
    units::Units,
    world::World,
};

const _: () = assert!(LEAF < 1 << LEAF_BITS);

/// How much of everything there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scenery {
    pub planes: u32,
    /// All walls, planes among them.
    pub walls: u32,
    pub materials: u32,
    pub patches: u32,
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
pub struct Places {
    pub surfaces: u32,
    pub materials: u32,
    patches: u32,
    fans: u32,
    sets: u32,
    tree: u32,
    /// Where walls are in each substep, one block behind the other.
    pub motion: u32,
    pub rows: u64,
}

impl Scenery {
    pub fn of(world: &World) -> Self {
        let patches = &world.patches;
        Self {
            planes: world.walls.len() as u32,
            walls: patches.wall_count() as u32,
            materials: world.material_count as u32,
            patches: patches.all.len() as u32,
            fans: patches.fans.len() as u32,
            sets: patches.sets.len() as u32,
            nodes: patches.sets.iter().map(|set| set.tree.nodes.len() as u32).sum(),
            movers: patches.movers.len() as u32,
            has_shapes: world.has_shapes(),
            is_restless: patches.is_restless(f64::NEG_INFINITY),
        }
    }

    /// Rows of a block: where walls are in a substep.
    pub fn block_rows(&self) -> u32 {
        WALL_ROWS * self.planes + SITE_ROWS * self.walls + MOVER_ROWS * self.movers
    }

    /// Places for so many spheres and blocks of motion.
    pub fn places(&self, spheres: u64, blocks: u32) -> Places {
        let mut end = 0;
        let mut take = |rows: u64| {
            let at = end;
            end += rows;
            at as u32
        };
        let several = |count: u32, rows: u32| u64::from(count) * u64::from(rows);
        Places {
            surfaces: take(several(self.materials * self.materials, SURFACE_ROWS)),
            materials: take(if self.materials > 1 { spheres.div_ceil(4) } else { 0 }),
            patches: take(several(self.patches, PATCH_ROWS)),
            fans: take(u64::from(self.fans)),
            sets: take(several(self.sets, SET_ROWS)),
            tree: take(several(self.nodes, NODE_ROWS)),
            motion: take(several(self.block_rows(), blocks)),
            rows: end.max(1),
        }
    }
}

impl Places {
    /// Puts down where everything is in the substep that has this block.
    pub fn enter(&self, scenery: &Scenery, block: u32, frame: &mut Frame) {
        frame.at_surfaces = self.surfaces;
        frame.at_materials = self.materials;
        frame.at_patches = self.patches;
        frame.at_fans = self.fans;
        frame.at_sets = self.sets;
        frame.at_tree = self.tree;
        frame.set_count = scenery.sets;
        frame.at_motion = self.motion + block * scenery.block_rows();
        frame.at_sites = frame.at_motion + WALL_ROWS * scenery.planes;
        frame.at_movers = frame.at_sites + SITE_ROWS * scenery.walls;
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
pub fn still(places: &Places, world: &World, materials: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut words = vec![];
    let mut rows = Rows(&mut words);
    for s in &world.surfaces {
        rows.floats([s.restitution, s.friction, s.rolling, s.twisting]);
        rows.floats([s.threshold, 0.0, 0.0, 0.0]);
    }
    debug_assert_eq!(rows.0.len(), 4 * places.materials as usize);
    if world.material_count > 1 {
        rows.0.extend(materials);
    }
    rows.0.resize(4 * places.patches as usize, 0);
    let patches = &world.patches;
    for patch in &patches.all {
        let turns = patches.sets[patch.set as usize].turns;
        put_patch(&mut rows, patch, patches.mover_number(patch.wall).map_or(0, |k| k + 1), turns);
    }
    patches.fans.iter().for_each(|&fan| rows.vector(fan, 0));
    let mut first = 0;
    for set in &patches.sets {
        let count = set.tree.nodes.len() as u32;
        rows.cell(set.cell, set.mover.map_or(0, |k| k + 1));
        rows.vector(set.offset, u32::from(set.turns));
        rows.words([first, first + count, 0, 0]);
        first += count;
    }
    let mut first = 0;
    for set in &patches.sets {
        for node in &set.tree.nodes {
            rows.vector(node.low, first + node.skip);
            rows.vector(node.high, node.first << LEAF_BITS | node.count);
        }
        first += set.tree.nodes.len() as u32;
    }
    words
}

fn put_patch(rows: &mut Rows, patch: &Patch, mover: u32, turns: bool) {
    let end = rows.0.len() + 4 * PATCH_ROWS as usize;
    let kind = match patch.form {
        Form::Ring(_) => KIND_RING,
        Form::Cap(_) => KIND_CAP,
        Form::Triangle(_) => KIND_TRIANGLE,
    };
    rows.cell(patch.cell, kind);
    rows.vector(patch.offset, patch.wall);
    rows.words([patch.material as u32, mover, u32::from(turns), 0]);
    match &patch.form {
        Form::Ring(ring) => {
            rows.vector(ring.axis, ring.length.to_bits());
            rows.floats([ring.from.x, ring.from.y, ring.along.x, ring.along.y]);
            let [a, b] = ring.gates;
            rows.floats([a.x, a.y, b.x, b.y]);
        }
        Form::Cap(cap) => {
            rows.vector(cap.axis, cap.radius.to_bits());
            rows.floats([cap.rim.x, cap.rim.y, f32::from(u8::from(cap.is_whole)), 0.0]);
        }
        Form::Triangle(t) => {
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
    let patches = &world.patches;
    for number in 0..patches.wall_count() as u32 {
        let (cell, offset) = grid.locate_freely(patches.pivot(number) / units.length);
        rows.cell(cell, patches.mover_number(number).map_or(0, |k| k + 1));
        rows.vector(offset, u32::from(patches.there[number as usize]));
    }
    for mover in &patches.movers {
        rows.cell(mover.cell, 0);
        rows.vector(mover.offset, 0);
        rows.vector(mover.velocity, 0);
        rows.vector(mover.spin, 0);
        for column in [mover.turn.x_axis, mover.turn.y_axis, mover.turn.z_axis] {
            rows.vector(column, 0);
        }
    }
}
