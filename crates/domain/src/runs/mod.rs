//! Runs: an open execution inside a session, held by one runner at a time, for many commands.
//!
//! A finished command never ends its run. A run ends when it is cancelled, when its runner says that it cannot go on,
//! or when nobody came for it in time.

pub mod command;
pub mod event;
pub mod fold;
pub mod lease;
pub mod liveness;
#[cfg(test)]
mod model;
pub mod policy;
pub mod result;

use jiff::Timestamp;

use crate::FailureKind;
use crate::access::principal::named;
use command::CommandState;

named! {
    /// How a run or a command ended.
    TerminalStatus, "terminal status";
    Completed = "completed",
    Failed = "failed",
    /// It cannot go on without something that only a person can give.
    Blocked = "blocked",
    Cancelled = "cancelled",
}

/// The end of a run or a command. There is no way back from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    pub status: TerminalStatus,
    /// Why; none where it completed.
    pub failure: Option<Blocker>,
}

/// What kept something from completing: a kind for programs, a sentence for people. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocker {
    pub kind: FailureKind,
    pub message: String,
}

impl Ending {
    pub const COMPLETED: Self = Self { status: TerminalStatus::Completed, failure: None };

    #[must_use]
    pub fn failed(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { status: TerminalStatus::Failed, failure: Some(Blocker { kind, message: message.into() }) }
    }

    #[must_use]
    pub fn cancelled(message: impl Into<String>) -> Self {
        let failure = Blocker { kind: FailureKind::Cancelled, message: message.into() };
        Self { status: TerminalStatus::Cancelled, failure: Some(failure) }
    }

    /// Returns how a command ends whose runner was lost while it ran. It is never rerun by itself.
    #[must_use]
    pub fn runner_lost() -> Self {
        Self::failed(
            FailureKind::RunnerLost,
            "the runner was lost while this ran, side effects unknown: look at the workspace, then send the next command; the thread is resumed",
        )
    }
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunState {
    /// Takes commands.
    Open,
    /// Was asked to end while its runner was at work; ends when the last running command has.
    Cancelling,
    Ended(Ending),
}

impl RunState {
    #[must_use]
    pub fn is_ended(&self) -> bool {
        match self {
            Self::Open | Self::Cancelling => false,
            Self::Ended(_) => true,
        }
    }
}

named! {
    /// What a reader is told of a run, derived from its state, its lease and its commands.
    RunStatus, "run status";
    /// No runner holds it.
    Pending = "pending",
    /// A runner holds it and waits for commands.
    Claimed = "claimed",
    Running = "running",
    Cancelling = "cancelling",
    Completed = "completed",
    Failed = "failed",
    Blocked = "blocked",
    Cancelled = "cancelled",
}

impl From<TerminalStatus> for RunStatus {
    fn from(status: TerminalStatus) -> Self {
        match status {
            TerminalStatus::Completed => Self::Completed,
            TerminalStatus::Failed => Self::Failed,
            TerminalStatus::Blocked => Self::Blocked,
            TerminalStatus::Cancelled => Self::Cancelled,
        }
    }
}

impl RunStatus {
    /// Derives the status. `running` says whether a command is at work.
    #[must_use]
    pub fn of(state: &RunState, held: bool, running: bool) -> Self {
        match state {
            RunState::Ended(ending) => ending.status.into(),
            RunState::Cancelling => Self::Cancelling,
            RunState::Open if held && running => Self::Running,
            RunState::Open if held => Self::Claimed,
            RunState::Open => Self::Pending,
        }
    }
}

/// What asking a run to end does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cancel {
    /// It ends now, and with it every open command.
    Ends(Ending),
    /// Its runner is at work and was told; it ends with the last running command.
    Requested,
    /// It has ended already, like this.
    Already(Ending),
}

/// Decides on a request to cancel a run. Asking again changes nothing.
#[must_use]
pub fn cancel(state: &RunState, commands: &[CommandState]) -> Cancel {
    let at_work = commands.iter().any(CommandState::is_running);
    match state {
        RunState::Ended(ending) => Cancel::Already(ending.clone()),
        RunState::Open | RunState::Cancelling if at_work => Cancel::Requested,
        RunState::Open | RunState::Cancelling => Cancel::Ends(Ending::cancelled("the run was cancelled")),
    }
}

/// Decides how a run goes on when one of its commands has ended: a run that is being cancelled ends with its last
/// running command, any other stays open.
#[must_use]
pub fn after_command(state: &RunState, commands: &[CommandState]) -> Option<Ending> {
    let at_work = commands.iter().any(CommandState::is_running);
    match state {
        RunState::Cancelling if !at_work => Some(Ending::cancelled("the run was cancelled")),
        RunState::Open | RunState::Cancelling | RunState::Ended(_) => None,
    }
}

/// What becomes of a run whose runner was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost {
    /// It is offered to the next runner.
    Reoffered,
    Ends(Ending),
}

/// Decides what becomes of a run whose lease ran out. Its running commands end by [`command::lost`].
#[must_use]
pub fn lost(state: &RunState) -> Option<Lost> {
    match state {
        RunState::Open => Some(Lost::Reoffered),
        RunState::Cancelling => Some(Lost::Ends(Ending::cancelled("the run was cancelled"))),
        RunState::Ended(_) => None,
    }
}

/// How long a run may wait before it ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// With an open command and no runner.
    pub unclaimed: jiff::SignedDuration,
    /// With nothing to do.
    pub idle: jiff::SignedDuration,
}

/// Returns when an unheld run ends by itself, and how. `waiting_since` is when it last had a runner or a new command.
#[must_use]
pub fn patience_ends(
    has_open_command: bool,
    waiting_since: Timestamp,
    patience: Patience,
) -> (Timestamp, Ending) {
    let after = |time| waiting_since.checked_add(time).unwrap_or(Timestamp::MAX);
    if has_open_command {
        let words = "no runner came for this run in time: start one that serves its profile";
        (after(patience.unclaimed), Ending::failed(FailureKind::InfraFailed, words))
    } else {
        (after(patience.idle), Ending::cancelled("the run had nothing to do for too long"))
    }
}
