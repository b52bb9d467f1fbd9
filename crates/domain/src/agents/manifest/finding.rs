//! What is wrong with a manifest, and where.

use super::pointer::Pointer;
use crate::named_enum::named_enum;

named_enum! {
    /// The rule that a manifest breaks.
    Rule, "manifest rule";
    /// Not JSON, or JSON that other programs could read differently.
    Json = "json",
    Size = "size",
    Count = "count",
    /// A member is missing.
    Missing = "missing",
    /// A member has the wrong type.
    Type = "type",
    SchemaVersion = "schema-version",
    AgentVersion = "agent-version",
    ToolName = "tool-name",
    DuplicateTool = "duplicate-tool",
    /// Not a JSON Schema of draft 2020-12.
    InputSchema = "input-schema",
    /// A `$ref` or `$id` that leads out of the schema, to nothing, or in a circle.
    SchemaReference = "schema-reference",
    /// A regular expression that cannot be checked in linear time, or is too large.
    SchemaPattern = "schema-pattern",
    /// A schema that takes too long to check.
    SchemaCost = "schema-cost",
    ToolScope = "tool-scope",
    ScopeId = "scope-id",
    DuplicateScope = "duplicate-scope",
    ReservedScope = "reserved-scope",
    Sensitivity = "sensitivity",
    PresetSensitivity = "preset-sensitivity",
    I18nKey = "i18n-key",
    /// A scope outside of the preset ones has no words of its own.
    Fallback = "fallback",
    /// Words that people read have hidden characters, or too many.
    Text = "text",
    Timeout = "timeout",
    /// Warnings: the manifest is valid.
    LargeManifest = "large-manifest",
    UnknownMember = "unknown-member",
    NoDescription = "no-description",
    OpenSchema = "open-schema",
    UnusedScope = "unused-scope",
}

named_enum! {
    /// Whether a finding makes the manifest invalid.
    Severity, "severity";
    Warning = "warning",
    Error = "error",
}

impl Rule {
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            Self::LargeManifest
            | Self::UnknownMember
            | Self::NoDescription
            | Self::OpenSchema
            | Self::UnusedScope => Severity::Warning,
            Self::Json
            | Self::Size
            | Self::Count
            | Self::Missing
            | Self::Type
            | Self::SchemaVersion
            | Self::AgentVersion
            | Self::ToolName
            | Self::DuplicateTool
            | Self::InputSchema
            | Self::SchemaReference
            | Self::SchemaPattern
            | Self::SchemaCost
            | Self::ToolScope
            | Self::ScopeId
            | Self::DuplicateScope
            | Self::ReservedScope
            | Self::Sensitivity
            | Self::PresetSensitivity
            | Self::I18nKey
            | Self::Fallback
            | Self::Text
            | Self::Timeout => Severity::Error,
        }
    }
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub rule: Rule,
    pub pointer: Pointer,
    /// What is wrong and what to do, for the author of the manifest. It may repeat parts of the manifest.
    pub message: String,
}

/// Everything that is wrong with a manifest, in the order in which it was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    list: Vec<Finding>,
    omitted: usize,
}

impl Findings {
    /// Findings that are kept. A manifest of 128 KB can break tens of thousands of rules; nobody reads that many.
    pub const MAX: usize = 200;

    pub fn add(&mut self, rule: Rule, pointer: Pointer, message: impl Into<String>) {
        if self.list.len() < Self::MAX || rule.severity() == Severity::Error && !self.has_errors() {
            self.list.push(Finding { rule, pointer, message: message.into() });
        } else {
            self.omitted += 1;
        }
    }

    pub fn extend(&mut self, other: Self) {
        for finding in other.list {
            self.add(finding.rule, finding.pointer, finding.message);
        }
        self.omitted += other.omitted;
    }

    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|finding| finding.rule.severity() == Severity::Error)
    }

    #[must_use]
    pub fn as_slice(&self) -> &[Finding] {
        &self.list
    }

    /// Returns how many findings were not kept.
    #[must_use]
    pub fn omitted(&self) -> usize {
        self.omitted
    }
}
