//! The states of an approval, from the question to its answer in the agent's process.
//!
//! ```text
//! pending ── decide ──> decided ── take ──> delivering ── confirm ──> delivered ── settle ──> settled
//!    │ └── expire ────> expired ── take ──────┘   └── runner lost ──> uncertain
//!    │                    │ └ asker gone ┐
//!    │                 decided ── asker gone, approver or policy changed ──> void ── asked again ──> reused
//!    └── turn ended, cancelled, withdrawn by the agent or a person, runner lost ──> withdrawn
//! ```
//!
//! Each function decides one arrow. The caller holds the lock of the run, and stores the new state with its event in the
//! same transaction. `delivering` is stored before the agent's process gets the answer, so it gets it at most once.

use jiff::{SignedDuration, Timestamp};

use super::digest::ActionDigest;
use super::question::{AnswerOption, OptionEffect};
use crate::ids::{ApprovalId, ApprovalRuleId, PrincipalId, SessionId};
use crate::named_enum::named_enum;

named_enum! {
    /// The name of a state.
    ApprovalStatus, "approval status";
    Pending = "pending",
    Decided = "decided",
    Expired = "expired",
    Delivering = "delivering",
    Delivered = "delivered",
    Settled = "settled",
    Withdrawn = "withdrawn",
    Void = "void",
    Reused = "reused",
    Uncertain = "uncertain",
}

/// Who decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecidedBy {
    People(Vec<PrincipalId>),
    /// A remembered rule, which a person made.
    Rule(ApprovalRuleId),
    /// The answer of people to the same question before.
    EarlierApproval(ApprovalId),
    /// Nobody answered in time.
    Expiry,
    /// The quorum could not be reached any more.
    UnreachableQuorum,
    /// The pipeline of the turn does not enable the tool.
    DisabledTool,
}

impl DecidedBy {
    /// Returns whether a person is behind it, now or when they made the rule.
    #[must_use]
    pub fn is_human(&self) -> bool {
        match self {
            Self::People(people) => !people.is_empty(),
            Self::Rule(_) | Self::EarlierApproval(_) => true,
            Self::Expiry | Self::UnreachableQuorum | Self::DisabledTool => false,
        }
    }
}

impl DecidedBy {
    /// Returns the ids of those who decided, or what decided instead of a person.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        match self {
            Self::People(people) => people.iter().map(PrincipalId::to_string).collect(),
            Self::Rule(rule) => vec![rule.to_string()],
            Self::EarlierApproval(approval) => vec![approval.to_string()],
            Self::Expiry => vec!["expiry".to_owned()],
            Self::UnreachableQuorum => vec!["quorum".to_owned()],
            Self::DisabledTool => vec!["disabled-tool".to_owned()],
        }
    }
}

/// An answer. It cannot be built without a person if it allows something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    option: String,
    effect: OptionEffect,
    by: DecidedBy,
    at: Timestamp,
}

/// A decision that would allow something without a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("only a person, or a rule that a person made, can allow an action")]
pub struct DecisionError;

impl Decision {
    pub fn new(option: &AnswerOption, by: DecidedBy, at: Timestamp) -> Result<Self, DecisionError> {
        match option.effect {
            OptionEffect::Allow | OptionEffect::Answer if !by.is_human() => Err(DecisionError),
            OptionEffect::Allow | OptionEffect::Answer | OptionEffect::Deny => {
                Ok(Self { option: option.id.clone(), effect: option.effect, by, at })
            }
        }
    }

    #[must_use]
    pub fn option(&self) -> &str {
        &self.option
    }

    #[must_use]
    pub const fn effect(&self) -> OptionEffect {
        self.effect
    }

    #[must_use]
    pub const fn by(&self) -> &DecidedBy {
        &self.by
    }

    #[must_use]
    pub const fn at(&self) -> Timestamp {
        self.at
    }
}

