//! Tokens for external subjects.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The external subject to issue a token for: an end user of an application.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MintSubjectToken {
    /// The application's permanent id of the user. An opaque string, compared exactly.
    #[schema(example = "user-4711", min_length = 1, max_length = 255, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub subject: String,
    /// Display name, stored with the first token of a subject. Defaults to the subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 100, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub name: Option<String>,
    /// Id or slug of an agent of the tenant that the user may talk to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        example = "helper",
        min_length = 2,
        max_length = 40,
        pattern = "^(agt_[0-9a-f]{32}|[a-z0-9]([a-z0-9-]*[a-z0-9])?)$"
    )]
    pub agent_id: Option<String>,
}

/// A token for an external subject. It has no `Debug`, so that it is never logged.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubjectTokenView {
    /// Principal of the subject. The same for every token of the subject.
    #[schema(example = "prn_01920000000070008000000000000000")]
    pub principal: String,
    /// The user's client sends it as `Authorization: Bearer …`.
    pub access_token: String,
    pub access_expires_at: Timestamp,
}
