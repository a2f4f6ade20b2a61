//! What the walks of fast spheres have to find: told from the geometry of the twin's lines.

use std::collections::BTreeSet;

use glam::{IVec3, Vec3};

use super::{memory::Memory, twin::Twin, verdict::Verdict};
use crate::gpu::buffer_layout::BufferLayout;
use crate::{
    cpu::{
        event::View,
        fast::{DynamicCandidates, Lines, Walk},
    },
    state::{columns::State, constants::PASSING, frame::Frame, grid::Grid},
};

/// Of lengths, as a share of the way of a walker and the distance asked for: a few sums of products of lengths up to the
/// way, each of which may be fused.
const RIM: f32 = 4e-6;

/// Sphere, other sphere, cells to its image.
type Entry = (u32, u32, [i32; 3]);

/// See the module.
pub struct Walks {
    /// Entries of pairs of which one walks.
    twin: BTreeSet<Entry>,
    walkers: Vec<u32>,
    /// Whether nobody had walked before.
    from_none: bool,
    lines: Held,
}

// The state behind the lines.
struct Held {
    state: State,
    grid: Grid,
    clock: Vec<f32>,
    frame: Frame,
    motion_margin: f32,
    is_fast: Vec<bool>,
}

impl Walks {
    /// Of all walkers at launch.
    pub fn of_all(twin: &Twin, walkers: &[u32]) -> Self {
        Self::new(twin, walkers, true)
    }

    /// Of those that a round made fast, after others.
    pub fn of_some(twin: &Twin, walkers: &[u32]) -> Self {
        Self::new(twin, walkers, false)
    }

    fn new(twin: &Twin, walkers: &[u32], from_none: bool) -> Self {
        let core = &twin.core;
        let n = core.state.len();
        let is_fast: Vec<bool> = (0..n).map(|i| core.dynamic_candidates.is_fast(i)).collect();
        let all: Vec<u32> = (0..n as u32).filter(|&i| is_fast[i as usize]).collect();
        // As if all of them had walked their present lines only.
        let mut dynamic_candidates = DynamicCandidates::default();
        dynamic_candidates.reset(n, core.domain.grid.buckets);
        dynamic_candidates.mark(&all);
        let mut walk = Walk::default();
        let view = View { dynamic_candidates: &dynamic_candidates, ..twin.view() };
        all.iter().for_each(|&i| walk.run(&view, &core.starts, core.reach, i as usize));
        assert!(walk.error().is_none());
        let lines =
            Lines { grid: &core.domain.grid, state: &core.state, clock: &core.clock, frame: twin.frame };
        dynamic_candidates.enter_walk(&walk, lines);
        let mut entries = BTreeSet::new();
        let walks: BTreeSet<u32> = walkers.iter().copied().collect();
        for i in 0..n as u32 {
            for (_, dynamic) in dynamic_candidates.of(i as usize) {
                if walks.contains(&i) || walks.contains(&dynamic.other) {
                    entries.insert((i, dynamic.other, dynamic.cells.to_array()));
                }
            }
        }
        let lines = Held {
            state: core.state.clone(),
            grid: core.domain.grid.clone(),
            clock: core.clock.clone(),
            frame: twin.frame,
            motion_margin: core.reach.motion_margin,
            is_fast,
        };
        Self { twin: entries, walkers: walkers.to_vec(), from_none, lines }
    }

