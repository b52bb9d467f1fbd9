//! A registered runner as it is read.

use jiff::Timestamp;

use crate::ids::{EnrolmentId, RunId, RunnerId, TenantId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runner {
    pub id: RunnerId,
    /// `None` for a runner of the shared pool.
    pub tenant: Option<TenantId>,
    /// The enrolment that it registered with.
    pub enrolment: EnrolmentId,
    pub name: String,
    pub backend_profiles: Vec<String>,
    /// It finishes its run and gets no other.
    pub is_draining: bool,
}

/// A runner as its tenant sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerSummary {
    pub id: RunnerId,
    pub name: String,
    pub backend_profiles: Vec<String>,
    pub registered_at: Timestamp,
    /// When it last asked for a run.
    pub seen_at: Timestamp,
    pub is_draining: bool,
    /// The run that it holds.
    pub run: Option<RunId>,
}
