//! Errors of commands. `exit` maps each to an exit code.

use guildhall_domain::agents::diff::Outcome;
use guildhall_domain::ids::RunId;
use guildhall_domain::runs::TerminalStatus;

/// Wrong usage. The message says which usage is right.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) &'static str);

/// The parameters of a call are not a JSON object. They are not repeated: they may be secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the parameters are not a JSON object (line {line}, column {column})")]
pub(crate) struct InvalidParameters {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// The server has no such method.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the server has no method {name:?}")]
pub(crate) struct UnknownMethod {
    pub(crate) name: String,
    /// Methods with a similar name.
    pub(crate) near: Vec<&'static str>,
}

impl UnknownMethod {
    pub(crate) fn next_step(&self) -> String {
        let all = "`guildhall openrpc` prints all methods";
        if self.near.is_empty() { all.to_owned() } else { format!("try {}; {all}", self.near.join(" or ")) }
    }
}

/// A named object does not exist, or the user has no access to it.
#[derive(Debug, thiserror::Error)]
#[error("{object} {name:?} not found, or you have no access to it")]
pub(crate) struct NotFoundError {
    pub(crate) object: &'static str,
    pub(crate) name: String,
    pub(crate) next: &'static str,
}

/// The command is for operators of the installation, and the user is none.
#[derive(Debug, thiserror::Error)]
#[error(
    "this command is for operators of the installation\n  next: ask one of them; `guildhall whoami` shows whether you are one"
)]
pub(crate) struct OperatorsOnly;

/// A run has no changes to show or apply.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0} has no changes: none of its turns has ended, its workspace is not a copy or a Git repository, or they were \
     discarded\n  next: `guildhall runs show {0}` shows its workspace and what it waits for"
)]
pub(crate) struct NoChangesError(pub(crate) RunId);

/// The run, command or check that was followed did not complete. Its outcome is already printed.
#[derive(Debug, thiserror::Error)]
#[error("ended with status {0}")]
pub(crate) struct UnsuccessfulOutcome(pub(crate) TerminalStatus);

/// A manifest has changes that users are told about. They are already printed.
#[derive(Debug, thiserror::Error)]
#[error("the manifests differ: {0}")]
pub(crate) struct ManifestChanged(pub(crate) Outcome);

/// The user stopped to follow a run with Ctrl-C.
#[derive(Debug, thiserror::Error)]
#[error("stopped to follow {run}: it goes on")]
pub(crate) struct WatchInterrupted {
    pub(crate) run: RunId,
    /// The last event that was printed.
    pub(crate) after_seq: i64,
}

impl WatchInterrupted {
    pub(crate) fn next_step(&self) -> String {
        let Self { run, after_seq } = self;
        format!(
            "`guildhall runs events {run} -f --after {after_seq}` follows it again, `guildhall runs cancel {run}` cancels it"
        )
    }
}

/// The user stopped to follow an inbox or notifications with Ctrl-C.
#[derive(Debug, thiserror::Error)]
#[error("stopped; the next time it goes on where it stopped")]
pub(crate) struct FollowInterrupted;

/// A check of `guildhall doctor` or `guildhall manifest lint` failed. The report is already printed.
#[derive(Debug, thiserror::Error)]
#[error("a check failed")]
pub(crate) struct ChecksFailed;
