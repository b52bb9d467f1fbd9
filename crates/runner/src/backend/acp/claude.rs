//! Built-in settings for Claude Code and its adapter, `claude-agent-acp` 0.99.1.

use serde_json::{Value, json};

/// No telemetry, updates, error reports or suggestions, which would send another model request after each answer. It
/// repeats a failed model request for minutes by default.
pub(super) const ENVIRONMENT: &[(&str, &str)] = &[
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION", "false"),
    ("CLAUDE_CODE_MAX_RETRIES", "3"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
];

/// Returns the options of a session. Claude Code reads no settings files: those of a workspace could allow commands, run
/// hooks, and change the address of the model, and an agent could write those of its home.
pub(super) fn session_meta() -> Value {
    json!({ "claudeCode": { "options": {
        "settingSources": [], "promptSuggestions": false, "allowDangerouslySkipPermissions": false,
    } } })
}

/// In the place of an output that is too large for the model.
const PERSISTED_OUTPUT: &str = "<persisted-output>";

/// Returns whether a part of the output is missing in an update of a tool call.
pub(super) fn is_truncated(raw_output: &Value) -> bool {
    raw_output.as_str().is_some_and(|text| text.starts_with(PERSISTED_OUTPUT))
}

/// Returns the output of a tool without the code fence around it.
pub(super) fn without_fence(text: &str) -> &str {
    let fence_length = text.bytes().take_while(|byte| *byte == b'`').count();
    let fence = &text[..fence_length];
    let inner =
        text.split_once('\n').and_then(|(_, rest)| rest.strip_suffix(fence)).filter(|_| fence_length >= 3);
    inner.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_fence_around_the_whole_output_is_removed() {
        for (text, expected) in [
            ("```console\na\nb\n```", "a\nb\n"),
            ("````console\n```\nx\n```\n````", "```\nx\n```\n"),
            ("```\nopen", "```\nopen"),
            ("plain\n```", "plain\n```"),
            ("`a`\n`", "`a`\n`"),
            ("```", "```"),
            ("", ""),
        ] {
            assert_eq!(without_fence(text), expected, "{text:?}");
        }
    }
}
