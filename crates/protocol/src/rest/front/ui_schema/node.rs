//! The nodes of a UiSchema.
//!
//! The protocol shows stack, text and badge. It names grid, icon and button, their sources and variants, but not their
//! other fields: `columns`, `value`, `label` and `action` are ours.

use serde::{Deserialize, Serialize};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::UiStatus;
use crate::tagged_union::{NamedSchemas, TaggedUnion};

/// A node that contains others. The root is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum UiLayoutNode {
    Stack(UiStack),
    Grid(UiGrid),
}

/// A node, by type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum UiNode {
    Stack(UiStack),
    Grid(UiGrid),
    Text(UiText),
    Badge(UiBadge),
    Icon(UiIcon),
    Button(UiButton),
}

fn layout_nodes() -> TaggedUnion {
    TaggedUnion::new("type").variant::<UiStack>("stack").variant::<UiGrid>("grid")
}

fn nodes() -> TaggedUnion {
    layout_nodes()
        .variant::<UiText>("text")
        .variant::<UiBadge>("badge")
        .variant::<UiIcon>("icon")
        .variant::<UiButton>("button")
}

impl PartialSchema for UiLayoutNode {
    fn schema() -> RefOr<Schema> {
        layout_nodes().schema("A node that contains others, by `type`.")
    }
}

impl ToSchema for UiLayoutNode {
    fn schemas(schemas: &mut NamedSchemas) {
        layout_nodes().refer::<UiNode>().schemas(schemas);
    }
}

impl PartialSchema for UiNode {
    fn schema() -> RefOr<Schema> {
        nodes().schema("A node, by `type`.")
    }
}

impl ToSchema for UiNode {
    fn schemas(schemas: &mut NamedSchemas) {
        nodes().schemas(schemas);
    }
}

/// Nodes below each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UiStack {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub appearance: Option<UiAppearance>,
    #[schema(no_recursion)]
    pub children: Vec<UiNode>,
}

/// Nodes in rows of `columns`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UiGrid {
    #[schema(minimum = 1, maximum = 4)]
    pub columns: u8,
    #[schema(no_recursion)]
    pub children: Vec<UiNode>,
}

/// The frame of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum UiAppearance {
    Card,
}

/// A text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UiText {
    pub content: String,
    pub role: UiTextRole,
    /// Absent for plain.
    #[serde(default, skip_serializing_if = "UiTextFormat::is_plain")]
    #[schema(required = false)]
    pub format: UiTextFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum UiTextRole {
    Title,
    Subtitle,
    Body,
    Caption,
    Code,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum UiTextFormat {
    #[default]
    Plain,
    Markdown,
}

impl UiTextFormat {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
    fn is_plain(&self) -> bool {
        *self == Self::Plain
    }
}

/// A short label with the colour of a status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UiBadge {
    #[schema(example = "SUCCESS")]
    pub label: String,
    pub status: UiStatus,
}

/// A symbol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UiIcon {
    pub source: UiIconSource,
    /// The name of an icon, an emoji, or an https URL.
    pub value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum UiIconSource {
    Icon,
    Emoji,
    Url,
}

/// A button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UiButton {
    pub label: String,
    pub variant: UiButtonVariant,
    pub action: UiAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum UiButtonVariant {
    Primary,
    #[default]
    Secondary,
    Ghost,
    Danger,
}

/// What a button does, by type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum UiAction {
    Url(UiOpenUrl),
}

impl PartialSchema for UiAction {
    fn schema() -> RefOr<Schema> {
        actions().schema("What a button does, by `type`.")
    }
}

impl ToSchema for UiAction {
    fn schemas(schemas: &mut NamedSchemas) {
        actions().schemas(schemas);
    }
}

fn actions() -> TaggedUnion {
    TaggedUnion::new("type").variant::<UiOpenUrl>("url")
}

/// Opens a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UiOpenUrl {
    /// https.
    pub url: String,
}
