//! An approval, as readers see it.

use jiff::Timestamp;

use super::digest::ShownDigest;
use super::question::Question;
use super::state::ApprovalState;
use crate::access::authorized::TenantObject;
use crate::ids::{ApprovalId, CommandId, RunId, SessionId, TenantId};

/// A question of an agent, and what has become of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    pub id: ApprovalId,
    pub tenant: TenantId,
    pub session: SessionId,
    pub run: RunId,
    /// The turn that asks.
    pub command: CommandId,
    pub question: Question,
    pub shown: ShownDigest,
    pub state: ApprovalState,
    pub created_at: Timestamp,
    /// Denied then, if there is no answer.
    pub expires_at: Timestamp,
}

impl TenantObject for Approval {
    fn tenant(&self) -> TenantId {
        self.tenant
    }
}
