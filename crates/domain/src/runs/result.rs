//! The verdict of a result: whether a command, or a run, is done, and who says so.

use super::command::CommandState;
use super::{Blocker, Ending, RunState, RunStatus, TerminalStatus};
use crate::access::principal::named;
use crate::journal::Seq;

named! {
    /// Where the end of a result stands.
    TerminalSource, "terminal source";
    /// An event of the run says it.
    Event = "terminal_status",
    /// The record of the run or the command says it, and no event that is kept.
    Record = "record",
    /// There is no end yet.
    None = "none",
}

/// What a result says of the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub status: &'static str,
    pub terminal_status: Option<TerminalStatus>,
    /// Only ever from an end that is `completed`: no text, no silence and no closed connection makes it so.
    pub completed: bool,
    pub terminal_source: TerminalSource,
    pub failure: Option<Blocker>,
}

/// Decides the verdict on a command.
#[must_use]
pub fn of_command(command: &CommandState, terminal: Option<Seq>) -> Verdict {
    match command {
        CommandState::Pending | CommandState::Running { .. } => open(command.as_str()),
        CommandState::Ended(ending) => ended(ending, terminal),
    }
}

/// Decides the verdict on a run that has no command.
#[must_use]
pub fn of_run(run: &RunState, held: bool, running: bool, terminal: Option<Seq>) -> Verdict {
    match run {
        RunState::Open | RunState::Cancelling => open(RunStatus::of(run, held, running).as_str()),
        RunState::Ended(ending) => ended(ending, terminal),
    }
}

fn open(status: &'static str) -> Verdict {
    Verdict {
        status,
        terminal_status: None,
        completed: false,
        terminal_source: TerminalSource::None,
        failure: None,
    }
}

fn ended(ending: &Ending, terminal: Option<Seq>) -> Verdict {
    Verdict {
        status: ending.status.as_str(),
        terminal_status: Some(ending.status),
        completed: ending.status == TerminalStatus::Completed,
        terminal_source: if terminal.is_some() { TerminalSource::Event } else { TerminalSource::Record },
        failure: ending.failure.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FailureKind;
    use crate::journal::Epoch;

    #[test]
    fn only_an_end_that_is_completed_completes() {
        let running = CommandState::Running { epoch: Epoch::ZERO, cancelling: false };
        // A terminal event of something else, even, does not end what runs.
        let verdict = of_command(&running, Seq::new(9));
        assert_eq!((verdict.completed, verdict.terminal_status), (false, None));
        assert_eq!(verdict.terminal_source, TerminalSource::None);
        for status in TerminalStatus::ALL {
            let ending = Ending { status: *status, failure: None };
            let verdict = of_command(&CommandState::Ended(ending), Seq::new(9));
            assert_eq!(verdict.completed, *status == TerminalStatus::Completed);
            assert_eq!(verdict.terminal_source, TerminalSource::Event);
        }
    }

    #[test]
    fn a_failed_run_says_why() {
        let ending = Ending::failed(FailureKind::BackendFailed, "it broke");
        let verdict = of_run(&RunState::Ended(ending.clone()), false, false, None);
        let expected = Verdict {
            status: "failed",
            terminal_status: Some(TerminalStatus::Failed),
            completed: false,
            terminal_source: TerminalSource::Record,
            failure: ending.failure,
        };
        assert_eq!(verdict, expected);
    }
}
