//! What was changed on the way from a scene to a system.

use std::fmt;

use crate::MeshWarning;

/// Something that [`Scene::build_with_notes`](super::Scene::build_with_notes) did that a user may want to know.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// Spheres that overlapped a little were moved apart.
    Relaxed {
        /// Pairs of spheres, and spheres and walls, that overlapped.
        overlaps: usize,
        /// Deepest of them, in mean diameters of the pair (for a wall: in diameters).
        deepest: f64,
        /// Deepest overlap that is left, likewise; 0 where none is.
        left: f64,
        /// Longest way a sphere was moved (length).
        moved: f64,
    },
    /// Something looks wrong with the mesh of a wall; it is simulated as it is.
    Mesh {
        /// Name of the wall.
        wall: String,
        /// What looks wrong.
        warning: MeshWarning,
    },
    /// A mesh lies further from all spheres than both of them are large: it may be in other units.
    FarMesh {
        /// Name of the wall.
        wall: String,
        /// Distance of the boxes around the mesh and around the spheres (length).
        distance: f64,
        /// Diagonal of the box around the mesh (length).
        size: f64,
    },
    /// Something that the scene sets and that changes nothing in it.
    WithoutEffect {
        /// What it is called in a scene file.
        field: &'static str,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relaxed { overlaps, deepest, left, moved } => {
                write!(f, "{overlaps} initial overlaps, up to {deepest:.2e} of the mean diameter deep, ")?;
                if *left > 0.0 {
                    write!(f, "were relaxed to at most {left:.1e}")?;
                } else {
                    write!(f, "were relaxed to none")?;
                }
                write!(f, "; no sphere was moved further than {moved:.2e}")
            }
            Self::Mesh { wall, warning } => write!(f, "{wall}: {warning}"),
            Self::FarMesh { wall, distance, size } => write!(
                f,
                "{wall} is {size:.3} across and {distance:.3} away from the spheres: they may not be in the same units, see \
                 scale and shift"
            ),
            Self::WithoutEffect { field } => {
                write!(
                    f,
                    "{field} has no effect: it is for contacts that last, and without gravity and a restitution \
                     below 1 none does"
                )
            }
        }
    }
}
