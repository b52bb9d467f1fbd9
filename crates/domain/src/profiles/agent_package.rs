//! Where the agents of the built-in templates come from.

/// The program of each agent, and its npm package.
const PACKAGES: [(&str, &str); 4] = [
    ("codex", "@openai/codex"),
    ("qwen", "@qwen-code/qwen-code"),
    ("gemini", "@google/gemini-cli"),
    // The adapter with which Claude Code speaks the Agent Client Protocol.
    ("claude-agent-acp", "@agentclientprotocol/claude-agent-acp"),
];

/// Returns the command that installs an agent, if it is a known one.
#[must_use]
pub fn install_command(program: &str) -> Option<String> {
    let (_, package) = PACKAGES.iter().find(|(name, _)| *name == program)?;
    Some(format!("npm install -g {package}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::template::ProfileTemplates;

    #[test]
    fn agent_of_every_built_in_template_can_be_installed() {
        let templates = ProfileTemplates::default();
        for name in templates.names() {
            let agent = templates.get(name.as_str()).expect("a template").agent();
            assert!(install_command(agent).is_some(), "{agent}");
        }
        assert_eq!(install_command("sh"), None);
    }
}