    /// Compares what the device entered; returns how many entries it made.
    pub fn compare(&self, output: &Memory, layout: &BufferLayout, verdict: &mut Verdict) -> u32 {
        let mut count = 0;
        let mut found = BTreeSet::new();
        let walks: BTreeSet<u32> = self.walkers.iter().copied().collect();
        for i in 0..output.nodes.len() as u32 {
            for (other, cells) in output.dynamic_candidates(layout, i as usize) {
                count += 1;
                let concerned = walks.contains(&i) || walks.contains(&other);
                let is_new = found.insert((i, other, cells));
                // Whom it met on its way before, a sphere may be entered with once more; nobody else is met twice.
                verdict.equal("entered once", i as usize, is_new || !self.from_none, true);
                // What is left of a walker's earlier ways stands in the lists of others only.
                if !concerned || (!self.from_none && !walks.contains(&i)) {
                    found.remove(&(i, other, cells));
                }
            }
        }
        verdict.compared += self.twin.len() as u64;
        let missing = |entry: &&Entry| {
            if self.from_none || walks.contains(&entry.0) {
                !found.contains(entry)
            } else {
                !output.dynamic_candidates(layout, entry.0 as usize).contains(&(entry.1, entry.2))
            }
        };
        let only_twin = self.twin.iter().filter(missing);
        let only_found = found.iter().filter(|entry| !self.twin.contains(entry));
        for entry in only_twin.chain(only_found) {
            verdict.near_ties += 1;
            let told = self.lines.margin(entry);
            if told.is_none_or(|(margin, rim)| margin.abs() > rim) {
                let is_twins = self.twin.contains(entry);
                verdict.fail(|| format!("extra {entry:?}: twin {is_twins}, margin and rim {told:?}"));
            }
        }
        count
    }
}

impl Held {
    // By how much a pair passes closer than what is entered, and how far both sides may differ in it.
    fn margin(&self, &(i, j, cells): &Entry) -> Option<(f32, f32)> {
        let (i, j) = (i as usize, j as usize);
        if i.max(j) >= self.state.len() {
            return None;
        }
        let cells = IVec3::from_array(cells);
        match (self.is_fast[i], self.is_fast[j]) {
            (true, true) => Some(self.passing(i, j, cells)),
            (true, false) => Some(self.slow(i, j, cells)),
            (false, true) => Some(self.slow(j, i, -cells)),
            (false, false) => None,
        }
    }

    fn slow(&self, i: usize, j: usize, cells: IVec3) -> (f32, f32) {
        let (state, frame) = (&self.state, &self.frame);
        let bend =
            if state.inverse_mass(i) > 0.0 { 0.0 } else { 0.5 * frame.gravity.length() * frame.h * frame.h };
        let begin = state.offset(i) - (frame.drifted + frame.drift * self.clock[i]);
        let along = (state.velocity(i) - frame.drift) * (frame.h - self.clock[i]);
        let drifted = frame.drifted + frame.drift * self.clock[j];
        let d = state.offset(j) - drifted + self.grid.shift(cells) - begin;
        let share =
            if along == Vec3::ZERO { 0.0 } else { (d.dot(along) / along.length_squared()).clamp(0.0, 1.0) };
        let wide = state.radius(i) + bend + 2.0 * self.motion_margin + state.radius(j);
        ((d - along * share).length() - wide, RIM * (along.length() + d.length() + wide))
    }

    fn passing(&self, i: usize, j: usize, cells: IVec3) -> (f32, f32) {
        let (state, clock, frame) = (&self.state, &self.clock, &self.frame);
        let now = clock[i].max(clock[j]);
        let at = |i: usize| state.offset(i) + state.velocity(i) * (now - clock[i]);
        let d = at(i) - at(j) - self.grid.shift(cells);
        let along = (state.velocity(i) - state.velocity(j)) * (frame.h - now);
        let fixed = state.inverse_mass(i) == 0.0 || state.inverse_mass(j) == 0.0;
        let bend = if fixed { frame.gravity.length() * frame.h * frame.h } else { 0.0 };
        let wide = PASSING * (state.radius(i) + state.radius(j)) + bend;
        let share =
            if along == Vec3::ZERO { 0.0 } else { (-d.dot(along) / along.length_squared()).clamp(0.0, 1.0) };
        ((d + along * share).length() - wide, RIM * (along.length() + d.length() + wide))
    }
}
