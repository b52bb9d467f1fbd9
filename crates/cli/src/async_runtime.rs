//! The async runtime of a command.

use anyhow::{Context, Result};

/// Starts a multi-threaded runtime.
pub(crate) fn new_runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start the async runtime")
}

/// Runs an async command to its end.
pub(crate) fn block_on(command: impl Future<Output = Result<()>>) -> Result<()> {
    new_runtime()?.block_on(command)
}