named_enum! {
    /// Why a question was withdrawn, or its answer has become void.
    EndReason, "end reason";
    TurnEnded = "turn-ended",
    Cancelled = "cancelled",
    WithdrawnByAgent = "withdrawn-by-agent",
    /// A person ended the question without an answer.
    WithdrawnByPerson = "withdrawn-by-person",
    RunnerLost = "runner-lost",
    /// An approver lost the right to answer before the answer was delivered.
    ApproverRevoked = "approver-revoked",
    /// The policy or the sandbox changed before the answer was delivered.
    PolicyChanged = "policy-changed",
}

/// The state of an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalState {
    Pending {
        /// Whether the agent's process has ended, and asks again when there is an answer.
        is_parked: bool,
    },
    Decided(Decision),
    Expired(Decision),
    Delivering(Decision),
    Delivered(Decision),
    /// The action has ended, or did not start.
    Settled(Decision),
    Withdrawn(EndReason),
    /// Decided, but the process that asked is gone. The answer may be used once more.
    Void(Decision, EndReason),
    /// The answer was given to the same question, asked again.
    Reused(Decision),
    /// The process may have got the answer. Nobody can know, so it is never repeated.
    Uncertain(Decision),
}

/// Why a transition is impossible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the approval is {status}")]
pub struct WrongState {
    pub status: ApprovalStatus,
}

/// Whether an answer may still be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryCheck {
    /// Everyone who decided may still decide.
    pub approvers_may_decide: bool,
    /// The policy and the sandbox are those of the question.
    pub is_policy_unchanged: bool,
}

/// The result of taking an answer for delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryDecision {
    /// Store this state, then give the answer to the agent.
    Deliver(ApprovalState),
    /// Store this state, and ask again.
    AskAgain(ApprovalState),
}

impl ApprovalState {
    #[must_use]
    pub const fn status(&self) -> ApprovalStatus {
        match self {
            Self::Pending { .. } => ApprovalStatus::Pending,
            Self::Decided(_) => ApprovalStatus::Decided,
            Self::Expired(_) => ApprovalStatus::Expired,
            Self::Delivering(_) => ApprovalStatus::Delivering,
            Self::Delivered(_) => ApprovalStatus::Delivered,
            Self::Settled(_) => ApprovalStatus::Settled,
            Self::Withdrawn(_) => ApprovalStatus::Withdrawn,
            Self::Void(..) => ApprovalStatus::Void,
            Self::Reused(_) => ApprovalStatus::Reused,
            Self::Uncertain(_) => ApprovalStatus::Uncertain,
        }
    }

    /// Returns whether those who answer see this change: a question waits, or does not wait any more. The way of an answer
    /// to its process is not their concern.
    #[must_use]
    pub const fn concerns_approvers(&self) -> bool {
        match self {
            Self::Pending { .. } | Self::Decided(_) | Self::Expired(_) | Self::Withdrawn(_) => true,
            Self::Delivering(_)
            | Self::Delivered(_)
            | Self::Settled(_)
            | Self::Void(..)
            | Self::Reused(_)
            | Self::Uncertain(_) => false,
        }
    }

    /// Returns the answer, if there is one.
    #[must_use]
    pub const fn decision(&self) -> Option<&Decision> {
        match self {
            Self::Decided(decision)
            | Self::Expired(decision)
            | Self::Delivering(decision)
            | Self::Delivered(decision)
            | Self::Settled(decision)
            | Self::Void(decision, _)
            | Self::Reused(decision)
            | Self::Uncertain(decision) => Some(decision),
            Self::Pending { .. } | Self::Withdrawn(_) => None,
        }
    }

    /// Returns why the question was withdrawn, or its answer became void.
    #[must_use]
    pub const fn end_reason(&self) -> Option<EndReason> {
        match self {
            Self::Withdrawn(reason) | Self::Void(_, reason) => Some(*reason),
            Self::Pending { .. }
            | Self::Decided(_)
            | Self::Expired(_)
            | Self::Delivering(_)
            | Self::Delivered(_)
            | Self::Settled(_)
            | Self::Reused(_)
            | Self::Uncertain(_) => None,
        }
    }

