//! Runs: executions in a session. A run is held by one runner at a time and processes many commands.
//!
//! The end of a command does not end its run. A run ends when it is cancelled, when its runner reports that it cannot
//! continue, or when it waits too long.

pub mod command;
pub mod diff;
pub mod event;
pub mod fold;
pub mod lease;
pub mod liveness;
pub mod message;
pub mod policy;
pub mod quota;
pub mod result;
mod run;
#[cfg(test)]
mod state_machine_tests;
pub mod turn_prompt;

pub use run::{Run, RunFilter};

use jiff::Timestamp;

use crate::FailureKind;
use crate::named_enum::named_enum;
use command::CommandState;

named_enum! {
    /// Final status of a run or a command.
    TerminalStatus, "terminal status";
    Completed = "completed",
    Failed = "failed",
    /// It cannot continue without human input.
    Blocked = "blocked",
    Cancelled = "cancelled",
}

/// The outcome of an ended run or command. It never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalOutcome {
    pub status: TerminalStatus,
    /// `None` if it completed.
    pub failure: Option<FailureReason>,
}

/// Why a run or command did not complete: a kind for programs and a message for people. Contains no secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureReason {
    pub kind: FailureKind,
    pub message: String,
}

impl TerminalOutcome {
    pub const COMPLETED: Self = Self { status: TerminalStatus::Completed, failure: None };

    #[must_use]
    pub fn failed(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            status: TerminalStatus::Failed,
            failure: Some(FailureReason { kind, message: message.into() }),
        }
    }

    #[must_use]
    pub fn cancelled(message: impl Into<String>) -> Self {
        let failure = FailureReason { kind: FailureKind::Cancelled, message: message.into() };
        Self { status: TerminalStatus::Cancelled, failure: Some(failure) }
    }

    /// The outcome of a command whose runner was lost while it was running. It is never rerun automatically.
    #[must_use]
    pub fn runner_lost() -> Self {
        Self::failed(
            FailureKind::RunnerLost,
            "the runner was lost while the command was running, side effects unknown: check the workspace, then send the next command to resume the thread",
        )
    }
}

/// State of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunState {
    /// Accepts commands.
    Open,
    /// Cancelled while commands were running. It ends with its last running command.
    Cancelling,
    Ended(TerminalOutcome),
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

named_enum! {
    /// Status of a run as shown to clients, derived from its state, lease and commands.
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
    /// Derives the status. `running` tells whether a command is running.
    #[must_use]
    pub fn from_state(state: &RunState, held: bool, running: bool) -> Self {
        match state {
            RunState::Ended(outcome) => outcome.status.into(),
            RunState::Cancelling => Self::Cancelling,
            RunState::Open if held && running => Self::Running,
            RunState::Open if held => Self::Claimed,
            RunState::Open => Self::Pending,
        }
    }
}

/// The effect of a request to cancel a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunCancellation {
    /// The run and its open commands end now.
    EndsNow(TerminalOutcome),
    /// A command is running. Its runner is notified, and the run ends with its last running command.
    Requested,
    /// It has already ended with this outcome.
    AlreadyEnded(TerminalOutcome),
}

/// Decides on a request to cancel a run. Repeating it has no effect.
#[must_use]
pub fn cancel(state: &RunState, commands: &[CommandState]) -> RunCancellation {
    let is_running = commands.iter().any(CommandState::is_running);
    match state {
        RunState::Ended(outcome) => RunCancellation::AlreadyEnded(outcome.clone()),
        RunState::Open | RunState::Cancelling if is_running => RunCancellation::Requested,
        RunState::Open | RunState::Cancelling => {
            RunCancellation::EndsNow(TerminalOutcome::cancelled("the run was cancelled"))
        }
    }
}

/// A run cannot be closed while it has work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CloseError {
    #[error("the run has open commands: wait for them to end, or cancel the run")]
    OpenCommands,
    #[error("the run is being cancelled: it ends by itself")]
    Cancelling,
    #[error("a question of the agent waits for an answer: answer it, or cancel the run")]
    ParkedQuestion,
}

/// The effect of a request to close a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CloseDecision {
    EndsNow(TerminalOutcome),
    /// It has already ended with this outcome.
    AlreadyEnded(TerminalOutcome),
}

/// Decides on a request to close a run: its work is done, and it ends as completed. Repeating it has no effect.
/// `has_parked_question` tells whether the answer to a question would continue the work.
pub fn close(
    state: &RunState,
    open_commands: &[CommandState],
    has_parked_question: bool,
) -> Result<CloseDecision, CloseError> {
    match state {
        RunState::Ended(outcome) => Ok(CloseDecision::AlreadyEnded(outcome.clone())),
        RunState::Cancelling => Err(CloseError::Cancelling),
        RunState::Open if has_parked_question => Err(CloseError::ParkedQuestion),
        RunState::Open if open_commands.is_empty() => Ok(CloseDecision::EndsNow(TerminalOutcome::COMPLETED)),
        RunState::Open => Err(CloseError::OpenCommands),
    }
}

/// Returns the outcome of a run after one of its commands ended. A cancelling run ends with its last running command;
/// any other run stays open.
#[must_use]
pub fn outcome_after_command(state: &RunState, commands: &[CommandState]) -> Option<TerminalOutcome> {
    let is_running = commands.iter().any(CommandState::is_running);
    match state {
        RunState::Cancelling if !is_running => Some(TerminalOutcome::cancelled("the run was cancelled")),
        RunState::Open | RunState::Cancelling | RunState::Ended(_) => None,
    }
}

/// What to do with a run whose runner was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LostRunnerAction {
    /// Offer the run to the next runner.
    Reoffer,
    End(TerminalOutcome),
}

/// Decides what to do with a run whose lease expired. See [`command::outcome_after_runner_loss`] for its commands.
#[must_use]
pub fn action_after_runner_loss(state: &RunState) -> Option<LostRunnerAction> {
    match state {
        RunState::Open => Some(LostRunnerAction::Reoffer),
        RunState::Cancelling => {
            Some(LostRunnerAction::End(TerminalOutcome::cancelled("the run was cancelled")))
        }
        RunState::Ended(_) => None,
    }
}

/// How long a run can wait without a runner before it ends automatically.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitLimits {
    /// With an open command.
    pub unclaimed: jiff::SignedDuration,
    /// Without an open command.
    pub idle: jiff::SignedDuration,
}

/// Returns when and how a run without a runner ends. `waiting_since` is when it last had a runner or got a new command.
#[must_use]
pub fn wait_deadline(
    has_open_command: bool,
    waiting_since: Timestamp,
    limits: WaitLimits,
) -> (Timestamp, TerminalOutcome) {
    let after = |time| waiting_since.checked_add(time).unwrap_or(Timestamp::MAX);
    if has_open_command {
        let message = "no runner claimed the run in time: start a runner that serves its profile";
        (after(limits.unclaimed), TerminalOutcome::failed(FailureKind::InfraFailed, message))
    } else {
        (after(limits.idle), TerminalOutcome::cancelled("the run was idle for too long"))
    }
}
