//! Which approvals a list shows.

use crate::ids::{RunId, SessionId};

/// Which approvals a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalFilter {
    pub scope: ApprovalScope,
    pub only_pending: bool,
}

/// Whose approvals a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalScope {
    Tenant,
    Session(SessionId),
    Run(RunId),
}
