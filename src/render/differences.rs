//! Differences between two runs, for colours on a logarithmic scale.

/// Smallest difference that has a colour of its own, as a power of ten: below the resolution of f32 positions.
pub(super) const SMALLEST: i32 = -9;

/// Largest value: differences from 10^3 diameters on have one colour.
const LARGEST: f64 = 12.0;

/// Difference of each sphere between two runs, for [`Colour::Difference`](super::Colour::Difference).
/// [`Spheres::set_differences`](super::Spheres::set_differences) takes it to the device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    /// Power of ten of the difference, counted from the smallest, as the first of two numbers: the form of the figures of
    /// contacts.
    pub(super) figures: Vec<[f32; 2]>,
}

impl Differences {
    /// From distances (mean diameters, >= 0 or infinite) of the spheres in ascending order of ids.
    pub fn of(distances: &[f64]) -> Self {
        let value = |distance: f64| (distance.log10() - f64::from(SMALLEST)).clamp(0.0, LARGEST) as f32;
        Self { figures: distances.iter().map(|&distance| [value(distance), 0.0]).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_powers_of_ten() {
        let of = |distance| Differences::of(&[distance]).figures[0][0];
        assert_eq!([0.0, 1e-30, 1e-9, 1e-8, 1.0].map(of), [0.0, 0.0, 0.0, 1.0, 9.0]);
        assert_eq!([1e9, f64::INFINITY].map(of), [12.0; 2]);
    }
}
