//! Triangle meshes.

mod edges;
mod shape;
mod warning;
mod weld;

use glam::{DQuat, DVec3};
use rustc_hash::FxHashSet;

use crate::Error;
use edges::{Edges, NONE};
use shape::{gate, is_thin};
pub use warning::MeshWarning;
use warning::{Seen, at};
use weld::weld;

/// Most triangles of a mesh, so that indices of corners and edges fit in 32 bits, and memory in a few gigabytes.
pub(crate) const MAX_TRIANGLES: usize = 1 << 24;
/// Tolerance on the length of a rotation quaternion: values written with seven digits pass, other vectors fail.
const TURN_SLACK: f64 = 1e-6;

/// A triangle mesh: a surface without thickness. Spheres stay on their side of the surface.
///
/// Both sides of a triangle are solid, so the order of its corners does not matter. A mesh need not be closed.
///
/// ```
/// use carom::{MeshWarning, Mesh};
/// use glam::DVec3;
///
/// // A square of two triangles, each with corners of its own, and one triangle along the diagonal that has no area.
/// let corners = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0], [0.5, 0.5]];
/// let corners = corners.map(|[x, y]| DVec3::new(x, y, 0.0)).to_vec();
/// let mesh = Mesh::new(corners, vec![[0, 1, 2], [3, 4, 5], [0, 6, 2]])?;
///
/// // Equal corners were welded, and the third triangle was left out.
/// assert_eq!((mesh.vertices().len(), mesh.triangles().len()), (4, 2));
/// assert_eq!(mesh.bounds(), [DVec3::ZERO, DVec3::new(1.0, 1.0, 0.0)]);
/// assert_eq!(mesh.warnings()[0], MeshWarning::Degenerate { triangles: 1, first: 2 });
/// assert!(mesh.warnings()[1].to_string().starts_with("4 of its edges belong to one triangle only (1 rim"));
///
/// // Across the diagonal, the third edge of the first triangle, lies the second; across the first edge lies nothing.
/// let facet = mesh.facets().next().unwrap();
/// assert!((facet.gates[2] - DVec3::new(-1.0, 1.0, 0.0).normalize()).length() < 1e-12);
/// assert_eq!(facet.gates[0], DVec3::ZERO);
/// # Ok::<(), carom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Mesh {
    vertices: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    /// For each edge of each triangle, the neighbour's vertex opposite that edge, or [`NONE`].
    across: Vec<[u32; 3]>,
    bounds: [DVec3; 2],
    #[cfg_attr(feature = "files", serde(skip))]
    seen: Seen,
}

/// A triangle of a [`Mesh`] with its neighbours' directions; edge `k` runs from corner `k` to corner `(k + 1) % 3`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facet {
    /// The corners (length).
    pub corners: [DVec3; 3],
    /// For each edge, the unit vector in the plane of the neighbour that is perpendicular to the edge and points from the
    /// edge into the neighbour: minus the direction into this triangle if the two are coplanar, equal to that direction if
    /// they are folded onto each other. Zero if the edge has no neighbour.
    ///
    /// If more than two triangles meet in an edge, the neighbour is the one that continues this triangle best: its gate is
    /// the closest to minus the direction into this triangle. The order of corners does not matter.
    ///
    /// A sphere touches the edge, and not the neighbour's face, only if its centre lies in a direction `d` from the edge
    /// with `d . gate <= 0`.
    pub gates: [DVec3; 3],
}

impl Mesh {
    /// Whether all corners of triangles are vertices.
    #[cfg(feature = "files")]
    pub(crate) fn is_whole(&self) -> bool {
        let is_vertex = |&vertex: &u32| (vertex as usize) < self.vertices.len();
        self.triangles.len() == self.across.len()
            && self.triangles.iter().flatten().all(is_vertex)
            && self.across.iter().flatten().all(|vertex| *vertex == NONE || is_vertex(vertex))
    }

