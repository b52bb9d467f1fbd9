//! Questions as runners ask them, and their answers as runners deliver them.

use std::time::Duration;

use guildhall_domain::agents::turn_pipeline::TurnPipeline;
use guildhall_domain::approvals::form::AnswerContent;
use guildhall_domain::approvals::policy::ApprovalPolicy;
use guildhall_domain::approvals::question::{OptionEffect, Question};
use guildhall_domain::approvals::state::{
    ApprovalState, ApprovalStatus, DecidedBy, Decision, DeliveryCheck, DeliveryDecision,
};
use guildhall_domain::ids::{ApprovalId, CommandId};
use guildhall_domain::redact::redact;
use guildhall_domain::runners::enrolment::RunGrant;
use guildhall_domain::runs::event;
use guildhall_store::approvals::{self as rows, NewApproval, StoredApproval};
use guildhall_store::{approval_policies, runs};
use serde_json::json;

use super::error::ApprovalError;
use super::repeated::ReusableAnswer;
use super::voters::{self, VoterRules};
use super::{Approvals, content, delivery, repeated, rules, votes};
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::run_steps::LockedRun;
use crate::run_steps::approval_notices::{Audience, NoticeSubject};
use crate::runs::error::RunError;

/// Size of a question, as JSON. It is shown whole, so a larger one cannot be asked.
const MAX_QUESTION_BYTES: usize = 256 * 1024;

/// Questions of one turn that wait for an answer.
const MAX_OPEN_QUESTIONS: usize = 16;

/// A question of an agent's process.
#[derive(Debug, Clone)]
pub struct NewQuestion {
    /// The turn that asks.
    pub command: CommandId,
    /// The process: a new one for each start of an agent.
    pub process: String,
    /// The process's own id of the request.
    pub request: String,
    /// The tool call that waits for the answer.
    pub call: Option<String>,
    pub question: Question,
}

/// What a runner gets when it takes an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerForProcess {
    pub state: ApprovalState,
    /// The values of the answer; only for the process that the answer was taken for.
    pub content: Option<AnswerContent>,
}

/// Asks the questions of agents, and hands out the answers.
#[derive(Debug, Clone)]
pub struct Questions {
    approvals: Approvals,
}

impl Questions {
    pub(super) fn new(approvals: Approvals) -> Self {
        Self { approvals }
    }

    /// Asks a question. The same request of the same process is asked once.
    pub async fn ask(
        &self,
        grant: &RunGrant,
        asked: &NewQuestion,
    ) -> Result<(ApprovalId, ApprovalState), ServiceError> {
        let NewQuestion { command, process, request, call: _, question } = asked;
        question.check().map_err(ApprovalError::from)?;
        let json = json!(question).to_string();
        if json.len() > MAX_QUESTION_BYTES {
            return Err(ApprovalError::TooLarge(MAX_QUESTION_BYTES).into());
        }
        let deps = &self.approvals.deps;
        let mut locked = self.lock(grant).await?;
        let shown = question.shown_digest();
        if let Some(found) = rows::load_by_request(&mut locked.tx, grant.run, process, request).await? {
            locked.tx.rollback().await?;
            let is_same = found.shown == shown && found.command == *command;
            return if is_same {
                Ok((found.id, found.state))
            } else {
                Err(ApprovalError::OtherQuestion.into())
            };
        }
        if !locked.open.iter().any(|open| open.id == *command && open.state.is_running()) {
            return Err(ApprovalError::NoRunningTurn.into());
        }
        check_open_questions(&mut locked, *command).await?;
        let id = ApprovalId::generate();
        let policy = approval_policies::load(&mut locked.tx, locked.run.tenant).await?;
        let sealed = deps.payload_sealer.seal_question(id.as_uuid(), json.as_bytes());
        let new = NewApproval {
            id,
            tenant: locked.run.tenant,
            session: locked.run.session,
            run: grant.run,
            command: *command,
            process,
            request,
            sealed_question: &sealed.map_err(ApprovalError::Seal)?,
            shown,
            action: question.action.digest(),
            policy_version: policy.version,
            expires_at: locked.run.now + policy.expires_after,
        };
        let answer = self.find_answer(&mut locked, &new, question, &policy).await?;
        rows::insert(&mut locked.tx, &new).await?;
        append_requested(&mut locked, &new, asked, answer.is_some());
        if let Some(found) = answer.as_ref().and_then(|answer| answer.content.as_ref()) {
            self.store_content(&mut locked, id, found, &policy).await?;
        }
        let state = repeated::first_state(answer.map(|answer| answer.decision))?;
        if state.decision().is_some() {
            locked.set_approval_state(id, *command, &state).await?;
        } else {
            let subject = NoticeSubject { id, action: &question.action, expires_at: new.expires_at };
            locked.approval_notices(deps).requested(subject, Audience::Approvers).await?;
        }
        locked.commit(deps).await?;
        votes::count_question(question, &state);
        Ok((id, state))
    }

