//! `carom view`: opens a scene in a window.

use carom::viewer::{self, Settings};
use carom::{Backend, Error};

use super::adapters::choose;
use super::arguments::{BackendChoice, ViewArguments};
use super::command_error::{CommandError, Exit};
use super::demo;
use super::screen::Screen;
use super::source::{self, Source};

/// Runs `carom view`.
pub fn view(arguments: ViewArguments) -> Result<Exit, CommandError> {
    let Source { name, scene } = match &arguments.scene {
        Some(name) => source::scene(name, &arguments.settings, arguments.seed)?,
        None if arguments.settings.is_empty() && arguments.seed.is_none() => {
            let chosen = choose(arguments.backend, arguments.adapter.as_deref())?;
            demo::scene(&chosen, &mut Screen::new(false, false))?
        }
        None => {
            let text = "--set and --seed change a scene; name it, as in `carom view marbles --seed 2`";
            return Err(CommandError::usage(text.to_owned()));
        }
    };
    let backend = match arguments.backend {
        BackendChoice::Auto => None,
        BackendChoice::Gpu => Some(Backend::Gpu),
        BackendChoice::Cpu => Some(Backend::Cpu),
        BackendChoice::Exact => Some(Backend::Exact),
    };
    let settings = Settings {
        backend,
        adapter: arguments.adapter,
        threads: arguments.threads,
        size: arguments.size,
        paused: arguments.paused,
        events: arguments.events,
        ..Settings::new(&name, scene)
    };
    match viewer::run(settings) {
        Ok(()) => Ok(Exit::Done),
        Err(failure) => Err(explained(failure, &name)),
    }
}

fn explained(failure: viewer::ViewerError, scene: &str) -> CommandError {
    match failure {
        viewer::ViewerError::NoDisplay(text) => CommandError {
            exit: Exit::NoAdapter,
            message: format!("{text}; `carom render {scene}` makes pictures without one"),
        },
        // Without an adapter no backend can open the window.
        viewer::ViewerError::Engine(Error::NoAdapter(message)) => {
            CommandError { exit: Exit::NoAdapter, message }
        }
        viewer::ViewerError::Engine(error) => error.into(),
        viewer::ViewerError::Events(text) => CommandError::files(text),
        // `ViewerError` may gain variants.
        other => CommandError { exit: Exit::RunFailed, message: other.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_of_a_window_has_its_exit_code() {
        let text = || "why".to_owned();
        for (failure, exit) in [
            (viewer::ViewerError::NoDisplay(text()), Exit::NoAdapter),
            (viewer::ViewerError::Engine(Error::NoAdapter(text())), Exit::NoAdapter),
            (viewer::ViewerError::Engine(Error::DeviceLost(text())), Exit::RunFailed),
            (viewer::ViewerError::Engine(Error::Invalid(text())), Exit::Usage),
            (viewer::ViewerError::Events(text()), Exit::Files),
        ] {
            let told = explained(failure.clone(), "gas");
            assert_eq!(told.exit, exit, "{failure:?}");
            assert!(told.message.contains("why"), "{}", told.message);
            let is_display = matches!(failure, viewer::ViewerError::NoDisplay(_));
            assert_eq!(told.message.contains("`carom render gas`"), is_display, "{}", told.message);
        }
    }
}
