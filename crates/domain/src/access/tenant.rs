//! Tenants, their members and their projects as they are read.

use jiff::Timestamp;

use super::project_setup::ProjectSetup;
use super::role::Role;
use crate::ids::{PrincipalId, ProjectId, TenantId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    pub id: ProjectId,
    pub slug: String,
    pub name: String,
    pub created_at: Timestamp,
    pub setup: Option<ProjectSetup>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    pub id: TenantId,
    pub slug: String,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub principal: PrincipalId,
    pub name: String,
    pub role: Role,
}
