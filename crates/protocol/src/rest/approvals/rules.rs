//! Answers that are remembered for the same action.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Query parameters of a list of rules.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ApprovalRulesQuery {
    /// Id or slug of one of your tenants.
    #[param(example = "acme")]
    pub tenant_id: String,
    #[param(pattern = "^apl_[0-9a-f]{32}$")]
    pub cursor: Option<String>,
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 100)]
    pub limit: u32,
}

const fn default_limit() -> u32 {
    50
}

/// A remembered answer to one exact action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRuleView {
    #[schema(example = "apl_01920000000070008000000000000000")]
    pub rule_id: String,
    pub tenant_id: String,
    /// The approval whose answer is remembered. It shows the action.
    pub approval_id: String,
    /// run, session or agent-and-project.
    #[schema(example = "session")]
    pub scope: String,
    pub run_id: Option<String>,
    pub session_id: Option<String>,
    pub backend_profile: Option<String>,
    pub project_id: Option<String>,
    /// allow or deny.
    #[schema(example = "allow")]
    pub effect: String,
    /// Id of the person who made it.
    pub author_id: String,
    /// How often it was used.
    pub used: u32,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub revoked: bool,
}

/// One page of rules, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRulesView {
    pub rules: Vec<ApprovalRuleView>,
    /// For the next page; null on the last one.
    pub next_cursor: Option<String>,
}
