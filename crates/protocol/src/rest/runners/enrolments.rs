//! Enrolment tokens for runners.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An enrolment token to create.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateEnrolment {
    /// Description of its purpose.
    #[schema(min_length = 1, max_length = 100, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub name: String,
    /// Restricts claims to runs of this backend profile. By default any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 2, max_length = 40, pattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")]
    pub profile: Option<String>,
    /// Lifetime of the token: one minute to 365 days, 7 days by default. Runs claimed before it expires continue
    /// afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 60000, maximum = 31536000000_u64)]
    pub expires_in_ms: Option<u64>,
}

/// A created enrolment token.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewEnrolmentView {
    #[schema(example = "enr_01920000000070008000000000000000")]
    pub id: String,
    /// The secret. Runners send it as `Authorization: Bearer …`. Returned once; null in an idempotent replay of the
    /// request.
    pub secret: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnrolmentView {
    pub id: String,
    pub name: String,
    pub profile: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// With a precision of one minute.
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// Enrolment tokens, newest first, at most 1000.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnrolmentsView {
    pub enrolments: Vec<EnrolmentView>,
}
