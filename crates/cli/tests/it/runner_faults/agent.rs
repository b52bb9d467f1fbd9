//! The agents of fault tests: the script backend, and real agents with a fake model.

use std::fs;
use std::path::Path;

use guildhall_domain::profiles::{BackendKind, Profile};
use serde_json::{Value, json};

use crate::support::agent::write_private;

const CREDENTIAL: &str = "canary-credential-91c2";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Agent {
    Script,
    Codex,
    /// Uses the Agent Client Protocol.
    Qwen,
    /// Uses the Agent Client Protocol through an adapter, whose child is the agent.
    Claude,
}

impl Agent {
    pub(crate) const ALL: [Self; 4] = [Self::Script, Self::Codex, Self::Qwen, Self::Claude];

    pub(crate) fn profile_name(self) -> &'static str {
        match self {
            Self::Script => "demo",
            Self::Codex => "my-codex",
            Self::Qwen => "my-qwen",
            Self::Claude => "my-claude",
        }
    }

    /// Writes the agent's profile, if it needs one.
    pub(crate) fn write_profile(self, profiles: &Path, base_url: &str) {
        let profile = match self {
            Self::Script => return,
            Self::Codex => Profile { env_key: "FAKE_API_KEY".to_owned(), ..Profile::new(BackendKind::Codex) },
            Self::Qwen => {
                let program = guildhall_testkit::qwen_program().to_string_lossy().into_owned();
                Profile { command: vec![program, "--acp".to_owned()], ..Profile::new(BackendKind::Acp) }
            }
            Self::Claude => Profile {
                env_key: "ANTHROPIC_API_KEY".to_owned(),
                command: vec![guildhall_testkit::claude_program().to_string_lossy().into_owned()],
                ..Profile::new(BackendKind::Acp)
            },
        };
        let profile =
            Profile { base_url: Some(base_url.to_owned()), model: Some("fake-model".to_owned()), ..profile };
        let folder = profiles.join(self.profile_name());
        fs::create_dir_all(&folder).expect("a folder");
        write_private(&folder.join("profile.toml"), &profile.to_toml());
        write_private(&folder.join("credential"), CREDENTIAL);
    }

    /// Returns an execution policy that lets tools leave child processes behind, as these tests need.
    pub(crate) fn policy(self) -> Value {
        let mut policy = json!({ "sandbox": "danger-full-access", "network": "enabled" });
        if self != Self::Script {
            let name = format!("guildhall-provider-{}", self.profile_name());
            policy["secretScope"] =
                json!({ "providerCredentials": [{ "name": name, "keys": ["credential"] }] });
        }
        policy
    }
}
