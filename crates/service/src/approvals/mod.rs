//! Approvals: questions of agents, asked by their runners and answered by people.
//!
//! Every change is made under the lock of the run, with its event in the same transaction.

mod content;
mod delivery;
pub mod details;
pub mod error;
pub mod listed;
mod parked;
pub mod policies;
pub mod questions;
pub mod reconcile;
mod repeated;
pub mod rules;
pub mod stream;
mod voters;
pub mod votes;
pub mod withdrawals;

use guildhall_domain::approvals::approval::Approval;
use guildhall_domain::approvals::question::Question;
use guildhall_domain::ids::{ApprovalId, TenantId};
use guildhall_store::approvals::{self as rows, StoredApproval};

use self::error::ApprovalError;
use crate::ServiceError;
use crate::deps::Deps;
use crate::run_steps::approval_notices::NoticeSubject;

/// The services of this group.
#[derive(Debug, Clone)]
pub struct Group {
    pub approvals: Approvals,
    pub policies: policies::Policies,
    pub questions: questions::Questions,
    pub rules: rules::Rules,
    pub votes: votes::Votes,
    pub withdrawals: withdrawals::Withdrawals,
}

/// Opens the group.
#[must_use]
pub fn open(deps: &Deps) -> Group {
    let approvals = Approvals { deps: deps.clone() };
    Group {
        policies: policies::Policies::new(deps),
        rules: rules::Rules::new(deps),
        questions: questions::Questions::new(approvals.clone()),
        votes: votes::Votes::new(approvals.clone()),
        withdrawals: withdrawals::Withdrawals::new(approvals.clone()),
        approvals,
    }
}

fn notice_subject(approval: &Approval) -> NoticeSubject<'_> {
    NoticeSubject { id: approval.id, action: &approval.question.action, expires_at: approval.expires_at }
}

/// Reads approvals.
#[derive(Debug, Clone)]
pub struct Approvals {
    deps: Deps,
}

impl Approvals {
    /// Returns the tenant of an approval, for the edge to load the caller's role in it.
    pub async fn tenant_of(&self, id: ApprovalId) -> Result<Option<TenantId>, ServiceError> {
        Ok(rows::find_tenant(&self.deps.store, id).await?)
    }

    async fn find(&self, id: ApprovalId) -> Result<Option<Approval>, ServiceError> {
        let found = rows::find(&self.deps.store, id).await?;
        found.map(|stored| self.open_question(stored)).transpose()
    }

    /// Decrypts the question of a stored approval.
    fn open_question(&self, stored: StoredApproval) -> Result<Approval, ServiceError> {
        let opened = self.deps.payload_sealer.decrypt_question(stored.id.as_uuid(), &stored.sealed_question);
        let question: Question = serde_json::from_slice(&opened.map_err(ApprovalError::Seal)?)
            .map_err(|_| ApprovalError::UnreadableQuestion)?;
        Ok(Approval {
            id: stored.id,
            tenant: stored.tenant,
            session: stored.session,
            run: stored.run,
            command: stored.command,
            question,
            shown: stored.shown,
            state: stored.state,
            created_at: stored.created_at,
            expires_at: stored.expires_at,
            policy_version: stored.policy_version,
            is_escalated: stored.is_escalated,
        })
    }
}
