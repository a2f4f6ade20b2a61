//! Structure and motion of spheres, measured from their positions, velocities and contacts: pure functions over slices.
//!
//! | function | result |
//! |---|---|
//! | [`radial_distribution`], [`partial_radial_distributions`] | g(r), of all spheres or of each pair of kinds |
//! | [`speed_distributions`] | histogram of speeds, with the Maxwell-Boltzmann distribution of the measured temperature |
//! | [`packing_fraction`], [`packing_profile`] | share of the box that spheres fill, and its profile along an axis |
//! | [`coordination`] | contacts of each sphere within a tolerance, and rattlers |
//! | [`force_network`] | normal forces, mobilized friction, fabric and stress of contacts |
//! | [`mean_square_displacement`] | displacement over time, unwrapped across periodic axes, with a diffusion coefficient |
//! | [`flow_rate`] | rate of a cumulative count |
//!
//! All functions compute in f64 with any consistent set of units. Sums have a fixed order, so results are bit-identical for any
//! number of threads. `docs/analysis.md` states the formulas, their conditions and their sources.
//!
//! ```
//! use carom::analysis::{Domain, coordination, radial_distribution};
//! use carom::Dimensions;
//! use glam::DVec3;
//!
//! // A simple cubic lattice of spacing 1 in a periodic box.
//! let site = |k: u32| DVec3::new(f64::from(k % 6), f64::from(k / 6 % 6), f64::from(k / 36)) + 0.5;
//! let positions: Vec<DVec3> = (0..216).map(site).collect();
//! let domain = Domain::periodic(DVec3::ZERO, DVec3::splat(6.0), Dimensions::Three);
//!
//! // Six neighbours at distance 1, twelve more at the square root of 2.
//! let g = radial_distribution(&positions, &domain, 290, 2.9)?;
//! assert!((g.neighbors(1.1) - 6.0).abs() < 1e-12 && (g.neighbors(1.5) - 18.0).abs() < 1e-12);
//! let touching = coordination(&positions, &[0.5; 216], &domain, 1e-6, 4)?;
//! assert_eq!((touching.mean, touching.rattlers), (6.0, 0));
//! # Ok::<(), carom::Error>(())
//! ```

mod coordination;
mod displacement;
mod domain;
mod forces;
mod gamma;
mod packing;
mod pairs;
mod radial;
mod series;
mod speeds;
mod volume;

pub use coordination::{Coordination, coordination};
pub use displacement::{Diffusion, Displacement, DisplacementPoint, Snapshot, mean_square_displacement};
pub use domain::Domain;
pub use forces::{ForceNetwork, force_network};
pub use packing::{packing_fraction, packing_profile};
pub use radial::{
    PartialDistribution, RadialDistribution, partial_radial_distributions, radial_distribution,
};
pub use series::{FlowRate, flow_rate};
pub use speeds::{SpeedDistribution, speed_distributions};
pub use volume::volume_in_box;

use crate::Error;

/// Spheres that one thread handles at a time. Partial sums of chunks are added in order, so the number of threads changes no
/// sum; a chunk of this size takes some 10 microseconds or more.
const CHUNK: usize = 4096;

/// An error unless there are `expected` values of `what`.
fn check_length(what: &str, length: usize, expected: usize) -> Result<(), Error> {
    if length == expected {
        return Ok(());
    }
    Err(Error::Invalid(format!("{length} {what} for {expected} spheres; expected one for each sphere")))
}

/// An error unless the number of bins is from 1 to 2^24, which is far more than a chart or a table can show.
fn check_bins(bins: usize) -> Result<(), Error> {
    if (1..=1 << 24).contains(&bins) {
        return Ok(());
    }
    Err(Error::Invalid(format!("{bins} bins; expected a number from 1 to {}", 1 << 24)))
}