    /// Waits for the answer to a question, and takes it for delivery. From then on the process may have it: the answer is
    /// never handed to another process. Returns the state after `wait` if there is no answer. A question that waits for
    /// longer than its policy holds the process is parked.
    pub async fn take(
        &self,
        grant: &RunGrant,
        id: ApprovalId,
        process: &str,
        wait: Duration,
    ) -> Result<AnswerForProcess, ServiceError> {
        let state = self.wait_for_state(grant, id, process, wait).await?;
        let content = match &state {
            ApprovalState::Delivering(decision) if decision.effect() == OptionEffect::Answer => {
                self.find_content(id).await?
            }
            ApprovalState::Delivering(_)
            | ApprovalState::Pending { .. }
            | ApprovalState::Decided(_)
            | ApprovalState::Expired(_)
            | ApprovalState::Delivered(_)
            | ApprovalState::Settled(_)
            | ApprovalState::Withdrawn(_)
            | ApprovalState::Void(..)
            | ApprovalState::Reused(_)
            | ApprovalState::Uncertain(_) => None,
        };
        Ok(AnswerForProcess { state, content })
    }

    /// Stores the values of an earlier answer for the question that is asked again.
    async fn store_content(
        &self,
        locked: &mut LockedRun,
        id: ApprovalId,
        found: &AnswerContent,
        policy: &ApprovalPolicy,
    ) -> Result<(), ServiceError> {
        let sealed = content::seal(&self.approvals.deps.payload_sealer, id, found)?.sealed;
        rows::set_content(&mut locked.tx, id, &sealed).await?;
        Ok(rows::limit_content(&mut locked.tx, id, policy.reuse_within).await?)
    }

    async fn find_content(&self, id: ApprovalId) -> Result<Option<AnswerContent>, ServiceError> {
        let deps = &self.approvals.deps;
        let sealed = rows::find_content(&deps.store, id).await?;
        Ok(sealed.map(|sealed| content::open(&deps.payload_sealer, id, &sealed)).transpose()?)
    }

    async fn wait_for_state(
        &self,
        grant: &RunGrant,
        id: ApprovalId,
        process: &str,
        wait: Duration,
    ) -> Result<ApprovalState, ServiceError> {
        let deps = &self.approvals.deps;
        let deadline = tokio::time::Instant::now() + wait;
        let (mut growth, mut held_until) = (None, None);
        loop {
            let stored = rows::find(&deps.store, id).await?;
            let stored = stored.filter(|stored| stored.run == grant.run && stored.process == process);
            let stored = stored.ok_or(ServiceError::NOT_FOUND)?;
            let park_at = match held_until {
                Some(until) => until,
                None => *held_until.insert(self.held_until(&stored).await?),
            };
            let state = stored.state;
            match state.status() {
                ApprovalStatus::Decided | ApprovalStatus::Expired => {
                    return self.start_delivery(grant, id).await;
                }
                ApprovalStatus::Pending if state == (ApprovalState::Pending { is_parked: true }) => {
                    return Ok(state);
                }
                ApprovalStatus::Pending if deps.clock.now() >= park_at => {
                    return self.park(grant, id, stored.command).await;
                }
                ApprovalStatus::Pending => {}
                // The process asks for the answer that it was given, because it did not receive the response.
                ApprovalStatus::Delivering
                | ApprovalStatus::Delivered
                | ApprovalStatus::Settled
                | ApprovalStatus::Withdrawn
                | ApprovalStatus::Void
                | ApprovalStatus::Reused
                | ApprovalStatus::Uncertain => return Ok(state),
            }
            let now = tokio::time::Instant::now();
            if now >= deadline {
                return Ok(state);
            }
            let Some(growth) = &mut growth else {
                growth = Some(deps.journals.watch_growth(runs::stream(grant.run)));
                continue;
            };
            // A lost announcement is found by the poll of all followed streams.
            let held = park_at.duration_since(deps.clock.now()).try_into().unwrap_or(Duration::ZERO);
            let until = deadline.min(now + held);
            let _growth_or_timeout = tokio::time::timeout_at(until, growth.next()).await;
        }
    }

