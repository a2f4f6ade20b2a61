//! Levels: where sizes differ, cells are divided into parts for the search. Otherwise a cell wide enough for the largest
//! spheres could hold thousands of small spheres.
//!
//! A level comprises the spheres of a range of sizes, and divides every cell into parts about as wide as these spheres.
//! Positions and candidates still refer to whole cells. The parts of all levels of a cell are numbered consecutively.

#[cfg(feature = "gpu")]
use glam::UVec4;
use glam::{IVec3, Vec3};

/// Number of size classes, the largest spheres first. The radii of a class are within a factor of `sqrt(2)`.
pub const CLASSES: usize = 40;

/// The spheres of one size class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Class {
    pub count: usize,
    /// Largest radius (scaled units).
    pub radius: f64,
}

/// Largest number of levels: the finest has parts of 1/64 of a cell edge.
pub const MOST_LEVELS: usize = 7;

/// Smallest width of a part as a fraction of the reach of its spheres. Smaller parts hold fewer spheres out of reach; larger
/// parts are fewer.
const WIDTH: f64 = 0.8;

/// Largest number of parts for each sphere of a level, so that sparse spheres get larger parts.
const PARTS_PER_SPHERE: f64 = 4.0;

/// A level: the spheres of a range of sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Level {
    /// Parts along each edge of a cell.
    pub parts: IVec3,
    /// Index of the level's first part among all parts of a cell.
    pub first: u32,
    /// Largest radius (scaled units).
    pub largest: f32,
    /// Parts per unit of length, and edges of a part.
    scale: Vec3,
    unit: Vec3,
}

/// All levels, the coarsest first; a single level if all sizes are similar.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Levels {
    pub all: Vec<Level>,
    /// Number of parts of a cell, over all levels.
    pub parts: u32,
    /// 1 / edges of a cell.
    pub per_edge: Vec3,
}

impl Levels {
    /// Levels for `classes` of spheres that travel up to `motion_margin`, in about `cells` cells with edges `edge`.
    pub fn new(classes: &[Class], motion_margin: f64, cells: f64, edge: Vec3, flat: bool) -> Self {
        let largest = classes.iter().fold(0.0, |most: f64, class| most.max(class.radius));
        let parts_of = |m: i32| IVec3::new(m, m, if flat { 1 } else { m });
        // Parts along an edge, and the spheres in them; the coarsest first.
        let mut groups: Vec<(i32, Class)> = vec![];
        let mut enter = |m: i32, class: Class| match groups.last_mut() {
            Some((last, all)) if *last >= m => all.count += class.count,
            _ => groups.push((m, class)),
        };
        enter(1, Class { count: 0, radius: largest });
        for class in classes.iter().filter(|class| class.count > 0) {
            let times = (largest + motion_margin) / (class.radius + motion_margin) / WIDTH;
            let most = 1 << (MOST_LEVELS - 1);
            let room = |m: i32| {
                cells * parts_of(m).as_dvec3().element_product() <= PARTS_PER_SPHERE * class.count as f64
            };
            let mut m = 1;
            while m < most && f64::from(2 * m) <= times && room(2 * m) {
                m *= 2;
            }
            enter(m, *class);
        }
        let mut parts = 0;
        let all = groups.into_iter().map(|(m, class)| {
            let scale = edge.recip() * parts_of(m).as_vec3();
            let (largest, unit) = (class.radius as f32, scale.recip());
            let level = Level { parts: parts_of(m), first: parts, largest, scale, unit };
            parts += level.parts.element_product() as u32;
            level
        });
        Self { all: all.collect(), parts, per_edge: edge.recip() }
    }

    /// The same parts of cells with other edges.
    pub fn resized(&self, edge: Vec3) -> Self {
        let level = |level: &Level| {
            let scale = edge.recip() * level.parts.as_vec3();
            Level { scale, unit: scale.recip(), ..*level }
        };
        Self { all: self.all.iter().map(level).collect(), parts: self.parts, per_edge: edge.recip() }
    }

    /// Whether the numbers of the parts agree.
    #[cfg(feature = "files")]
    pub fn is_sound(&self) -> bool {
        let mut parts = 0;
        let follows = |level: &Level| {
            let is_next =
                level.first == parts && level.parts.min_element() >= 1 && level.parts.max_element() <= 64;
            parts += level.parts.max(IVec3::ONE).element_product() as u32;
            is_next
        };
        (1..=MOST_LEVELS).contains(&self.all.len()) && self.all.iter().all(follows) && parts == self.parts
    }

    /// The levels as the device reads them: parts along x and y, first part, bits of the largest radius. An entry without
    /// parts is unused.
    #[cfg(feature = "gpu")]
    pub fn words(&self) -> [UVec4; MOST_LEVELS] {
        let word = |level: &Level| UVec4::new(level.parts.x as u32, level.first, level.largest.to_bits(), 0);
        std::array::from_fn(|k| self.all.get(k).map_or(UVec4::ZERO, word))
    }

