//! Spheres on a lattice.

use glam::DVec3;

use super::{Lattice, LatticeKind};

/// Number of spheres; `None` if it exceeds u64.
pub(crate) fn count(lattice: &Lattice) -> Option<u64> {
    let cells = lattice.count[0].checked_mul(lattice.count[1])?.checked_mul(lattice.count[2])?;
    cells.checked_mul(basis(lattice.kind).len() as u64)
}

/// Centres, x running fastest.
pub(crate) fn centers(lattice: &Lattice) -> Vec<DVec3> {
    let [nx, ny, nz] = lattice.count;
    let cell = edges(lattice.kind) * lattice.spacing;
    let mut centers = vec![];
    for k in 0..nz {
        for j in 0..ny {
            for i in 0..nx {
                let shift = if lattice.kind == LatticeKind::Triangular { 0.5 * (j % 2) as f64 } else { 0.0 };
                for offset in basis(lattice.kind) {
                    let corner = DVec3::new(i as f64 + shift, j as f64, k as f64);
                    centers.push(lattice.origin + (corner + *offset) * cell);
                }
            }
        }
    }
    centers
}

/// Edge lengths of a cell, in nearest-neighbour distances.
fn edges(kind: LatticeKind) -> DVec3 {
    match kind {
        LatticeKind::Cubic => DVec3::ONE,
        LatticeKind::Fcc => DVec3::splat(std::f64::consts::SQRT_2),
        LatticeKind::Triangular => DVec3::new(1.0, 0.75f64.sqrt(), 1.0),
    }
}

/// Positions of the spheres of a cell, in its edges.
fn basis(kind: LatticeKind) -> &'static [DVec3] {
    const FCC: [DVec3; 4] =
        [DVec3::ZERO, DVec3::new(0.5, 0.5, 0.0), DVec3::new(0.5, 0.0, 0.5), DVec3::new(0.0, 0.5, 0.5)];
    match kind {
        LatticeKind::Fcc => &FCC,
        LatticeKind::Cubic | LatticeKind::Triangular => &FCC[..1],
    }
}
