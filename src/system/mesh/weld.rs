//! Merges coincident vertices.

use glam::DVec3;
use rustc_hash::FxHashMap;

/// Distance below which two vertices are merged, relative to the longest side of the bounds: two units in the last place of
/// f32. Files hold f32, and a program that computes a shared corner once per triangle may round it differently each time.
/// With a smaller value such surfaces have cracks at which spheres feel edges; with a larger value details beside a wide
/// floor vanish.
const WELD: f64 = 2.0 * f32::EPSILON as f64;
/// Cells per side. A cell is 16 times [`WELD`] wide, so few points are close enough to another cell to search it, and no
/// cell holds many points.
const CELLS: f64 = (1 << 18) as f64;
const NONE: u32 = u32::MAX;

/// For each used vertex, the index of the vertex that represents it: the first representative close to it, or itself.
pub(super) fn weld(vertices: &[DVec3], used: &[bool], [low, high]: [DVec3; 2]) -> Vec<u32> {
    let side = (high - low).max_element();
    // The latest vertex of each cell, and for each vertex its predecessor in the cell.
    let mut heads = FxHashMap::<u64, u32>::default();
    let mut before = vec![NONE; vertices.len()];
    let mut stands_for = vec![NONE; vertices.len()];
    // 0..=1 along the longest side. If all points coincide the result is NaN: cell 0, equal to nothing, and no triangle has
    // an area.
    let place = |index: usize| (vertices[index] - low) / side;
    for index in (0..vertices.len()).filter(|index| used[*index]) {
        let here = place(index);
        let mut found = NONE;
        for_each_cell(here, |cell| {
            let mut other = heads.get(&cell).copied().unwrap_or(NONE);
            while other != NONE {
                if (place(other as usize) - here).length_squared() <= WELD * WELD {
                    found = found.min(other);
                }
                other = before[other as usize];
            }
        });
        stands_for[index] = found;
        if found == NONE {
            stands_for[index] = index as u32;
            before[index] = heads.insert(cell_of(here), index as u32).unwrap_or(NONE);
        }
    }
    stands_for
}

fn cell_of(place: DVec3) -> u64 {
    let [x, y, z] = place.to_array().map(|x| (x * CELLS) as u64);
    x << 40 | y << 20 | z
}

/// Calls `visit` once for every cell within [`WELD`] of a position.
fn for_each_cell(place: DVec3, mut visit: impl FnMut(u64)) {
    let axes = place.to_array().map(|x| {
        let first = ((x - WELD) * CELLS) as u64;
        first..=((x + WELD) * CELLS) as u64
    });
    for x in axes[0].clone() {
        for y in axes[1].clone() {
            for z in axes[2].clone() {
                visit(x << 40 | y << 20 | z);
            }
        }
    }
}
