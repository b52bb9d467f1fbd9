//! Validation of a provider profile: a short test turn, whose outcome is the result.

use crate::access::authorized::TenantObject;
use crate::ids::{CommandId, PrincipalId, RunId, TenantId, ValidationId};
use jiff::Timestamp;

use crate::FailureKind;
use crate::runs::command::CommandState;
use crate::runs::{FailureReason, TerminalOutcome, TerminalStatus};

/// The prompt of the test turn. Short, because the tenant pays for it.
pub const CANARY_PROMPT: &str = "Answer with the single word ok. Use no tools.";

/// Outcome of a validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValidationOutcome {
    /// The provider accepted the credential and the turn completed.
    Ok,
    Failed(FailureReason),
}

impl ValidationOutcome {
    /// Returns the outcome for the run of the test turn, if it is still open.
    #[must_use]
    pub fn run_outcome(&self) -> TerminalOutcome {
        match self {
            Self::Ok => TerminalOutcome::COMPLETED,
            Self::Failed(reason) => {
                TerminalOutcome { status: TerminalStatus::Failed, failure: Some(reason.clone()) }
            }
        }
    }
}

/// Returns the outcome of a validation from the state of its test turn; `None` while the turn may still end.
#[must_use]
pub fn decide_outcome(turn: &CommandState, deadline: Timestamp, now: Timestamp) -> Option<ValidationOutcome> {
    let timed_out = |message: &str| {
        let reason = FailureReason { kind: FailureKind::InfraFailed, message: message.to_owned() };
        (now >= deadline).then_some(ValidationOutcome::Failed(reason))
    };
    match turn {
        CommandState::Ended(outcome) => Some(match (outcome.status, &outcome.failure) {
            (TerminalStatus::Completed, _) => ValidationOutcome::Ok,
            (_, Some(failure)) => ValidationOutcome::Failed(failure.clone()),
            (_, None) => ValidationOutcome::Failed(FailureReason {
                kind: FailureKind::BackendFailed,
                message: "the test turn ended without a reason".to_owned(),
            }),
        }),
        CommandState::Pending => timed_out("no runner for this profile was available in time: start one"),
        CommandState::Running { .. } => timed_out("the test turn took too long and was stopped"),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validation {
    pub id: ValidationId,
    pub tenant: TenantId,
    pub profile: String,
    pub resource_version: Option<String>,
    pub run: RunId,
    pub command: CommandId,
    pub created_by: PrincipalId,
    pub created_at: Timestamp,
    pub deadline_at: Timestamp,
    /// `None` while it is pending.
    pub outcome: Option<ValidationOutcome>,
    pub settled_at: Option<Timestamp>,
}

impl TenantObject for Validation {
    fn tenant(&self) -> TenantId {
        self.tenant
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
            CommandState::Ended(TerminalOutcome::COMPLETED),
            CommandState::Ended(TerminalOutcome::failed(FailureKind::ProviderAuthFailed, "refused")),
            CommandState::Ended(TerminalOutcome::cancelled("requested")),
        ]
    }

    #[test]
    fn outcome_is_that_of_the_test_turn() {
        let outcomes: Vec<_> = turns().iter().map(|turn| decide_outcome(turn, at(10), at(0))).collect();
        let failed = |kind, message: &str| {
            Some(ValidationOutcome::Failed(FailureReason { kind, message: message.to_owned() }))
        };
        assert_eq!(
            outcomes,
            [
                None,
                None,
                Some(ValidationOutcome::Ok),
                failed(FailureKind::ProviderAuthFailed, "refused"),
                failed(FailureKind::Cancelled, "requested"),
            ]
        );
    }

    proptest! {
        #[test]
        fn every_validation_has_an_outcome_at_its_deadline(which in 0usize..5, late in 0i64..1000) {
            let outcome = decide_outcome(&turns()[which], at(10), at(10 + late));
            prop_assert!(outcome.is_some());
        }
    }
}
