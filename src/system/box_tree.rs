//! A bounding-box tree over wall features, so that a sphere tests only the features near it.

use glam::{DVec3, Vec3};

/// Wall features in a leaf. More features mean fewer nodes, and more tests of distant features.
pub const LEAF: usize = 4;

/// A box around wall features, relative to the origin of the tree.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub low: Vec3,
    pub high: Vec3,
    /// The next node in depth-first order that is not below this one.
    pub skip: u32,
    /// First wall feature of a leaf.
    pub first: u32,
    /// Number of wall features in a leaf; 0 for a node with children.
    pub count: u32,
}

/// The tree, as nodes in depth-first order.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub nodes: Vec<Node>,
}

impl Tree {
    /// Builds a tree over boxes. Also returns the order of the leaves' contents, as indices into `boxes`; the first of them
    /// has number `first` in the nodes. Deterministic: ties are broken by index.
    pub fn new(boxes: &[(DVec3, DVec3)], first: usize) -> (Self, Vec<u32>) {
        let mut tree = Self::default();
        let mut order: Vec<u32> = (0..boxes.len() as u32).collect();
        if !boxes.is_empty() {
            tree.split(boxes, &mut order, first);
        }
        (tree, order)
    }

    fn split(&mut self, boxes: &[(DVec3, DVec3)], order: &mut [u32], first: usize) {
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let (mut least, mut most) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for &k in order.iter() {
            let (a, b) = boxes[k as usize];
            (low, high) = (low.min(a), high.max(b));
            (least, most) = (least.min(a + b), most.max(a + b));
        }
        let node = self.nodes.len();
        // Slightly wider than the features, to cover their rounding to f32.
        let slack = DVec3::splat(1e-6 * low.abs().max(high.abs()).max_element());
        let count = if order.len() <= LEAF { order.len() as u32 } else { 0 };
        self.nodes.push(Node {
            low: (low - slack).as_vec3(),
            high: (high + slack).as_vec3(),
            skip: 0,
            first: first as u32,
            count,
        });
        if count == 0 {
            let axis = (most - least).max_position();
            let middle = order.len() / 2;
            order.select_nth_unstable_by(middle, |&i, &j| {
                let of = |k: u32| boxes[k as usize].0[axis] + boxes[k as usize].1[axis];
                of(i).total_cmp(&of(j)).then(i.cmp(&j))
            });
            let (left, right) = order.split_at_mut(middle);
            self.split(boxes, left, first);
            self.split(boxes, right, first + middle);
        }
        self.nodes[node].skip = self.nodes.len() as u32;
    }

    /// Calls `visit` with every wall feature whose box meets the box from `low` to `high`.
    #[inline]
    pub fn visit(&self, low: Vec3, high: Vec3, mut visit: impl FnMut(u32)) {
        let mut k = 0;
        while k < self.nodes.len() {
            let node = &self.nodes[k];
            if !(node.low.cmple(high).all() && node.high.cmpge(low).all()) {
                k = node.skip as usize;
                continue;
            }
            (node.first..node.first + node.count).for_each(&mut visit);
            k += 1;
        }
    }

    pub fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_finds_what_a_look_at_all_finds() {
        let mut rng = 7u64;
        let mut draw = || {
            rng = rng.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (rng >> 33) as f64 / f64::from(1u32 << 31)
        };
        for count in [0usize, 1, 4, 5, 100, 1000] {
            let boxes: Vec<_> = (0..count)
                .map(|_| {
                    let low = DVec3::new(draw(), draw(), draw()) * 10.0;
                    (low, low + DVec3::new(draw(), draw(), draw()))
                })
                .collect();
            let (tree, order) = Tree::new(&boxes, 7);
            let mut met = 0;
            for _ in 0..200 {
                let low = (DVec3::new(draw(), draw(), draw()) * 10.0).as_vec3();
                let high = low + Vec3::splat(0.5);
                let mut found = vec![];
                tree.visit(low, high, |k| found.push(order[k as usize - 7]));
                found.sort_unstable();
                let (l, h) = (low.as_dvec3(), high.as_dvec3());
                for (k, (a, b)) in boxes.iter().enumerate() {
                    let meets = a.cmple(h).all() && b.cmpge(l).all();
                    assert!(!meets || found.binary_search(&(k as u32)).is_ok(), "{k} is not found");
                    met += u32::from(meets);
                }
            }
            assert!(count < 100 || met > 0);
        }
    }
}
