//! Questions that a person ends without an answer.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::RunsWrite;
use guildhall_domain::approvals::approval::Approval;
use guildhall_domain::approvals::state::{ApprovalState, EndReason};
use guildhall_domain::approvals::voter::check_withdrawal;
use guildhall_domain::ids::ApprovalId;
use guildhall_store::{approval_policies, approvals as rows, memberships};
use serde_json::json;

use super::error::ApprovalError;
use super::listed::ListedApproval;
use super::voters::VoterRules;
use super::{Approvals, parked};
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::run_steps::LockedRun;

/// Withdraws questions for people.
#[derive(Debug, Clone)]
pub struct Withdrawals {
    approvals: Approvals,
}

impl Withdrawals {
    pub(super) fn new(approvals: Approvals) -> Self {
        Self { approvals }
    }

    /// Ends a pending question without an answer. An agent that waits for it is declined; a parked turn is not continued
    /// for it. Repeating it changes nothing.
    pub async fn withdraw(
        &self,
        caller: &Authorized<RunsWrite>,
        id: ApprovalId,
    ) -> Result<ListedApproval, ServiceError> {
        let deps = &self.approvals.deps;
        let run = caller.load(self.approvals.find(id).await?)?.run;
        let mut locked = LockedRun::begin(&deps.store, run).await?;
        let stored = rows::load(&mut locked.tx, id).await?.ok_or(ServiceError::NOT_FOUND)?;
        let approval = self.approvals.open_question(stored)?;
        let version = approval.policy_version;
        let policy = approval_policies::load_version(&mut locked.tx, caller.tenant(), version).await?;
        let rules = VoterRules::load(&mut locked, &policy, approval.command, approval.is_escalated).await?;
        // The role is read again under the lock: it may have been taken away while the request waited.
        let role = memberships::lock_member(&mut locked.tx, caller.tenant(), caller.principal).await?;
        let role = role.ok_or(ServiceError::NOT_FOUND)?;
        check_withdrawal(&rules.voter(caller, Some(role))).map_err(ApprovalError::from)?;
        let state = if approval.state == ApprovalState::Withdrawn(EndReason::WithdrawnByPerson) {
            locked.tx.rollback().await?;
            approval.state.clone()
        } else {
            check_open(&approval, locked.run.now)?;
            self.store(locked, caller, &approval).await?
        };
        let approval = Approval { state, ..approval };
        Ok(ListedApproval { approval, can_answer: false, mediation: policy.mediation })
    }

    async fn store(
        &self,
        mut locked: LockedRun,
        caller: &Authorized<RunsWrite>,
        approval: &Approval,
    ) -> Result<ApprovalState, ServiceError> {
        let deps = &self.approvals.deps;
        let state = parked::withdraw(&self.approvals, &mut locked, caller.principal, approval).await?;
        let detail = json!({ "runId": approval.run.to_string() });
        let event = AuditEvent::by_member(caller, "approval.withdrawn", approval.id.to_string(), detail);
        audit::record(&mut locked.tx, &event).await?;
        let waiting = locked.run.lease.is_none().then(|| locked.run.clone());
        locked.commit(deps).await?;
        if let Some(waiting) = waiting {
            deps.offers.announce(&waiting).await;
        }
        Ok(state)
    }
}

/// Checks that a question waits for an answer.
fn check_open(approval: &Approval, now: jiff::Timestamp) -> Result<(), ApprovalError> {
    let ApprovalState::Pending { .. } = approval.state else {
        return Err(ApprovalError::AlreadyDecided(Box::new(approval.state.clone())));
    };
    // Nobody has denied it yet, but its time is over.
    if approval.expires_at <= now { Err(ApprovalError::Expired) } else { Ok(()) }
}
