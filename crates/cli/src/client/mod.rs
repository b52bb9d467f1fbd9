//! Commands that talk to a server, through the SDK alone.

pub(crate) mod access;
pub(crate) mod completions;
pub(crate) mod context;
pub(crate) mod password;
pub(crate) mod profiles;
pub(crate) mod runners;
pub(crate) mod runs;
pub(crate) mod session;
pub(crate) mod sessions;

use anyhow::Result;

/// Runs a command that waits for a server.
pub(crate) fn wait(command: impl Future<Output = Result<()>>) -> Result<()> {
    crate::serve::runtime()?.block_on(command)
}
