//! Leases: which runner holds a run, and until when. All times are database times.

use jiff::{SignedDuration, Timestamp};

use crate::ids::{AttemptId, RunnerId};
use crate::journal::Epoch;
use crate::runs::{RunState, TerminalStatus};

/// The lease of a runner on a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub runner: RunnerId,
    pub epoch: Epoch,
    /// The attempt of the runner job that started the runner, or else one of its own. A server of an earlier version
    /// stores none.
    pub attempt: Option<AttemptId>,
    /// The last heartbeat that renewed it.
    pub renewed_at: Timestamp,
    pub expires_at: Timestamp,
}

impl Lease {
    /// Returns whether the holder may still be working. A runner kills its backend before the lease expires; the grace
    /// period covers processes that exit slowly.
    #[must_use]
    pub fn is_live(&self, now: Timestamp, grace: SignedDuration) -> bool {
        now < self.expires_at.checked_add(grace).unwrap_or(Timestamp::MAX)
    }
}

/// The holder of a run before a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreviousHolder<'a> {
    /// The run was never claimed, or it was released.
    None,
    Active(&'a Lease),
    /// The previous runner was lost and its lease was already revoked.
    Lost(RunnerId),
}

/// An accepted claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimDecision {
    /// The runner already holds the run; its lease is renewed.
    Renewed(Epoch),
    /// The run had no holder.
    Granted(Epoch),
    /// The previous runner was lost; its running commands have ended.
    Recovered { epoch: Epoch, from: RunnerId },
}

impl ClaimDecision {
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        match self {
            Self::Renewed(epoch) | Self::Granted(epoch) | Self::Recovered { epoch, .. } => *epoch,
        }
    }
}

/// Why a claim is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    #[error("the run is held by {owner} until {expires_at}: claim again after that")]
    Held { owner: RunnerId, expires_at: Timestamp },
    #[error("the run has ended ({0})")]
    Ended(TerminalStatus),
    #[error("the run is being cancelled")]
    Cancelling,
}

/// Decides on a claim. `epoch` is the current epoch of the run's journal stream.
pub fn claim(
    run: &RunState,
    epoch: Epoch,
    previous: PreviousHolder<'_>,
    runner: RunnerId,
    now: Timestamp,
    grace: SignedDuration,
) -> Result<ClaimDecision, ClaimError> {
    match run {
        RunState::Ended(outcome) => return Err(ClaimError::Ended(outcome.status)),
        RunState::Cancelling => return Err(ClaimError::Cancelling),
        RunState::Open => {}
    }
    match previous {
        PreviousHolder::None => Ok(ClaimDecision::Granted(epoch.next())),
        PreviousHolder::Lost(from) => Ok(ClaimDecision::Recovered { epoch: epoch.next(), from }),
        PreviousHolder::Active(lease) if lease.is_live(now, grace) => {
            if lease.runner == runner && lease.epoch == epoch && now < lease.expires_at {
                return Ok(ClaimDecision::Renewed(epoch));
            }
            Err(ClaimError::Held { owner: lease.runner, expires_at: lease.expires_at })
        }
        PreviousHolder::Active(lease) => {
            Ok(ClaimDecision::Recovered { epoch: epoch.next(), from: lease.runner })
        }
    }
}

/// Returns whether a writer with the epoch `given` still holds the run.
#[must_use]
pub fn may_write(current: Epoch, given: Epoch, run: &RunState) -> bool {
    current == given && !run.is_ended()
}
