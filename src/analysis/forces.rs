//! Statistics of a force network: the forces of lasting contacts and the directions in which they act.

use std::collections::HashMap;

use glam::{DMat3, DVec3};

use super::check_bins;
use crate::{Contact, Dimensions, Error, Partner, contact_stress};

/// Statistics of contacts. Forces and directions are those of contacts between two spheres, unless stated otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct ForceNetwork {
    /// Contacts between two spheres.
    pub sphere_contacts: u64,
    /// Contacts between a sphere and a wall.
    pub wall_contacts: u64,
    /// Contacts between two spheres that carry no force, within a millionth of the mean normal force.
    pub unloaded: u64,
    /// Mean normal force (mass * length/time^2).
    pub mean_normal_force: f64,
    /// Largest normal force over the mean.
    pub largest_normal_force: f64,
    /// Width of a bin of normal forces over their mean.
    pub bin_width: f64,
    /// Contacts whose normal force over the mean lies in each bin.
    pub normal_forces: Vec<u64>,
    /// Mean of the tangential over the normal force, over contacts that carry force.
    pub mean_mobilization: f64,
    /// Largest tangential over normal force.
    pub largest_mobilization: f64,
    /// Contacts that carry force, by tangential over normal force, in as many bins as the normal forces, from 0 to
    /// `largest_mobilization`.
    pub mobilizations: Vec<u64>,
    /// Mean of n n over the contacts, with the unit normals n. Its trace is 1; without a preferred direction each of the D
    /// diagonal entries is 1/D.
    pub fabric: DMat3,
    /// Largest less smallest eigenvalue of the fabric tensor (in 2D, of its part in the plane).
    pub anisotropy: f64,
    /// The same of the contacts with a normal force above the mean, which carry most of the load; `None` if there are none.
    pub strong_anisotropy: Option<f64>,
    /// Share of contacts with a normal force above the mean.
    pub strong_share: f64,
    /// Contacts with spheres and walls per sphere that has a contact.
    pub coordination: f64,
    /// Spheres with 1, 2, 3, ... contacts; the first entry, for 0, is 0 because contacts do not list those spheres.
    pub coordinations: Vec<u64>,
    /// Sum of force times branch of all contacts, walls included (energy). Over the volume it is the stress of the contacts.
    pub moment: DMat3,
}

impl ForceNetwork {
    /// Mean stress in a volume > 0 (mass / (length * time^2), pressure positive), as
    /// [`contact_stress`](crate::contact_stress) computes it.
    pub fn stress(&self, volume: f64) -> DMat3 {
        self.moment * (1.0 / volume)
    }

    /// Probability density of the normal force over its mean in a bin.
    pub fn density(&self, bin: usize) -> f64 {
        self.normal_forces[bin] as f64 / (self.sphere_contacts as f64 * self.bin_width)
    }
}

/// Statistics of contacts, such as those of [`Simulation::contacts`](crate::Simulation::contacts), with `bins` bins from 0 to the
/// largest normal force.
///
/// # Errors
/// [`Error::Invalid`] if there is no contact between two spheres or none carries a force, or if a value is not finite.
pub fn force_network(
    contacts: &[Contact],
    dimensions: Dimensions,
    bins: usize,
) -> Result<ForceNetwork, Error> {
    check_bins(bins)?;
    let is_finite = |c: &&Contact| !(c.force.is_finite() && c.normal.is_finite() && c.branch.is_finite());
    if let Some(contact) = contacts.iter().find(is_finite) {
        let sphere = contact.sphere;
        return Err(Error::Invalid(format!(
            "a contact of sphere {sphere} has a force or a direction that is not finite"
        )));
    }
    let between: Vec<&Contact> =
        contacts.iter().filter(|c| matches!(c.partner, Partner::Sphere(_))).collect();
    let normal_force = |contact: &Contact| contact.force.dot(contact.normal);
    let count = between.len() as f64;
    let mean = between.iter().map(|c| normal_force(c)).sum::<f64>() / count;
    if !(mean.is_finite() && mean > 0.0) {
        return Err(Error::Invalid(format!(
            "{} contacts between spheres carry no force; a force network needs some that do",
            between.len()
        )));
    }
    let shares: Vec<f64> = between.iter().map(|c| normal_force(c) / mean).collect();
    let largest = shares.iter().copied().fold(0.0, f64::max);
    let is_loaded = |share: f64| share > 1e-6;
    let mobilized: Vec<f64> = between
        .iter()
        .zip(&shares)
        .filter(|(_, share)| is_loaded(**share))
        .map(|(c, share)| (c.force - c.normal * normal_force(c)).length() / (share * mean))
        .collect();
    let strong: Vec<&Contact> =
        between.iter().zip(&shares).filter(|(_, share)| **share > 1.0).map(|(c, _)| *c).collect();
    let counts = contact_counts(contacts);
    let most = counts.values().max().map_or(0, |most| *most as usize);
    let mut coordinations = vec![0; most + 1];
    counts.values().for_each(|count| coordinations[*count as usize] += 1);
    let fabric = fabric(&between);
    Ok(ForceNetwork {
        sphere_contacts: between.len() as u64,
        wall_contacts: (contacts.len() - between.len()) as u64,
        unloaded: (between.len() - mobilized.len()) as u64,
        mean_normal_force: mean,
        largest_normal_force: largest,
        bin_width: largest / bins as f64,
        normal_forces: histogram(&shares, largest, bins),
        mean_mobilization: mobilized.iter().sum::<f64>() / mobilized.len() as f64,
        largest_mobilization: mobilized.iter().copied().fold(0.0, f64::max),
        mobilizations: histogram(&mobilized, mobilized.iter().copied().fold(0.0, f64::max), bins),
        fabric,
        anisotropy: anisotropy(&fabric, dimensions),
        strong_anisotropy: (!strong.is_empty()).then(|| anisotropy(&self::fabric(&strong), dimensions)),
        strong_share: strong.len() as f64 / count,
        coordination: counts.values().map(|count| f64::from(*count)).sum::<f64>() / counts.len() as f64,
        coordinations,
        moment: contact_stress(contacts, 1.0),
    })
}

