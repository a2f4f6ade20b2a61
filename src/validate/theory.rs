//! Equations of the theory of hard spheres that several cases use. Reduced units: diameter, mass and kT are 1.

use std::f64::consts::PI;

use super::Source;

/// Compressibility PV/NkT of the fluid of hard spheres at volume fraction `phi`, by Carnahan and Starling.
pub fn carnahan_starling(phi: f64) -> f64 {
    (1.0 + phi + phi.powi(2) - phi.powi(3)) / (1.0 - phi).powi(3)
}

/// Source of [`carnahan_starling`].
pub const CARNAHAN_STARLING: Source = Source::Cited("Carnahan & Starling, J. Chem. Phys. 51, 635 (1969)");

/// Compressibility PV/NkT of the fluid of hard spheres at volume fraction `phi`: a polynomial in phi/(1 - phi), fitted to
/// event-driven molecular dynamics.
pub fn compressibility(phi: f64) -> f64 {
    let x = phi / (1.0 - phi);
    let terms = [
        (0, 1.0),
        (1, 4.0),
        (2, 6.0),
        (3, 2.3647684),
        (4, -0.8698551),
        (5, 1.1062803),
        (6, -1.1014221),
        (7, 0.66605866),
        (8, -0.03633431),
        (10, -0.20965164),
        (14, 0.10555569),
        (22, -0.00872380),
    ];
    terms.iter().map(|&(power, factor)| factor * x.powi(power)).sum()
}

/// Source of [`compressibility`]. The coefficients were compared with the source code of DynamO.
pub const COMPRESSIBILITY: Source = Source::Cited(
    "fit to molecular dynamics, Bannerman, Lue & Woodcock, J. Chem. Phys. 132, 084507 (2010), as coded in DynamO",
);

/// Collisions per sphere and time at volume fraction `phi`, each counted for both partners: (6/sqrt(pi)) (Z - 1). The relation is
/// exact, because both Z - 1 and the rate are proportional to the pair density at contact.
pub fn collision_rate(phi: f64) -> f64 {
    6.0 / PI.sqrt() * (compressibility(phi) - 1.0)
}

/// Compressibility of the fluid of hard discs at area fraction `phi`: the virial series to the tenth coefficient. The higher
/// terms continue as a geometric series with the ratio of the last two coefficients, 0.551 per factor of 2 phi.
pub fn disc_compressibility(phi: f64) -> f64 {
    // B(k)/B(2)^(k - 1), k = 2 to 10; B(2) times the number density is 2 phi.
    let terms = [1.0, 0.7820044, 0.5322318, 0.3335561, 0.1988425, 0.1148728, 0.0649930, 0.0362193, 0.0199537];
    let x = 2.0 * phi;
    let mut sum = 1.0;
    let mut power = 1.0;
    for term in terms {
        power *= x;
        sum += term * power;
    }
    let ratio = x * terms[8] / terms[7];
    sum + terms[8] * power * ratio / (1.0 - ratio)
}

/// Source of [`disc_compressibility`].
pub const DISC_COMPRESSIBILITY: Source = Source::Cited(
    "virial coefficients of hard discs, Clisby & McCoy, J. Stat. Phys. 122, 15 (2006), table 1, as quoted in SklogWiki",
);

/// Compressibility of the fluid of hard discs at area fraction `phi`, by Henderson.
pub fn henderson(phi: f64) -> f64 {
    (1.0 + phi * phi / 8.0) / (1.0 - phi).powi(2)
}

/// Spheres of one diameter in a mixture.
#[derive(Clone, Copy, Debug)]
pub struct Species {
    /// Number of spheres per volume.
    pub density: f64,
    /// Diameter.
    pub diameter: f64,
}