    /// Returns when a question is parked.
    async fn held_until(&self, stored: &StoredApproval) -> Result<jiff::Timestamp, ServiceError> {
        let store = &self.approvals.deps.store;
        let policy = approval_policies::find_version(store, stored.tenant, stored.policy_version).await?;
        Ok(stored.created_at + policy.hold_for)
    }

    /// Parks the questions of a turn: its process ends, and they stay. Returns the state of one of them.
    async fn park(
        &self,
        grant: &RunGrant,
        id: ApprovalId,
        command: CommandId,
    ) -> Result<ApprovalState, ServiceError> {
        let mut locked = self.lock(grant).await?;
        for open in rows::load_open(&mut locked.tx, command).await? {
            if let Ok(state) = open.state.park() {
                locked.set_approval_state(open.id, command, &state).await?;
            }
        }
        let stored = rows::load(&mut locked.tx, id).await?.ok_or(ServiceError::NOT_FOUND)?;
        locked.commit(&self.approvals.deps).await?;
        match stored.state.status() {
            // Answered while this waited for the lock.
            ApprovalStatus::Decided | ApprovalStatus::Expired => self.start_delivery(grant, id).await,
            ApprovalStatus::Pending
            | ApprovalStatus::Delivering
            | ApprovalStatus::Delivered
            | ApprovalStatus::Settled
            | ApprovalStatus::Withdrawn
            | ApprovalStatus::Void
            | ApprovalStatus::Reused
            | ApprovalStatus::Uncertain => Ok(stored.state),
        }
    }

    /// Stores that the process gets the answer, unless it may not be delivered any more.
    async fn start_delivery(&self, grant: &RunGrant, id: ApprovalId) -> Result<ApprovalState, ServiceError> {
        let mut locked = self.lock(grant).await?;
        let stored = rows::load(&mut locked.tx, id).await?.ok_or(ServiceError::NOT_FOUND)?;
        let Some(decision) = stored.state.decision() else {
            locked.tx.rollback().await?;
            return Ok(stored.state);
        };
        let policy = approval_policies::load(&mut locked.tx, stored.tenant).await?;
        let voter_rules = VoterRules::load(&mut locked, &policy, stored.command, stored.is_escalated).await?;
        let check = DeliveryCheck {
            approvers_may_decide: delivery::may_still_decide(&mut locked, &voter_rules, decision).await?,
            is_policy_unchanged: policy.version == stored.policy_version,
        };
        let state = match stored.state.take(check) {
            Ok(DeliveryDecision::Deliver(state) | DeliveryDecision::AskAgain(state)) => state,
            Err(_taken) => {
                locked.tx.rollback().await?;
                return Ok(stored.state);
            }
        };
        locked.set_approval_state(id, stored.command, &state).await?;
        locked.commit(&self.approvals.deps).await?;
        Ok(state)
    }

    /// The process has got the answer. Repeating it changes nothing.
    pub async fn confirm(
        &self,
        grant: &RunGrant,
        id: ApprovalId,
        process: &str,
    ) -> Result<ApprovalState, ServiceError> {
        let mut locked = self.lock(grant).await?;
        let stored = rows::load(&mut locked.tx, id).await?;
        let stored = stored.filter(|stored| stored.run == grant.run && stored.process == process);
        let stored = stored.ok_or(ServiceError::NOT_FOUND)?;
        if matches!(stored.state.status(), ApprovalStatus::Delivered | ApprovalStatus::Settled) {
            locked.tx.rollback().await?;
            return Ok(stored.state);
        }
        let state = stored.state.confirm().map_err(ApprovalError::from)?;
        locked.set_approval_state(id, stored.command, &state).await?;
        let event = AuditEvent {
            log: AuditLog::Tenant(stored.tenant),
            action: "approval.delivered",
            actor: None,
            object: id.to_string(),
            detail: json!({
                "runId": stored.run.to_string(),
                "optionId": state.decision().map(Decision::option),
                "effect": state.decision().map(Decision::effect),
            }),
        };
        audit::record(&mut locked.tx, &event).await?;
        locked.commit(&self.approvals.deps).await?;
        Ok(state)
    }

