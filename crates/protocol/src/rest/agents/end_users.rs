//! What end users of applications may do with an agent. The bounds are those of `domain`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Limits for each end user. They do not apply to members of the tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndUsersBody {
    /// Whether an end user answers the questions of the agent in their own conversations. By default only members do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_approvals: Option<bool>,
    /// 10 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 600)]
    pub turns_per_minute: Option<u32>,
    /// Conversations with a turn that has not ended. 5 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100)]
    pub open_threads: Option<u32>,
    /// Tokens of models, in and out, of one day of UTC. A turn counts when it has ended. 2,000,000 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000_000_000_000_i64)]
    pub tokens_per_day: Option<u64>,
}

/// Limits for each end user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndUsersView {
    pub answer_approvals: bool,
    pub turns_per_minute: u32,
    pub open_threads: u32,
    pub tokens_per_day: u64,
}
