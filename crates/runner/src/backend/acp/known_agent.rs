//! The agents that need more than their profile says.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::Value;

use super::profile::AcpProfile;
use super::{claude, gemini, qwen};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KnownAgent {
    Qwen,
    Claude,
    Gemini,
}

impl KnownAgent {
    const ALL: [Self; 3] = [Self::Qwen, Self::Claude, Self::Gemini];

    /// Returns the agent that the command runs: its program, or the script of its package.
    pub(super) fn of(profile: &AcpProfile) -> Option<Self> {
        let runs = |agent: Self, argument: &String| {
            let (program, package) = agent.names();
            let path = Path::new(argument);
            path.file_name().is_some_and(|name| without_version(name) == program)
                || path.components().any(|part| without_version(part.as_os_str()) == package)
        };
        Self::ALL
            .into_iter()
            .find(|agent| profile.command.iter().take(3).any(|argument| runs(*agent, argument)))
    }

    /// Returns the names of the program and of the package.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Qwen => ("qwen", "qwen-code"),
            Self::Claude => ("claude-agent-acp", "claude-agent-acp"),
            Self::Gemini => ("gemini", "gemini-cli"),
        }
    }

    /// Returns files for the agent's home; the profile can override them.
    pub(super) fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Qwen => qwen::FILES,
            Self::Claude => &[],
            Self::Gemini => gemini::FILES,
        }
    }

    /// Returns what is removed from the agent's home before each start.
    pub(super) fn removed(self) -> &'static [&'static str] {
        match self {
            Self::Qwen | Self::Claude => &[],
            Self::Gemini => gemini::REMOVED,
        }
    }

    /// Returns environment variables; the profile can override them.
    pub(super) fn environment(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Qwen => qwen::ENVIRONMENT,
            Self::Claude => claude::ENVIRONMENT,
            Self::Gemini => gemini::ENVIRONMENT,
        }
    }

    /// Returns `NODE_OPTIONS`.
    pub(super) fn node_options(self, profile: &AcpProfile, home: &Path) -> Option<String> {
        match self {
            Self::Qwen => Some(qwen::node_options(profile, home)),
            Self::Claude | Self::Gemini => None,
        }
    }

    /// Returns the `_meta` of requests that open a session.
    pub(super) fn session_meta(self) -> Option<Value> {
        match self {
            Self::Claude => Some(claude::session_meta()),
            Self::Qwen | Self::Gemini => None,
        }
    }
}

/// Returns the name of a package without `@` and a version.
fn without_version(name: &OsStr) -> &str {
    let name = name.to_str().unwrap_or_default();
    name.rsplit_once('@').map_or(name, |(name, _)| if name.is_empty() { "" } else { name })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::backend::ModelApi;

    #[test]
    fn agent_is_known_by_its_program_or_its_package() {
        for (command, expected) in [
            (&["qwen", "--acp"][..], Some(KnownAgent::Qwen)),
            (&["node", "/opt/@qwen-code/qwen-code/cli.js"], Some(KnownAgent::Qwen)),
            (&["/opt/bin/claude-agent-acp"], Some(KnownAgent::Claude)),
            (&["node", "/x/@agentclientprotocol/claude-agent-acp/dist/index.js"], Some(KnownAgent::Claude)),
            (&["npx", "-y", "@agentclientprotocol/claude-agent-acp@0.99.1"], Some(KnownAgent::Claude)),
            (&["gemini", "--acp"], Some(KnownAgent::Gemini)),
            (&["npx", "@google/gemini-cli@0.61.0", "--acp"], Some(KnownAgent::Gemini)),
            (&["/opt/agent", "a", "b", "qwen"], None),
            (&["/opt/gemini/agent"], None),
        ] {
            let profile = AcpProfile {
                command: command.iter().map(|word| (*word).to_owned()).collect(),
                model: None,
                base_url: None,
                api: ModelApi::Chat,
                env: BTreeMap::new(),
                settings: BTreeMap::new(),
                silence_timeout: Duration::from_secs(1),
            };
            assert_eq!(KnownAgent::of(&profile), expected, "{command:?}");
        }
    }

    #[test]
    fn settings_are_valid_json() {
        for (path, text) in KnownAgent::ALL.iter().flat_map(|agent| agent.files()) {
            let is_json = path.ends_with(".json");
            assert_eq!(serde_json::from_str::<Value>(text).is_ok(), is_json, "{path}");
        }
    }
}
