//! Identity of runners.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The enrolment of the calling runner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnEnrolmentView {
    #[schema(example = "enr_01920000000070008000000000000000")]
    pub id: String,
    /// The tenant whose runs can be claimed; null for the installation pool.
    pub tenant: Option<String>,
    pub profile: Option<String>,
    /// The only run that can be claimed, if restricted to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    pub expires_at: Timestamp,
}

/// The grant of a run token. It does not prove that the lease is still valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnGrantView {
    #[schema(example = "run_01920000000070008000000000000000")]
    pub run: String,
    /// The lease epoch. Writes with an epoch other than the current one of the run are rejected.
    pub epoch: i64,
    pub runner: String,
    pub tenant: String,
    /// When the token expires.
    pub expires_at: Timestamp,
}
