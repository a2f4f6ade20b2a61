//! Queries on a [`SphereTree`].

use super::clip::Hit;
use super::overlap::overlaps;
use super::shape::{Moving, Still};
use super::sweep::{first_contact_within, sweep_still};
use super::tree::{DEPTH_LIMIT, Node, SphereTree};
use super::vector::{Scalar, Vector};

impl<V: Vector> SphereTree<V> {
    /// Indices of all spheres that overlap the given one, ascending. Touching is not overlapping.
    pub fn overlapping(&self, sphere: &Still<V>) -> Vec<usize> {
        let mut found = Vec::new();
        self.for_each_overlap(sphere, |index| {
            found.push(index);
            true
        });
        found.sort_unstable();
        found
    }

    /// Whether any sphere overlaps the given one.
    pub fn overlaps_any(&self, sphere: &Still<V>) -> bool {
        let mut any = false;
        self.for_each_overlap(sphere, |_| {
            any = true;
            false
        });
        any
    }

    /// All pairs of spheres of the scene that overlap each other, `(lower, higher)` index, ascending.
    pub fn overlapping_pairs(&self) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for (sphere, &index) in self.spheres.iter().zip(&self.indices) {
            let index = index as usize;
            self.for_each_overlap(sphere, |other| {
                if other > index {
                    pairs.push((index, other));
                }
                true
            });
        }
        pairs.sort_unstable();
        pairs
    }

    /// The first sphere that a ray meets within `0..=max_time`: at `origin + direction * time`.
    ///
    /// The direction need not be of unit length. The ray is a moving point, with [`sweep_still`]'s rules: from
    /// inside a sphere it hits at once where it moves towards the centre and leaves freely where it moves away;
    /// grazing is no hit. The normal points out of the sphere. Infinite `max_time` sets no limit.
    pub fn cast_ray(&self, origin: V, direction: V, max_time: V::Scalar) -> Option<Hit<V>> {
        self.cast_sphere(&Moving { position: origin, velocity: direction, radius: V::Scalar::ZERO }, max_time)
    }

    /// The first sphere that a moving one touches within `0..=dt`, with [`sweep_still`]'s rules.
    pub fn cast_sphere(&self, sphere: &Moving<V>, dt: V::Scalar) -> Option<Hit<V>> {
        let (slot, _) = self.first(sphere, dt)?;
        // Repeats the sweep for the values that the search did not need.
        let contact = sweep_still(sphere, &self.spheres[slot], dt)?;
        Some(Hit { index: self.indices[slot] as usize, contact })
    }

    /// Calls `visit` with every index that overlaps, in no particular order, until it returns false.
    fn for_each_overlap(&self, sphere: &Still<V>, mut visit: impl FnMut(usize) -> bool) {
        let mut at = 0;
        while let Some(node) = self.nodes.get(at) {
            if !node.may_overlap(sphere) {
                at = node.skip as usize;
                continue;
            }
            for slot in node.slots() {
                let other = &self.spheres[slot];
                if overlaps(sphere.position - other.position, sphere.radius + other.radius)
                    && !visit(self.indices[slot] as usize)
                {
                    return;
                }
            }
            at += 1;
        }
    }

    /// Index in `spheres` and time of the first contact.
    fn first(&self, sphere: &Moving<V>, dt: V::Scalar) -> Option<(usize, V::Scalar)> {
        let zero = V::Scalar::ZERO;
        let root = self.nodes.first()?;
        let mut best: Option<(usize, V::Scalar)> = None;
        let mut limit = dt;
        // Each level leaves at most one node on the stack.
        let mut stack = [(0, zero); DEPTH_LIMIT + 1];
        let mut waiting = 0;
        if let Some(entry) = root.entry(sphere) {
            stack[0] = (0, entry);
            waiting = 1;
        }
        while waiting > 0 {
            waiting -= 1;
            let (at, entry) = stack[waiting];
            // Not >=: a sphere of lower index may be met at the same time.
            if entry > limit {
                continue;
            }
            let node = &self.nodes[at];
            for slot in node.slots() {
                let other = &self.spheres[slot];
                let d = sphere.position - other.position;
                // Sweeps the whole step, not only up to `limit`, so that the result has the same bits as separate sweeps.
                let Some(time) = first_contact_within(d, sphere.velocity, sphere.radius + other.radius, dt)
                else {
                    continue;
                };
                let sooner = match best {
                    Some((other, t)) => time < t || time == t && self.indices[slot] < self.indices[other],
                    None => true,
                };
                if sooner {
                    (best, limit) = (Some((slot, time)), time);
                }
            }
            if node.count == 0 {
                let (left, right) = (at + 1, self.nodes[at + 1].skip as usize);
                let left = self.nodes[left].entry(sphere).map(|entry| (left, entry));
                let right = self.nodes[right].entry(sphere).map(|entry| (right, entry));
                let (near, far) = match (left, right) {
                    (Some(l), Some(r)) if r.1 < l.1 => (right, left),
                    _ => (left, right),
                };
                for child in [far, near].into_iter().flatten() {
                    stack[waiting] = child;
                    waiting += 1;
                }
            }
        }
        best
    }
}

impl<V: Vector> Node<V> {
    fn slots(&self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.count) as usize
    }

    /// False only if no sphere below overlaps. Subtraction, squares and sums round monotonically, so the
    /// distance to the box, computed in the same order as the distance to a centre in it, is never the larger
    /// one.
    fn may_overlap(&self, sphere: &Still<V>) -> bool {
        let nearest = sphere.position.max(self.min).min(self.max);
        overlaps(sphere.position - nearest, sphere.radius + self.radius)
    }

    /// When the moving centre enters the box of the centres, widened by the radii; `None` if it never does, and
    /// never later than [`first_contact_within`] finds any sphere below.
    fn entry(&self, sphere: &Moving<V>) -> Option<V::Scalar> {
        let zero = V::Scalar::ZERO;
        let (lo, hi) = (self.min - sphere.position, self.max - sphere.position);
        let reach = sphere.radius + self.radius;
        // The contact time of a sphere at a distance l is as good as a few EPSILON * l in position.
        let mut size = reach;
        for axis in 0..V::DIMENSIONS {
            size = size.max(lo.axis(axis).abs()).max(hi.axis(axis).abs());
        }
        let reach = reach + size * (V::Scalar::EPSILON * V::Scalar::from_f64(32.0));
        let (mut enter, mut leave) = (zero, V::Scalar::INFINITY);
        for axis in 0..V::DIMENSIONS {
            let (lo, hi) = (lo.axis(axis) - reach, hi.axis(axis) + reach);
            let w = sphere.velocity.axis(axis);
            if w == zero {
                if lo > zero || hi < zero {
                    return None;
                }
            } else {
                let (near, far) = if w > zero { (lo / w, hi / w) } else { (hi / w, lo / w) };
                enter = enter.max(near);
                leave = leave.min(far);
            }
        }
        (enter <= leave).then_some(enter)
    }
}
