//! The profile of an ACP backend.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::backend::ModelApi;

/// Which agent and which model to use.
#[derive(Debug, Clone)]
pub struct AcpProfile {
    /// The program, as a full path or a name on the search path, and its arguments.
    pub command: Vec<String>,
    pub model: Option<String>,
    /// The API of the provider, unless the variable of the credential says another.
    pub api: ModelApi,
    /// URL of the provider. Failures do not repeat it.
    pub base_url: Option<String>,
    /// Additional environment variables, without secrets.
    pub env: BTreeMap<String, String>,
    /// Files in the agent's home, by relative path.
    pub settings: BTreeMap<String, String>,
    /// How long the agent may send nothing while it waits for its model.
    pub silence_timeout: Duration,
}
