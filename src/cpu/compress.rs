//! Stage `compress`: scales all positions with a box that shrinks, and pushes apart the spheres that then overlap.

use glam::Vec3;
use rayon::prelude::*;

use crate::{
    cpu::{
        bits::Bits,
        event::View,
        pairs::{for_lanes, wide},
        parallel::{Disjoint, TASK, for_ranges},
    },
    state::{
        columns::State,
        constants::{PUSH_GAP, PUSH_MIXED},
        grid::{Grid, Remap},
    },
};

/// Spheres pushed by one task: each checks all its candidates.
const PUSH_TASK: usize = 128;

/// Buffers of the stage.
#[derive(Default)]
pub struct Compress {
    /// The spheres before the box shrank.
    start: State,
    /// Displacement of each sphere by the pushes so far. A position is rounded too coarsely for the small pushes of a dense system.
    moved: Vec<Vec3>,
    /// Spheres that a pass may push.
    near: Bits,
    near_list: Vec<u32>,
    /// Push of each sphere in `near_list`.
    pushes: Vec<Push>,
}

/// Total push on a sphere in a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Push {
    pub way: Vec3,
    /// Whether it overlaps another sphere.
    pub overlaps: bool,
}

/// Moves positions from the cells of one grid to those of another, with the box.
pub fn shrink(grid: &Grid, remap: Remap, state: &mut State) {
    let spheres = (&mut state.place, &mut state.cell);
    spheres.into_par_iter().with_min_len(TASK).for_each(|(place, cell)| {
        let (c, offset) = grid.remapped(remap, cell.truncate(), place.truncate());
        (*cell, *place) = (c.extend(cell.w), offset.extend(place.w));
    });
}

impl Compress {
    /// Keeps a copy of the spheres for [`restore`](Self::restore).
    pub fn keep(&mut self, state: &State) {
        self.start.copy_from(state);
    }

    /// Restores the spheres that [`keep`](Self::keep) copied.
    pub fn restore(&self, state: &mut State) {
        state.copy_from(&self.start);
    }

    /// Begins the pushes: finds the spheres that come nearer to another one than the gap allows.
    pub fn begin(&mut self, view: &View) {
        let count = view.state.len();
        self.moved.clear();
        self.moved.resize(count, Vec3::ZERO);
        self.near.reset(count);
        let (near, shifts) = (&self.near, wide(view.shifts));
        for_ranges(count, TASK, |range| {
            view.lists.for_fours(range, |four, lanes| {
                let (d, aim) = (four.offsets(view, &shifts), four.radius_sums(view) * (1.0 + PUSH_GAP));
                for_lanes(lanes & d.dot(&d).cmplt(aim * aim).bitmask(), |lane| {
                    let (i, j, _) = four.pair(lane);
                    near.insert(i);
                    near.insert(j);
                });
            });
        });
    }

    /// Computes the pushes of a pass. Returns whether any spheres overlap.
    pub fn find(&mut self, view: &View) -> bool {
        let Self { near, near_list, pushes, moved, .. } = self;
        near.list(near_list);
        pushes.clear();
        pushes.resize(near_list.len(), Push::default());
        let disjoint = Disjoint::new(pushes);
        for_ranges(near_list.len(), PUSH_TASK, |range| {
            for k in range {
                // SAFETY: ranges do not overlap.
                unsafe { disjoint.set(k, push_of(view, moved, near_list[k] as usize)) };
            }
        });
        pushes.iter().any(|push| push.overlaps)
    }

    /// Moves the spheres by the pushes. Returns whether all stay within `reach` of their positions before the first push.
    pub fn apply(&mut self, reach: f32) -> bool {
        let mut stays = true;
        for (&i, push) in self.near_list.iter().zip(&self.pushes) {
            let moved = &mut self.moved[i as usize];
            *moved += push.way;
            stays &= moved.length() <= reach;
        }
        stays
    }

    /// Finds the spheres that the next pass may push: those that this pass has pushed, those that overlap although their pushes cancel,
    /// and the candidates of both. All others keep a push of zero.
    pub fn follow(&mut self, view: &View) {
        let Self { near, near_list, pushes, .. } = self;
        near.clear();
        let near = &*near;
        for_ranges(near_list.len(), PUSH_TASK, |range| {
            for k in range.filter(|&k| pushes[k].overlaps || pushes[k].way != Vec3::ZERO) {
                let i = near_list[k] as usize;
                near.insert(i);
                view.lists.of(i).iter().for_each(|candidate| near.insert(candidate.index()));
            }
        });
    }

    /// The displacement of each sphere by all passes; spheres that were not pushed are left out.
    pub fn moved(&self) -> impl Iterator<Item = (usize, Vec3)> {
        self.moved.iter().copied().enumerate().filter(|&(_, moved)| moved != Vec3::ZERO)
    }

    pub fn bytes(&self) -> usize {
        self.start.len() * State::BYTES
            + self.moved.capacity() * size_of::<Vec3>()
            + self.near_list.capacity() * 4
            + self.pushes.capacity() * size_of::<Push>()
            + self.near.bytes()
    }
}

/// The push on a sphere. Each sphere of a pair that is nearer than the gap allows moves by half of the missing distance. The larger sphere
/// of a pair of very different sizes moves less.
fn push_of(view: &View, moved: &[Vec3], i: usize) -> Push {
    let state = view.state;
    let (mut push, mut longest, mut is_mixed) = (Push::default(), 0.0f32, false);
    let radius = state.radius(i);
    for &candidate in view.lists.of(i) {
        let j = candidate.index();
        let other = state.radius(j);
        let d = ((state.offset(i) - state.offset(j)) - view.shifts[candidate.code() as usize])
            + (moved[i] - moved[j]);
        let sum = radius + other;
        let aim = sum * (1.0 + PUSH_GAP);
        let square = d.length_squared();
        if square >= aim * aim {
            continue;
        }
        push.overlaps |= square < sum * sum;
        let distance = square.sqrt();
        // Coincident centres separate along x, the smaller index to the right.
        let side = if i < j { Vec3::X } else { Vec3::NEG_X };
        let normal = if distance > 0.0 { d / distance } else { side };
        let mixes = radius.max(other) > PUSH_MIXED * radius.min(other);
        let length = (aim - distance) * if mixes { other / sum } else { 0.5 };
        push.way += normal * length;
        longest = longest.max(length);
        is_mixed |= mixes;
    }
    let length = push.way.length();
    if is_mixed && length > longest {
        push.way *= longest / length;
    }
    push
}
