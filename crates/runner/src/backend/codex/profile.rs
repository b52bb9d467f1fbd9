//! The profile of a Codex backend.

use std::path::PathBuf;

/// Which Codex program and which model to use.
#[derive(Debug, Clone)]
pub struct CodexProfile {
    /// The native program.
    pub program: PathBuf,
    /// Without it, the default of Codex.
    pub model: Option<String>,
    /// URL of the provider. Failures do not repeat it.
    pub base_url: String,
    /// The name of the secret with the provider's credential, if the provider needs one.
    pub credential: Option<String>,
    /// How often Codex retries a request to the provider.
    pub retries: u32,
}
