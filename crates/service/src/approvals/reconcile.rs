//! Denies questions that nobody answered in time.

use guildhall_domain::approvals::state::{DecidedBy, Decision};
use guildhall_domain::ids::ApprovalId;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::approvals as rows;
use metrics::counter;
use tracing::warn;

use super::Approvals;
use super::error::ApprovalError;
use crate::ServiceError;
use crate::deps::Deps;
use crate::run_steps::LockedRun;

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

    async fn expire(&self, id: ApprovalId) -> Result<(), ServiceError> {
        let deps = &self.0.deps;
        let Some(found) = rows::find(&deps.store, id).await? else { return Ok(()) };
        let mut locked = LockedRun::begin(&deps.store, found.run).await?;
        let stored = rows::load(&mut locked.tx, id).await?.ok_or(ServiceError::NOT_FOUND)?;
        let approval = self.0.open_question(stored)?;
        let denial = approval.question.denial().ok_or(ApprovalError::UnreadableQuestion)?;
        let decision =
            Decision::new(denial, DecidedBy::Expiry, locked.run.now).map_err(ApprovalError::from)?;
        let Ok(state) = approval.state.decide(decision) else { return Ok(locked.tx.rollback().await?) };
        locked.set_approval_state(id, approval.command, &state).await?;
        locked.commit(&deps.journals).await?;
        counter!("guildhall_approvals_decided_total", "effect" => "deny", "by" => "expiry").increment(1);
        Ok(())
    }
}

impl Reconciler for ExpireApprovals {
    type Error = ServiceError;
    const NAME: &'static str = "approvals";

    async fn round(&self) -> Result<(), ServiceError> {
        let mut failed = None;
        for id in rows::list_expired(&self.0.deps.store, BATCH_SIZE).await? {
            if let Err(error) = self.expire(id).await {
                warn!(approval.id = %id, error = &error as &dyn std::error::Error, "{id} could not be expired");
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }
}
