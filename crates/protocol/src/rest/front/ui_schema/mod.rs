//! What a client shows for a reply of the agent: UiSchema 2.0.
//!
//! [`compile`] makes it from the [`UiHints`] that an agent adds to its output.

mod compile;
mod hints;
mod node;

pub use compile::{UiContext, compile};
pub use hints::{UiBadgeHint, UiButtonHint, UiFactHint, UiHints, UiIconHint};
pub use node::{
    UiAction, UiAppearance, UiBadge, UiButton, UiButtonVariant, UiGrid, UiIcon, UiIconSource, UiLayoutNode,
    UiNode, UiOpenUrl, UiStack, UiText, UiTextFormat, UiTextRole,
};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What to show, as a tree of nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UiSchemaRenderer {
    pub version: UiSchemaVersion,
    /// Language of the texts.
    #[schema(example = "zh-CN", max_length = 35)]
    pub locale: String,
    pub status: UiStatus,
    pub theme: UiTheme,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<UiMeta>,
    pub root: UiLayoutNode,
}

/// The version of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum UiSchemaVersion {
    #[serde(rename = "2.0")]
    V2,
}

/// The outcome that a reply or a badge tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum UiStatus {
    #[default]
    Info,
    Success,
    Warning,
    Error,
    Pending,
}

impl UiStatus {
    /// Returns the label of a badge.
    const fn label(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Success => "SUCCESS",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
            Self::Pending => "PENDING",
        }
    }
}

/// The colours of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum UiTheme {
    #[default]
    Default,
    Light,
    Dark,
}

/// Where a reply comes from. Set by the server, never by the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UiMeta {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
}
