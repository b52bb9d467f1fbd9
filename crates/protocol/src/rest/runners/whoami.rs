//! What runners ask about themselves.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The enrolment that a runner came with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnEnrolmentView {
    #[schema(example = "enr_01920000000070008000000000000000")]
    pub id: String,
    /// The tenant whose runs may be claimed; null for the installation's own pool.
    pub tenant: Option<String>,
    pub profile: Option<String>,
    pub pool: Option<String>,
    /// The one run that may be claimed, where it is for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    pub expires_at: Timestamp,
}

/// The run that a runner's token is for. It says what was granted, not that the lease still holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnGrantView {
    #[schema(example = "run_01920000000070008000000000000000")]
    pub run: String,
    /// The lease's epoch. A write under another than the run's is refused.
    pub epoch: i64,
    pub runner: String,
    pub tenant: String,
    /// When the token ends.
    pub expires_at: Timestamp,
}
