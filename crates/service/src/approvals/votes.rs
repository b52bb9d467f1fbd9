//! Answers of people.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::principal::{PrincipalKind, TokenKind};
use guildhall_domain::access::role::Permission;
use guildhall_domain::access::role::rights::RunsWrite;
use guildhall_domain::approvals::approval::Approval;
use guildhall_domain::approvals::policy::{
    ApprovalPolicy, Peer, Vote, VoteResult, Voter, check_voter, count_votes,
};
use guildhall_domain::approvals::state::{ApprovalState, DecidedBy, Decision};
use guildhall_domain::ids::ApprovalId;
use guildhall_store::{approvals as rows, memberships};
use metrics::{counter, histogram};
use serde_json::json;

use super::Approvals;
use super::error::ApprovalError;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::run_steps::LockedRun;

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub option: String,
    /// The digest of what was shown, in hex.
    pub shown_digest: String,
}

/// Counts the answers of people.
#[derive(Debug, Clone)]
pub struct Votes {
    approvals: Approvals,
}

impl Votes {
    pub(super) fn new(approvals: Approvals) -> Self {
        Self { approvals }
    }

    /// Answers a question. The first answer wins; the next ones are told who won.
    pub async fn vote(
        &self,
        caller: &Authorized<RunsWrite>,
        id: ApprovalId,
        answer: &Answer,
    ) -> Result<Approval, ServiceError> {
        let deps = &self.approvals.deps;
        let run = caller.load(self.approvals.find(id).await?)?.run;
        let mut locked = LockedRun::begin(&deps.store, run).await?;
        let stored = rows::load(&mut locked.tx, id).await?.ok_or(ServiceError::NOT_FOUND)?;
        let approval = self.approvals.open_question(stored)?;
        // Read again under the lock: a role may have been taken away while the request waited.
        let role = memberships::lock(&mut locked.tx, caller.tenant(), caller.principal).await?;
        let role = role.filter(|role| role.allows(Permission::RunsWrite)).ok_or(ServiceError::NOT_FOUND)?;
        let policy = ApprovalPolicy::default();
        let voter = Voter {
            principal: caller.principal,
            kind: principal_kind(caller.kind),
            token: caller.kind,
            may_decide: role.allows(Permission::ApprovalsDecide),
            is_creator: locked.run.created_by == caller.principal,
            peer: Peer::Other,
        };
        check_voter(&policy, &voter).map_err(ApprovalError::from)?;
        let ApprovalState::Pending { .. } = approval.state else {
            return Err(ApprovalError::AlreadyDecided(Box::new(approval.state)).into());
        };
        if approval.shown.to_string() != answer.shown_digest {
            return Err(ApprovalError::NotShown.into());
        }
        let option = approval.question.option(&answer.option).ok_or(ApprovalError::UnknownOption)?;
        let vote = Vote { principal: caller.principal, option: option.id.clone(), effect: option.effect };
        let VoteResult::Chosen { by, .. } = count_votes(policy.mediation, &[vote], 0) else {
            return Ok(approval);
        };
        let decision = Decision::new(option, DecidedBy::People(by), locked.run.now);
        let state = approval.state.decide(decision.map_err(ApprovalError::from)?);
        let state = state.map_err(ApprovalError::from)?;
        locked.set_approval_state(id, approval.command, &state).await?;
        let detail = json!({
            "runId": run.to_string(), "optionId": option.id, "effect": option.effect,
            "shownDigest": answer.shown_digest,
        });
        let event = AuditEvent::by_member(caller, "approval.decided", id.to_string(), detail);
        audit::record(&mut locked.tx, &event).await?;
        let waited = locked.run.now.duration_since(approval.created_at);
        let effect = option.effect.as_str();
        locked.commit(&deps.journals).await?;
        counter!("guildhall_approvals_decided_total", "effect" => effect, "by" => "people").increment(1);
        histogram!("guildhall_approval_wait_seconds").record(waited.as_secs_f64());
        Ok(Approval { state, ..approval })
    }
}

fn principal_kind(token: TokenKind) -> PrincipalKind {
    match token {
        TokenKind::User => PrincipalKind::Person,
        TokenKind::Service => PrincipalKind::Service,
        TokenKind::External => PrincipalKind::External,
        TokenKind::Agent | TokenKind::Enrolment | TokenKind::Run => PrincipalKind::Agent,
    }
}
