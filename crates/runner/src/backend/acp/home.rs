//! What an agent finds when it starts: a home of its own, the settings that its profile and its kind ask for, and an
//! environment that is empty but for a short list.
//!
//! The settings are written anew before every start, so nothing that a turn has left there counts.

use std::io;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::{Profile, known};
use crate::backend::{Setting, surroundings};

/// Where an agent keeps what it keeps.
#[derive(Debug)]
pub(super) struct Home {
    user: PathBuf,
    temporary: PathBuf,
}

impl Home {
    /// Makes the folders and writes the settings.
    pub(super) fn prepare(setting: &Setting, profile: &Profile) -> io::Result<Self> {
        let home = Self { user: setting.state.join("home"), temporary: setting.state.join("tmp") };
        for folder in [&home.user, &home.temporary] {
            surroundings::folder(folder)?;
        }
        let ours = known::settings(profile).into_iter();
        let theirs = profile.settings.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        for (path, text) in ours.chain(theirs) {
            let path = home.user.join(path);
            surroundings::folder(path.parent().unwrap_or(&home.user))?;
            surroundings::replace(&path, text)?;
        }
        Ok(home)
    }

    /// Returns what an agent may write besides its workspace.
    pub(super) fn folders(&self) -> [&Path; 2] {
        [&self.user, &self.temporary]
    }

    /// Returns everything that the agent's environment holds: the secrets are there and nowhere else.
    pub(super) fn environment(
        &self,
        profile: &Profile,
        secrets: &[(String, SecretString)],
    ) -> Vec<(String, SecretString)> {
        let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let model = profile.model.iter().map(|model| text("OPENAI_MODEL", model));
        let base_url = profile.base_url.iter().map(|url| text("OPENAI_BASE_URL", url));
        let known = known::environment(profile).into_iter().map(|(name, value)| text(name, value));
        let theirs = profile.env.iter().map(|(name, value)| text(name, value));
        let own = [("HOME", &self.user), ("TMPDIR", &self.temporary)]
            .map(|(name, path)| text(name, &path.to_string_lossy()));
        let plain =
            surroundings::passed_on().chain(known).chain(model).chain(base_url).chain(theirs).chain(own);
        let plain = plain.map(|(name, value)| (name, SecretString::from(value)));
        // A later one wins: no secret takes the name of something that we set.
        secrets.iter().cloned().chain(plain).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::time::Duration;

    use guildhall_domain::runs::policy::{Approval, Network, Sandbox};
    use secrecy::ExposeSecret;

    use crate::child::OutOfReach;

    use super::*;

    fn setting(folder: &Path) -> Setting {
        Setting {
            workspace: folder.join("workspace"),
            state: folder.join("state"),
            sandbox: Sandbox::WorkspaceWrite,
            approval: Approval::Never,
            network: Network::Enabled,
            secrets: vec![("OPENAI_API_KEY".to_owned(), SecretString::from("canary-1234"))],
            turn_timeout: Duration::from_secs(1),
            out_of_reach: OutOfReach::default(),
            tool_calls_at_most: 1,
        }
    }

    fn profile() -> Profile {
        Profile {
            command: vec!["/opt/bin/qwen".to_owned()],
            model: Some("m".to_owned()),
            base_url: Some("http://127.0.0.1:1/v1".to_owned()),
            env: BTreeMap::from([("HOME".to_owned(), "/evil".to_owned()), ("A".to_owned(), "b".to_owned())]),
            settings: BTreeMap::from([("x/y.json".to_owned(), "{}".to_owned())]),
            silent_at_most: Duration::from_secs(1),
        }
    }

    #[test]
    fn the_credential_stands_in_the_environment_and_in_no_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let setting = setting(folder.path());
        let home = Home::prepare(&setting, &profile()).expect("written");
        for file in [".qwen/settings.json", "x/y.json"] {
            let text = fs::read_to_string(home.user.join(file)).expect("a file");
            assert!(!text.contains("canary"), "{text}");
        }
        let environment: BTreeMap<_, _> = home
            .environment(&profile(), &setting.secrets)
            .into_iter()
            .map(|(name, value)| (name, value.expose_secret().to_owned()))
            .collect();
        assert_eq!(environment["OPENAI_API_KEY"], "canary-1234");
        assert_eq!((environment["OPENAI_MODEL"].as_str(), environment["A"].as_str()), ("m", "b"));
        assert_eq!(environment["HOME"], home.user.to_string_lossy(), "nobody else's home");
    }

    #[test]
    fn what_a_turn_left_as_settings_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::prepare(&setting(folder.path()), &profile()).expect("written");
        let file = home.user.join(".qwen/settings.json");
        fs::write(&file, "{\"mcpServers\":{}}").expect("written");
        Home::prepare(&setting(folder.path()), &profile()).expect("written again");
        assert!(!fs::read_to_string(&file).expect("a file").contains("mcpServers"));
    }
}
