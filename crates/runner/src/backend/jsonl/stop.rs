//! Why a turn is stopped before its end, and what becomes of it.

use std::time::Duration;

use guildhall_domain::FailureKind;
use tokio::time::Instant;

use crate::backend::{BackendFailure, TurnOutcome};

/// How long a turn may take to end after it was asked to stop. Then its process is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a turn was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum StopReason {
    /// The runner interrupted it.
    Interrupted,
    /// It took longer than this.
    TurnTimeout(Duration),
    /// The model did not respond for this long.
    ModelTimeout(Duration),
    /// It had more tool calls than this.
    TooManyToolCalls(u32),
    /// The agent sent more requests than this.
    TooManyRequests(u32),
}

impl StopReason {
    /// Returns the failure of the turn; `None` for an interrupt.
    fn failure(self) -> Option<BackendFailure> {
        let message = match self {
            Self::Interrupted => return None,
            Self::ModelTimeout(time) => {
                let message = format!("the model provider did not respond for {} s", time.as_secs_f32());
                return Some(BackendFailure::new(FailureKind::ProviderUnavailable, message));
            }
            Self::TurnTimeout(time) => {
                format!("the turn took longer than {} s and was interrupted", time.as_secs_f32())
            }
            Self::TooManyToolCalls(limit) => {
                format!("the model requested more than {limit} tool calls in one turn")
            }
            Self::TooManyRequests(limit) => format!("the agent sent more than {limit} requests in one turn"),
        };
        Some(BackendFailure::new(FailureKind::BackendFailed, message))
    }
}

/// A turn that was asked to stop and has not ended yet.
#[derive(Debug)]
pub(crate) struct PendingStop {
    reason: StopReason,
    deadline: Instant,
}

impl PendingStop {
    pub(crate) fn new(reason: StopReason) -> Self {
        Self { reason, deadline: Instant::now() + STOP_TIMEOUT }
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns the outcome of a turn that ended because of this stop.
    pub(crate) fn outcome(&self) -> TurnOutcome {
        self.reason.failure().map_or(TurnOutcome::Interrupted, TurnOutcome::Failed)
    }

    /// Returns the failure of an agent that did not stop before the deadline.
    pub(crate) fn overdue_failure(&self, agent: &str) -> BackendFailure {
        let reason =
            self.reason.failure().map_or_else(String::new, |failure| format!("{}; ", failure.message));
        let seconds = STOP_TIMEOUT.as_secs();
        BackendFailure::died(format!("{reason}{agent} did not stop within {seconds} s and was killed"))
    }
}
