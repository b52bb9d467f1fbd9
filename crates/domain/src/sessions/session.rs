//! A session as it is read.

use jiff::Timestamp;

use super::{ExecutionState, SessionVersion, StorageKind};
use crate::access::authorized::TenantObject;
use crate::ids::{CommandId, PrincipalId, RunId, SessionId, TenantId};

/// A session, with the read marker of one reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    pub tenant: TenantId,
    /// The title of its first run.
    pub title: Option<String>,
    pub project: String,
    pub backend_profile: String,
    pub created_by: PrincipalId,
    pub created_at: Timestamp,
    pub thread_id: Option<String>,
    pub version: SessionVersion,
    pub runs: i32,
    pub state: ExecutionState,
    pub active_run: Option<RunId>,
    pub active_command: Option<CommandId>,
    pub last_run: Option<RunId>,
    pub storage: StorageKind,
    pub updated_at: Timestamp,
    /// The version up to which the reader has read.
    pub read_version: SessionVersion,
}

impl TenantObject for Session {
    fn tenant(&self) -> TenantId {
        self.tenant
    }
}

/// Which objects a list returns.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter<'a> {
    pub tenant: Option<TenantId>,
    pub backend_profile: Option<&'a str>,
    /// Includes sessions that are idle and fully read.
    pub all: bool,
    pub before: Option<SessionId>,
}
