//! Key bindings. They are defined only here.

use egui::Key;

/// Action of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Pause or resume.
    Pause,
    /// Take one step.
    Step,
    /// Return to the state before the last step.
    Back,
    /// Return to the start of the scene.
    Reset,
    /// Frame the whole scene.
    Frame,
    /// Switch to the next colour quantity.
    Colour,
    /// Start or end the comparison of `gpu` with `cpu`.
    Compare,
    /// Show or hide the force chains.
    Chains,
    /// Switch to the next direction of the clip plane.
    Clip,
    /// Move the clip plane away from the camera.
    ClipFarther,
    /// Move the clip plane towards the camera.
    ClipNearer,
    /// Shoot a sphere.
    Shoot,
    /// Show or hide the panel.
    Panel,
    /// Write a picture.
    Screenshot,
    /// Start or end the recording of a film.
    Record,
    /// Show or hide the help.
    Help,
    /// Close the window.
    Close,
}

impl Action {
    /// Whether a held key repeats the action.
    pub fn repeats(self) -> bool {
        matches!(self, Self::Step | Self::Back | Self::ClipFarther | Self::ClipNearer)
    }
}

/// A key binding.
pub struct Binding {
    /// The key.
    pub key: Key,
    /// Whether Ctrl (on macOS Cmd) is required.
    pub command: bool,
    /// Name of the key in the help.
    pub label: &'static str,
    /// Action of the key.
    pub action: Action,
    /// Description of the action in the help.
    pub help: &'static str,
}

const fn key(key: Key, label: &'static str, action: Action, help: &'static str) -> Binding {
    Binding { key, command: false, label, action, help }
}

/// All key bindings except flight.
pub const KEYS: &[Binding] = &[
    key(Key::Space, "Space", Action::Pause, "pause, go on"),
    key(Key::Period, ".", Action::Step, "pause and take one step"),
    key(Key::Comma, ",", Action::Back, "pause and go one step back"),
    key(Key::R, "R", Action::Reset, "back to the start of the scene"),
    key(Key::F, "F", Action::Frame, "frame all spheres"),
    key(Key::C, "C", Action::Colour, "colour by the next quantity"),
    key(Key::N, "N", Action::Chains, "show or hide the network of forces"),
    key(Key::K, "K", Action::Compare, "compare gpu with cpu, step by step"),
    key(Key::X, "X", Action::Clip, "clip plane: x, y, z, view, off"),
    key(Key::CloseBracket, "]", Action::ClipFarther, "clip plane: hide more"),
    key(Key::OpenBracket, "[", Action::ClipNearer, "clip plane: hide less"),
    key(Key::B, "B", Action::Shoot, "shoot a sphere at the cursor"),
    key(Key::H, "H", Action::Panel, "hide or show the panel"),
    key(Key::F12, "F12", Action::Screenshot, "save the picture as a PNG"),
    key(Key::V, "V", Action::Record, "record a film as a GIF, end it"),
    key(Key::Questionmark, "?", Action::Help, "this help"),
    Binding { key: Key::Q, command: true, label: "Ctrl Q", action: Action::Close, help: "close the window" },
];

/// Mouse actions and the flight keys.
pub const HANDS: &[(&str, &str)] = &[
    ("left drag", "orbit"),
    ("right drag, shift + drag", "pan"),
    ("wheel", "zoom towards the cursor"),
    ("click", "inspect a sphere"),
    ("ctrl + left drag", "grab a sphere and pull it"),
    ("W S, A D, E Q", "fly forward, sideways, up (shift: faster)"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_does_one_thing_and_none_flies() {
        for (at, binding) in KEYS.iter().enumerate() {
            let others = &KEYS[at + 1..];
            assert!(others.iter().all(|o| o.key != binding.key && o.action != binding.action));
            let flies = [Key::W, Key::A, Key::S, Key::D, Key::Q, Key::E].contains(&binding.key);
            assert!(!flies || binding.command, "{}", binding.label);
        }
    }
}
