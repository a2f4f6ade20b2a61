//! The command line: arguments, screen output, requested files, exit codes.

mod adapters;
mod analyze;
mod arguments;
mod atomic_file;
mod bench;
mod chart;
mod checkpoints;
mod command_error;
mod completions;
mod contacts;
mod convert;
mod date;
mod demo;
mod doctor;
mod dry_run;
mod events;
mod examples;
mod info;
mod interrupt;
mod logs;
mod memory;
mod metrics;
mod output;
mod record;
mod render;
mod run;
mod scenes;
mod screen;
mod source;
mod text;
mod validate;
mod verify;
#[cfg(feature = "viewer")]
mod view;
mod walls;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use command_error::{CommandError, Exit};

/// Runs the command line of the process.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version go to stdout and are not errors; neither is a reader that has closed the pipe.
            let _ = error.print();
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Done };
            return ExitCode::from(exit as u8);
        }
    };
    logs::install(arguments.verbose);
    adapters::keep_layers_silent();
    interrupt::listen();
    let result = match arguments.command {
        None => run::demonstrate(),
        Some(Command::Run(arguments)) => run::run(&arguments),
        Some(Command::Scenes(arguments)) => scenes::scenes(&arguments),
        Some(Command::Schema) => Ok(scenes::schema()),
        Some(Command::Adapters(arguments)) => adapters::adapters(&arguments),
        Some(Command::Analyze(arguments)) => analyze::analyze(&arguments),
        Some(Command::Bench(arguments)) => bench::bench(&arguments),
        Some(Command::Doctor(arguments)) => doctor::doctor(&arguments),
        Some(Command::Validate(arguments)) => validate::validate(&arguments),
        Some(Command::Verify(arguments)) => verify::verify(&arguments),
        Some(Command::Render(arguments)) => render::render(&arguments),
        Some(Command::Convert(arguments)) => convert::convert(&arguments),
        Some(Command::Completions(arguments)) => completions::completions(&arguments),
        Some(Command::Info(arguments)) => info::info(&arguments),
        #[cfg(feature = "viewer")]
        Some(Command::View(arguments)) => view::view(arguments),
    };
    let exit = result.unwrap_or_else(|CommandError { exit, message }| {
        screen::error(&message);
        exit
    });
    ExitCode::from(exit as u8)
}
