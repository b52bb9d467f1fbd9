//! Why a request is refused by a rate limit.

use guildhall_domain::ops::rate::{ByteRate, Rate, RateStatus, Tier};
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
            Self::Limited { tier: Tier::TenantEvents, rate, status } => tenant_events_failure(*rate, status),
            Self::Limited { tier: Tier::ToolCall, rate, status } => Failure::new(
                FailureKind::RateLimited,
                format!("too many calls of tools: an agent may send {rate}; wait for the next window"),
            )
            .with_retry_after(status.resets_in),
            Self::Limited { tier, rate, status } => Failure::new(
                FailureKind::RateLimited,
                format!("too many requests of the tier {tier}: {rate} are allowed; wait for the next window"),
            )
            .with_retry_after(status.resets_in),
            Self::NoPermits => postgres_unavailable(),
        }
    }
}

/// A policy error, as that of the quota of a run: a runner that waited for the next window would block its turn.
fn tenant_events_failure(rate: Rate, status: &RateStatus) -> Failure {
    let (rate, seconds) = (ByteRate::from_permits(rate), status.resets_in_seconds());
    Failure::new(
        FailureKind::TenantPolicyDenied,
        format!(
            "the events of this tenant's runs exceed limits.tenant_events ({rate}): end the run, and continue its session \
             in {seconds} s, or ask the operator for a higher limit"
        ),
    )
}