    /// Returns whether the values of an answer are still needed: they are given to the process that asked, or to the next
    /// one that asks the same.
    #[must_use]
    pub const fn needs_content(&self) -> bool {
        match self {
            Self::Decided(_) | Self::Delivering(_) => true,
            Self::Void(_, reason) => reason.leaves_answer_valid(),
            Self::Pending { .. }
            | Self::Expired(_)
            | Self::Delivered(_)
            | Self::Settled(_)
            | Self::Withdrawn(_)
            | Self::Reused(_)
            | Self::Uncertain(_) => false,
        }
    }

    const fn wrong(&self) -> WrongState {
        WrongState { status: self.status() }
    }

    /// Decides a pending question. The first decision wins.
    pub fn decide(&self, decision: Decision) -> Result<Self, WrongState> {
        let Self::Pending { .. } = self else { return Err(self.wrong()) };
        Ok(if *decision.by() == DecidedBy::Expiry {
            Self::Expired(decision)
        } else {
            Self::Decided(decision)
        })
    }

    /// Parks a pending question: the agent's process ends, and the question stays.
    pub fn park(&self) -> Result<Self, WrongState> {
        let Self::Pending { .. } = self else { return Err(self.wrong()) };
        Ok(Self::Pending { is_parked: true })
    }

    /// Withdraws a pending question without an answer: a process that waits for it declines the action.
    pub fn withdraw(&self) -> Result<Self, WrongState> {
        let Self::Pending { .. } = self else { return Err(self.wrong()) };
        Ok(Self::Withdrawn(EndReason::WithdrawnByPerson))
    }

    /// Takes an answer for delivery, if it may still be delivered. A denial always may.
    pub fn take(&self, check: DeliveryCheck) -> Result<DeliveryDecision, WrongState> {
        let (Self::Decided(decision) | Self::Expired(decision)) = self else { return Err(self.wrong()) };
        let reason = match check {
            _ if decision.effect() == OptionEffect::Deny => None,
            DeliveryCheck { approvers_may_decide: false, .. } => Some(EndReason::ApproverRevoked),
            DeliveryCheck { is_policy_unchanged: false, .. } => Some(EndReason::PolicyChanged),
            DeliveryCheck { approvers_may_decide: true, is_policy_unchanged: true } => None,
        };
        Ok(match reason {
            Some(reason) => DeliveryDecision::AskAgain(Self::Void(decision.clone(), reason)),
            None => DeliveryDecision::Deliver(Self::Delivering(decision.clone())),
        })
    }

    /// The agent's process has got the answer.
    pub fn confirm(&self) -> Result<Self, WrongState> {
        let Self::Delivering(decision) = self else { return Err(self.wrong()) };
        Ok(Self::Delivered(decision.clone()))
    }

    /// The action has ended.
    pub fn settle(&self) -> Result<Self, WrongState> {
        let Self::Delivered(decision) = self else { return Err(self.wrong()) };
        Ok(Self::Settled(decision.clone()))
    }

    /// The process that asked is gone, or does not want an answer any more. Returns none if that changes nothing.
    #[must_use]
    pub fn asker_gone(&self, reason: EndReason) -> Option<Self> {
        match self {
            // It waits for the next process, until it is cancelled.
            Self::Pending { is_parked: true } if reason == EndReason::RunnerLost => None,
            Self::Pending { is_parked: true } if reason == EndReason::TurnEnded => None,
            Self::Pending { .. } => Some(Self::Withdrawn(reason)),
            Self::Decided(decision) | Self::Expired(decision) => Some(Self::Void(decision.clone(), reason)),
            // The process is still there, and its runner says whether it got the answer.
            Self::Delivering(_) if reason == EndReason::Cancelled => None,
            Self::Delivering(decision) => Some(Self::Uncertain(decision.clone())),
            Self::Delivered(_)
            | Self::Settled(_)
            | Self::Withdrawn(_)
            | Self::Void(..)
            | Self::Reused(_)
            | Self::Uncertain(_) => None,
        }
    }

