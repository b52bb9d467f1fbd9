//! Whether a provider profile works: one short turn is run with it, and how that turn ended is the answer.

use jiff::Timestamp;

use crate::FailureKind;
use crate::runs::command::CommandState;
use crate::runs::{Blocker, Ending, TerminalStatus};

/// What the canary turn is asked. Short, and the same for everybody: it is paid for.
pub const PROMPT: &str = "Answer with the single word ok. Use no tools.";

/// How a validation came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The provider took the credential and the turn was completed.
    Ok,
    Failed(Blocker),
}

impl Outcome {
    /// Returns how the canary's run ends, where it is still open.
    #[must_use]
    pub fn ending(&self) -> Ending {
        match self {
            Self::Ok => Ending::COMPLETED,
            Self::Failed(blocker) => {
                Ending { status: TerminalStatus::Failed, failure: Some(blocker.clone()) }
            }
        }
    }
}

/// Decides how a validation came out, from its turn as it stands; none while it may still end by itself.
#[must_use]
pub fn outcome(turn: &CommandState, deadline: Timestamp, now: Timestamp) -> Option<Outcome> {
    let late = |words: &str| {
        let blocker = Blocker { kind: FailureKind::InfraFailed, message: words.to_owned() };
        (now >= deadline).then_some(Outcome::Failed(blocker))
    };
    match turn {
        CommandState::Ended(ending) => Some(match (ending.status, &ending.failure) {
            (TerminalStatus::Completed, _) => Outcome::Ok,
            (_, Some(failure)) => Outcome::Failed(failure.clone()),
            (_, None) => Outcome::Failed(Blocker {
                kind: FailureKind::BackendFailed,
                message: "the canary turn ended without a reason".to_owned(),
            }),
        }),
        CommandState::Pending => late("no runner that serves this profile came in time: start one"),
        CommandState::Running { .. } => late("the canary turn took too long and was ended"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::journal::Epoch;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    fn turns() -> Vec<CommandState> {
        vec![
            CommandState::Pending,
            CommandState::Running { epoch: Epoch::new(1), cancelling: false },
            CommandState::Ended(Ending::COMPLETED),
            CommandState::Ended(Ending::failed(FailureKind::ProviderAuthFailed, "refused")),
            CommandState::Ended(Ending::cancelled("asked for")),
        ]
    }

    #[test]
    fn the_answer_is_how_the_turn_ended() {
        let outcomes: Vec<_> = turns().iter().map(|turn| outcome(turn, at(10), at(0))).collect();
        let failed =
            |kind, message: &str| Some(Outcome::Failed(Blocker { kind, message: message.to_owned() }));
        assert_eq!(
            outcomes,
            [
                None,
                None,
                Some(Outcome::Ok),
                failed(FailureKind::ProviderAuthFailed, "refused"),
                failed(FailureKind::Cancelled, "asked for"),
            ]
        );
    }

    proptest! {
        #[test]
        fn every_validation_has_come_out_by_its_deadline(which in 0usize..5, late in 0i64..1000) {
            let outcome = outcome(&turns()[which], at(10), at(10 + late));
            prop_assert!(outcome.is_some());
        }
    }
}
