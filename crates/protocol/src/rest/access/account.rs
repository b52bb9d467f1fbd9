//! The account of the caller.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A change of the caller's password. It has no `Debug`, so that it is never logged.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangePassword {
    #[schema(format = Password, max_length = 256)]
    pub current_password: String,
    /// At least 12 characters.
    #[schema(format = Password, min_length = 12, max_length = 256)]
    pub new_password: String,
}

/// What the caller has chosen for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AccountSettings {
    /// IANA name of the zone of the caller's events, for clients that send no `client_time`. Null: UTC.
    #[schema(example = "Europe/Berlin", min_length = 1, max_length = 64)]
    pub time_zone: Option<String>,
}

/// The number of ended logins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndedLoginsView {
    /// Logins that were valid before: CLI logins and browser sessions.
    pub ended_logins: u64,
}
