//! Enrolment tokens of runners.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An enrolment to make.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateEnrolment {
    /// What it is for, in words.
    #[schema(min_length = 1, max_length = 100, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub name: String,
    /// The one backend profile whose runs may be claimed with it; without it those of any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 2, max_length = 40, pattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")]
    pub profile: Option<String>,
    /// The one pool whose runs may be claimed with it; without it those of any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 2, max_length = 40, pattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")]
    pub pool: Option<String>,
    /// How long runners may register and claim with it: a minute to 365 days, 7 days without it. A run that was
    /// claimed in time goes on afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 60000, maximum = 31536000000_u64)]
    pub expires_in_ms: Option<u64>,
}

/// An enrolment that was made.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewEnrolmentView {
    #[schema(example = "enr_01920000000070008000000000000000")]
    pub id: String,
    /// The secret, for runners to send as `Authorization: Bearer …`. It is shown this once; a replay of the same request
    /// has none.
    pub secret: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnrolmentView {
    pub id: String,
    pub name: String,
    pub profile: Option<String>,
    pub pool: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// To the minute.
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// The newest first, at most 1000.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnrolmentsView {
    pub enrolments: Vec<EnrolmentView>,
}
