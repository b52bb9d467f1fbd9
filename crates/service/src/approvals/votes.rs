//! Answers of people.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::principal::TokenKind;
use guildhall_domain::access::role::rights::RunsWrite;
use guildhall_domain::approvals::approval::Approval;
use guildhall_domain::approvals::form::AnswerContent;
use guildhall_domain::approvals::policy::Mediation;
use guildhall_domain::approvals::question::{AnswerOption, Question};
use guildhall_domain::approvals::rule::RuleScopeKind;
use guildhall_domain::approvals::state::{ApprovalState, DecidedBy, Decision};
use guildhall_domain::approvals::vote::Vote;
use guildhall_domain::approvals::voter::ClientConnection;
use guildhall_domain::ids::ApprovalId;
use guildhall_domain::runs::event;
use guildhall_store::{approval_policies, approval_votes, approvals as rows, memberships};
use metrics::{counter, histogram};
use serde_json::json;

use super::error::ApprovalError;
use super::listed::ListedApproval;
use super::voters::{self, VoterRules};
use super::{Approvals, content, notice_subject, parked, rules};
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::run_steps::LockedRun;

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub option: String,
    /// The digest of what was shown, in hex.
    pub shown_digest: String,
    /// How the caller is connected.
    pub peer: ClientConnection,
    /// Where the answer is remembered; none for this question only.
    pub remember: Option<RuleScopeKind>,
    /// The values of the form, for an option that answers.
    pub content: Option<AnswerContent>,
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

    /// Answers a question. The policy of the question says when the answers decide it; an answer after that is told who
    /// won. Repeating an answer that has not decided changes nothing.
    pub async fn vote(
        &self,
        caller: &Authorized<RunsWrite>,
        id: ApprovalId,
        answer: &Answer,
    ) -> Result<ListedApproval, ServiceError> {
        let deps = &self.approvals.deps;
        let run = caller.load(self.approvals.find(id).await?)?.run;
        let mut locked = LockedRun::begin(&deps.store, run).await?;
        let stored = rows::load(&mut locked.tx, id).await?.ok_or(ServiceError::NOT_FOUND)?;
        let approval = self.approvals.open_question(stored)?;
        let tenant = caller.tenant();
        let policy = approval_policies::load_version(&mut locked.tx, tenant, approval.policy_version).await?;
        let voter_rules =
            VoterRules::load(&mut locked, &policy, approval.command, approval.is_escalated).await?;
        check_caller(&mut locked, caller, &voter_rules, answer.peer).await?;
        let option = check_answer(&approval, answer, locked.run.now)?;
        let sealed =
            content::check_and_seal(&deps.payload_sealer, &approval, option, answer.content.as_ref())?;
        if let Some(scope) = answer.remember {
            rules::remember(&mut locked, caller, &approval, &policy, option, scope).await?;
        }
        let vote = Vote {
            principal: caller.principal,
            option: option.id.clone(),
            effect: option.effect,
            content: sealed.as_ref().map(|content| content.digest),
        };
        let sealed = sealed.as_ref().map(|content| content.sealed.as_slice());
        let is_new = approval_votes::insert(&mut locked.tx, id, &vote, sealed).await?;
        if !is_new {
            check_same_answer(&mut locked, id, &vote).await?;
        }
        let (result, votes) = voter_rules.count(&mut locked, id).await?;
        let Some(decision) = voters::decision(&approval.question, result, locked.run.now)? else {
            if is_new {
                record_vote(&mut locked, caller, &approval, &voter_rules, option, votes).await?;
                locked.commit(deps).await?;
            }
            return Ok(ListedApproval { approval, can_answer: false, mediation: policy.mediation });
        };
        let (approvals, actor) = (&self.approvals, Some(caller.principal));
        let state = parked::decide(approvals, &mut locked, actor, &approval, decision.clone()).await?;
        rows::limit_content(&mut locked.tx, id, policy.reuse_within).await?;
        let detail = json!({
            "runId": run.to_string(), "optionId": option.id, "effect": option.effect,
            "shownDigest": answer.shown_digest, "decided": decision.effect(), "by": decision.by().names(),
        });
        let event = AuditEvent::by_member(caller, "approval.decided", id.to_string(), detail);
        audit::record(&mut locked.tx, &event).await?;
        locked.approval_notices(deps).decided(notice_subject(&approval), &decision).await?;
        let waited = locked.run.now.duration_since(approval.created_at);
        let waiting = locked.run.lease.is_none().then(|| locked.run.clone());
        locked.commit(deps).await?;
        if let Some(waiting) = waiting {
            deps.offers.announce(&waiting).await;
        }
        count_decision(&approval.question, &decision);
        let kind = approval.question.action.kind.as_str();
        histogram!("guildhall_approval_wait_seconds", "kind" => kind).record(waited.as_secs_f64());
        let approval = Approval { state, ..approval };
        Ok(ListedApproval { approval, can_answer: false, mediation: policy.mediation })
    }
}

