//! What of a profile is no secret.

use serde::{Deserialize, Serialize};

/// The part of a `profile.toml` that everybody of the tenant may see. Other keys, such as an agent's command, are the
/// operator's and are neither shown nor written here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    pub backend: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_api: Option<String>,
}

impl Settings {
    /// The one backend that a profile made over the API has: another one's command would be code of a tenant's choice on
    /// the runner's machine.
    pub const CODEX: &'static str = "codex";

    #[must_use]
    pub fn codex() -> Self {
        Self { backend: Self::CODEX.to_owned(), model: None, base_url: None, wire_api: None }
    }

    pub(super) fn read(text: &str) -> Option<Self> {
        toml::from_str(text).ok()
    }

    pub(super) fn write(&self) -> Option<String> {
        toml::to_string(self).ok()
    }
}
