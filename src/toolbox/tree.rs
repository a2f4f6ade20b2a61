//! A tree of spheres, so that a query tests only the spheres nearby.

use super::shape::Still;
use super::vector::{Scalar, Vector};

/// Spheres of a leaf. A larger leaf means fewer nodes and more tests; results do not depend on the size.
const LEAF_CAPACITY: usize = 4;

/// Depth down to which nodes may be split by radius, which can take off one sphere at a time; below, halves
/// alone are taken, so that no set of radii makes the tree deeper than this plus log2 of the count.
const RADIUS_SPLIT_DEPTH: usize = 48;

/// The deepest any tree gets, with at most 2^32 spheres.
pub(super) const DEPTH_LIMIT: usize = RADIUS_SPLIT_DEPTH + 33;

/// A scene of spheres at rest that answers queries for overlaps and first hits.
///
/// Radii may differ by any ratio. Building takes `O(n log n)` time and at most 60 bytes per sphere in `f32` and
/// space; nothing but [`overlapping`](Self::overlapping) and [`overlapping_pairs`](Self::overlapping_pairs)
/// allocates afterwards. The results have the same bits as a test of every sphere with
/// [`overlaps`](super::overlaps) or [`sweep_still`](super::sweep_still); among simultaneous hits the
/// lowest index wins. Indices are those of the slice that the tree was built from. A
/// sphere that is not finite or whose radius is negative keeps its index but is never met.
///
/// ```
/// use carom::toolbox::{Moving, SphereTree, Still};
/// use glam::Vec3;
///
/// let pillars: Vec<_> =
///     (0..1000).map(|i| Still { position: Vec3::new(3.0 * i as f32, 0.0, 0.0), radius: 1.0 }).collect();
/// let tree = SphereTree::new(&pillars);
///
/// // Line of sight: from above the fourth pillar straight down.
/// let hit = tree.cast_ray(Vec3::new(9.0, 5.0, 0.0), Vec3::NEG_Y, 100.0).unwrap();
/// assert_eq!((hit.index, hit.contact.time, hit.contact.normal), (3, 4.0, Vec3::Y));
///
/// // A walker of radius 0.5 that slides between two of them.
/// let walker = Moving { position: Vec3::new(9.0, 5.0, 0.0), velocity: Vec3::NEG_Y, radius: 0.5 };
/// assert_eq!(tree.cast_sphere(&walker, 100.0).unwrap().contact.time, 3.5);
///
/// assert_eq!(tree.overlapping(&Still { position: Vec3::new(7.5, 0.0, 0.0), radius: 1.0 }), [2, 3]);
/// assert!(tree.overlapping_pairs().is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct SphereTree<V: Vector> {
    /// Depth first; a node's first child follows it.
    pub(super) nodes: Vec<Node<V>>,
    /// In the order of the leaves.
    pub(super) spheres: Vec<Still<V>>,
    /// Index in the slice of each of `spheres`.
    pub(super) indices: Vec<u32>,
    /// Length of the slice.
    len: usize,
}

/// The box of the centres and the largest radius below a node. Unlike a box around the spheres it takes no
/// rounding, so that a test against it can be exactly as strict as the tests below it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<V: Vector> {
    pub min: V,
    pub max: V,
    pub radius: V::Scalar,
    /// First sphere.
    pub start: u32,
    /// Spheres of a leaf; 0 for a node with children.
    pub count: u32,
    /// The next node in depth-first order that is not below this one.
    pub skip: u32,
}

impl<V: Vector> SphereTree<V> {
    /// Builds the tree; the slice is copied.
    ///
    /// # Panics
    /// If there are more than `u32::MAX` spheres.
    pub fn new(spheres: &[Still<V>]) -> Self {
        assert!(u32::try_from(spheres.len()).is_ok(), "{} spheres, at most 2^32 - 1", spheres.len());
        let mut order: Vec<u32> = (0..spheres.len() as u32)
            .filter(|&index| {
                let sphere = &spheres[index as usize];
                sphere.position.is_finite() && sphere.radius.is_finite() && sphere.radius >= V::Scalar::ZERO
            })
            .collect();
        let mut tree =
            Self { nodes: Vec::new(), spheres: Vec::new(), indices: Vec::new(), len: spheres.len() };
        if !order.is_empty() {
            let count = order.len();
            tree.split(spheres, &mut order, 0, count, 0);
        }
        tree.spheres = order.iter().map(|&index| spheres[index as usize]).collect();
        order.shrink_to_fit();
        tree.indices = order;
        tree.nodes.shrink_to_fit();
        tree
    }

    /// Number of spheres, those included that are never met.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn split(&mut self, spheres: &[Still<V>], order: &mut [u32], start: usize, end: usize, depth: usize) {
        let own = &mut order[start..end];
        let sphere = |index: u32| &spheres[index as usize];
        let first = sphere(own[0]);
        let (mut min, mut max) = (first.position, first.position);
        let (mut smallest, mut largest) = (first.radius, first.radius);
        for &index in own.iter() {
            let Still { position, radius } = *sphere(index);
            (min, max) = (min.min(position), max.max(position));
            (smallest, largest) = (smallest.min(radius), largest.max(radius));
        }
        let node = self.nodes.len();
        let leaf = own.len() <= LEAF_CAPACITY;
        let count = if leaf { own.len() as u32 } else { 0 };
        self.nodes.push(Node { min, max, radius: largest, start: start as u32, count, skip: 0 });
        if !leaf {
            let mut axis = 0;
            let mut extent = V::Scalar::ZERO;
            for candidate in 0..V::DIMENSIONS {
                // Halved, or the extent of centres on both sides of the origin could overflow.
                let half = V::Scalar::from_f64(0.5);
                let length = max.axis(candidate) * half - min.axis(candidate) * half;
                if length > extent {
                    (axis, extent) = (candidate, length);
                }
            }
            // A large radius below a node widens it on every side: where radii spread more than centres do, the
            // large ones part from the small. The halves then differ in radius by value, not by rank.
            let middle = if depth < RADIUS_SPLIT_DEPTH && largest - smallest > extent {
                let threshold = smallest + (largest - smallest) * V::Scalar::from_f64(0.5);
                partition(own, |index| sphere(index).radius <= threshold)
            } else {
                let middle = own.len() / 2;
                own.select_nth_unstable_by(middle, |&i, &j| {
                    let (x, y) = (sphere(i).position.axis(axis), sphere(j).position.axis(axis));
                    // Indices make the order total, so equal scenes give equal trees.
                    x.partial_cmp(&y).unwrap_or(std::cmp::Ordering::Equal).then(i.cmp(&j))
                });
                middle
            };
            let middle = start + middle.clamp(1, own.len() - 1);
            self.split(spheres, order, start, middle, depth + 1);
            self.split(spheres, order, middle, end, depth + 1);
        }
        self.nodes[node].skip = self.nodes.len() as u32;
    }
}

/// Moves those that fulfil the predicate to the front; returns how many they are.
fn partition(order: &mut [u32], mut front: impl FnMut(u32) -> bool) -> usize {
    let mut count = 0;
    for k in 0..order.len() {
        if front(order[k]) {
            order.swap(count, k);
            count += 1;
        }
    }
    count
}
