//! The runner's process. It has nothing to claim yet, and says so.

#![expect(clippy::print_stderr, reason = "a program talks to its user")]

use std::process::ExitCode;

fn main() -> ExitCode {
    eprintln!("guildhall-runner {}: there are no runs to claim yet", env!("CARGO_PKG_VERSION"));
    ExitCode::FAILURE
}
