//! What a picture shows and how.

use std::str::FromStr;

/// What the colour of a sphere stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Colour {
    /// Speed (length/time).
    #[default]
    Speed,
    /// Radius (length).
    Radius,
    /// Material; its colours are a fixed set, not a map.
    Material,
    /// Id.
    Id,
    /// Time since the last contact (time): what was struck lately glows and fades.
    Impacts,
    /// Deepest overlap with another sphere, in the pair's mean diameter.
    Overlap,
}

/// Names a unit-only enum's values.
macro_rules! named {
    ($type:ident: $($value:ident = $name:literal),*) => {
        impl $type {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$value),*];

            /// Its name in scenes and on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name),*
                }
            }
        }

        impl FromStr for $type {
            type Err = String;

            /// The value of a name; the error lists all names.
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
    /// The one after it, round and round.
    pub fn next(self) -> Self {
        let place = Self::ALL.iter().position(|&colour| colour == self).unwrap_or(0);
        Self::ALL[(place + 1) % Self::ALL.len()]
    }
}

/// Which colours values get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Map {
    /// Blue, green, yellow, red: the most steps that can be told apart (Mikhailov 2019).
    Turbo,
    /// Blue, green, yellow: rises evenly in lightness, also for the colour-blind (Smith and van der Walt 2015).
    #[default]
    Viridis,
    /// Dark to light.
    Grey,
}

named!(Map: Turbo = "turbo", Viridis = "viridis", Grey = "grey");

/// Which values are at the two ends of the map.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Range {
    /// From the spheres of the picture: speeds from 0 to what 98 of 100 stay below, ages to what 90 stay below, overlaps
    /// from 0 to the deepest, the others from the least to the greatest. What begins at 0 grows at once and shrinks by a
    /// fiftieth from picture to picture, so that films do not flicker.
    #[default]
    Automatic,
    /// These two, in the units of the system. What is beyond gets the colour of the end.
    Locked(f64, f64),
}

/// What a picture shows and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// What the colour of a sphere stands for.
    pub colour: Colour,
    /// Which colours values get.
    pub map: Map,
    /// Which values are at its ends.
    pub range: Range,
    /// Whether spheres cast shadows.
    pub shadow: bool,
    /// Whether what is surrounded by others is darker.
    pub ambient_occlusion: bool,
    /// Whether walls are drawn, the sides and edges of the box among them.
    pub bounds: bool,
    /// Whether there is a floor.
    pub ground: bool,
    /// Whether the colours are explained.
    pub legend: bool,
    /// Colours exactly as the map has them, without light: for reading values off a picture.
    pub flat: bool,
}

impl Default for Style {
    /// Everything but `flat`; speed, automatic.
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
