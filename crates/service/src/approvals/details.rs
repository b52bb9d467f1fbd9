//! A question with what a person needs to know before they answer it.

use std::collections::BTreeMap;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::RunsRead;
use guildhall_domain::approvals::answerability::{Answerability, answerability};
use guildhall_domain::approvals::approval::Approval;
use guildhall_domain::approvals::policy::{ApprovalPolicy, Mediation};
use guildhall_domain::approvals::state::{DecidedBy, Decision};
use guildhall_domain::approvals::voter::ClientConnection;
use guildhall_domain::ids::{ApprovalId, PrincipalId};
use guildhall_domain::runs::Run;
use guildhall_store::{
    approval_policies, approval_votes, approvals as rows, commands, external_subjects, principals, runs,
};
use jiff::Timestamp;

use super::Approvals;
use super::voters::VoterRules;
use crate::ServiceError;

/// A question, the rules that it was asked under, and the people that it has to do with.
#[derive(Debug, Clone)]
pub struct QuestionDetails {
    pub approval: Approval,
    /// The version that the question was asked under.
    pub policy: ApprovalPolicy,
    pub run: Run,
    /// Who sent the turn that asks.
    pub sender: PrincipalId,
    /// The answers that count now.
    pub votes: usize,
    /// Whether the caller can answer now.
    pub answerability: Answerability,
    /// The names of the caller and of everyone above.
    pub names: BTreeMap<PrincipalId, String>,
    /// When this was read.
    pub now: Timestamp,
}

impl Approvals {
    /// Returns a question and whether the caller, connected in this way, can answer it. Locks nothing: the answer itself
    /// is checked again.
    pub async fn details(
        &self,
        caller: &Authorized<RunsRead>,
        id: ApprovalId,
        peer: ClientConnection,
    ) -> Result<QuestionDetails, ServiceError> {
        let (now, tenant) = (self.deps.clock.now(), caller.tenant());
        let mut tx = self.deps.store.begin().await?;
        let stored = rows::load(&mut tx, id).await?;
        let approval = caller.load(stored.map(|stored| self.open_question(stored)).transpose()?)?;
        let policy = approval_policies::load_version(&mut tx, tenant, approval.policy_version).await?;
        let run = runs::load(&mut tx, approval.run).await?.ok_or(ServiceError::NOT_FOUND)?;
        let turn = commands::load(&mut tx, approval.command).await?.ok_or(ServiceError::NOT_FOUND)?;
        let end_user = external_subjects::load_answering(&mut tx, run.id).await?;
        let rules = VoterRules::new(&policy, run.created_by, turn.created_by, approval.is_escalated)
            .with_end_user(end_user);
        let votes = rules.valid_votes(approval_votes::load(&mut tx, id, tenant).await?);
        let mentioned = mentioned(&approval, &policy, [caller.principal, run.created_by, turn.created_by]);
        let names = principals::load_names(&mut tx, &mentioned).await?;
        tx.rollback().await?;
        let check = rules.check(caller, caller.role(), peer);
        let own = votes.iter().find(|vote| vote.principal == caller.principal);
        let answerability = answerability(&approval, check, own, now);
        Ok(QuestionDetails {
            sender: turn.created_by,
            votes: votes.len(),
            approval,
            policy,
            run,
            answerability,
            names,
            now,
        })
    }
}

/// Returns everyone whose name is shown.
fn mentioned(approval: &Approval, policy: &ApprovalPolicy, others: [PrincipalId; 3]) -> Vec<PrincipalId> {
    let deciders = match approval.state.decision().map(Decision::by) {
        Some(DecidedBy::People(people)) => people.clone(),
        Some(
            DecidedBy::Rule(_)
            | DecidedBy::EarlierApproval(_)
            | DecidedBy::Expiry
            | DecidedBy::UnreachableQuorum
            | DecidedBy::DisabledTool,
        )
        | None => Vec::new(),
    };
    let designated = match policy.mediation {
        Mediation::Designated { approver } => approver,
        Mediation::FirstResponder | Mediation::Consensus { .. } | Mediation::LocalOnly => None,
    };
    deciders.into_iter().chain(designated).chain(others).collect()
}
