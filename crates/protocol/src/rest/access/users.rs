//! Users.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserView {
    pub principal: String,
}