    /// Level of a sphere of this radius.
    #[inline]
    pub fn of(&self, radius: f32) -> &Level {
        let finer = self.all[1..].iter().take_while(|level| radius <= level.largest).count();
        &self.all[finer]
    }

    /// Index of the part in which a sphere lies, among all parts of its cell.
    #[inline]
    pub fn part(&self, offset: Vec3, radius: f32) -> u32 {
        if self.parts == 1 {
            return 0;
        }
        let level = self.of(radius);
        // Spheres clamped to an outermost cell from outside lie in its outermost part.
        let last = (level.parts - 1).as_vec3();
        let at = (offset * level.scale).max(Vec3::ZERO).min(last).as_uvec3();
        let parts = level.parts.as_uvec3();
        level.first + (at.z * parts.y + at.y) * parts.x + at.x
    }
}

impl Level {
    /// Range of parts along one axis, both ends included, that holds all spheres of the level with centres within
    /// `reach` of an offset (up to a relative error of one millionth). 0 is the first part of the offset's cell.
    #[inline]
    pub fn span(&self, axis: usize, offset: f32, reach: f32) -> (i32, i32) {
        let (scale, parts) = (self.scale[axis], self.parts[axis] as f32);
        // Spheres clamped to an outermost cell from outside lie in its outermost part.
        let low = ((offset - reach) * scale).clamp(-parts, parts - 1.0);
        let high = ((offset + reach) * scale).clamp(0.0, 2.0 * parts - 1.0);
        // Rounding down is a function call on processors without such an instruction. Truncation rounds positive values
        // down.
        ((low + parts) as i32 - self.parts[axis], high as i32)
    }

    /// Distance of an offset from the part `part` along an axis.
    #[inline]
    pub fn gap(&self, axis: usize, offset: f32, part: i32) -> f32 {
        // Measured from the nearest face of the cell if the offset lies beyond it, because the outermost parts are
        // unbounded.
        let at = (offset * self.scale[axis]).clamp(0.0, self.parts[axis] as f32);
        (part as f32 - at).max(at - (part + 1) as f32).max(0.0) * self.unit[axis]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(count: usize, radius: f64) -> Class {
        Class { count, radius }
    }

    fn levels(classes: &[Class], cells: f64) -> Levels {
        Levels::new(classes, 0.1, cells, Vec3::splat(2.0 * (classes[0].radius + 0.1) as f32), false)
    }

    #[test]
    fn spheres_of_about_one_size_have_one_level() {
        for classes in [&[class(1000, 0.5)][..], &[class(10, 0.5), class(1000, 0.35)], &[class(0, 0.0)]] {
            let levels = levels(classes, 10.0);
            assert_eq!((levels.parts, levels.all.len()), (1, 1), "{classes:?}");
        }
    }

    #[test]
    fn a_ratio_of_ten_has_parts_of_an_eighth() {
        let levels = levels(&[class(10, 5.0), class(10_000, 0.5)], 10.0);
        let parts: Vec<_> = levels.all.iter().map(|level| (level.parts.x, level.first)).collect();
        assert_eq!((parts, levels.parts), (vec![(1, 0), (8, 1)], 513));
        assert_eq!((levels.of(5.0).first, levels.of(0.6).first, levels.of(0.5).first), (0, 0, 1));
    }

    #[test]
    fn where_small_spheres_are_few_their_parts_are_larger() {
        for (cells, parts) in [(10.0, 8), (100.0, 4), (1000.0, 2), (1e5, 1)] {
            let levels = levels(&[class(10, 5.0), class(10_000, 0.5)], cells);
            assert_eq!(levels.all.last().unwrap().parts.x, parts, "{cells} cells");
        }
    }

    // Near spheres lie in the span, also beyond the outermost cells.
    #[test]
    fn the_span_covers_all_that_is_near() {
        let levels = levels(&[class(10, 5.0), class(100_000, 0.5)], 100.0);
        let edge = 1.0 / levels.per_edge;
        let mut seen = 0;
        for level in &levels.all {
            for k in -40..80 {
                let offset = edge * (k as f32 / 39.0);
                for way in [-1.0, -0.5, 0.0, 0.5, 1.0] {
                    let reach = 5.0;
                    let other = offset + way * reach;
                    // The single cell: everything beyond it is clamped to it.
                    let part = |x: Vec3| {
                        let at = (x * level.scale).floor().x as i32;
                        at.clamp(0, level.parts.x - 1)
                    };
                    let (low, high) = level.span(0, offset.x, reach * (1.0 + 1e-5));
                    assert!((low..=high).contains(&part(other)), "{k} {way}: {low} {high}");
                    assert!(level.gap(0, offset.x, part(other)) <= reach * (1.0 + 1e-5), "{k} {way}");
                    seen += 1;
                }
            }
        }
        assert!(seen > 1000);
    }
}
