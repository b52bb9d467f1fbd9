//! Commands that talk to a server, through the SDK alone.

pub(crate) mod audit;
pub(crate) mod completions;
pub(crate) mod context;
pub(crate) mod enrolments;
pub(crate) mod invitations;
pub(crate) mod keys;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod members;
mod password;
pub(crate) mod profiles;
pub(crate) mod projects;
pub(crate) mod runs;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod tenants;
mod through_browser;
pub(crate) mod users;
pub(crate) mod whoami;

use anyhow::Result;

/// Runs a command that waits for a server.
pub(crate) fn wait(command: impl Future<Output = Result<()>>) -> Result<()> {
    crate::serve::runtime()?.block_on(command)
}
