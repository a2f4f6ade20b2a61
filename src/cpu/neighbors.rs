//! Stage 4: the candidates of every sphere: all it could meet before the next broad phase while neither of the two
//! leaves its path budget.

use glam::IVec3;

use super::{
    grid::{CODES, Grid},
    parallel::Outputs,
    state::State,
    world::World,
};

/// Spheres whose candidates share one buffer.
pub const BLOCK: usize = 256;

/// A candidate: where its cell is seen from the sphere's cell, and which sphere it is.
///
/// 27 bits of index hold 134 million spheres.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate(u32);

impl Candidate {
    pub const MAX_SPHERES: usize = 1 << 27;

    #[inline]
    fn new(code: u32, index: usize) -> Self {
        Self(code << 27 | index as u32)
    }

    #[inline]
    pub fn code(self) -> u32 {
        self.0 >> 27
    }

    #[inline]
    pub fn index(self) -> usize {
        (self.0 & (Self::MAX_SPHERES as u32 - 1)) as usize
    }
}

/// Candidates of a block of spheres.
#[derive(Default)]
pub struct Block {
    entries: Vec<Candidate>,
    /// Where the candidates of each sphere of the block end.
    ends: Vec<u32>,
    /// The planes each sphere could meet, one bit each; planes from the 31st on share the last bit.
    walls: Vec<u32>,
}

/// Candidates of all spheres. A list holds every pair twice, once from each side.
#[derive(Default)]
pub struct Lists {
    blocks: Outputs<Block>,
}

/// Bit of a plane in a sphere's set.
#[inline]
pub fn wall_bit(plane: usize) -> u32 {
    1 << plane.min(31)
}

impl Lists {
    /// Candidates of sphere `i`.
    #[inline]
    pub fn of(&self, i: usize) -> &[Candidate] {
        let block = self.blocks.get(i / BLOCK);
        let k = i % BLOCK;
        let start = if k == 0 { 0 } else { block.ends[k - 1] };
        &block.entries[start as usize..block.ends[k] as usize]
    }

    /// The planes sphere `i` could meet.
    #[inline]
    pub fn walls(&self, i: usize) -> u32 {
        self.blocks.get(i / BLOCK).walls[i % BLOCK]
    }

    pub fn bytes(&self) -> usize {
        let bytes = |b: &Block| 4 * (b.entries.capacity() + b.ends.capacity() + b.walls.capacity());
        self.blocks.all().iter().map(bytes).sum()
    }
}

/// Finds the candidates of every sphere for paths up to `budget` relative to the drift; `drift` bounds how far the
/// drift itself goes meanwhile.
pub fn neighbors(
    grid: &Grid,
    world: &World,
    state: &State,
    starts: &[u32],
    budget: f32,
    drift: f32,
    lists: &mut Lists,
) {
    lists.blocks.run(state.len(), BLOCK, |range, block| {
        block.entries.clear();
        block.ends.clear();
        block.walls.clear();
        for i in range {
            candidates(grid, state, starts, 2.0 * budget, i, &mut block.entries);
            block.ends.push(block.entries.len() as u32);
            block.walls.push(walls_in_reach(grid, world, state, i, budget + drift));
        }
    });
}

fn candidates(grid: &Grid, state: &State, starts: &[u32], skin: f32, i: usize, entries: &mut Vec<Candidate>) {
    let cell = state.cell[i];
    let offset = state.offset(i);
    let radius = state.radius(i);
    let fixed = state.inverse_mass(i) == 0.0;
    let test = |j: usize, dx: i32, dy: i32, dz: i32, code: i32, entries: &mut Vec<Candidate>| {
        let d = (offset - state.offset(j)) - grid.shift(IVec3::new(dx, dy, dz));
        let reach = (radius + state.radius(j)) + skin;
        if d.length_squared() <= reach * reach && j != i && !(fixed && state.inverse_mass(j) == 0.0) {
            entries.push(Candidate::new((code + dx) as u32, j));
        }
    };
    for dz in -grid.layers..=grid.layers {
        let Some(z) = grid.wrap(2, cell.z + dz) else { continue };
        for dy in -1..=1 {
            let Some(y) = grid.wrap(1, cell.y + dy) else { continue };
            let row = grid.row(y, z);
            let code = 9 * dz + 3 * dy + CODES as i32 / 2;
            if grid.direct && cell.x > 0 && cell.x + 1 < grid.count.x {
                // Three cells of the row lie side by side.
                let first = grid.bucket(row, cell.x - 1);
                for j in starts[first] as usize..starts[first + 3] as usize {
                    test(j, state.cell[j].x - cell.x, dy, dz, code, entries);
                }
            } else {
                for dx in -1..=1 {
                    let Some(x) = grid.wrap(0, cell.x + dx) else { continue };
                    let bucket = grid.bucket(row, x);
                    for j in starts[bucket] as usize..starts[bucket + 1] as usize {
                        // Several cells may share a hashed bucket.
                        if grid.direct || state.cell[j].truncate() == IVec3::new(x, y, z) {
                            test(j, dx, dy, dz, code, entries);
                        }
                    }
                }
            }
        }
    }
}

fn walls_in_reach(grid: &Grid, world: &World, state: &State, i: usize, path: f32) -> u32 {
    let mut set = 0;
    for (k, wall) in world.walls.iter().enumerate() {
        let gap = wall.normal.dot(super::sweep::from_wall(grid, state, wall, i)) - state.radius(i);
        // A thousandth more: the gap of an oblique plane is rounded.
        if gap <= path * 1.001 + world.slop {
            set |= wall_bit(k);
        }
    }
    set
}
