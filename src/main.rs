//! The `carom` command. It only uses the public interface of the crate.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
