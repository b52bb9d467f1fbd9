//! How long runs are held and how long they wait.

use std::time::Duration;

use guildhall_domain::runs::WaitLimits;
use jiff::SignedDuration;

/// The timeouts of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTimeouts {
    /// How long a lease holds without a renewal.
    pub hold: Duration,
    /// How long after the lease expired its runner counts as lost.
    pub grace: Duration,
    /// How long an open command may wait for a runner.
    pub unclaimed: Duration,
    /// How long a run may be idle.
    pub idle: Duration,
}

impl RunTimeouts {
    #[must_use]
    pub fn grace(&self) -> SignedDuration {
        signed(self.grace)
    }

    #[must_use]
    pub fn wait_limits(&self) -> WaitLimits {
        WaitLimits { unclaimed: signed(self.unclaimed), idle: signed(self.idle) }
    }
}

fn signed(time: Duration) -> SignedDuration {
    SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX)
}
