//! Built-in settings for Qwen Code.

use std::path::Path;

use super::profile::AcpProfile;

/// Settings of Qwen Code 0.24.4: an OpenAI-compatible provider, commands without a terminal, and no telemetry,
/// updates, memory or suggestions, which would send another model request after each answer.
///
/// `preventSystemSleep` starts a child process with every command, whose exit makes Node deliver the exit of the command
/// before its output.
const QWEN_SETTINGS: &str = r#"{
  "security": { "auth": { "selectedType": "openai" }, "folderTrust": { "enabled": true } },
  "privacy": { "usageStatisticsEnabled": false },
  "telemetry": { "enabled": false },
  "general": { "enableAutoUpdate": false, "preventSystemSleep": false },
  "memory": { "enableManagedAutoMemory": false, "enableManagedAutoDream": false, "enableAutoSkill": false },
  "ui": { "enableFollowupSuggestions": false },
  "tools": { "approvalMode": "default", "shell": { "enableInteractiveShell": false } }
}
"#;

/// Trusts no directory; otherwise Qwen Code would execute what a workspace's `.qwen/settings.json` says.
const QWEN_TRUST: &str = r#"{ "/": "DO_NOT_TRUST" }"#;

/// Prevents two restarts of itself, which take seconds, and a model request for a title.
pub(super) const ENVIRONMENT: &[(&str, &str)] =
    &[("QWEN_CODE_NO_RELAUNCH", "true"), ("QWEN_DISABLE_AUTO_TITLE", "1")];

/// Script that Node loads before Qwen Code, which otherwise loses output that Node reads after the exit of a command.
const QWEN_PRELOAD: &str = include_str!("wait_for_output.cjs");
const QWEN_PRELOAD_PATH: &str = ".qwen/wait_for_output.cjs";

pub(super) const FILES: &[(&str, &str)] = &[
    (".qwen/settings.json", QWEN_SETTINGS),
    (".qwen/trustedFolders.json", QWEN_TRUST),
    (QWEN_PRELOAD_PATH, QWEN_PRELOAD),
];

/// Returns `NODE_OPTIONS`: ours, then those of the profile.
pub(super) fn node_options(profile: &AcpProfile, home: &Path) -> String {
    let path = home.join(QWEN_PRELOAD_PATH).to_string_lossy().replace('\\', r"\\").replace('"', r#"\""#);
    let theirs = profile.env.get("NODE_OPTIONS").map(|options| format!(" {options}")).unwrap_or_default();
    format!("--require=\"{path}\"{theirs}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::backend::ModelApi;

    fn profile(program: &str, node_options: Option<&str>) -> AcpProfile {
        let options = node_options.map(|options| ("NODE_OPTIONS".to_owned(), options.to_owned()));
        AcpProfile {
            command: vec![program.to_owned()],
            model: None,
            base_url: None,
            api: ModelApi::Chat,
            env: BTreeMap::from_iter(options),
            settings: BTreeMap::new(),
            silence_timeout: Duration::from_secs(1),
        }
    }

    #[test]
    fn node_options_of_the_profile_are_kept() {
        let home = Path::new("/a home");
        let ours = r#"--require="/a home/.qwen/wait_for_output.cjs""#;
        assert_eq!(node_options(&profile("qwen", None), home), ours);
        let both = format!("{ours} --max-old-space-size=512");
        assert_eq!(node_options(&profile("qwen", Some("--max-old-space-size=512")), home), both);
    }
}
