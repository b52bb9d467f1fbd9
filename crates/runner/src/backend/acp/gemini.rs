//! Built-in settings for Gemini CLI 0.61.0.

/// An API key as credential, commands without a terminal, and no telemetry and updates.
const SETTINGS: &str = r#"{
  "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": true } },
  "privacy": { "usageStatisticsEnabled": false },
  "telemetry": { "enabled": false },
  "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false, "disableAutoUpdate": true },
  "tools": { "shell": { "enableInteractiveShell": false } }
}
"#;

/// Trusts no directory; otherwise Gemini CLI would apply the settings and hooks of a workspace.
const TRUST: &str = r#"{ "/": "DO_NOT_TRUST" }"#;

pub(super) const FILES: &[(&str, &str)] =
    &[(".gemini/settings.json", SETTINGS), (".gemini/trustedFolders.json", TRUST)];

/// What a turn may have written, and Gemini CLI would obey: rules that allow tools, extensions, variables.
pub(super) const REMOVED: &[&str] = &[".gemini/policies", ".gemini/extensions", ".gemini/.env", ".env"];

/// Prevents a restart of itself, which takes seconds. Trusts no workspace, whatever its files say.
pub(super) const ENVIRONMENT: &[(&str, &str)] =
    &[("GEMINI_CLI_NO_RELAUNCH", "true"), ("GEMINI_CLI_TRUST_WORKSPACE", "false")];