    /// Builds a mesh from `vertices` (length) and triangles of indices into `vertices`, from 0.
    ///
    /// Vertices closer to each other than 2.4e-7 of the longest side of the bounds (two units in the last place of `f32`,
    /// the precision of most files) are merged into the first of them. Triangles that then have no area (with a height below
    /// 1e-9 of their longest edge) and repeated triangles are removed and reported by [`Mesh::warnings`]. Unused vertices
    /// are removed too. The remaining vertices and triangles keep their order.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no triangles or more than 2^24, a coordinate that is not finite, an index out of range, or no
    /// triangle with an area.
    pub fn new(vertices: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Result<Self, Error> {
        inspect(&vertices, &triangles)?;
        let mut used = vec![false; vertices.len()];
        triangles.iter().flatten().for_each(|corner| used[*corner as usize] = true);
        let bounds = bounds_of(vertices.iter().zip(&used).filter_map(|(v, used)| used.then_some(*v)))?;
        let welded = weld(&vertices, &used, bounds);

        let mut seen = Seen::default();
        let mut known = FxHashSet::with_capacity_and_hasher(triangles.len(), Default::default());
        let mut kept = Vec::with_capacity(triangles.len());
        for (index, triangle) in triangles.iter().enumerate() {
            let triangle = triangle.map(|corner| welded[corner as usize]);
            let mut sorted = triangle;
            sorted.sort_unstable();
            if is_thin(triangle.map(|corner| vertices[corner as usize])) {
                seen.degenerate.add(index);
            } else if !known.insert(sorted) {
                seen.duplicate.add(index);
            } else {
                kept.push(triangle);
            }
        }
        if kept.is_empty() {
            let [a, b, c] = triangles[0].map(|corner| at(vertices[corner as usize]));
            return Err(Error::Invalid(format!(
                "none of {} triangles has an area, the first has its corners at {a}, {b} and {c}; a mesh needs one with an area",
                triangles.len()
            )));
        }
        let vertices = compact(vertices, &mut kept);
        let bounds = bounds_of(vertices.iter().copied())?;
        let edges = Edges::new(&vertices, &kept);
        seen.edges = edges.seen;
        Ok(Self { vertices, triangles: kept, across: edges.across, bounds, seen })
    }

    /// The vertices (length), each used by at least one triangle.
    pub fn vertices(&self) -> &[DVec3] {
        &self.vertices
    }

    /// The corners of each triangle, as indices into [`Mesh::vertices`].
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Smallest and largest coordinates of the vertices (length).
    pub fn bounds(&self) -> [DVec3; 2] {
        self.bounds
    }

    /// The triangles with the directions of their neighbours, in the order of [`Mesh::triangles`].
    pub fn facets(&self) -> impl ExactSizeIterator<Item = Facet> + Clone {
        self.triangles.iter().zip(&self.across).map(|(triangle, across)| {
            let corners = triangle.map(|corner| self.vertices[corner as usize]);
            let gates = [0, 1, 2].map(|k| match across[k] {
                NONE => DVec3::ZERO,
                vertex => gate(corners[k], corners[(k + 1) % 3], self.vertices[vertex as usize]),
            });
            Facet { corners, gates }
        })
    }

    /// Suspicious properties that do not prevent a simulation; empty for a closed, consistently oriented surface.
    pub fn warnings(&self) -> Vec<MeshWarning> {
        self.seen.warnings(&self.vertices)
    }

    /// The mesh scaled and then rotated about the origin, then translated: every vertex `v` moves to
    /// `turn * (scale * v) + shift`.
    ///
    /// `scale` is finite and > 0, `turn` has length 1, `shift` is finite (length).
    ///
    /// # Errors
    /// [`Error::Invalid`] if an argument is out of its range, if coordinates overflow, or if rounding leaves a triangle
    /// without area.
    pub fn transformed(&self, scale: f64, turn: DQuat, shift: DVec3) -> Result<Self, Error> {
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(Error::Invalid(format!("the scale of a mesh is {scale}; it is finite and > 0")));
        }
        if (turn.length() - 1.0).abs().partial_cmp(&TURN_SLACK).is_none_or(|missed| missed.is_gt()) {
            return Err(Error::Invalid(format!(
                "the turn of a mesh is {} long; it has length 1",
                turn.length()
            )));
        }
        if !shift.is_finite() {
            return Err(Error::Invalid(format!(
                "the shift of a mesh is {}; every component is a finite number",
                at(shift)
            )));
        }
        let turn = turn.normalize();
        let vertices: Vec<_> = self.vertices.iter().map(|v| turn * (scale * v) + shift).collect();
        let moved = |fault: String| {
            Error::Invalid(format!("scaled by {scale} and shifted by {}, {fault}", at(shift)))
        };
        let infinite = vertices.iter().position(|v| !v.is_finite());
        let bounds = match infinite {
            Some(index) => Err(moved(format!("vertex {index} is at {}", at(vertices[index])))),
            None => bounds_of(vertices.iter().copied()),
        }?;
        let thin = self.triangles.iter().position(|t| is_thin(t.map(|corner| vertices[corner as usize])));
        match thin {
            Some(index) => Err(moved(format!("triangle {index} has no area left"))),
            None => Ok(Self {
                vertices,
                triangles: self.triangles.clone(),
                across: self.across.clone(),
                bounds,
                seen: self.seen.clone(),
            }),
        }
    }
}

