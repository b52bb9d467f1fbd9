//! A backend configuration for unit tests.

use std::path::Path;
use std::time::Duration;

use guildhall_domain::runs::policy::{Approval, Network, Sandbox};
use secrecy::SecretString;

use super::BackendConfig;
use crate::model_proxy::ModelCaps;
use crate::sandbox::Containment;

/// Returns a configuration below `dir` with one secret, `secret_name`, whose value is `canary-1234`.
pub(super) fn test_config(dir: &Path, secret_name: &str) -> BackendConfig {
    BackendConfig {
        workspace: dir.join("workspace"),
        state: dir.join("state"),
        sandbox: Sandbox::WorkspaceWrite,
        approval: Approval::Never,
        network: Network::Disabled,
        secrets: vec![(secret_name.to_owned(), SecretString::from("canary-1234"))],
        turn_timeout: Duration::from_secs(1),
        containment: Containment::Uncontained,
        user: None,
        allowed_hosts: Vec::new(),
        model_caps: ModelCaps::default(),
        instructions: None,
        cache: None,
        max_tool_calls: 1,
    }
}