/// Pair distribution of a mixture of hard spheres at contact, for spheres with the diameters `a` and `b`, by Boublik,
/// Mansoori, Carnahan, Starling and Leland.
pub fn contact_value(mixture: &[Species], a: f64, b: f64) -> f64 {
    let zeta = |power: i32| -> f64 {
        mixture.iter().map(|species| species.density * species.diameter.powi(power)).sum::<f64>() * PI / 6.0
    };
    let free = 1.0 - zeta(3);
    let q = zeta(2) * a * b / (a + b);
    1.0 / free + 3.0 * q / free.powi(2) + 2.0 * q * q / free.powi(3)
}

/// Source of [`contact_value`]. The equation was compared with the source code of DynamO.
pub const CONTACT_VALUE: Source = Source::Cited(
    "Boublik, J. Chem. Phys. 53, 471 (1970); Mansoori, Carnahan, Starling & Leland, J. Chem. Phys. 54, 1523 (1971), as coded in DynamO",
);

/// Coefficient of self-diffusion of the fluid of hard spheres at volume fraction `phi` in a box of infinite size: the value of Enskog's
/// theory times a polynomial of the number density n, fitted to the molecular dynamics of Erpenbeck and Wood.
pub fn self_diffusion(phi: f64) -> f64 {
    let n = 6.0 * phi / PI;
    let ratio = 1.0 + 0.94605 * n.powf(1.5) + 1.4022 * n.powi(3) - 5.6898 * n.powi(5) + 2.6626 * n.powi(7);
    enskog_diffusion(phi) * ratio
}

/// Source of [`self_diffusion`].
pub const SELF_DIFFUSION: Source = Source::Unverified(
    "molecular dynamics, Erpenbeck & Wood, Phys. Rev. A 43, 4254 (1991), in the fit of Ruckenstein & Liu, Ind. Eng. Chem. Res. 36, 3927 (1997)",
);

/// Coefficient of self-diffusion of the fluid of hard spheres at volume fraction `phi`, fitted by Speedy to simulations of the time
/// before 1987.
pub fn speedy_diffusion(phi: f64) -> f64 {
    let n = 6.0 * phi / PI;
    0.375 / PI.sqrt() / n * (1.0 - n / 1.09) * (1.0 + n * n * (0.4 - 0.83 * n * n))
}

/// Source of [`speedy_diffusion`].
pub const SPEEDY_DIFFUSION: Source =
    Source::Unverified("fit to molecular dynamics, Speedy, Mol. Phys. 62, 509 (1987)");

/// Coefficient of self-diffusion at volume fraction `phi` in the theory of Enskog.
pub fn enskog_diffusion(phi: f64) -> f64 {
    let contact = (compressibility(phi) - 1.0) / (4.0 * phi);
    1.01896 * 0.375 / PI.sqrt() / (6.0 * phi / PI * contact)
}

/// Shear viscosity at volume fraction `phi` in the theory of Enskog.
pub fn enskog_viscosity(phi: f64) -> f64 {
    let contact = (compressibility(phi) - 1.0) / (4.0 * phi);
    let b = 4.0 * phi;
    1.016 * 5.0 / 16.0 / PI.sqrt() * (1.0 / contact + 0.8 * b + 0.7614 * b * b * contact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_equations_have_known_values() {
        for (phi, z, rate) in
            [(0.1, 1.52165, 1.7658), (0.2, 2.40940, 4.7710), (0.3, 3.98398, 10.101), (0.4, 6.94546, 20.126)]
        {
            assert!((compressibility(phi) - z).abs() < 1e-5);
            assert!((collision_rate(phi) / rate - 1.0).abs() < 1e-4);
        }
        assert!((disc_compressibility(0.3) - henderson(0.3)).abs() < 2e-3);
        assert!((disc_compressibility(0.5) / henderson(0.5) - 1.0).abs() < 5e-3);
    }

    #[test]
    fn a_mixture_of_equal_spheres_is_a_pure_fluid() {
        let half = Species { density: 0.3 / PI * 3.0, diameter: 1.0 };
        let z = 1.0 + 4.0 * 0.3 * contact_value(&[half, half], 1.0, 1.0);
        assert!((z - carnahan_starling(0.3)).abs() < 1e-12);
    }
}
