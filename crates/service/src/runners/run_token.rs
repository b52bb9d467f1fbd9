//! Run tokens.

use guildhall_domain::ids::RunId;
use guildhall_domain::runners::enrolment::RunGrant;
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;

/// How long a run token holds. Leases are renewed far more often, each time with a new token; the epoch in it fences
/// its holder off as soon as another runner has the run.
pub const RUN_TOKEN_LIFETIME: SignedDuration = SignedDuration::from_hours(1);

/// A new token for one run, under one epoch of its lease.
#[derive(Debug, Clone)]
pub struct RunToken {
    pub token: SecretString,
    pub expires_at: Timestamp,
}

/// A run token whose signature was checked. Whether its enrolment was revoked is not known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedRunToken {
    pub(super) grant: RunGrant,
    pub(super) expires_at: Timestamp,
}

impl SignedRunToken {
    #[must_use]
    pub fn run(&self) -> RunId {
        self.grant.run
    }

    /// Returns the grant for a step that checks the enrolment under the lock of the run.
    #[must_use]
    pub fn unverified_grant(&self) -> &RunGrant {
        &self.grant
    }
}

/// A run token whose signature and enrolment were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifiedRunToken {
    pub grant: RunGrant,
    pub expires_at: Timestamp,
}
