//! Credentials of runners: enrolments, and grants for claimed runs.
//!
//! A runner is an untrusted client. Its tokens are valid for the runner endpoints only.

use jiff::Timestamp;

use crate::access::principal::Slug;
use crate::ids::{EnrolmentId, PrincipalId, RunId, RunnerId, TenantId};
use crate::journal::Epoch;

/// Permission to register runners and to claim runs, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrolment {
    pub id: EnrolmentId,
    /// The actor in the audit log for actions of these runners. It has no role in any tenant.
    pub principal: PrincipalId,
    /// The tenant whose runs can be claimed. `None` for the installation pool, where an enrolment can claim a single
    /// run: the first one.
    pub tenant: Option<TenantId>,
    /// The backend profile whose runs can be claimed; any if `None`.
    pub profile: Option<Slug>,
    /// The only run that can be claimed; any if `None`. Set by the first claim for the installation pool.
    pub run: Option<RunId>,
    pub expires_at: Timestamp,
}

/// The run that a runner wants to claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimTarget<'a> {
    pub run: RunId,
    pub tenant: TenantId,
    pub profile: &'a str,
}

impl Enrolment {
    /// Returns whether a run can be claimed with this enrolment. Other runs are not found for its runners.
    #[must_use]
    pub fn allows_claim(&self, target: ClaimTarget<'_>) -> bool {
        self.tenant.is_none_or(|tenant| tenant == target.tenant)
            && self.profile.as_ref().is_none_or(|profile| profile.as_str() == target.profile)
            && self.run.is_none_or(|run| run == target.run)
    }

    /// Returns whether this enrolment belongs to the installation pool.
    #[must_use]
    pub fn is_installation_pool(&self) -> bool {
        self.tenant.is_none()
    }

    /// Returns the grant for a claimed run. It is valid for the tenant of the run, also for the installation pool.
    #[must_use]
    pub fn grant(&self, tenant: TenantId, run: RunId, epoch: Epoch, runner: RunnerId) -> RunGrant {
        RunGrant { principal: self.principal, tenant, runner, run, epoch }
    }
}

/// A runner's access to one run in one lease epoch. Every write checks under the lock of the stream head that the
/// epoch is still current: a grant alone only proves that it was current once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunGrant {
    /// The principal of the enrolment. The grant ends when the enrolment is revoked.
    pub principal: PrincipalId,
    pub tenant: TenantId,
    pub runner: RunnerId,
    pub run: RunId,
    pub epoch: Epoch,
}

/// An enrolment in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnrolmentSummary {
    pub id: EnrolmentId,
    pub name: String,
    pub profile: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
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
            run,
            expires_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn enrolment_allows_only_runs_that_match_all_its_restrictions() {
        let (tenant, run) = (TenantId::generate(), RunId::generate());
        let target = ClaimTarget { run, tenant, profile: "demo" };
        let others = (TenantId::generate(), RunId::generate());
        for (enrolment, allowed) in [
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
            assert_eq!(enrolment.allows_claim(target), allowed, "{enrolment:?}");
        }
    }
}
