//! Questions that an agent asks again, because its process or its turn has ended before it got the answer.

use guildhall_domain::approvals::form::{AnswerContent, check_content};
use guildhall_domain::approvals::policy::ApprovalPolicy;
use guildhall_domain::approvals::question::{AnswerOption, InvalidQuestion, OptionEffect, Question};
use guildhall_domain::approvals::state::{
    ActionIdentity, ApprovalState, DecidedBy, Decision, EarlierApproval, RepeatedQuestion, answer_repeated,
};
use guildhall_domain::ids::{ApprovalId, CommandId};
use guildhall_identity::payload_seal::PayloadSealer;
use guildhall_store::approvals::{self as rows, StoredApproval};

use super::content;
use super::error::ApprovalError;
use crate::ServiceError;
use crate::run_steps::LockedRun;

/// Earlier questions about the same action that are looked at.
const MAX_EARLIER: u32 = 20;

/// An answer that needs nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReusableAnswer {
    pub(super) decision: Decision,
    /// The values, for an option that answers.
    pub(super) content: Option<AnswerContent>,
}

impl From<Decision> for ReusableAnswer {
    fn from(decision: Decision) -> Self {
        Self { decision, content: None }
    }
}

/// Returns the answer to a question that was answered before, and stores that the earlier answer is used. None if people
/// are asked.
pub(super) async fn find_answer(
    locked: &mut LockedRun,
    sealer: &PayloadSealer,
    command: CommandId,
    question: &Question,
    policy: &ApprovalPolicy,
) -> Result<Option<ReusableAnswer>, ServiceError> {
    let Some(action) = question.action.digest() else { return Ok(None) };
    let session = locked.run.session;
    let earlier = rows::load_same_action(&mut locked.tx, session, action, MAX_EARLIER).await?;
    let approvals: Vec<EarlierApproval> =
        earlier.iter().map(|stored| earlier_approval(stored, command)).collect();
    let identity = ActionIdentity { session, policy_version: policy.version, action: Some(action) };
    let (now, mut values) = (locked.run.now, None);
    let (id, option) = match answer_repeated(identity, &approvals, policy.reuse_within, now) {
        RepeatedQuestion::Ask => return Ok(None),
        RepeatedQuestion::Deny(id) => (id, question.denial()),
        // The agent does not accept a denial: it gets no other answer.
        RepeatedQuestion::Interrupt => match approvals.last() {
            Some(last) => (last.id, question.denial()),
            None => return Ok(None),
        },
        RepeatedQuestion::Reuse(id) => {
            let Some(stored) = earlier.iter().find(|stored| stored.id == id) else { return Ok(None) };
            let Some(option) = same_option(question, stored) else { return Ok(None) };
            values = earlier_content(locked, sealer, id).await?;
            // Values that the form of this question does not allow are asked for again.
            let form = question.form().map_err(InvalidQuestion::from).map_err(ApprovalError::from)?;
            let form = form.filter(|_| option.effect == OptionEffect::Answer);
            if check_content(form.as_ref(), values.as_ref()).is_err() {
                return Ok(None);
            }
            let reused = stored.state.reuse().map_err(ApprovalError::from)?;
            locked.set_approval_state(id, stored.command, &reused).await?;
            (id, Some(option))
        }
    };
    let Some(option) = option else { return Ok(None) };
    let decision = Decision::new(option, DecidedBy::EarlierApproval(id), now);
    Ok(Some(ReusableAnswer { decision: decision.map_err(ApprovalError::from)?, content: values }))
}

/// Returns the values of an earlier answer.
async fn earlier_content(
    locked: &mut LockedRun,
    sealer: &PayloadSealer,
    id: ApprovalId,
) -> Result<Option<AnswerContent>, ServiceError> {
    let sealed = rows::load_content(&mut locked.tx, id).await?;
    Ok(sealed.map(|sealed| content::open(sealer, id, &sealed)).transpose()?)
}

fn earlier_approval(stored: &StoredApproval, command: CommandId) -> EarlierApproval {
    EarlierApproval {
        id: stored.id,
        identity: ActionIdentity {
            session: stored.session,
            policy_version: stored.policy_version,
            action: stored.action,
        },
        state: stored.state.clone(),
        is_of_this_turn: stored.command == command,
    }
}

/// Returns the option of the question that the earlier answer chose.
fn same_option<'a>(question: &'a Question, earlier: &StoredApproval) -> Option<&'a AnswerOption> {
    let decision = earlier.state.decision()?;
    question.option(decision.option()).filter(|option| option.effect == decision.effect())
}

/// Who made a decision, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DecisionOrigin {
    pub(super) by: DecidedBy,
    /// Whether the owners of the tenant were asked; none if this question was answered itself.
    pub(super) was_escalated: Option<bool>,
}

/// Returns the origin of a decision, over earlier answers that it repeats.
pub(super) async fn origin_of(
    locked: &mut LockedRun,
    decision: &Decision,
) -> Result<Option<DecisionOrigin>, ServiceError> {
    let mut origin = DecisionOrigin { by: decision.by().clone(), was_escalated: None };
    for _ in 0..MAX_EARLIER {
        let DecidedBy::EarlierApproval(id) = origin.by else { return Ok(Some(origin)) };
        let Some(stored) = rows::load(&mut locked.tx, id).await? else { return Ok(None) };
        let Some(earlier) = stored.state.decision() else { return Ok(None) };
        origin = DecisionOrigin { by: earlier.by().clone(), was_escalated: Some(stored.is_escalated) };
    }
    Ok(None)
}

/// Returns the state of a new question.
pub(super) fn first_state(answer: Option<Decision>) -> Result<ApprovalState, ServiceError> {
    let pending = ApprovalState::Pending { is_parked: false };
    Ok(match answer {
        Some(decision) => pending.decide(decision).map_err(ApprovalError::from)?,
        None => pending,
    })
}
