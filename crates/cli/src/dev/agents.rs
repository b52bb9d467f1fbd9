//! The agents on this machine.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use guildhall_domain::profiles::template::ProfileTemplates;
use guildhall_domain::runs::policy::BackendProfile;
use guildhall_server::Config;

/// What to do without an agent.
pub(super) const INSTALL: &str = "for example: npm install -g @openai/codex";

/// What makes an installed Claude Code usable.
pub(super) const INSTALL_CLAUDE_ADAPTER: &str =
    "it needs: npm install -g @agentclientprotocol/claude-agent-acp";

/// The adapter with which Claude Code speaks the Agent Client Protocol.
const CLAUDE_ADAPTER: &str = "claude-agent-acp";

/// Returns the templates whose agent is on the search path, each agent once.
pub(super) fn find(config: &Config) -> Vec<BackendProfile> {
    let Ok(templates) = config.profiles.templates() else { return Vec::new() };
    find_on(&templates, &search_path())
}

fn find_on(templates: &ProfileTemplates, path: &OsStr) -> Vec<BackendProfile> {
    // A template with the name of its agent is the obvious one.
    let is_obvious = |name: &&BackendProfile| {
        templates.get(name.as_str()).is_some_and(|template| template.agent().starts_with(name.as_str()))
    };
    let is_installed = |name: &&BackendProfile| {
        templates.get(name.as_str()).is_some_and(|template| is_on(path, template.agent()))
    };
    templates.names().filter(is_obvious).filter(is_installed).cloned().collect()
}

/// Returns whether Claude Code is installed without its adapter.
pub(super) fn lacks_claude_adapter() -> bool {
    lacks_claude_adapter_on(&search_path())
}

fn lacks_claude_adapter_on(path: &OsStr) -> bool {
    is_on(path, "claude") && !is_on(path, CLAUDE_ADAPTER)
}

fn search_path() -> OsString {
    env::var_os("PATH").unwrap_or_default()
}

fn is_on(path: &OsStr, program: &str) -> bool {
    env::split_paths(path).any(|dir| dir.join(program).is_file())
}

/// Returns whether the user has a login of a Codex subscription. Agents cannot use it: the model proxy holds API keys
/// only, and tokens must not be in the sandbox.
pub(super) fn has_codex_login() -> bool {
    let home = env::var_os("HOME").map(|home| Path::new(&home).join(".codex"));
    let dir = env::var_os("CODEX_HOME").map(PathBuf::from).or(home);
    dir.is_some_and(|dir| dir.join("auth.json").is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn agents_are_found_on_the_search_path() {
        for (programs, expected, lacks_adapter) in [
            (
                &["codex", "qwen", "gemini", "claude-agent-acp"][..],
                &["claude", "codex", "gemini", "qwen"][..],
                false,
            ),
            (&["claude", "gemini"], &["gemini"], true),
            (&["claude", "claude-agent-acp"], &["claude"], false),
            (&["bash"], &[], false),
        ] {
            let dir = tempfile::tempdir().expect("a directory");
            for program in programs {
                fs::write(dir.path().join(program), "").expect("a file");
            }
            let path = env::join_paths(["/nonexistent".as_ref(), dir.path()]).expect("a search path");
            let found = find_on(&ProfileTemplates::default(), &path);
            let found: Vec<&str> = found.iter().map(BackendProfile::as_str).collect();
            assert_eq!(
                (found.as_slice(), lacks_claude_adapter_on(&path)),
                (expected, lacks_adapter),
                "{programs:?}"
            );
        }
    }
}