    /// Returns the answer to a new question that needs nobody: the earlier answer to the same action, that of a rule, or
    /// the denial of a question whose quorum cannot be reached.
    async fn find_answer(
        &self,
        locked: &mut LockedRun,
        new: &NewApproval<'_>,
        question: &Question,
        policy: &ApprovalPolicy,
    ) -> Result<Option<ReusableAnswer>, ServiceError> {
        if let Some(denial) = deny_disabled_tool(locked, new.command, question)? {
            return Ok(Some(denial.into()));
        }
        let sealer = &self.approvals.deps.payload_sealer;
        let answer = repeated::find_answer(locked, sealer, new.command, question, policy).await?;
        if answer.is_some() {
            return Ok(answer);
        }
        let voter_rules = VoterRules::load(locked, policy, new.command, false).await?;
        let remembered = rules::find_answer(locked, question, &voter_rules).await?;
        if remembered.is_some() {
            return Ok(remembered.map(ReusableAnswer::from));
        }
        let (result, _) = voter_rules.count(locked, new.id).await?;
        Ok(voters::decision(question, result, locked.run.now)?.map(ReusableAnswer::from))
    }

    async fn lock(&self, grant: &RunGrant) -> Result<LockedRun, ServiceError> {
        Ok(LockedRun::fenced(&self.approvals.deps.store, grant).await?.ok_or(RunError::LeaseLost)?)
    }
}

/// Returns the denial of a question about a tool that the pipeline of its turn does not enable.
fn deny_disabled_tool(
    locked: &LockedRun,
    command: CommandId,
    question: &Question,
) -> Result<Option<Decision>, ServiceError> {
    let command = locked.open.iter().find(|open| open.id == command);
    let payload = command.and_then(|command| serde_json::from_str(&command.payload).ok());
    let pipeline = payload.as_ref().and_then(TurnPipeline::of_payload);
    let is_enabled = pipeline.is_none_or(|pipeline| pipeline.is_enabled(&question.action.tool));
    if is_enabled || !question.action.kind.uses_tool() {
        return Ok(None);
    }
    let denial = question.denial().ok_or(ApprovalError::UnreadableQuestion)?;
    let decision = Decision::new(denial, DecidedBy::DisabledTool, locked.run.now);
    Ok(Some(decision.map_err(ApprovalError::from)?))
}

/// Appends the event of a new question. The question itself may hold secrets: readers load it with the right to see it.
fn append_requested(locked: &mut LockedRun, new: &NewApproval<'_>, asked: &NewQuestion, is_answered: bool) {
    let action = &asked.question.action;
    let mut payload = json!({
        "approvalId": new.id.to_string(), "kind": action.kind, "tool": action.tool,
        "expiresAt": new.expires_at.to_string(),
    });
    if let Some(call) = &asked.call {
        // As in the event of the call.
        payload["callId"] = json!(redact(call).text);
    }
    if is_answered {
        payload["answered"] = json!(true);
    }
    locked.append_approval_event(event::APPROVAL_REQUESTED, new.command, payload);
}

/// Checks that a turn may ask another question.
async fn check_open_questions(locked: &mut LockedRun, command: CommandId) -> Result<(), ServiceError> {
    let open = rows::load_open(&mut locked.tx, command).await?;
    let is_pending = |open: &&StoredApproval| open.state.status() == ApprovalStatus::Pending;
    if open.iter().filter(is_pending).count() >= MAX_OPEN_QUESTIONS {
        return Err(ApprovalError::TooMany(MAX_OPEN_QUESTIONS).into());
    }
    Ok(())
}
