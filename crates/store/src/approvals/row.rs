//! A row of an approval.

use guildhall_domain::approvals::digest::{ActionDigest, ShownDigest};
use guildhall_domain::approvals::question::{AnswerOption, OptionEffect};
use guildhall_domain::approvals::state::{ApprovalState, ApprovalStatus, DecidedBy, Decision, EndReason};
use guildhall_domain::ids::{ApprovalId, ApprovalRuleId, CommandId, PrincipalId, RunId, SessionId, TenantId};
use jiff_sqlx::Timestamp;
use uuid::Uuid;

use crate::StoreError;

/// An approval as it is stored.
#[derive(Debug, Clone)]
pub struct StoredApproval {
    pub id: ApprovalId,
    pub tenant: TenantId,
    pub session: SessionId,
    pub run: RunId,
    pub command: CommandId,
    /// The agent's process that asks.
    pub process: String,
    pub sealed_question: Vec<u8>,
    pub shown: ShownDigest,
    /// None if it is not known what would be executed.
    pub action: Option<ActionDigest>,
    pub policy_version: u32,
    pub state: ApprovalState,
    pub created_at: jiff::Timestamp,
    pub expires_at: jiff::Timestamp,
    /// Whether the owners of the tenant are asked, because nobody answered in time.
    pub is_escalated: bool,
}

/// The columns that every query selects.
pub(super) struct ApprovalRow {
    pub(super) id: Uuid,
    pub(super) tenant: Uuid,
    pub(super) session: Uuid,
    pub(super) run: Uuid,
    pub(super) command: Uuid,
    pub(super) process: String,
    pub(super) sealed_question: Vec<u8>,
    pub(super) shown_digest: Vec<u8>,
    pub(super) action_digest: Option<Vec<u8>>,
    pub(super) policy_version: i32,
    pub(super) status: String,
    pub(super) parked: bool,
    pub(super) end_reason: Option<String>,
    pub(super) option_id: Option<String>,
    pub(super) effect: Option<String>,
    pub(super) decided_by_kind: Option<String>,
    pub(super) decided_by: Vec<Uuid>,
    pub(super) decided_at: Option<Timestamp>,
    pub(super) created_at: Timestamp,
    pub(super) expires_at: Timestamp,
    pub(super) is_escalated: bool,
}

impl ApprovalRow {
    pub(super) fn into_approval(self) -> Result<StoredApproval, StoreError> {
        let unreadable = || StoreError::Unreadable {
            column: "approvals",
            source: "the columns of an approval contradict each other".into(),
        };
        let bytes = |digest: &[u8]| <[u8; 32]>::try_from(digest).map_err(|_| unreadable());
        Ok(StoredApproval {
            id: ApprovalId::from_uuid(self.id),
            tenant: TenantId::from_uuid(self.tenant),
            session: SessionId::from_uuid(self.session),
            run: RunId::from_uuid(self.run),
            command: CommandId::from_uuid(self.command),
            shown: ShownDigest::from_bytes(bytes(&self.shown_digest)?),
            action: match &self.action_digest {
                Some(digest) => Some(ActionDigest::from_bytes(bytes(digest)?)),
                None => None,
            },
            policy_version: u32::try_from(self.policy_version).map_err(|_| unreadable())?,
            state: self.state().ok_or_else(unreadable)?,
            process: self.process,
            sealed_question: self.sealed_question,
            created_at: self.created_at.to_jiff(),
            expires_at: self.expires_at.to_jiff(),
            is_escalated: self.is_escalated,
        })
    }

    /// Returns none if the columns contradict each other: such an approval is never taken for an allowance.
    fn state(&self) -> Option<ApprovalState> {
        let reason = || EndReason::from_name(self.end_reason.as_deref()?).ok();
        Some(match ApprovalStatus::from_name(&self.status).ok()? {
            ApprovalStatus::Pending => ApprovalState::Pending { is_parked: self.parked },
            ApprovalStatus::Withdrawn => ApprovalState::Withdrawn(reason()?),
            ApprovalStatus::Decided => ApprovalState::Decided(self.decision()?),
            ApprovalStatus::Expired => ApprovalState::Expired(self.decision()?),
            ApprovalStatus::Delivering => ApprovalState::Delivering(self.decision()?),
            ApprovalStatus::Delivered => ApprovalState::Delivered(self.decision()?),
            ApprovalStatus::Settled => ApprovalState::Settled(self.decision()?),
            ApprovalStatus::Void => ApprovalState::Void(self.decision()?, reason()?),
            ApprovalStatus::Reused => ApprovalState::Reused(self.decision()?),
            ApprovalStatus::Uncertain => ApprovalState::Uncertain(self.decision()?),
        })
    }

    fn decision(&self) -> Option<Decision> {
        let first = || self.decided_by.first().copied();
        let by = match self.decided_by_kind.as_deref()? {
            "people" => {
                DecidedBy::People(self.decided_by.iter().copied().map(PrincipalId::from_uuid).collect())
            }
            "rule" => DecidedBy::Rule(ApprovalRuleId::from_uuid(first()?)),
            "earlier" => DecidedBy::EarlierApproval(ApprovalId::from_uuid(first()?)),
            "expiry" => DecidedBy::Expiry,
            "quorum" => DecidedBy::UnreachableQuorum,
            "disabled-tool" => DecidedBy::DisabledTool,
            _ => return None,
        };
        let option = AnswerOption {
            id: self.option_id.clone()?,
            label: String::new(),
            effect: OptionEffect::from_name(self.effect.as_deref()?).ok()?,
            changes_mode: false,
        };
        Decision::new(&option, by, self.decided_at?.to_jiff()).ok()
    }
}

/// Returns the columns that say who decided.
pub(super) fn decided_by(by: &DecidedBy) -> (&'static str, Vec<Uuid>) {
    match by {
        DecidedBy::People(people) => ("people", people.iter().map(|person| person.as_uuid()).collect()),
        DecidedBy::Rule(rule) => ("rule", vec![rule.as_uuid()]),
        DecidedBy::EarlierApproval(approval) => ("earlier", vec![approval.as_uuid()]),
        DecidedBy::Expiry => ("expiry", Vec::new()),
        DecidedBy::UnreachableQuorum => ("quorum", Vec::new()),
        DecidedBy::DisabledTool => ("disabled-tool", Vec::new()),
    }
}
