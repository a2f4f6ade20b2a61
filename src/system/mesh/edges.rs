//! Adjacency of triangles across their edges.

use std::f64::consts::TAU;

use glam::DVec3;

use crate::{
    system::mesh::{shape::gate, warning::SeenEdges},
    toolbox::unit,
};

/// No vertex.
pub(super) const NONE: u32 = u32::MAX;

/// Adjacency of all triangles.
pub(super) struct Edges {
    /// For each edge of each triangle, the neighbour's vertex opposite that edge, or [`NONE`].
    pub across: Vec<[u32; 3]>,
    pub seen: SeenEdges,
}

/// One edge of one triangle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Side {
    /// The two vertices, the lower index first.
    ends: [u32; 2],
    /// Three times the index of the triangle, plus the index of the edge.
    place: u32,
}

impl Side {
    fn split(self) -> (usize, usize) {
        (self.place as usize / 3, self.place as usize % 3)
    }

    /// The triangle's vertex opposite this edge.
    fn apex(self, triangles: &[[u32; 3]]) -> u32 {
        let (triangle, edge) = self.split();
        triangles[triangle][(edge + 2) % 3]
    }

    /// Whether the triangle traverses the edge from the lower to the higher index.
    fn rises(self, triangles: &[[u32; 3]]) -> bool {
        let (triangle, edge) = self.split();
        triangles[triangle][edge] == self.ends[0]
    }
}

impl Edges {
    pub fn new(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Self {
        let mut sides: Vec<_> = triangles
            .iter()
            .flat_map(|[a, b, c]| [[a, b], [b, c], [c, a]])
            .zip(0..)
            .map(|([a, b], place)| Side { ends: [*a.min(b), *a.max(b)], place })
            .collect();
        sides.sort_unstable();

        let mut edges = Self { across: vec![[NONE; 3]; triangles.len()], seen: SeenEdges::default() };
        let mut open = vec![];
        for fan in sides.chunk_by(|a, b| a.ends == b.ends) {
            let ends = fan[0].ends;
            match fan {
                [_] => open.push(ends),
                [a, b] => {
                    edges.join(*a, b.apex(triangles));
                    edges.join(*b, a.apex(triangles));
                    if a.rises(triangles) == b.rises(triangles) {
                        edges.seen.flipped.add(ends);
                    }
                }
                _ => {
                    edges.seen.crowded.add(ends);
                    edges.join_straightest(fan, vertices, triangles);
                }
            }
        }
        open.iter().for_each(|ends| edges.seen.open.add(*ends));
        edges.seen.rims = rims(&open, vertices.len());
        edges
    }

    fn join(&mut self, side: Side, apex: u32) {
        let (triangle, edge) = side.split();
        self.across[triangle][edge] = apex;
    }

    /// Gives each of more than two triangles around an edge the neighbour whose angle is nearest to half a turn. Sorts by
    /// angle, so that the cost stays low for a thousand triangles around one edge.
    fn join_straightest(&mut self, fan: &[Side], vertices: &[DVec3], triangles: &[[u32; 3]]) {
        let ends = fan[0].ends.map(|end| vertices[end as usize]);
        let apexes: Vec<_> = fan.iter().map(|side| side.apex(triangles)).collect();
        let gates: Vec<_> =
            apexes.iter().map(|apex| gate(ends[0], ends[1], vertices[*apex as usize])).collect();
        let upright = unit(ends[1] - ends[0]).cross(gates[0]);
        let mut turns: Vec<_> = gates
            .iter()
            .map(|gate| gate.dot(upright).atan2(gate.dot(gates[0])).rem_euclid(TAU))
            .zip(0..)
            .collect();
        turns.sort_unstable_by(|a: &(f64, usize), b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (turn, me) in &turns {
            let opposite = (turn + TAU / 2.0).rem_euclid(TAU);
            let place = turns.partition_point(|other| other.0 < opposite);
            // The nearest on either side, and one more, because the nearest may be this triangle.
            let straightest = [turns.len() - 2, turns.len() - 1, 0, 1]
                .map(|step| turns[(place + step) % turns.len()].1)
                .into_iter()
                .filter(|other| other != me)
                .min_by(|a, b| gates[*a].dot(gates[*me]).total_cmp(&gates[*b].dot(gates[*me])));
            if let Some(other) = straightest {
                self.join(fan[*me], apexes[other]);
            }
        }
    }
}

/// The number of connected components that open edges form.
fn rims(open: &[[u32; 2]], vertex_count: usize) -> usize {
    if open.is_empty() {
        return 0;
    }
    // A union-find forest: each vertex of an open edge points towards the root of its component, the root to itself.
    let mut parents = vec![NONE; vertex_count];
    let mut pieces = 0;
    for ends in open {
        let roots = ends.map(|end| {
            if parents[end as usize] == NONE {
                parents[end as usize] = end;
                pieces += 1;
            }
            root(&mut parents, end)
        });
        if roots[0] != roots[1] {
            parents[roots[1] as usize] = roots[0];
            pieces -= 1;
        }
    }
    pieces
}

/// The root of a vertex; halves the path on the way up.
fn root(parents: &mut [u32], mut vertex: u32) -> u32 {
    while parents[vertex as usize] != vertex {
        let parent = parents[vertex as usize];
        parents[vertex as usize] = parents[parent as usize];
        vertex = parent;
    }
    vertex
}
