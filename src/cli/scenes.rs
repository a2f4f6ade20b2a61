//! `carom scenes` lists the built-in scenes; `carom schema` prints the JSON schema of scene files.

use carom::files::{BUILTIN, find_builtin, scene_schema};

use super::arguments::ScenesArguments;
use super::command_error::{CommandError, Exit};
use super::screen::Screen;
use super::text::{Align, Table};

/// Runs `carom scenes`.
pub fn scenes(arguments: &ScenesArguments) -> Result<Exit, CommandError> {
    let mut screen = Screen::new(false, false);
    if let Some(name) = &arguments.show {
        screen.text(find_builtin(name)?.text);
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&[("name", Align::Left), ("spheres", Align::Right), ("", Align::Left)]);
    for scene in BUILTIN {
        table.row(vec![
            scene.name.to_owned(),
            scene.load(&[])?.sphere_count()?.to_string(),
            scene.summary.to_owned(),
        ]);
    }
    screen.line(table.to_string().trim_end());
    screen.line("\ncarom run NAME runs one, carom scenes --show NAME prints its file.");
    Ok(Exit::Done)
}

/// Runs `carom schema`.
pub fn schema() -> Exit {
    Screen::new(false, false).line(&scene_schema());
    Exit::Done
}
