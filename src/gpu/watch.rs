//! The boxes of sinks and sources on the device, and the spheres that the device found in them at the end of a step.

use glam::{DVec3, IVec3, Vec3};

use super::{
    buffer_layout::BufferLayout,
    host_mirror::HostMirror,
    layout::{Body, Tag, WATCH_WORDS, WATCHED_COUNT},
};
use crate::{
    Dimensions, System,
    state::{
        columns::{Found, State},
        grid::{FARTHEST, Grid},
        units::Units,
    },
    step::watch::BoxSet,
    system::{region::Region, space::Space},
};

/// Offset of a face that no sphere is beyond.
const BEYOND: f32 = 1e30;

/// How much larger the box of a source is than the positions that the source tests, relative to a radius.
const SPARE: f64 = 0.01;

/// A box in which an engine looks for spheres, in the user's units. Components may be infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WatchBox {
    pub low: DVec3,
    pub high: DVec3,
    /// Distance in radii from which a sphere counts as inside.
    pub reach: f64,
}

/// The boxes of all sinks, then of all sources.
pub fn boxes(system: &System) -> Vec<WatchBox> {
    let is_flat = system.dimensions == Dimensions::Two;
    let flat = |x: DVec3, z: f64| if is_flat { x.with_z(z) } else { x };
    let make = |low: DVec3, high: DVec3, reach| WatchBox {
        low: flat(low, f64::NEG_INFINITY),
        high: flat(high, f64::INFINITY),
        reach,
    };
    let space = Space::new(system);
    let sinks = system.sinks.iter().map(|sink| make(sink.min, sink.max, 0.0));
    let sources = system.sources.iter().map(|source| {
        let region = Region::new(system, Some((source.min, source.max)));
        let middle = space.wrap(0.5 * (region.low + region.high));
        let half = 0.5 * (region.high - region.low) + SPARE * source.largest_radius();
        make(middle - half, middle + half, 1.0 + SPARE)
    });
    sinks.chain(sources).collect()
}

/// The spheres in a set of boxes at the end of a step.
pub struct Watched {
    /// The boxes that were tested.
    boxes: BoxSet,
    /// The spheres in these boxes and near them.
    state: State,
    /// Rank and index of each of these spheres, sorted by rank.
    indices: Vec<(u32, u32)>,
}

impl Watched {
    /// Reads the spheres from the words of a report; `None` if the report had no room for all of them.
    pub fn of_report(words: &[u32], boxes: BoxSet, host: &HostMirror, layout: &BufferLayout) -> Option<Self> {
        let count = words[WATCHED_COUNT as usize];
        if boxes.is_empty() || count > layout.watch_capacity() {
            return None;
        }
        let from = (layout.report_words() + u64::from(layout.wall_load_words)) as usize;
        let records = words[from..].chunks_exact(WATCH_WORDS as usize).take(count as usize);
        let (mut bodies, mut tags, mut indices) = (vec![], vec![], vec![]);
        for record in records {
            let (body, tag) = record.split_at(WATCH_WORDS as usize / 2);
            let (body, tag): (Body, Tag) = (
                bytemuck::pod_read_unaligned(bytemuck::cast_slice(body)),
                bytemuck::pod_read_unaligned(bytemuck::cast_slice(tag)),
            );
            bodies.push(body);
            tags.push(tag);
            indices.push((tag.rank, tag.last_contact.to_bits()));
        }
        indices.sort_unstable();
        Some(Self { boxes, state: host.state_of(&bodies, &tags), indices })
    }

    /// Whether these boxes were tested.
    pub fn covers(&self, boxes: BoxSet) -> bool {
        self.boxes.contains(boxes)
    }

    /// Index in the state of a sphere by its rank.
    pub fn index(&self, rank: u32) -> Option<u32> {
        let place = self.indices.binary_search_by_key(&rank, |&(rank, _)| rank);
        place.ok().map(|place| self.indices[place].1)
    }

    /// The spheres for which `test` of centre and radius returns true.
    pub fn find(&self, units: &Units, grid: &Grid, test: &(dyn Fn(DVec3, f64) -> bool + Sync)) -> Vec<Found> {
        self.state.find(units, grid, test)
    }
}

const _: () = assert!(size_of::<Body>() + size_of::<Tag>() == 4 * WATCH_WORDS as usize);

/// The boxes as the device reads them: offset and cell of the lower corner, then of the upper one.
pub fn rows(boxes: &[WatchBox], units: &Units, grid: &Grid) -> Vec<u32> {
    let mut words = vec![];
    for watch_box in boxes {
        for (corner, beyond) in [(watch_box.low, -BEYOND), (watch_box.high, BEYOND)] {
            let (cell, offset) = face(corner / units.length, beyond, grid);
            words.extend(offset.to_array().map(f32::to_bits));
            words.push((watch_box.reach as f32).to_bits());
            words.extend(cell.to_array().map(|c| c as u32));
            words.push(0);
        }
    }
    words
}

// Cell and offset of a corner. Coordinates that no cell contains lie beyond all spheres.
fn face(corner: DVec3, beyond: f32, grid: &Grid) -> (IVec3, Vec3) {
    let is_far = |axis: usize| {
        let cells = (corner[axis] - grid.origin[axis]) / grid.exact_edge[axis];
        cells.is_nan() || cells.abs() >= f64::from(FARTHEST)
    };
    let far = [0, 1, 2].map(is_far);
    let near =
        DVec3::from_array([0, 1, 2].map(|axis| if far[axis] { grid.origin[axis] } else { corner[axis] }));
    let (mut cell, mut offset) = grid.locate_freely(near);
    for axis in (0..3).filter(|&axis| far[axis]) {
        (cell[axis], offset[axis]) = (0, beyond);
    }
    (cell, offset)
}