// Contacts of each sphere that has any.
fn contact_counts(contacts: &[Contact]) -> HashMap<u32, u32> {
    let mut counts: HashMap<u32, u32> = HashMap::new();
    for contact in contacts {
        *counts.entry(contact.sphere).or_default() += 1;
        if let Partner::Sphere(other) = contact.partner {
            *counts.entry(other).or_default() += 1;
        }
    }
    counts
}

fn histogram(values: &[f64], largest: f64, bins: usize) -> Vec<u64> {
    let mut counts = vec![0; bins];
    for value in values {
        // Without a largest value all are 0 and lie in the first bin.
        let place = if largest > 0.0 { value / largest * bins as f64 } else { 0.0 };
        counts[(place as usize).min(bins - 1)] += 1;
    }
    counts
}

fn fabric(contacts: &[&Contact]) -> DMat3 {
    let dyad = |n: DVec3| DMat3::from_cols(n * n.x, n * n.y, n * n.z);
    contacts.iter().map(|c| dyad(c.normal)).sum::<DMat3>() * (1.0 / contacts.len() as f64)
}

// Largest less smallest eigenvalue of a symmetric tensor.
fn anisotropy(tensor: &DMat3, dimensions: Dimensions) -> f64 {
    let (x, y, z) = (tensor.x_axis, tensor.y_axis, tensor.z_axis);
    if dimensions == Dimensions::Two {
        return (x.x - y.y).hypot(2.0 * x.y);
    }
    // Eigenvalues m + 2 s cos(angle + 2 pi k / 3), with the mean m. (Smith, Commun. ACM 4, 168, 1961.)
    let mean = (x.x + y.y + z.z) / 3.0;
    let rest = *tensor - DMat3::from_diagonal(DVec3::splat(mean));
    let square = rest.to_cols_array().iter().map(|e| e * e).sum::<f64>() / 6.0;
    let scale = square.sqrt();
    if scale < 1e-15 {
        return 0.0;
    }
    let angle = (0.5 * rest.determinant() / scale.powi(3)).clamp(-1.0, 1.0).acos() / 3.0;
    let third = 2.0 * std::f64::consts::PI / 3.0;
    2.0 * scale * (angle.cos() - (angle + third).cos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_anisotropy_is_the_spread_of_the_eigenvalues() {
        let turn = DMat3::from_rotation_x(0.4) * DMat3::from_rotation_z(1.1);
        for values in [[0.2, 0.3, 0.5], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]] {
            let tensor = turn * DMat3::from_diagonal(DVec3::from_array(values)) * turn.transpose();
            let spread =
                values.iter().copied().fold(0.0, f64::max) - values.iter().copied().fold(1.0, f64::min);
            assert!((anisotropy(&tensor, Dimensions::Three) - spread).abs() < 1e-12, "{values:?}");
        }
        let isotropic = DMat3::from_diagonal(DVec3::splat(1.0 / 3.0));
        assert_eq!(anisotropy(&isotropic, Dimensions::Three), 0.0);
        let flat = DMat3::from_rotation_z(0.3);
        let tensor = flat * DMat3::from_diagonal(DVec3::new(0.7, 0.3, 0.0)) * flat.transpose();
        assert!((anisotropy(&tensor, Dimensions::Two) - 0.4).abs() < 1e-12);
    }
}