/// Checks who answers. The role is read again under the lock: it may have been taken away while the request waited.
async fn check_caller(
    locked: &mut LockedRun,
    caller: &Authorized<RunsWrite>,
    voter_rules: &VoterRules<'_>,
    peer: ClientConnection,
) -> Result<(), ServiceError> {
    let role = match caller.kind {
        TokenKind::External => None,
        TokenKind::User | TokenKind::Agent | TokenKind::Service | TokenKind::Enrolment | TokenKind::Run => {
            let role = memberships::lock_member(&mut locked.tx, caller.tenant(), caller.principal).await?;
            Some(role.ok_or(ServiceError::NOT_FOUND)?)
        }
    };
    Ok(voter_rules.check(caller, role, peer).map_err(ApprovalError::from)?)
}

/// Checks that an answer is the one that the voter has given before: it may be counted already, so it cannot be changed.
async fn check_same_answer(locked: &mut LockedRun, id: ApprovalId, vote: &Vote) -> Result<(), ServiceError> {
    match approval_votes::load_own(&mut locked.tx, id, vote.principal).await? {
        Some(own) if !own.is_same_answer(vote) => Err(ApprovalError::OtherAnswer(own.option).into()),
        Some(_) | None => Ok(()),
    }
}

/// Checks that the question can be answered, and with what. Returns the chosen option.
fn check_answer<'a>(
    approval: &'a Approval,
    answer: &Answer,
    now: jiff::Timestamp,
) -> Result<&'a AnswerOption, ServiceError> {
    let ApprovalState::Pending { .. } = approval.state else {
        return Err(ApprovalError::AlreadyDecided(Box::new(approval.state.clone())).into());
    };
    // Nobody has denied it yet, but its time is over.
    if approval.expires_at <= now {
        return Err(ApprovalError::Expired.into());
    }
    if approval.shown.to_string() != answer.shown_digest {
        return Err(ApprovalError::NotShown.into());
    }
    Ok(approval.question.option(&answer.option).ok_or(ApprovalError::UnknownOption)?)
}

/// Records an answer that does not decide yet.
async fn record_vote(
    locked: &mut LockedRun,
    caller: &Authorized<RunsWrite>,
    approval: &Approval,
    voter_rules: &VoterRules<'_>,
    option: &AnswerOption,
    votes: usize,
) -> Result<(), ServiceError> {
    let quorum = match voter_rules.policy.mediation {
        Mediation::Consensus { quorum, .. } => quorum.get(),
        Mediation::FirstResponder | Mediation::Designated { .. } | Mediation::LocalOnly => 1,
    };
    let payload = json!({
        "approvalId": approval.id.to_string(), "optionId": option.id, "by": caller.principal.to_string(),
        "votes": votes, "quorum": quorum,
    });
    locked.append_approval_event(event::APPROVAL_VOTE, approval.command, payload);
    let detail = json!({ "runId": approval.run.to_string(), "optionId": option.id, "effect": option.effect });
    let event = AuditEvent::by_member(caller, "approval.voted", approval.id.to_string(), detail);
    audit::record(&mut locked.tx, &event).await
}

/// Counts a new question in the metrics, and its answer if it has one already.
pub(super) fn count_question(question: &Question, state: &ApprovalState) {
    let kind = question.action.kind.as_str();
    counter!("guildhall_approvals_requested_total", "kind" => kind).increment(1);
    if let Some(decision) = state.decision() {
        count_decision(question, decision);
    }
}

/// Counts a decision in the metrics. The names of tools are text of agents, so their kind is the label.
pub(super) fn count_decision(question: &Question, decision: &Decision) {
    let by = match decision.by() {
        DecidedBy::People(_) => "people",
        DecidedBy::Rule(_) => "rule",
        DecidedBy::EarlierApproval(_) => "earlier",
        DecidedBy::Expiry => "expiry",
        DecidedBy::UnreachableQuorum => "quorum",
        DecidedBy::DisabledTool => "disabled-tool",
    };
    let (effect, kind) = (decision.effect().as_str(), question.action.kind.as_str());
    counter!("guildhall_approvals_decided_total", "effect" => effect, "by" => by, "kind" => kind)
        .increment(1);
}
