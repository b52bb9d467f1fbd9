//! What the agents that we know want to be told besides the protocol. Nothing here is needed to drive another one.

use std::path::Path;

use super::Profile;

/// Qwen Code 0.24.4: the provider speaks as OpenAI does; nothing is counted, updated, remembered or suggested behind
/// the back of a turn, which would ask the model again after each answer.
const QWEN_SETTINGS: &str = r#"{
  "security": { "auth": { "selectedType": "openai" }, "folderTrust": { "enabled": true } },
  "privacy": { "usageStatisticsEnabled": false },
  "telemetry": { "enabled": false },
  "general": { "enableAutoUpdate": false },
  "memory": { "enableManagedAutoMemory": false, "enableManagedAutoDream": false, "enableAutoSkill": false },
  "ui": { "enableFollowupSuggestions": false },
  "tools": { "approvalMode": "default" }
}
"#;

/// The workspace may be anybody's: else Qwen Code would run what a `.qwen/settings.json` in it says.
const QWEN_TRUST: &str = r#"{ "/": "DO_NOT_TRUST" }"#;

/// Else it starts itself twice more, which takes seconds, and asks the model for a title.
const QWEN_ENVIRONMENT: [(&str, &str); 2] =
    [("QWEN_CODE_NO_RELAUNCH", "true"), ("QWEN_DISABLE_AUTO_TITLE", "1")];

/// Tells whether a word of the command is Qwen Code's program, or the script of its package.
fn is_qwen(profile: &Profile) -> bool {
    let is_it = |word: &String| {
        let path = Path::new(word);
        let is_program = path.file_name().is_some_and(|name| name == "qwen");
        is_program || path.components().any(|part| part.as_os_str() == "qwen-code")
    };
    profile.command.iter().take(3).any(is_it)
}

/// Returns files of the agent's home, before those of its profile.
pub(super) fn settings(profile: &Profile) -> Vec<(&'static str, &'static str)> {
    if is_qwen(profile) {
        vec![(".qwen/settings.json", QWEN_SETTINGS), (".qwen/trustedFolders.json", QWEN_TRUST)]
    } else {
        Vec::new()
    }
}

/// Returns variables of the agent's environment, before those of its profile.
pub(super) fn environment(profile: &Profile) -> Vec<(&'static str, &'static str)> {
    if is_qwen(profile) { QWEN_ENVIRONMENT.to_vec() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_are_json() {
        let read: serde_json::Value = serde_json::from_str(QWEN_SETTINGS).expect("JSON");
        assert_eq!(read["security"]["auth"]["selectedType"], "openai");
    }
}
