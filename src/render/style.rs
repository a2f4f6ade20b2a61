//! The style of a picture: the quantity that colours show, the colour map, and the lighting.

use std::str::FromStr;

/// The quantity that colours show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Colour {
    /// Speed (length/time).
    #[default]
    Speed,
    /// Radius (length).
    Radius,
    /// Material, shown in a fixed set of colours without a map.
    Material,
    /// Id.
    Id,
    /// Time since the last contact (time): recent impacts glow and fade.
    Impacts,
    /// Deepest overlap with another sphere, relative to the pair's mean diameter.
    Overlap,
}

/// Names the values of a unit-only enum.
macro_rules! named {
    ($type:ident: $($value:ident = $name:literal),*) => {
        impl $type {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$value),*];

            /// Name of the value in scenes and on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name),*
                }
            }
        }

        impl FromStr for $type {
            type Err = String;

            /// Parses a name; the error lists all names.
            fn from_str(name: &str) -> Result<Self, String> {
                Self::ALL.iter().copied().find(|value| value.name() == name).ok_or_else(|| {
                    let names: Vec<_> = Self::ALL.iter().map(|value| value.name()).collect();
                    format!("{name:?} is none of {}", names.join(", "))
                })
            }
        }
    };
}

named!(Colour: Speed = "speed", Radius = "radius", Material = "material", Id = "id", Impacts = "impacts",
    Overlap = "overlap");

impl Colour {
    /// The next value, cyclically.
    pub fn next(self) -> Self {
        let place = Self::ALL.iter().position(|&colour| colour == self).unwrap_or(0);
        Self::ALL[(place + 1) % Self::ALL.len()]
    }
}

/// The colour map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Map {
    /// Blue, green, yellow, red: the most distinguishable steps (Mikhailov 2019).
    Turbo,
    /// Blue, green, yellow: lightness rises evenly, also for colour-blind viewers (Smith and van der Walt 2015).
    #[default]
    Viridis,
    /// Dark to light.
    Grey,
}

named!(Map: Turbo = "turbo", Viridis = "viridis", Grey = "grey");

/// The values at the two ends of the map.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Range {
    /// Computed from the spheres of the picture: speeds from 0 to the 98th percentile, ages to the 90th percentile,
    /// overlaps from 0 to the deepest, other quantities from the least to the greatest. A range that starts at 0 grows
    /// at once and shrinks by a fiftieth per picture, so that films do not flicker.
    #[default]
    Automatic,
    /// Fixed values, in the units of the system. Values beyond an end get the colour of that end.
    Locked(f64, f64),
}

/// Contents and appearance of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// The quantity that colours show.
    pub colour: Colour,
    /// The colour map.
    pub map: Map,
    /// The values at the ends of the map.
    pub range: Range,
    /// Whether spheres cast shadows.
    pub shadow: bool,
    /// Whether points surrounded by other spheres are darker.
    pub ambient_occlusion: bool,
    /// Whether walls are drawn, including the sides and edges of the box.
    pub bounds: bool,
    /// Whether a floor is drawn.
    pub ground: bool,
    /// Whether a legend explains the colours.
    pub legend: bool,
    /// Uses the exact colours of the map without light, for reading values off a picture.
    pub flat: bool,
}

impl Default for Style {
    /// Everything on except `flat`; colours show speed over an automatic range.
    fn default() -> Self {
        Self {
            colour: Colour::default(),
            map: Map::default(),
            range: Range::default(),
            shadow: true,
            ambient_occlusion: true,
            bounds: true,
            ground: true,
            legend: true,
            flat: false,
        }
    }
}
