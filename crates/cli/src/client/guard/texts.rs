//! What the guard says to people, in their language.

use std::collections::BTreeMap;

use clap::ValueEnum;
use guildhall_domain::agents::manifest::Sensitivity;
use guildhall_domain::agents::manifest::presets::preset;
use guildhall_domain::agents::tool_calls::ToolOutcome;
use guildhall_sdk::guard::ToolPrompt;

use crate::output::sanitize_line;

/// The arguments of a call are shown up to this length: people decide about what they see, so longer ones say so.
const MAX_SHOWN_CHARS: usize = 4_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Language {
    En,
    #[value(name = "zh-CN")]
    ZhCn,
}

impl Language {
    /// Returns the one of the environment.
    #[expect(clippy::disallowed_methods, reason = "the language of the terminal is no setting of ours")]
    pub(super) fn of_environment() -> Self {
        let names = ["LC_ALL", "LC_MESSAGES", "LANG"];
        let name = names.iter().filter_map(|name| std::env::var(name).ok()).find(|name| !name.is_empty());
        if name.is_some_and(|name| name.starts_with("zh")) { Self::ZhCn } else { Self::En }
    }

    fn pick(self, en: &'static str, zh_cn: &'static str) -> &'static str {
        match self {
            Self::En => en,
            Self::ZhCn => zh_cn,
        }
    }

    pub(super) fn sensitivity(self, sensitivity: Sensitivity) -> &'static str {
        match sensitivity {
            Sensitivity::Low => self.pick("low", "低"),
            Sensitivity::Medium => self.pick("medium", "中"),
            Sensitivity::High => self.pick("high", "高"),
        }
    }

    /// Returns the words for a scope: those of the platform, or those of the agent.
    pub(super) fn scope_label(self, id: &str, label: Option<&str>) -> String {
        match preset(id) {
            Some(preset) => self.pick(preset.label_en, preset.label_zh_cn).to_owned(),
            None => sanitize_line(label.unwrap_or(id)),
        }
    }

    /// Asks whether a tool may run.
    pub(super) fn call_question(self, prompt: &ToolPrompt) -> String {
        let arguments = sanitize_line(&prompt.arguments.to_string());
        let shown: String = arguments.chars().take(MAX_SHOWN_CHARS).collect();
        let cut = if shown.len() < arguments.len() {
            self.pick(" … (cut: there is more)", " …（已截断：还有更多内容）")
        } else {
            ""
        };
        let seconds = prompt.expires_in.as_secs();
        let (agent, tool) = (&prompt.agent, sanitize_line(&prompt.tool));
        let description = prompt.description.as_deref().map(|words| format!("  {}\n", sanitize_line(words)));
        let description = description.unwrap_or_default();
        let scope = format!("{} ({})", prompt.scope, self.sensitivity(prompt.sensitivity));
        match self {
            Self::En => format!(
                "\n{agent} wants to run {tool}\n{description}  scope: {scope}\n  arguments: {shown}{cut}\n\
                 Allow it? Answer within {seconds} s. [y/N] "
            ),
            Self::ZhCn => format!(
                "\n{agent} 请求运行 {tool}\n{description}  权限：{scope}\n  参数：{shown}{cut}\n\
                 是否允许？请在 {seconds} 秒内回答。[y/N] "
            ),
        }
    }

    pub(super) fn question_expired(self) -> &'static str {
        self.pick(
            "(not asked any more: it took too long, or the consent was taken back)",
            "（已不再询问：超时或授权已撤销）",
        )
    }

    pub(super) fn grant_title(self, name: &str, agent: &str, version: i64, hash: &str) -> String {
        let name = sanitize_line(name);
        match self {
            Self::En => {
                format!("{name} ({agent}) asks for these scopes. Manifest version {version}, hash {hash}")
            }
            Self::ZhCn => format!("{name}（{agent}）请求以下权限。清单版本 {version}，哈希 {hash}"),
        }
    }

    pub(super) fn grant_question(self) -> &'static str {
        self.pick("Grant them on this device? [y/N] ", "是否在此设备上授权？[y/N] ")
    }

    pub(super) fn ready(self) -> &'static str {
        self.pick("waiting for calls; Ctrl-C ends the guard", "正在等待调用；按 Ctrl-C 结束")
    }

    pub(super) fn scopes(self, scopes: &str) -> String {
        if scopes.is_empty() {
            return self
                .pick(
                    "the agent may call nothing now: it has no active relation with you",
                    "该智能体现在不能调用任何工具：没有有效的授权关系",
                )
                .to_owned();
        }
        format!("{} {scopes}", self.pick("the agent may use", "该智能体可使用"))
    }

    pub(super) fn outcome(self, outcome: &ToolOutcome) -> String {
        match outcome {
            ToolOutcome::Done(_) => self.pick("ok", "成功").to_owned(),
            ToolOutcome::Failed(code) => format!("{} {code}", self.pick("error", "错误")),
            ToolOutcome::Denied(reason) => format!("{} {reason}", self.pick("denied", "已拒绝")),
        }
    }
}

/// Reads an answer; none for one that is neither.
pub(super) fn parse_answer(line: &str) -> Option<bool> {
    let answers = BTreeMap::from([
        ("y", true),
        ("yes", true),
        ("是", true),
        ("", false),
        ("n", false),
        ("no", false),
        ("否", false),
    ]);
    answers.get(line.trim().to_lowercase().as_str()).copied()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn prompt() -> ToolPrompt {
        ToolPrompt {
            agent: "helper.guild.example".parse().expect("an AID"),
            conversation: "c-1".to_owned(),
            tool: "locate".to_owned(),
            description: Some("Reads your\u{1b}[2J place".to_owned()),
            scope: "location:read".to_owned(),
            sensitivity: Sensitivity::High,
            arguments: json!({ "place": "\u{202e}home" }),
            expires_in: Duration::from_secs(30),
        }
    }

    #[test]
    fn question_shows_everything_and_cannot_control_the_terminal() {
        insta::assert_snapshot!(Language::En.call_question(&prompt()), @r#"

        helper.guild.example wants to run locate
          Reads your�[2J place
          scope: location:read (high)
          arguments: {"place":"�home"}
        Allow it? Answer within 30 s. [y/N] 
        "#);
        insta::assert_snapshot!(Language::ZhCn.call_question(&prompt()), @r#"

        helper.guild.example 请求运行 locate
          Reads your�[2J place
          权限：location:read (高)
          参数：{"place":"�home"}
        是否允许？请在 30 秒内回答。[y/N] 
        "#);
        let long = ToolPrompt { arguments: json!("x".repeat(5_000)), ..prompt() };
        assert!(Language::En.call_question(&long).contains("(cut: there is more)"));
    }

    #[test]
    fn only_a_yes_allows() {
        for (line, expected) in [
            ("y", Some(true)),
            (" YES ", Some(true)),
            ("是", Some(true)),
            ("", Some(false)),
            ("n", Some(false)),
            ("否", Some(false)),
            ("maybe", None),
        ] {
            assert_eq!(parse_answer(line), expected, "{line}");
        }
    }
}
