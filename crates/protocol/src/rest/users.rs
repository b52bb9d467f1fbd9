//! People who can sign in.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A user to make. Never logged: it has no `Debug`.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateUser {
    pub name: String,
    /// At least 12 characters.
    #[schema(format = Password)]
    pub password: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserView {
    pub principal: String,
}
