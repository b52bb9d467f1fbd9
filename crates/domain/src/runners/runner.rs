//! A registered runner as it is read.

use crate::ids::{EnrolmentId, RunnerId, TenantId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runner {
    pub id: RunnerId,
    /// `None` for a runner of the shared pool.
    pub tenant: Option<TenantId>,
    /// The enrolment that it registered with.
    pub enrolment: EnrolmentId,
    pub name: String,
    pub backend_profiles: Vec<String>,
}
