//! The exit code that a process passes on from its child.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

/// Returns the exit code of a program, or 128 plus the number of the signal that killed it, as shells do.
#[must_use]
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
