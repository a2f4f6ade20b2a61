//! The style of a picture: the quantity that colours show, the colour map, and the lighting.

use std::str::FromStr;

use glam::DVec3;

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
    /// Speed of rotation (1/time).
    Spin,
    /// Number of lasting contacts; see [`ContactNetwork`](super::ContactNetwork).
    Contacts,
    /// Sum of the normal forces of the lasting contacts, relative to the weight.
    Force,
    /// Distance between the places of a sphere in two runs, relative to the mean diameter, on a logarithmic scale; see
    /// [`Differences`](super::Differences).
    Difference,
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
    Overlap = "overlap", Spin = "spin", Contacts = "contacts", Force = "force",
    Difference = "difference");

impl Colour {
    /// Whether the values come from a [`ContactNetwork`](super::ContactNetwork) on the spheres; without one they are 0.
    pub fn needs_contacts(self) -> bool {
        matches!(self, Self::Contacts | Self::Force)
    }

    /// The next value, cyclically; [`Difference`](Self::Difference), which needs a second run, is left out.
    pub fn next(self) -> Self {
        let place = Self::ALL.iter().position(|&colour| colour == self).unwrap_or(0);
        let next = Self::ALL[(place + 1) % Self::ALL.len()];
        if next == Self::Difference { Self::Speed } else { next }
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
    /// Computed from the spheres of the picture: speeds, spins and forces from 0 to the 98th percentile, ages to the 90th percentile,
    /// overlaps from 0 to the deepest, contacts from 0 to the largest number, other quantities from the least to the greatest. A range that starts at 0 grows
    /// at once and shrinks by a fiftieth per picture, so that films do not flicker.
    #[default]
    Automatic,
    /// Fixed values, in the units of the system. Values beyond an end get the colour of that end.
    Locked(f64, f64),
}

/// A plane that hides the spheres in front of it, to show the inside of a scene. A sphere is hidden or drawn as a whole,
/// by its centre. A hidden sphere casts no shadow, but counts in an automatic [`Range`], so that colours do not change while
/// the plane moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clip {
    /// Direction from the plane to the hidden side; any length > 0.
    pub normal: DVec3,
    /// Spheres with `normal.dot(center) > offset` are hidden.
    pub offset: f64,
}

impl Clip {
    /// Whether a sphere with this centre is hidden.
    pub fn hides(&self, center: DVec3) -> bool {
        self.normal.dot(center) > self.offset
    }
}

impl FromStr for Clip {
    type Err = String;

    /// Parses an axis and a coordinate: `x:3` hides the spheres with x > 3, `-x:3` those with x < 3.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            "expected AXIS:AT, as z:2 to hide spheres above z = 2, or -y:0 to hide those below y = 0"
                .to_owned()
        };
        let (axis, at) = text.split_once(':').ok_or_else(wrong)?;
        let (sign, axis) = match axis.strip_prefix('-') {
            Some(axis) => (-1.0, axis),
            None => (1.0, axis.strip_prefix('+').unwrap_or(axis)),
        };
        let axis = ["x", "y", "z"].iter().position(|name| *name == axis).ok_or_else(wrong)?;
        let at: f64 = at.parse().ok().filter(|at: &f64| at.is_finite()).ok_or_else(wrong)?;
        Ok(Self { normal: sign * DVec3::AXES[axis], offset: sign * at })
    }
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
    /// Hides the spheres in front of a plane.
    pub clip: Option<Clip>,
    /// Draws the force chains of the [`ContactNetwork`](super::ContactNetwork) on the spheres, over everything else.
    pub chains: bool,
}

impl Default for Style {
    /// Everything on except `flat`, `clip` and `chains`; colours show speed over an automatic range.
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
            clip: None,
            chains: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clip_plane_is_an_axis_and_a_coordinate() {
        for (text, hidden, shown) in [
            ("x:3", DVec3::new(3.1, 0.0, 0.0), DVec3::new(2.9, 0.0, 0.0)),
            ("+y:-2", DVec3::new(0.0, -1.9, 0.0), DVec3::new(0.0, -2.1, 0.0)),
            ("-z:0.5", DVec3::new(9.0, 9.0, 0.4), DVec3::new(9.0, 9.0, 0.6)),
        ] {
            let clip: Clip = text.parse().unwrap();
            assert!(clip.hides(hidden) && !clip.hides(shown), "{text}: {clip:?}");
        }
        for text in ["", "x", "x:", "3", "w:1", "--x:1", "x:nan", "x:1:2", "xy:1"] {
            assert!(text.parse::<Clip>().is_err(), "{text}");
        }
    }
}
