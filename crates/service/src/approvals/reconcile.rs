//! Denies questions that nobody answered in time.

use std::time::Duration;

use guildhall_domain::approvals::policy::ExpiryEffect;
use guildhall_domain::approvals::state::{ApprovalStatus, DecidedBy, Decision};
use guildhall_domain::ids::{ApprovalId, CommandId};
use guildhall_domain::runs::command::{self, CommandCancellation};
use guildhall_domain::runs::event;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::runs::{self, CancelTarget};
use guildhall_store::{approval_policies, approvals as rows};
use serde_json::json;
use tracing::warn;

use super::error::ApprovalError;
use super::{Approvals, notice_subject, parked, votes};
use crate::ServiceError;
use crate::deps::Deps;
use crate::run_steps::LockedRun;
use crate::run_steps::approval_notices::{Audience, NoticeSubject};

/// Questions denied in one round; the next takes the rest.
const BATCH_SIZE: u32 = 200;

/// Denies questions that have expired.
#[derive(Debug)]
pub struct ExpireApprovals(Approvals);

impl ExpireApprovals {
    #[must_use]
    pub fn new(deps: Deps) -> Self {
        Self(Approvals { deps })
    }

    /// Does what the policy of the question says: denies it, or asks the owners once more. The turn of a parked question
    /// is continued if people have answered another one of it.
    async fn expire(&self, id: ApprovalId) -> Result<(), ServiceError> {
        let deps = &self.0.deps;
        let Some(found) = rows::find(&deps.store, id).await? else { return Ok(()) };
        let mut locked = LockedRun::begin(&deps.store, found.run).await?;
        let stored = rows::load(&mut locked.tx, id).await?.ok_or(ServiceError::NOT_FOUND)?;
        let approval = self.0.open_question(stored)?;
        let version = approval.policy_version;
        let policy = approval_policies::load_version(&mut locked.tx, approval.tenant, version).await?;
        if approval.state.status() != ApprovalStatus::Pending || approval.expires_at > locked.run.now {
            return Ok(locked.tx.rollback().await?);
        }
        if policy.on_expiry == ExpiryEffect::Escalate && !approval.is_escalated {
            let expires_at = locked.run.now + policy.expires_after;
            rows::escalate(&mut locked.tx, id, expires_at).await?;
            let payload = json!({ "approvalId": id.to_string(), "status": "pending", "reason": "escalated" });
            locked.append_approval_event(event::APPROVAL_STATUS, approval.command, payload);
            let subject = NoticeSubject { expires_at, ..notice_subject(&approval) };
            locked.approval_notices(deps).requested(subject, Audience::Owners).await?;
            locked.commit(deps).await?;
            return Ok(());
        }
        let denial = approval.question.denial().ok_or(ApprovalError::UnreadableQuestion)?;
        let decision =
            Decision::new(denial, DecidedBy::Expiry, locked.run.now).map_err(ApprovalError::from)?;
        parked::decide(&self.0, &mut locked, None, &approval, decision.clone()).await?;
        locked.approval_notices(deps).decided(notice_subject(&approval), &decision).await?;
        if policy.on_expiry == ExpiryEffect::Interrupt {
            interrupt(&mut locked, approval.command).await?;
        }
        let waiting = locked.run.lease.is_none().then(|| locked.run.clone());
        locked.commit(deps).await?;
        if let Some(waiting) = waiting {
            deps.offers.announce(&waiting).await;
        }
        votes::count_decision(&approval.question, &decision);
        Ok(())
    }
}

/// Asks the runner to end the turn whose question has expired.
async fn interrupt(locked: &mut LockedRun, turn: CommandId) -> Result<(), ServiceError> {
    let Some(open) = locked.open.iter().find(|open| open.id == turn) else { return Ok(()) };
    let CommandCancellation::Requested(state) = command::cancel(&open.state) else { return Ok(()) };
    locked.set_command_state(turn, state, None).await?;
    let at = locked.next_seq();
    let payload = json!({ "status": "cancelling", "by": "expiry" });
    locked.append_event(event::COMMAND_STATUS, Some(turn), payload);
    runs::request_cancel(&mut locked.tx, locked.run.id, at, CancelTarget::Command).await?;
    Ok(())
}

impl Reconciler for ExpireApprovals {
    type Error = ServiceError;
    const NAME: &'static str = "approvals";
    const TIMEOUT: Duration = Duration::from_secs(15);

    async fn round(&self) -> Result<(), ServiceError> {
        let mut failed = None;
        rows::erase_ended_content(&self.0.deps.store).await?;
        for id in rows::list_expired(&self.0.deps.store, BATCH_SIZE).await? {
            if let Err(error) = self.expire(id).await {
                warn!(approval.id = %id, error = &error as &dyn std::error::Error, "{id} could not be expired");
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }
}
