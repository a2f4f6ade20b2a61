//! The `carom` command. It stands above the library: everything it does, a program can do through the crate.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
