//! Commands: one instruction to a run each. A command's end never ends the run.

use crate::access::principal::named;
use crate::journal::Epoch;
use crate::runs::{Ending, RunState};

named! {
    /// What a command asks for.
    CommandKind, "command type";
    /// One turn of the conversation.
    Turn = "turn",
    /// Words for the turn that runs now; never polled as a turn of its own.
    Steer = "steer",
    /// Kept for the record: the runner interrupts the turn that runs now. To cancel, use the cancel routes.
    Interrupt = "interrupt",
}

/// Where a command stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandState {
    /// No runner has taken it.
    Pending,
    /// The runner of this epoch has taken it. From here on it may have had side effects.
    Running {
        epoch: Epoch,
        /// Whether the runner was asked to interrupt it.
        cancelling: bool,
    },
    Ended(Ending),
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

    /// Returns the word that is stored and sent.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running { .. } => "running",
            Self::Ended(ending) => ending.status.as_str(),
        }
    }
}

/// Why a command does not change as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandRefusal {
    #[error("the run has ended ({0}): create another in the same session")]
    RunEnded(&'static str),
    #[error("the run is being cancelled: create another in the same session when it has ended")]
    RunCancelling,
    #[error("there is no turn to steer: send a command of type turn")]
    NoTurn,
    #[error("another turn runs: wait for its end, or send a command of type steer")]
    TurnRuns,
    #[error("the command has ended ({0}) and stays so")]
    Ended(&'static str),
    #[error("the command was not taken by this runner: acknowledge it first")]
    NotTaken,
}

/// Decides whether a run takes a new command. `turn_open` says whether a turn of the run is pending or running.
pub fn submit(run: &RunState, kind: CommandKind, turn_open: bool) -> Result<(), CommandRefusal> {
    match run {
        RunState::Ended(ending) => Err(CommandRefusal::RunEnded(ending.status.as_str())),
        RunState::Cancelling => Err(CommandRefusal::RunCancelling),
        RunState::Open => match kind {
            CommandKind::Steer | CommandKind::Interrupt if !turn_open => Err(CommandRefusal::NoTurn),
            CommandKind::Turn | CommandKind::Steer | CommandKind::Interrupt => Ok(()),
        },
    }
}

/// Decides on a runner taking a command. Taking it again changes nothing.
pub fn ack(
    state: &CommandState,
    kind: CommandKind,
    epoch: Epoch,
    another_turn_runs: bool,
) -> Result<CommandState, CommandRefusal> {
    match state {
        CommandState::Ended(ending) => Err(CommandRefusal::Ended(ending.status.as_str())),
        CommandState::Running { epoch: taken, .. } if *taken == epoch => Ok(state.clone()),
        CommandState::Running { .. } => Err(CommandRefusal::NotTaken),
        CommandState::Pending => match kind {
            CommandKind::Turn if another_turn_runs => Err(CommandRefusal::TurnRuns),
            CommandKind::Turn | CommandKind::Steer | CommandKind::Interrupt => {
                Ok(CommandState::Running { epoch, cancelling: false })
            }
        },
    }
}

/// Decides on a runner's word that a command has ended. Saying the same again changes nothing; a pending command can
/// only be said to have failed, since nobody began it.
pub fn finish(
    state: &CommandState,
    epoch: Epoch,
    ending: Ending,
) -> Result<Option<CommandState>, CommandRefusal> {
    match state {
        CommandState::Ended(there) if there.status == ending.status => Ok(None),
        CommandState::Ended(there) => Err(CommandRefusal::Ended(there.status.as_str())),
        CommandState::Running { epoch: taken, .. } if *taken == epoch => {
            Ok(Some(CommandState::Ended(ending)))
        }
        CommandState::Running { .. } => Err(CommandRefusal::NotTaken),
        CommandState::Pending if ending.failure.is_some() => Ok(Some(CommandState::Ended(ending))),
        CommandState::Pending => Err(CommandRefusal::NotTaken),
    }
}

/// What asking a command to end does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CancelCommand {
    /// Nobody began it: it ends now.
    Ends(Ending),
    /// Its runner was told to interrupt it.
    Requested(CommandState),
    /// It has ended already, like this.
    Already(Ending),
}

/// Decides on a request to cancel a command. Asking again changes nothing.
#[must_use]
pub fn cancel(state: &CommandState) -> CancelCommand {
    match state {
        CommandState::Ended(ending) => CancelCommand::Already(ending.clone()),
        CommandState::Pending => CancelCommand::Ends(Ending::cancelled("the command was cancelled")),
        CommandState::Running { epoch, .. } => {
            CancelCommand::Requested(CommandState::Running { epoch: *epoch, cancelling: true })
        }
    }
}

/// Returns how a command ends when its run ends under it, if it was still open.
#[must_use]
pub fn ended_with_run(state: &CommandState, run: &Ending) -> Option<Ending> {
    state.is_open().then(|| run.clone())
}

/// Returns how a command ends whose runner was lost. A pending one waits for the next runner.
#[must_use]
pub fn lost(state: &CommandState) -> Option<Ending> {
    match state {
        CommandState::Running { cancelling: true, .. } => Some(Ending::cancelled(
            "the command was cancelled; its runner was lost before it said so, side effects unknown",
        )),
        CommandState::Running { cancelling: false, .. } => Some(Ending::runner_lost()),
        CommandState::Pending | CommandState::Ended(_) => None,
    }
}