    /// Returns whether a parked turn is continued for this answer: people have given it, and no process has got it.
    #[must_use]
    pub fn continues_turn(&self) -> bool {
        let decision = match self {
            Self::Decided(decision) => decision,
            Self::Void(decision, reason) if reason.leaves_answer_valid() => decision,
            Self::Pending { .. }
            | Self::Expired(_)
            | Self::Delivering(_)
            | Self::Delivered(_)
            | Self::Settled(_)
            | Self::Withdrawn(_)
            | Self::Void(..)
            | Self::Reused(_)
            | Self::Uncertain(_) => return false,
        };
        match decision.by() {
            // Too few were left after the last answer of a person.
            DecidedBy::People(_) | DecidedBy::UnreachableQuorum => true,
            DecidedBy::Rule(_)
            | DecidedBy::EarlierApproval(_)
            | DecidedBy::Expiry
            | DecidedBy::DisabledTool => false,
        }
    }

    /// Uses a void answer for the same question, asked again. An answer whose approver or policy changed is not used.
    pub fn reuse(&self) -> Result<Self, WrongState> {
        let Self::Void(decision, reason) = self else { return Err(self.wrong()) };
        if reason.leaves_answer_valid() { Ok(Self::Reused(decision.clone())) } else { Err(self.wrong()) }
    }
}

impl EndReason {
    const fn leaves_answer_valid(self) -> bool {
        match self {
            Self::TurnEnded | Self::WithdrawnByAgent | Self::RunnerLost => true,
            Self::Cancelled | Self::WithdrawnByPerson | Self::ApproverRevoked | Self::PolicyChanged => false,
        }
    }
}

/// An earlier approval of a session, and the question that is asked now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionIdentity {
    pub session: SessionId,
    pub policy_version: u32,
    /// None if it is not known what would be executed.
    pub action: Option<ActionDigest>,
}

/// An approval that may answer a question which is asked again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierApproval {
    pub id: ApprovalId,
    pub identity: ActionIdentity,
    pub state: ApprovalState,
    /// Whether it is of the same turn as the question.
    pub is_of_this_turn: bool,
}

/// What happens to a question that may have been asked before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepeatedQuestion {
    /// Ask people.
    Ask,
    /// Use the answer of this approval, once.
    Reuse(ApprovalId),
    /// It was denied in this turn: deny it again without asking.
    Deny(ApprovalId),
    /// The agent does not accept the denial: end the turn.
    Interrupt,
}

/// Denials of the same action in one turn, after which the turn ends.
const MAX_DENIALS: usize = 2;

/// Decides about a question by earlier ones, oldest first. An uncertain one never answers: people decide again.
#[must_use]
pub fn answer_repeated(
    question: ActionIdentity,
    earlier: &[EarlierApproval],
    reuse_within: SignedDuration,
    now: Timestamp,
) -> RepeatedQuestion {
    if question.action.is_none() {
        return RepeatedQuestion::Ask;
    }
    let same = || earlier.iter().filter(|approval| approval.identity == question);
    let is_denied = |approval: &&EarlierApproval| {
        approval.is_of_this_turn
            && approval.state.decision().is_some_and(|decision| decision.effect() == OptionEffect::Deny)
    };
    let denials = same().filter(is_denied).count();
    if denials >= MAX_DENIALS {
        return RepeatedQuestion::Interrupt;
    }
    if let Some(denied) = same().rev().find(is_denied) {
        return RepeatedQuestion::Deny(denied.id);
    }
    let is_fresh = |decision: &Decision| now.duration_since(decision.at()) <= reuse_within;
    let reusable = same()
        .find(|approval| approval.state.reuse().is_ok() && approval.state.decision().is_some_and(is_fresh));
    reusable.map_or(RepeatedQuestion::Ask, |approval| RepeatedQuestion::Reuse(approval.id))
}