/// Rejects input from which no mesh can be built.
fn inspect(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Result<(), Error> {
    let fault = |text: String| Err(Error::Invalid(text));
    if triangles.is_empty() {
        return fault("the mesh has no triangles; it needs at least one".into());
    }
    if triangles.len() > MAX_TRIANGLES {
        return fault(too_many(triangles.len()));
    }
    if let Some(index) = vertices.iter().position(|v| !v.is_finite()) {
        let place = at(vertices[index]);
        return fault(format!("vertex {index} is at {place}; every coordinate is a finite number"));
    }
    for (index, triangle) in triangles.iter().enumerate() {
        if let Some(corner) = triangle.iter().find(|corner| **corner as usize >= vertices.len()) {
            let count = vertices.len();
            return fault(format!(
                "triangle {index} names vertex {corner}; there are {count} vertices, counted from 0"
            ));
        }
    }
    Ok(())
}

/// The message for more triangles than a mesh may have.
pub(crate) fn too_many(count: usize) -> String {
    format!("the mesh has {count} triangles; at most {MAX_TRIANGLES} are possible, so split the mesh")
}

/// Smallest and largest coordinates of at least one point. Fails if a coordinate is not finite.
fn bounds_of(mut points: impl Iterator<Item = DVec3>) -> Result<[DVec3; 2], Error> {
    let first = points.next().unwrap_or_default();
    let [low, high] = points.fold([first; 2], |[low, high], v| [low.min(v), high.max(v)]);
    if (high - low).is_finite() {
        return Ok([low, high]);
    }
    Err(Error::Invalid(format!(
        "the mesh reaches from {} to {}; that is too far for its size to be a finite number",
        at(low),
        at(high)
    )))
}

/// Removes the vertices that no triangle uses.
fn compact(vertices: Vec<DVec3>, triangles: &mut [[u32; 3]]) -> Vec<DVec3> {
    let mut places = vec![NONE; vertices.len()];
    triangles.iter().flatten().for_each(|corner| places[*corner as usize] = 0);
    let mut kept = Vec::new();
    for (place, vertex) in places.iter_mut().zip(vertices).filter(|(place, _)| **place != NONE) {
        *place = kept.len() as u32;
        kept.push(vertex);
    }
    triangles.iter_mut().flatten().for_each(|corner| *corner = places[*corner as usize]);
    kept
}
