//! Commands: instructions to a run. The end of a command never ends the run.

use jiff::Timestamp;

use crate::ids::{AttemptId, CommandId, PrincipalId, RunId};
use crate::journal::Epoch;
use crate::journal::Seq;
use crate::named_enum::named_enum;
use crate::runs::{RunState, TerminalOutcome};

named_enum! {
    /// Type of a command.
    CommandKind, "command type";
    /// One turn of the conversation.
    Turn = "turn",
    /// Input for the running turn. It is never delivered as a turn of its own.
    Steer = "steer",
    /// Asks the runner to interrupt the running turn. To cancel a run or command, use the cancel endpoints.
    Interrupt = "interrupt",
}

/// State of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandState {
    /// Not acknowledged by a runner yet.
    Pending,
    /// Acknowledged by the runner of this epoch. From now on it may have side effects.
    Running {
        epoch: Epoch,
        /// Whether the runner has been asked to interrupt it.
        cancelling: bool,
    },
    Ended(TerminalOutcome),
}

impl CommandState {
    #[must_use]
    pub fn is_running(&self) -> bool {
        match self {
            Self::Running { .. } => true,
            Self::Pending | Self::Ended(_) => false,
        }
    }

    #[must_use]
    pub fn is_open(&self) -> bool {
        match self {
            Self::Pending | Self::Running { .. } => true,
            Self::Ended(_) => false,
        }
    }

    /// Returns the stored and transmitted name.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running { .. } => "running",
            Self::Ended(outcome) => outcome.status.as_str(),
        }
    }
}

/// Why a command operation is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("the run has ended ({0}): create another run in the same session")]
    RunEnded(&'static str),
    #[error("the run is being cancelled: create another run in the same session when it has ended")]
    RunCancelling,
    #[error("there is no turn to {0}: send a command of type turn first")]
    NoOpenTurn(CommandKind),
    #[error("another turn is running: wait for it to end, or send a command of type steer")]
    TurnRunning,
    #[error("the command has already ended ({0})")]
    Ended(&'static str),
    #[error("this runner has not acknowledged the command: acknowledge it first")]
    NotAcknowledged,
}

/// Decides whether a run accepts a new command. `turn_open` tells whether a turn of the run is pending or running.
pub fn submit(run: &RunState, kind: CommandKind, turn_open: bool) -> Result<(), CommandError> {
    match run {
        RunState::Ended(outcome) => Err(CommandError::RunEnded(outcome.status.as_str())),
        RunState::Cancelling => Err(CommandError::RunCancelling),
        RunState::Open => match kind {
            CommandKind::Steer | CommandKind::Interrupt if !turn_open => Err(CommandError::NoOpenTurn(kind)),
            CommandKind::Turn | CommandKind::Steer | CommandKind::Interrupt => Ok(()),
        },
    }
}

/// Decides on a runner's acknowledgement of a command. Repeating it has no effect.
pub fn ack(
    state: &CommandState,
    kind: CommandKind,
    epoch: Epoch,
    another_turn_runs: bool,
) -> Result<CommandState, CommandError> {
    match state {
        CommandState::Ended(outcome) => Err(CommandError::Ended(outcome.status.as_str())),
        CommandState::Running { epoch: acked_in, .. } if *acked_in == epoch => Ok(state.clone()),
        CommandState::Running { .. } => Err(CommandError::NotAcknowledged),
        CommandState::Pending => match kind {
            CommandKind::Turn if another_turn_runs => Err(CommandError::TurnRunning),
            CommandKind::Turn | CommandKind::Steer | CommandKind::Interrupt => {
                Ok(CommandState::Running { epoch, cancelling: false })
            }
        },
    }
}

/// Decides on a runner's report that a command has ended. Repeating the report has no effect. A pending command can
/// only be reported as failed, because no runner started it.
pub fn finish(
    state: &CommandState,
    epoch: Epoch,
    outcome: TerminalOutcome,
) -> Result<Option<CommandState>, CommandError> {
    match state {
        CommandState::Ended(existing) if existing.status == outcome.status => Ok(None),
        CommandState::Ended(existing) => Err(CommandError::Ended(existing.status.as_str())),
        CommandState::Running { epoch: acked_in, .. } if *acked_in == epoch => {
            Ok(Some(CommandState::Ended(outcome)))
        }
        CommandState::Running { .. } => Err(CommandError::NotAcknowledged),
        CommandState::Pending if outcome.failure.is_some() => Ok(Some(CommandState::Ended(outcome))),
        CommandState::Pending => Err(CommandError::NotAcknowledged),
    }
}

/// The effect of a request to cancel a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandCancellation {
    /// No runner has started it, so it ends now.
    EndsNow(TerminalOutcome),
    /// Its runner is asked to interrupt it.
    Requested(CommandState),
    /// It has already ended with this outcome.
    AlreadyEnded(TerminalOutcome),
}

/// Decides on a request to cancel a command. Repeating it has no effect.
#[must_use]
pub fn cancel(state: &CommandState) -> CommandCancellation {
    match state {
        CommandState::Ended(outcome) => CommandCancellation::AlreadyEnded(outcome.clone()),
        CommandState::Pending => {
            CommandCancellation::EndsNow(TerminalOutcome::cancelled("the command was cancelled"))
        }
        CommandState::Running { epoch, .. } => {
            CommandCancellation::Requested(CommandState::Running { epoch: *epoch, cancelling: true })
        }
    }
}

/// Returns the outcome of an open command when its run ends.
#[must_use]
pub fn outcome_with_run(state: &CommandState, run: &TerminalOutcome) -> Option<TerminalOutcome> {
    state.is_open().then(|| run.clone())
}

/// Returns the outcome of a command when its runner is lost. A pending command waits for the next runner.
#[must_use]
pub fn outcome_after_runner_loss(state: &CommandState) -> Option<TerminalOutcome> {
    match state {
        CommandState::Running { cancelling: true, .. } => Some(TerminalOutcome::cancelled(
            "the command was cancelled, but its runner was lost before it confirmed; side effects unknown",
        )),
        CommandState::Running { cancelling: false, .. } => Some(TerminalOutcome::runner_lost()),
        CommandState::Pending | CommandState::Ended(_) => None,
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub id: CommandId,
    pub run: RunId,
    pub ordinal: i32,
    pub kind: CommandKind,
    /// JSON, exactly as the client sent it.
    pub payload: String,
    /// For a steer: the turn that it targets.
    pub target: Option<CommandId>,
    pub state: CommandState,
    /// The attempt that ran it. It stays known after the runner has released the run.
    pub attempt: Option<AttemptId>,
    pub created_by: PrincipalId,
    pub created_at: Timestamp,
    pub acked_at: Option<Timestamp>,
    /// The last event of the target turn when this command was delivered.
    pub delivered_seq: Option<Seq>,
    pub ended_at: Option<Timestamp>,
}
