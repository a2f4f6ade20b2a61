//! The built-in scenes.

use super::{SceneError, parse_scene};
use crate::scene::Scene;

/// A built-in scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Name of the scene.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// The scene file.
    pub text: &'static str,
}

impl Builtin {
    /// Reads the scene, as [`load_scene`](super::load_scene) reads a file.
    ///
    /// # Errors
    /// [`SceneError`] for an invalid override.
    pub fn load(&self, overrides: &[String]) -> Result<Scene, SceneError> {
        parse_scene(self.text, self.name, None, overrides)
    }
}

macro_rules! scenes {
    ($($name:literal: $summary:literal,)*) => {
        &[$(Builtin {
            name: $name,
            summary: $summary,
            text: include_str!(concat!("../../examples/scenes/", $name, ".toml")),
        },)*]
    };
}

/// All built-in scenes, the simplest first.
pub const BUILTIN: &[Builtin] = scenes! {
    "gas": "32,768 elastic spheres in a periodic box: a hard-sphere gas at kT = 3",
    "gas_box": "the same between elastic walls, all at one speed to begin with",
    "mixture": "spheres of three sizes, 4 : 2 : 1, in a periodic box",
    "bounce": "spheres dropped from 1 to 10 diameters that bounce for ever",
    "cradle": "Newton's cradle without strings: one comes in, one goes out",
    "pi": "Galperin's billiard: two spheres and a wall collide 314 times, the digits of pi",
    "break": "the break of a game of pool, in SI units, seen from above",
    "bullets": "fast spheres shot at a wall of spheres, 50 diameters a step",
    "balls_in_a_box": "10,000 discs bouncing about a square box, in 2D",
    "compress": "4,000 elastic spheres in a box that shrinks until they fill 0.55 of it",
    "cooling": "a granular gas: every impact takes energy out (restitution 0.9)",
    "marbles": "3,000 marbles poured onto a ramp, into a tray where they come to rest",
    "rolling": "balls that roll down a ramp and stop one after the other",
    "heap": "grains on a plate: what is too steep runs off, a heap is left",
    "pile50": "50 loose layers that fall as one block and have to come to rest",
    "hopper": "6,000 grains run out of a funnel when its flap is gone",
    "hourglass": "2,500 grains run from one cone into another through a neck",
    "silo": "a tall silo whose wall carries most of the grains",
    "galton": "a Galton board: marbles, twelve rows of pins, a binomial distribution, in 2D",
    "drum": "a turning drum, a third full, with a slope that stays as it is",
    "column_collapse": "a column of grains whose cylinder is suddenly gone",
    "avalanche": "grains that run down a gully, a mesh, and spread over the plain",
    "brazil_nut": "a shaken vessel in which the large sphere comes to the top",
    "packing": "a settled packing of 5,746 grains, read from a file, that stays as it is",
};

/// The built-in scene of this name.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTIN.iter().find(|scene| scene.name == name)
}

/// The files of spheres and meshes that built-in scenes name.
pub(crate) fn embedded(file: &str) -> Option<&'static [u8]> {
    const FILES: &[(&str, &[u8])] = &[
        ("../data/grains.xyz", include_bytes!("../../examples/data/grains.xyz")),
        ("../data/gully.obj", include_bytes!("../../examples/data/gully.obj")),
        ("../data/layers.csv", include_bytes!("../../examples/data/layers.csv")),
    ];
    FILES.iter().find(|(name, _)| *name == file).map(|(_, bytes)| *bytes)
}
