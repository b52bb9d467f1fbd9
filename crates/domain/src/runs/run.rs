//! A run as read from the store.

use jiff::Timestamp;

use super::RunState;
use super::event::Usage;
use super::lease::{Lease, PreviousHolder};
use crate::access::authorized::TenantObject;
use crate::ids::{PrincipalId, RunId, RunnerId, SessionId, TenantId};
use crate::journal::Seq;

/// A run with its lease, and the database time of the read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub id: RunId,
    pub tenant: TenantId,
    pub tenant_slug: String,
    pub session: SessionId,
    pub ordinal: i32,
    /// The first words of its first turn.
    pub title: Option<String>,
    pub project: String,
    pub provider: String,
    pub backend_profile: String,
    pub workspace_ref: String,
    pub execution_policy: String,
    pub trace_sink: Option<String>,
    pub created_by: PrincipalId,
    pub created_at: Timestamp,
    pub state: RunState,
    pub ended_at: Option<Timestamp>,
    pub cancel_seq: Seq,
    pub waiting_since: Timestamp,
    pub usage: Usage,
    pub lease: Option<Lease>,
    /// The lost runner that the current or the next lease holder replaces.
    pub lost_runner: Option<RunnerId>,
    /// Until when its agent waits for the answer of a person.
    pub asking_until: Option<Timestamp>,
    /// The same for a question whose process has ended.
    pub parked_until: Option<Timestamp>,
    pub now: Timestamp,
}

impl TenantObject for Run {
    fn tenant(&self) -> TenantId {
        self.tenant
    }
}

impl Run {
    /// Returns who held the run before a new claim.
    #[must_use]
    pub fn previous_holder(&self) -> PreviousHolder<'_> {
        match (&self.lease, self.lost_runner) {
            (Some(lease), _) => PreviousHolder::Active(lease),
            (None, Some(lost)) => PreviousHolder::Lost(lost),
            (None, None) => PreviousHolder::None,
        }
    }
}

/// Which objects a list returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunFilter {
    Open,
    All,
}
