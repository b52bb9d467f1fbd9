//! Hints of an agent on how to show its reply.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::node::{UiButtonVariant, UiIconSource, UiTextFormat};
use super::{UiStatus, UiTheme};

/// How to show a reply. Every field is optional, but at least one of `title`, `subtitle`, `body`, `code`, `facts` and
/// `caption` has text.
///
/// Hints with an unknown field, an unknown value or more than a limit allows are not used at all: the reply is then
/// shown without them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UiHints {
    /// Defaults to info.
    pub status: UiStatus,
    /// Language of the texts, such as zh-CN. Defaults to the locale of the reader.
    #[schema(max_length = 35, pattern = "^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$")]
    pub locale: Option<String>,
    /// Defaults to default.
    pub theme: UiTheme,
    /// Shown before the title.
    pub icon: Option<UiIconHint>,
    #[schema(max_length = 200)]
    pub title: Option<String>,
    #[schema(max_length = 200)]
    pub subtitle: Option<String>,
    /// Shown after the title. Absent: one badge with the status. Empty: none.
    #[schema(max_items = 8)]
    pub badges: Option<Vec<UiBadgeHint>>,
    #[schema(max_length = 4000)]
    pub body: Option<String>,
    /// The format of `body`. Defaults to plain.
    pub format: UiTextFormat,
    #[schema(max_length = 4000)]
    pub code: Option<String>,
    /// Shown as a table of two columns.
    #[schema(max_items = 16)]
    pub facts: Vec<UiFactHint>,
    #[schema(max_length = 200)]
    pub caption: Option<String>,
    #[schema(max_items = 4)]
    pub buttons: Vec<UiButtonHint>,
}

/// A badge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UiBadgeHint {
    #[schema(min_length = 1, max_length = 40)]
    pub label: String,
    /// Defaults to info.
    #[serde(default)]
    pub status: UiStatus,
}

/// A symbol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UiIconHint {
    pub source: UiIconSource,
    /// The name of an icon (1 to 64 of `a-z`, `0-9`, `-` and `_`), an emoji (at most 16 characters), or an https URL (at
    /// most 2048).
    #[schema(min_length = 1, max_length = 2048)]
    pub value: String,
}

/// A name and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UiFactHint {
    #[schema(min_length = 1, max_length = 200)]
    pub label: String,
    #[schema(min_length = 1, max_length = 200)]
    pub value: String,
}

/// A button that opens a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UiButtonHint {
    #[schema(min_length = 1, max_length = 40)]
    pub label: String,
    /// Defaults to secondary.
    #[serde(default)]
    pub variant: UiButtonVariant,
    /// An https URL.
    #[schema(min_length = 1, max_length = 2048, pattern = "^https://")]
    pub url: String,
}
