//! Colours of values: polynomials in sRGB, the same ones on the host and in the shaders.

use super::style::Map;

/// Coefficients of the powers 0 to 6 of a value in 0..=1; red, green, blue in sRGB.
pub type Polynomial = [[f32; 3]; 7];

/// Degree 5, of Mikhailov's own table (A. Mikhailov, "Turbo", 2019; polynomial by R. Du, 2019).
const TURBO: Polynomial = [
    [0.135_721_38, 0.091_402_61, 0.106_673_30],
    [4.615_392_6, 2.194_188_4, 12.641_946],
    [-42.660_323, 4.842_966_6, -60.582_048],
    [132.131_08, -14.185_033, 110.362_77],
    [-152.942_4, 4.277_298_6, -89.903_11],
    [59.286_379, 2.829_566, 27.348_25],
    [0.0; 3],
];

/// Degree 6, of the table of S. van der Walt and N. Smith, 2015 (polynomial by M. Zucker, 2019).
const VIRIDIS: Polynomial = [
    [0.277_727_33, 0.005_407_345, 0.334_099_8],
    [0.105_093_04, 1.404_613_5, 1.384_590_1],
    [-0.330_861_83, 0.214_847_56, 0.095_095_16],
    [-4.634_230_5, -5.799_101, -19.332_441],
    [6.228_269_9, 14.179_933, 56.690_553],
    [4.776_385, -13.745_145, -65.353_033],
    [-5.435_455_9, 4.645_852_6, 26.312_435],
];

/// Neither end is black or white: those are shadow and highlight.
const GREY: Polynomial = [[0.12; 3], [0.78; 3], [0.0; 3], [0.0; 3], [0.0; 3], [0.0; 3], [0.0; 3]];

impl Map {
    pub(super) fn polynomial(self) -> &'static Polynomial {
        match self {
            Self::Turbo => &TURBO,
            Self::Viridis => &VIRIDIS,
            Self::Grey => &GREY,
        }
    }

    /// The colour (sRGB, 0..=1) of a value; what is not in 0..=1 gets that of the nearer end.
    pub fn colour(self, value: f64) -> [f32; 3] {
        let value = value.clamp(0.0, 1.0) as f32;
        let sum =
            |channel: usize| self.polynomial().iter().rev().fold(0.0, |sum, c| sum * value + c[channel]);
        std::array::from_fn(|channel| sum(channel).clamp(0.0, 1.0))
    }
}

/// Colours of materials (sRGB), in turn: far apart, of one family, none as light as the walls.
pub const MATERIALS: [[f32; 3]; 8] = [
    [0.20, 0.46, 0.73],
    [0.93, 0.53, 0.18],
    [0.25, 0.63, 0.42],
    [0.80, 0.27, 0.29],
    [0.56, 0.44, 0.74],
    [0.90, 0.75, 0.27],
    [0.27, 0.68, 0.74],
    [0.85, 0.50, 0.66],
];
