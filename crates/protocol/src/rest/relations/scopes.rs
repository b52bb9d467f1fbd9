//! The preset scopes, with their texts.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A text in every language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TextsView {
    pub en: String,
    #[serde(rename = "zh-CN")]
    pub zh_cn: String,
}

/// A scope whose texts and sensitivity the platform defines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PresetScopeView {
    #[schema(example = "filesystem:read")]
    pub id: String,
    /// `low`, `medium` or `high`.
    #[schema(example = "medium")]
    pub sensitivity: String,
    pub label: TextsView,
    pub description: TextsView,
}

/// The preset scopes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PresetScopesView {
    pub scopes: Vec<PresetScopeView>,
}
