//! Colour maps: tables in sRGB, identical on the host and in the shaders.

use super::style::Map;

/// Entries of a table: every fifth of the 256 entries of the full table. Linear interpolation between entries deviates
/// from the full table by less than 1/255.
pub const KNOTS: usize = 52;

/// Red, green and blue as bytes.
type Table = [u32; KNOTS];

/// From the table of A. Mikhailov, "Turbo, an improved rainbow colormap", 2019.
#[rustfmt::skip]
const TURBO: Table = [
    0x30123b, 0x36215f, 0x3b2f80, 0x3f3e9c, 0x424bb5, 0x4559cb, 0x4666dd, 0x4773eb, 0x4680f6,
    0x458cfd, 0x4099ff, 0x38a5fb, 0x2fb2f4, 0x27bee9, 0x1fc9dd, 0x1ad4d0, 0x18ddc2, 0x1ae4b6,
    0x22ebaa, 0x2ff19b, 0x3ff68a, 0x52fa7a, 0x65fd69, 0x79fe59, 0x8bff4b, 0x9cfe40, 0xa9fb39,
    0xb7f735, 0xc3f134, 0xd0ea34, 0xdbe236, 0xe5d938, 0xeecf3a, 0xf5c53a, 0xfaba39, 0xfdae35,
    0xfea130, 0xfe932a, 0xfc8423, 0xf9751d, 0xf46617, 0xef5811, 0xe84b0c, 0xe14109, 0xd83706,
    0xce2d04, 0xc32503, 0xb71d02, 0xa91601, 0x9b0f01, 0x8b0902, 0x7a0403,
];

/// From the table of S. van der Walt and N. Smith, 2015.
#[rustfmt::skip]
const VIRIDIS: Table = [
    0x440154, 0x46085c, 0x471063, 0x481769, 0x481d6f, 0x482475, 0x472a7a, 0x46307e, 0x453781,
    0x433d84, 0x414287, 0x3f4889, 0x3d4e8a, 0x3a538b, 0x38598c, 0x355e8d, 0x33638d, 0x31688e,
    0x2e6d8e, 0x2c718e, 0x2a768e, 0x297b8e, 0x27808e, 0x25848e, 0x23898e, 0x218e8d, 0x20928c,
    0x1f978b, 0x1e9c89, 0x1fa188, 0x21a585, 0x24aa83, 0x28ae80, 0x2eb37c, 0x35b779, 0x3dbc74,
    0x46c06f, 0x50c46a, 0x5ac864, 0x65cb5e, 0x70cf57, 0x7cd250, 0x89d548, 0x95d840, 0xa2da37,
    0xb0dd2f, 0xbddf26, 0xcae11f, 0xd8e219, 0xe5e419, 0xf1e51d, 0xfde725,
];

/// Ends of the grey map; black and white are left to shadows and highlights.
const GREYS: [f32; 2] = [0.12, 0.9];

impl Map {
    /// Colours (sRGB, 0..=1) of equally spaced values from 0 to 1.
    pub(super) fn knots(self) -> [[f32; 3]; KNOTS] {
        let table = match self {
            Self::Turbo => &TURBO,
            Self::Viridis => &VIRIDIS,
            Self::Grey => {
                let [dark, light] = GREYS;
                return std::array::from_fn(|k| [dark + (light - dark) * k as f32 / (KNOTS - 1) as f32; 3]);
            }
        };
        table.map(|rgb| [16, 8, 0].map(|shift| ((rgb >> shift) & 0xff) as f32 / 255.0))
    }

    /// The colour (sRGB, 0..=1) of a value; values outside 0..=1 are clamped.
    pub fn colour(self, value: f64) -> [f32; 3] {
        let knots = self.knots();
        let at = value.clamp(0.0, 1.0) as f32 * (KNOTS - 1) as f32;
        let below = (at as usize).min(KNOTS - 2);
        let share = at - below as f32;
        std::array::from_fn(|channel| {
            let [low, high] = [knots[below][channel], knots[below + 1][channel]];
            low + (high - low) * share
        })
    }
}

/// Colours of materials (sRGB), used cyclically: easy to distinguish, of one family, and darker than the walls.
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

#[cfg(test)]
mod tests {
    use super::*;

    // Entries of the full tables that lie between the knots.
    #[test]
    fn colours_are_those_of_the_tables() {
        for (map, entry, expected) in [
            (Map::Turbo, 64, [0.1584, 0.7355, 0.9231]),
            (Map::Turbo, 128, [0.6436, 0.9900, 0.2336]),
            (Map::Turbo, 203, [0.9454, 0.3664, 0.0746]),
            (Map::Viridis, 64, [0.2297, 0.3224, 0.5457]),
            (Map::Viridis, 128, [0.1276, 0.5669, 0.5506]),
        ] {
            let found = map.colour(f64::from(entry) / 255.0);
            for (found, expected) in found.into_iter().zip(expected) {
                assert!((found - expected).abs() < 1.5 / 255.0, "{map:?} {entry}: {found} {expected}");
            }
        }
        assert_eq!(Map::Grey.colour(-1.0), [GREYS[0]; 3]);
        assert_eq!(Map::Turbo.colour(2.0), Map::Turbo.knots()[KNOTS - 1]);
    }
}
