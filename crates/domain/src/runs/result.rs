//! Status of a result: whether a command or run has completed, and the source of that information.

use super::command::CommandState;
use super::{FailureReason, RunState, RunStatus, TerminalOutcome, TerminalStatus};
use crate::journal::Seq;
use crate::named_enum::named_enum;

named_enum! {
    /// Source of the terminal status.
    TerminalSource, "terminal source";
    /// An event of the run.
    Event = "terminal_status",
    /// The record of the run or command; there is no event.
    Record = "record",
    /// It has not ended.
    None = "none",
}

/// The status part of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultStatus {
    pub status: &'static str,
    pub terminal_status: Option<TerminalStatus>,
    /// True only for the terminal status `completed`, never inferred from text, silence or a closed connection.
    pub completed: bool,
    pub terminal_source: TerminalSource,
    pub failure: Option<FailureReason>,
}

/// Returns the result status of a command.
#[must_use]
pub fn command_result_status(command: &CommandState, terminal: Option<Seq>) -> ResultStatus {
    match command {
        CommandState::Pending | CommandState::Running { .. } => open(command.as_str()),
        CommandState::Ended(outcome) => ended(outcome, terminal),
    }
}

/// Returns the result status of a run without commands.
#[must_use]
pub fn run_result_status(run: &RunState, held: bool, running: bool, terminal: Option<Seq>) -> ResultStatus {
    match run {
        RunState::Open | RunState::Cancelling => open(RunStatus::from_state(run, held, running).as_str()),
        RunState::Ended(outcome) => ended(outcome, terminal),
    }
}

fn open(status: &'static str) -> ResultStatus {
    ResultStatus {
        status,
        terminal_status: None,
        completed: false,
        terminal_source: TerminalSource::None,
        failure: None,
    }
}

fn ended(outcome: &TerminalOutcome, terminal: Option<Seq>) -> ResultStatus {
    ResultStatus {
        status: outcome.status.as_str(),
        terminal_status: Some(outcome.status),
        completed: outcome.status == TerminalStatus::Completed,
        terminal_source: if terminal.is_some() { TerminalSource::Event } else { TerminalSource::Record },
        failure: outcome.failure.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FailureKind;
    use crate::journal::Epoch;

    #[test]
    fn only_the_completed_status_completes() {
        let running = CommandState::Running { epoch: Epoch::ZERO, cancelling: false };
        // A terminal event of something else does not end a running command.
        let result = command_result_status(&running, Seq::new(9));
        assert_eq!((result.completed, result.terminal_status), (false, None));
        assert_eq!(result.terminal_source, TerminalSource::None);
        for status in TerminalStatus::ALL {
            let outcome = TerminalOutcome { status: *status, failure: None };
            let result = command_result_status(&CommandState::Ended(outcome), Seq::new(9));
            assert_eq!(result.completed, *status == TerminalStatus::Completed);
            assert_eq!(result.terminal_source, TerminalSource::Event);
        }
    }

    #[test]
    fn failed_run_has_a_failure_reason() {
        let outcome = TerminalOutcome::failed(FailureKind::BackendFailed, "it broke");
        let result = run_result_status(&RunState::Ended(outcome.clone()), false, false, None);
        let expected = ResultStatus {
            status: "failed",
            terminal_status: Some(TerminalStatus::Failed),
            completed: false,
            terminal_source: TerminalSource::Record,
            failure: outcome.failure,
        };
        assert_eq!(result, expected);
    }
}
