//! Warnings about a mesh.

use std::fmt;

use glam::DVec3;

/// A suspicious property of a [`Mesh`](super::Mesh), which does not prevent a simulation. The text is about `its` edges and
/// triangles: write the name of the mesh before it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MeshWarning {
    /// Triangles without area were removed.
    Degenerate {
        /// Number of triangles.
        triangles: usize,
        /// The first of them, by index in the input, from 0.
        first: usize,
    },
    /// Repeated triangles were removed.
    Duplicate {
        /// Number of triangles.
        triangles: usize,
        /// The first of them, by index in the input, from 0.
        first: usize,
    },
    /// Some edges belong to only one triangle: the surface has a rim, at its border or at a hole.
    Open {
        /// Number of edges.
        edges: usize,
        /// Number of connected rims; rims that share a vertex count as one.
        rims: usize,
        /// The ends of one of them (length).
        first: [DVec3; 2],
    },
    /// Across some edges, one triangle faces front and the other back. The simulation does not depend on the orientation,
    /// but carefully written files keep it consistent.
    Flipped {
        /// Number of edges.
        edges: usize,
        /// The ends of one of them (length).
        first: [DVec3; 2],
    },
    /// Some edges belong to more than two triangles.
    Crowded {
        /// Number of edges.
        edges: usize,
        /// The ends of one of them (length).
        first: [DVec3; 2],
    },
}

impl fmt::Display for MeshWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let edge = |ends: &[DVec3; 2]| format!("the first edge at {}-{}", short(ends[0]), short(ends[1]));
        match self {
            Self::Degenerate { triangles, first } => {
                write!(
                    f,
                    "{triangles} of its triangles have no area (the first is triangle {first}): left out"
                )
            }
            Self::Duplicate { triangles, first } => write!(
                f,
                "{triangles} of its triangles have the same corners as an earlier one (the first is triangle {first}): left out"
            ),
            Self::Open { edges, rims, first } => {
                let s = if *rims == 1 { "" } else { "s" };
                write!(
                    f,
                    "{edges} of its edges belong to one triangle only ({rims} rim{s}, {}): spheres can pass there",
                    edge(first)
                )
            }
            Self::Flipped { edges, first } => write!(
                f,
                "{edges} of its edges lie between a front and a back ({}): some triangles are flipped, which has no effect",
                edge(first)
            ),
            Self::Crowded { edges, first } => write!(
                f,
                "{edges} of its edges belong to more than two triangles ({}): spheres that roll across may feel them",
                edge(first)
            ),
        }
    }
}

/// A counter, with the first counted item.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Count<T> {
    count: usize,
    first: Option<T>,
}

impl<T> Default for Count<T> {
    fn default() -> Self {
        Self { count: 0, first: None }
    }
}

impl<T> Count<T> {
    pub fn add(&mut self, one: T) {
        self.count += 1;
        self.first.get_or_insert(one);
    }
}

/// Findings about edges; each edge is given by its two vertices.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SeenEdges {
    pub open: Count<[u32; 2]>,
    pub rims: usize,
    pub flipped: Count<[u32; 2]>,
    pub crowded: Count<[u32; 2]>,
}

/// Findings during the construction of a mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    pub degenerate: Count<usize>,
    pub duplicate: Count<usize>,
    pub edges: SeenEdges,
}

impl Seen {
    pub fn warnings(&self, vertices: &[DVec3]) -> Vec<MeshWarning> {
        let ends = |edge: [u32; 2]| edge.map(|end| vertices[end as usize]);
        let Self { degenerate, duplicate, edges: SeenEdges { open, rims, flipped, crowded } } = self;
        [
            degenerate.first.map(|first| MeshWarning::Degenerate { triangles: degenerate.count, first }),
            duplicate.first.map(|first| MeshWarning::Duplicate { triangles: duplicate.count, first }),
            open.first.map(|first| MeshWarning::Open { edges: open.count, rims: *rims, first: ends(first) }),
            flipped.first.map(|first| MeshWarning::Flipped { edges: flipped.count, first: ends(first) }),
            crowded.first.map(|first| MeshWarning::Crowded { edges: crowded.count, first: ends(first) }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// A position in a message.
pub(super) fn at(v: DVec3) -> String {
    let [x, y, z] = v.to_array().map(|x| {
        // Very large and very small numbers use an exponent.
        let plain = x == 0.0 || (1e-6..1e9).contains(&x.abs());
        if plain { format!("{x}") } else { format!("{x:e}") }
    });
    format!("({x}, {y}, {z})")
}

/// A position in a message, to six digits: enough to locate it, since a rotated mesh has no round coordinates.
fn short(v: DVec3) -> String {
    // Adding 0 turns -0 into 0.
    at(v.map(|x| format!("{x:.5e}").parse().unwrap_or(x) + 0.0))
}
