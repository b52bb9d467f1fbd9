//! Users.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A user to create. It has no `Debug`, so that it is never logged.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateUser {
    #[schema(min_length = 1, max_length = 100, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub name: String,
    /// At least 12 characters.
    #[schema(format = Password, min_length = 12, max_length = 256)]
    pub password: String,
}

/// A new password for another user. It has no `Debug`, so that it is never logged.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResetPassword {
    /// At least 12 characters.
    #[schema(format = Password, min_length = 12, max_length = 256)]
    pub password: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserView {
    #[schema(example = "prn_01920000000070008000000000000000")]
    pub principal: String,
    /// The name to sign in with. Of a user without a password, the name that the identity provider sent.
    pub name: String,
    /// Whether the user operates the installation.
    pub operator: bool,
    /// Whether the user signs in with a password.
    pub has_password: bool,
    pub created_at: Timestamp,
    /// Null for a user who can sign in.
    pub disabled_at: Option<Timestamp>,
    /// The end of the lock after failed sign-ins; null if the user is not locked.
    pub locked_until: Option<Timestamp>,
}

/// Users, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsersView {
    pub users: Vec<UserView>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// Query parameters of the user list.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UsersQuery {
    /// Only users with exactly this name. Names from an identity provider are not unique.
    #[param(min_length = 1, max_length = 100, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub name: Option<String>,
    /// Only users whose name starts with this text, in upper or lower case. Not together with `name`.
    #[param(min_length = 1, max_length = 100, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub name_prefix: Option<String>,
    #[param(pattern = "^prn_[0-9a-f]{32}$")]
    pub cursor: Option<String>,
    #[serde(default = "default_user_limit")]
    #[param(minimum = 1, maximum = 100)]
    pub limit: u32,
}

fn default_user_limit() -> u32 {
    50
}
