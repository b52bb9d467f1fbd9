//! The agents on this machine.

use std::env;
use std::path::{Path, PathBuf};

use guildhall_domain::runs::policy::BackendProfile;
use guildhall_server::Config;

/// What to do without an agent.
pub(super) const INSTALL: &str = "for example: npm install -g @openai/codex";

/// Returns the templates whose agent is on the search path, each agent once.
pub(super) fn find(config: &Config) -> Vec<BackendProfile> {
    let Ok(templates) = config.profiles.templates() else { return Vec::new() };
    // A template with the name of its agent is the obvious one.
    let is_obvious = |name: &&BackendProfile| {
        templates.get(name.as_str()).is_some_and(|template| template.agent().starts_with(name.as_str()))
    };
    let is_installed = |name: &&BackendProfile| {
        templates.get(name.as_str()).is_some_and(|template| is_on_path(template.agent()))
    };
    templates.names().filter(is_obvious).filter(is_installed).cloned().collect()
}

fn is_on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// Returns whether the user has a login of a Codex subscription. Agents cannot use it: the model proxy holds API keys
/// only, and tokens must not be in the sandbox.
pub(super) fn has_codex_login() -> bool {
    let home = env::var_os("HOME").map(|home| Path::new(&home).join(".codex"));
    let dir = env::var_os("CODEX_HOME").map(PathBuf::from).or(home);
    dir.is_some_and(|dir| dir.join("auth.json").is_file())
}
