//! The approval policy of a tenant.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A new approval policy. Fields that are absent have the default of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetApprovalPolicy {
    /// first-responder, designated, consensus or local-only.
    #[schema(example = "consensus", pattern = "^(first-responder|designated|consensus|local-only)$")]
    pub mode: String,
    /// For designated: the member who answers. Absent: who sent the turn that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^prn_[0-9a-f]{32}$")]
    pub approver_id: Option<String>,
    /// For consensus: equal answers that decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 255)]
    pub quorum: Option<u32>,
    /// For consensus: one denial is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub veto: Option<bool>,
    /// How long a question waits for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 60_000, maximum = 7_776_000_000_i64)]
    pub expires_after_ms: Option<u64>,
    /// What happens then: deny, interrupt (denies and ends the turn) or escalate (asks the owners once more).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(deny|interrupt|escalate)$")]
    pub on_expiry: Option<String>,
    /// How long an agent waits with its process before the question is parked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 10_000, maximum = 86_400_000)]
    pub hold_for_ms: Option<u64>,
    /// How long an undelivered answer can be used when the agent asks again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 7_776_000_000_i64)]
    pub reuse_within_ms: Option<u64>,
    /// The version that you have read. If it is not the current one, the request fails with 409.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub expected_version: Option<u32>,
}

/// The approval policy of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalPolicyView {
    /// 1 is the default of the server.
    pub version: u32,
    #[schema(example = "first-responder")]
    pub mode: String,
    pub approver_id: Option<String>,
    pub quorum: Option<u32>,
    pub veto: Option<bool>,
    pub expires_after_ms: u64,
    #[schema(example = "deny")]
    pub on_expiry: String,
    pub hold_for_ms: u64,
    pub reuse_within_ms: u64,
}
