//! Log messages of `-v` and `-vv`, on stderr.

use tracing_subscriber::filter::LevelFilter;

use super::screen::StderrLines;

/// Shows messages from now on: none with 0; the backend, the files written and the loss of a device with 1; decisions of the engines too with 2 and more.
pub fn install(verbosity: u8) {
    let level = match verbosity {
        0 => return,
        1 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    let subscriber = tracing_subscriber::fmt().with_max_level(level).with_target(false).with_ansi(false);
    // A second installation would fail; there is only this one.
    let _ = subscriber.with_writer(|| StderrLines).without_time().try_init();
}
