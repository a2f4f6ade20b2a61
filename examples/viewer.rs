//! Opens a window on a built-in scene by name (`carom scenes` lists them), or on a scene file.
//!
//! `cargo run --release --features viewer --example viewer -- gas_box`
//!
//! Without a name it shows `gas`. In the window, ? lists keys and mouse actions. Exits with 3 without a display.

use std::path::Path;
use std::process::ExitCode;

use carom::files::{builtin, load_scene};
use carom::viewer::{Settings, ViewerError, run};

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_else(|| "gas".to_owned());
    let scene = match builtin(&name) {
        Some(builtin) => builtin.load(&[]),
        None => load_scene(Path::new(&name), &[]),
    };
    let scene = match scene {
        Ok(scene) => scene,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    match run(Settings::new(&name, scene)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure @ ViewerError::NoDisplay(_)) => {
            eprintln!("error: {failure}; `carom render {name}` makes pictures without one");
            ExitCode::from(3)
        }
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}
