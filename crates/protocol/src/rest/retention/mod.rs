//! Retention of tenants, and what it erases.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// How long a tenant keeps its history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetRetention {
    /// A session is erased this many days after its last use, with its runs, events and approvals.
    #[schema(minimum = 1, maximum = 3650)]
    pub history_days: u32,
}

/// The retention of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetentionView {
    pub tenant_id: String,
    /// Null if the tenant keeps its history for good.
    pub history_days: Option<u32>,
}

/// What a plan is for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RetentionPlanQuery {
    /// Id or slug of a tenant; otherwise all tenants that do not keep their history for good.
    pub tenant: Option<String>,
    /// What the tenant would keep, instead of what is set. Only with `tenant`.
    #[param(minimum = 1, maximum = 3650)]
    pub history_days: Option<u32>,
}

/// What would be erased now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetentionPlanView {
    pub technical: TechnicalPlanView,
    pub tenants: Vec<TenantPlanView>,
}

/// Rows that nobody needs any more. They are deleted some time after their end (`retention.technical_after`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TechnicalPlanView {
    /// Runner jobs that have ended.
    pub jobs: u64,
    /// Enrolments of runners that the server started.
    pub enrolments: u64,
    /// Runners that hold no run and were not seen for long.
    pub runners: u64,
    /// Logins that have ended.
    pub logins: u64,
}

/// What would be erased of one tenant. Sessions with open work or stored files stay until that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantPlanView {
    pub tenant_id: String,
    /// Null if the tenant keeps its history for good.
    pub history_days: Option<u32>,
    pub sessions: u64,
    pub runs: u64,
    pub events: u64,
}
