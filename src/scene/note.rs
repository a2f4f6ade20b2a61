//! Notes to the user about the system that was built.

use std::fmt;

use crate::MeshWarning;

/// A change or a suspicious value that [`Scene::build_with_notes`](super::Scene::build_with_notes) reports.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// Spheres with small overlaps were moved apart.
    Relaxed {
        /// Number of overlapping pairs of spheres, and of spheres and walls.
        overlaps: usize,
        /// Deepest overlap, in mean diameters of the pair (for a wall: in diameters).
        deepest: f64,
        /// Deepest remaining overlap, in the same unit; 0 if none remains.
        left: f64,
        /// Largest displacement of a sphere (length).
        moved: f64,
    },
    /// The mesh of a wall looks wrong; it is simulated unchanged.
    Mesh {
        /// Name of the wall.
        wall: String,
        /// The warning.
        warning: MeshWarning,
    },
    /// The distance between a mesh and all spheres exceeds the sizes of both: the mesh may be in other units.
    FarMesh {
        /// Name of the wall.
        wall: String,
        /// Distance of the boxes around the mesh and around the spheres (length).
        distance: f64,
        /// Diagonal of the box around the mesh (length).
        size: f64,
    },
    /// A setting of the scene has no effect.
    WithoutEffect {
        /// Name of the field in a scene file.
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
                    "{field} has no effect: it applies to resting contacts, which need gravity and a \
                     restitution below 1"
                )
            }
        }
    }
}
