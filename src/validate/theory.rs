//! Equations of the theory of hard spheres that several cases use. Reduced units: diameter, mass and kT are 1.

use super::Source;

/// Compressibility PV/NkT of the fluid of hard spheres at volume fraction `phi`, by Carnahan and Starling.
pub fn carnahan_starling(phi: f64) -> f64 {
    (1.0 + phi + phi.powi(2) - phi.powi(3)) / (1.0 - phi).powi(3)
}

/// Source of [`carnahan_starling`].
pub const CARNAHAN_STARLING: Source = Source::Cited("Carnahan & Starling, J. Chem. Phys. 51, 635 (1969)");
