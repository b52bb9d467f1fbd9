//! Leases: who holds a run, and until when. The time is the database's.

use jiff::{SignedDuration, Timestamp};

use crate::ids::RunnerId;
use crate::journal::Epoch;
use crate::runs::{RunState, TerminalStatus};

/// A runner's hold on a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub runner: RunnerId,
    pub epoch: Epoch,
    pub expires_at: Timestamp,
}

impl Lease {
    /// Returns whether the holder may still be at work. It kills its backend before the expiry; the grace is for what
    /// takes time to die.
    #[must_use]
    pub fn is_live(&self, now: Timestamp, grace: SignedDuration) -> bool {
        now < self.expires_at.checked_add(grace).unwrap_or(Timestamp::MAX)
    }
}

/// Who held a run before a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before<'a> {
    /// Nobody, or one who gave it back.
    Nobody,
    Holds(&'a Lease),
    /// A runner that was lost; the run was taken from it already.
    Lost(RunnerId),
}

/// What a claim does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The runner holds the run already; asking again renews its lease.
    Kept(Epoch),
    /// Nobody held it, and nobody was lost.
    Taken(Epoch),
    /// The runner before was lost; what it left running has ended.
    Recovered { epoch: Epoch, from: RunnerId },
}

impl Claim {
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        match self {
            Self::Kept(epoch) | Self::Taken(epoch) | Self::Recovered { epoch, .. } => *epoch,
        }
    }
}

/// Why a claim is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimRefusal {
    #[error("the run is held by {owner} until {expires_at}: claim again after that")]
    Held { owner: RunnerId, expires_at: Timestamp },
    #[error("the run has ended ({0})")]
    Ended(TerminalStatus),
    #[error("the run is being cancelled")]
    Cancelling,
}

/// Decides on a claim. `epoch` is the one that the head of the run's journal has now.
pub fn claim(
    run: &RunState,
    epoch: Epoch,
    before: Before<'_>,
    runner: RunnerId,
    now: Timestamp,
    grace: SignedDuration,
) -> Result<Claim, ClaimRefusal> {
    match run {
        RunState::Ended(ending) => return Err(ClaimRefusal::Ended(ending.status)),
        RunState::Cancelling => return Err(ClaimRefusal::Cancelling),
        RunState::Open => {}
    }
    match before {
        Before::Nobody => Ok(Claim::Taken(epoch.next())),
        Before::Lost(from) => Ok(Claim::Recovered { epoch: epoch.next(), from }),
        Before::Holds(lease) if lease.is_live(now, grace) => {
            if lease.runner == runner && lease.epoch == epoch && now < lease.expires_at {
                return Ok(Claim::Kept(epoch));
            }
            Err(ClaimRefusal::Held { owner: lease.runner, expires_at: lease.expires_at })
        }
        Before::Holds(lease) => Ok(Claim::Recovered { epoch: epoch.next(), from: lease.runner }),
    }
}

/// Decides whether a holder may go on writing. Who lost the run must learn it.
#[must_use]
pub fn holds(current: Epoch, given: Epoch, run: &RunState) -> bool {
    current == given && !run.is_ended()
}
