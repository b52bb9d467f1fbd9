//! Tokens for external subjects.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The end user of an application, as the application knows them.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MintSubjectToken {
    /// The application's own, lasting id of the user. It is compared as it is.
    #[schema(example = "user-4711", min_length = 1, max_length = 255, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub subject: String,
    /// A name for people, kept when the subject is first heard of; without it the subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 100, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub name: Option<String>,
}

/// A token for one external subject. Never logged: it has no `Debug`.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubjectTokenView {
    /// Who the subject is here, the same each time.
    #[schema(example = "prn_01920000000070008000000000000000")]
    pub principal: String,
    /// For the user's own client, to send as `Authorization: Bearer …`.
    pub access_token: String,
    pub access_expires_at: Timestamp,
}
