//! What a runner may show: that it is enrolled, and then that it holds a run.
//!
//! A runner is an untrusted client. Its tokens are no callers: they open the routes of runners and no others.

use jiff::Timestamp;

use crate::access::principal::Slug;
use crate::ids::{EnrolmentId, PrincipalId, RunId, RunnerId, TenantId};
use crate::journal::Epoch;

/// Leave to register runners and to claim runs, and to do nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrolment {
    pub id: EnrolmentId,
    /// Whom the audit log names for what runners do under it. It has no role anywhere.
    pub principal: PrincipalId,
    /// The one tenant whose runs may be claimed. None is the installation's own pool: whichever run it claims first is
    /// the only one that it ever gets.
    pub tenant: Option<TenantId>,
    /// The one backend profile whose runs may be claimed; any without it.
    pub profile: Option<Slug>,
    /// The one pool whose runs may be claimed; any without it.
    pub pool: Option<Slug>,
    /// The one run that may be claimed; any without it. An enrolment of the pool has none until its first claim.
    pub run: Option<RunId>,
    pub expires_at: Timestamp,
}

/// A run, as far as a claim looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted<'a> {
    pub run: RunId,
    pub tenant: TenantId,
    pub profile: &'a str,
}

impl Enrolment {
    /// Returns whether a run may be claimed under this enrolment. One that may not does not exist for its runners.
    #[must_use]
    pub fn covers(&self, wanted: Wanted<'_>) -> bool {
        self.tenant.is_none_or(|tenant| tenant == wanted.tenant)
            && self.profile.as_ref().is_none_or(|profile| profile.as_str() == wanted.profile)
            && self.run.is_none_or(|run| run == wanted.run)
    }

    /// Returns whether this is an enrolment of the installation's own pool.
    #[must_use]
    pub fn is_of_pool(&self) -> bool {
        self.tenant.is_none()
    }

    /// Returns what a runner under this enrolment holds after it has claimed a run. The grant is for the tenant of the
    /// run, whoever the enrolment belongs to.
    #[must_use]
    pub fn claimed(&self, tenant: TenantId, run: RunId, epoch: Epoch, runner: RunnerId) -> RunGrant {
        RunGrant { principal: self.principal, tenant, runner, run, epoch }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn enrolment(tenant: Option<TenantId>, profile: Option<&str>, run: Option<RunId>) -> Enrolment {
        Enrolment {
            id: EnrolmentId::generate(),
            principal: PrincipalId::generate(),
            tenant,
            profile: profile.map(|slug| slug.parse().expect("a slug")),
            pool: None,
            run,
            expires_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn each_bound_of_an_enrolment_keeps_out_what_is_not_within_it() {
        let (tenant, run) = (TenantId::generate(), RunId::generate());
        let wanted = Wanted { run, tenant, profile: "demo" };
        let others = (TenantId::generate(), RunId::generate());
        for (bounds, covers) in [
            (enrolment(Some(tenant), None, None), true),
            (enrolment(Some(tenant), Some("demo"), Some(run)), true),
            (enrolment(None, Some("demo"), None), true),
            (enrolment(None, Some("demo"), Some(run)), true),
            (enrolment(Some(others.0), None, None), false),
            (enrolment(Some(others.0), None, Some(run)), false),
            (enrolment(Some(tenant), Some("codex"), None), false),
            (enrolment(Some(tenant), None, Some(others.1)), false),
            (enrolment(None, Some("codex"), None), false),
            (enrolment(None, Some("demo"), Some(others.1)), false),
        ] {
            assert_eq!(bounds.covers(wanted), covers, "{bounds:?}");
        }
    }
}
