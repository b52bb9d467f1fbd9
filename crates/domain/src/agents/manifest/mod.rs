//! Capability manifests: what an agent declares that it can do, and which permissions it asks for.
//!
//! `protocol::manifest` adds the check of input schemas against the meta-schema.

pub mod document;
pub mod finding;
pub mod pointer;
pub mod presets;
mod read;
mod reader;
mod schema_cost;
pub mod schema_rules;
pub mod schema_walk;
#[cfg(test)]
mod tests;
pub mod version;
mod words;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::named_enum::named_enum;
use document::ManifestDocument;
pub use read::read;

/// The version of the format.
pub const SCHEMA_VERSION: &str = "1.0";

/// Tools of one agent: more do not fit on a consent page.
pub const MAX_TOOLS: usize = 128;

/// Scopes of one agent, for the same reason.
pub const MAX_SCOPES: usize = 64;

/// Time for one call if a tool names none.
pub const DEFAULT_TIMEOUT_MS: u64 = 10_000;

/// Longest time for one call. Longer work is a task.
pub const MAX_TIMEOUT_MS: u64 = 600_000;

named_enum! {
    /// How much a scope can hurt. A client asks before every call (high), once in a while (medium) or never (low).
    Sensitivity, "sensitivity";
    Low = "low",
    Medium = "medium",
    High = "high",
}

/// A valid manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// For the author: nothing depends on it.
    pub agent_version: String,
    pub tools: Vec<Tool>,
    pub permission_scopes: Vec<PermissionScope>,
    pub capability_flags: CapabilityFlags,
    /// Members that are not in the specification.
    pub unknown: BTreeMap<String, Value>,
}

/// A valid manifest, with the document that it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredManifest {
    pub document: ManifestDocument,
    pub manifest: Manifest,
}

/// Something that the agent can ask a user's device to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    pub name: String,
    pub description_i18n_key: String,
    /// The words that people see. They are in the hash; the key is only a name of words.
    pub description_fallback: Option<String>,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// Id of one of the manifest's scopes.
    pub permission_scope: String,
    /// Whether the agent is of no use without it.
    pub required: bool,
    pub timeout_ms: u64,
    pub unknown: BTreeMap<String, Value>,
}

/// A permission that users grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionScope {
    pub id: String,
    pub label_i18n_key: String,
    pub label_fallback: Option<String>,
    pub description_i18n_key: String,
    pub description_fallback: Option<String>,
    pub sensitivity: Sensitivity,
    pub unknown: BTreeMap<String, Value>,
}

/// What the agent can take part in. None of it is a permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapabilityFlags {
    pub supports_streaming: bool,
    pub supports_artifacts: bool,
    pub supports_voice: bool,
    /// Takes part in group conversations. Its tools are not called there.
    pub supports_group_chat: bool,
    pub unknown: BTreeMap<String, Value>,
}

impl Manifest {
    /// Reads a stored manifest; none if it is not valid by the rules of today.
    #[must_use]
    pub fn read_stored(text: &str) -> Option<Self> {
        ManifestDocument::parse(text).ok().and_then(|document| read(&document).0)
    }

    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    #[must_use]
    pub fn scope(&self, id: &str) -> Option<&PermissionScope> {
        self.permission_scopes.iter().find(|scope| scope.id == id)
    }

    /// Returns the sensitivity of a tool: that of its scope. A scope that does not exist counts as high.
    #[must_use]
    pub fn sensitivity(&self, tool: &Tool) -> Sensitivity {
        self.scope(&tool.permission_scope).map_or(Sensitivity::High, |scope| scope.sensitivity)
    }
}

impl CapabilityFlags {
    pub const NAMES: [&str; 4] =
        ["supports_streaming", "supports_artifacts", "supports_voice", "supports_group_chat"];

    /// Returns the flags in the order of [`Self::NAMES`].
    #[must_use]
    pub fn values(&self) -> [bool; 4] {
        [self.supports_streaming, self.supports_artifacts, self.supports_voice, self.supports_group_chat]
    }
}
