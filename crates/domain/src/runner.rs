//! What a runner may show: that it is enrolled, and then that it holds a run.
//!
//! A runner is an untrusted client. Its tokens are no callers: they open the routes of runners and no others.

use jiff::Timestamp;

use crate::ids::{EnrolmentId, PrincipalId, RunId, RunnerId, TenantId};
use crate::journal::Epoch;
use crate::principal::Slug;

/// Leave to register runners of a tenant and to claim its runs, and to do nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrolment {
    pub id: EnrolmentId,
    /// Whom the audit log names for what runners do under it. It has no role anywhere.
    pub principal: PrincipalId,
    pub tenant: TenantId,
    /// The one backend profile whose runs may be claimed; any without it.
    pub profile: Option<Slug>,
    /// The one pool whose runs may be claimed; any without it.
    pub pool: Option<Slug>,
    pub expires_at: Timestamp,
}

impl Enrolment {
    /// Returns what a runner under this enrolment holds after it has claimed a run.
    #[must_use]
    pub fn claimed(&self, run: RunId, epoch: Epoch, runner: RunnerId) -> RunGrant {
        RunGrant { principal: self.principal, tenant: self.tenant, runner, run, epoch }
    }
}

/// What a claim gives a runner: one run, under one epoch of its lease. Whether the epoch is still the run's is decided
/// under the lock of the run's head, by whoever writes: a grant alone proves only that it once was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunGrant {
    /// The enrolment's principal. The grant ends when that enrolment is revoked.
    pub principal: PrincipalId,
    pub tenant: TenantId,
    pub runner: RunnerId,
    pub run: RunId,
    pub epoch: Epoch,
}
