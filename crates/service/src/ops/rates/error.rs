//! Why a request is refused by a rate limit.

use guildhall_domain::ops::rate::{Rate, RateStatus, Tier};
use guildhall_domain::{Failure, FailureKind};

use crate::failures::postgres_unavailable;

/// An error of a rate limit.
#[derive(Debug, thiserror::Error)]
pub enum RateError {
    #[error("the rate of {tier} is used up")]
    Limited { tier: Tier, rate: Rate, status: RateStatus },
    /// Another request of the same caller failed to borrow permits, or the borrowed window ended on the way.
    #[error("no permits could be borrowed")]
    NoPermits,
}

impl RateError {
    /// Returns what a caller may know.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::Limited { tier, rate, status } => Failure::new(
                FailureKind::RateLimited,
                format!("too many requests of the tier {tier}: {rate} are allowed; wait for the next window"),
            )
            .with_retry_after(status.resets_in),
            Self::NoPermits => postgres_unavailable(),
        }
    }
}
