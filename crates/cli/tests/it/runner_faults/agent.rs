//! The agents that runners drive here: the one without a model, and real ones with a fake model behind them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use guildhall_domain::profiles::{BackendKind, Profile};
use serde_json::{Value, json};

const CREDENTIAL: &str = "canary-credential-91c2";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Agent {
    Script,
    Codex,
    /// Behind the Agent Client Protocol.
    Qwen,
}

impl Agent {
    pub(super) const ALL: [Self; 3] = [Self::Script, Self::Codex, Self::Qwen];

    pub(super) fn profile(self) -> &'static str {
        match self {
            Self::Script => "demo",
            Self::Codex => "my-codex",
            Self::Qwen => "my-qwen",
        }
    }

    /// Writes its profile, where it needs one.
    pub(super) fn describe(self, profiles: &Path, base_url: &str) {
        let profile = match self {
            Self::Script => return,
            Self::Codex => Profile { env_key: "FAKE_API_KEY".to_owned(), ..Profile::of(BackendKind::Codex) },
            Self::Qwen => {
                let program = guildhall_testkit::qwen().to_string_lossy().into_owned();
                Profile { command: vec![program, "--acp".to_owned()], ..Profile::of(BackendKind::Acp) }
            }
        };
        let profile =
            Profile { base_url: Some(base_url.to_owned()), model: Some("fake-model".to_owned()), ..profile };
        let folder = profiles.join(self.profile());
        fs::create_dir_all(&folder).expect("a folder");
        private(&folder.join("profile.toml"), &profile.to_toml());
        private(&folder.join("credential"), CREDENTIAL);
    }

    /// Returns terms under which its tools may do what these tests need: leave children behind.
    pub(super) fn policy(self) -> Value {
        let mut policy = json!({ "sandbox": "danger-full-access", "network": "enabled" });
        if self != Self::Script {
            let name = format!("guildhall-provider-{}", self.profile());
            policy["secretScope"] =
                json!({ "providerCredentials": [{ "name": name, "keys": ["credential"] }] });
        }
        policy
    }
}

pub(super) fn private(path: &Path, text: &str) {
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("set");
}
