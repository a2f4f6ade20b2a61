//! `carom completions`: scripts that complete the command line.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use super::arguments::Arguments;
use super::command_error::{CommandError, Exit};
use super::screen::write_stdout;

const EXAMPLES: &str = "\
Examples:
  carom completions bash > ~/.local/share/bash-completion/completions/carom
  carom completions zsh > ~/.zfunc/_carom
  carom completions fish > ~/.config/fish/completions/carom.fish";

/// Arguments of `carom completions`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct CompletionsArguments {
    /// The shell that reads the script.
    pub shell: Shell,
}

/// Runs `carom completions`.
pub fn completions(arguments: &CompletionsArguments) -> Result<Exit, CommandError> {
    let mut script = vec![];
    generate(arguments.shell, &mut Arguments::command(), "carom", &mut script);
    match write_stdout(&String::from_utf8_lossy(&script)) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(CommandError::files(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(Exit::Done),
    }
}
