//! Service keys.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A key to make.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateKey {
    #[schema(min_length = 1, max_length = 100, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub name: String,
    /// What the key may do: operator, developer or viewer; not more than its maker.
    #[schema(example = "developer", pattern = "^(owner|operator|developer|viewer)$")]
    pub role: String,
}

/// A key that was made.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewKeyView {
    #[schema(example = "key_01920000000070008000000000000000")]
    pub id: String,
    /// The secret. It is shown this once; a replay of the same request has none.
    pub secret: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyView {
    pub id: String,
    pub name: String,
    pub created_at: Timestamp,
    /// To the minute.
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeysView {
    pub keys: Vec<KeyView>,
}
