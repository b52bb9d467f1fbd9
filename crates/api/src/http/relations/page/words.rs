//! Texts of the consent page.

use guildhall_domain::agents::manifest::presets::preset;
use guildhall_domain::agents::manifest::{PermissionScope, Sensitivity};
use guildhall_domain::relations::{GrantError, RelationState};
use guildhall_service::relations::EarlierConsent;
use guildhall_service::relations::error::RelationError;

use crate::edge::html::Language;

pub(super) fn state(language: Language, earlier: Option<&EarlierConsent>) -> &'static str {
    let Some(earlier) = earlier else {
        return language.pick(
            "You have granted nothing to this agent. It is not asked for anything that you do not tick.",
            "您尚未授予该智能体任何权限。未勾选的内容不会被授予。",
        );
    };
    if earlier.state.gap.is_silent() {
        return language.pick("You have granted what is ticked below.", "您已授予下面勾选的权限。");
    }
    language.pick(
        "The agent has changed since you agreed. What changed does not work until you agree again.",
        "自您同意以来，该智能体已变更。在您重新同意之前，变更的部分不可用。",
    )
}

/// Returns what holds for an agent that cannot be offered any more.
pub(super) fn withdrawn(language: Language, state: &RelationState) -> &'static str {
    if state.relation.ended_at.is_some() {
        return language.pick(
            "You have taken everything back. The agent can use nothing any more.",
            "您已撤回全部权限。该智能体无法再使用任何权限。",
        );
    }
    if state.agent.manifest.is_none() {
        return language.pick(
            "This agent is not published any more. You can only take back what you have granted.",
            "该智能体已不再公开。您只能撤回已授予的权限。",
        );
    }
    language.pick(
        "What this agent asks for cannot be shown. You can only take back what you have granted.",
        "无法显示该智能体请求的内容。您只能撤回已授予的权限。",
    )
}

/// Returns how many changes have no sentence of their own.
pub(super) fn more_changes(language: Language, count: usize) -> String {
    match language {
        Language::English if count == 1 => "and 1 more change".to_owned(),
        Language::English => format!("and {count} more changes"),
        Language::Chinese => format!("以及另外 {count} 项变更"),
    }
}

pub(super) fn sensitivity(language: Language, sensitivity: Sensitivity) -> &'static str {
    match sensitivity {
        Sensitivity::High => language.pick("High risk: you are asked every time", "高风险：每次都会询问您"),
        Sensitivity::Medium => {
            language.pick("Medium risk: you are asked once in a conversation", "中风险：每个会话询问一次")
        }
        Sensitivity::Low => language.pick("Low risk: you are not asked", "低风险：不会询问您"),
    }
}

/// Returns the label and the description of a scope: those of the platform for a preset one, else those of the manifest.
pub(super) fn of_scope(language: Language, scope: &PermissionScope) -> (&str, &str) {
    if let Some(preset) = preset(&scope.id) {
        let language = language.of_manifests();
        return (preset.label(language), preset.description(language));
    }
    (
        scope.label_fallback.as_ref().unwrap_or(&scope.label_i18n_key),
        scope.description_fallback.as_ref().unwrap_or(&scope.description_i18n_key),
    )
}

pub(super) fn refusal(language: Language, error: &RelationError) -> &'static str {
    match error {
        RelationError::Grant(GrantError::OtherManifest { .. }) => language.pick(
            "The agent was changed while you read. Nothing was granted: read the page again.",
            "在您阅读期间，该智能体已变更。未授予任何权限：请重新阅读此页面。",
        ),
        RelationError::Grant(
            GrantError::NoManifest
            | GrantError::UndeclaredScope { .. }
            | GrantError::Exists { .. }
            | GrantError::Ended,
        )
        | RelationError::AgentHidden => language.pick(
            "This is not possible any more. Nothing was changed: read the page again.",
            "此操作已不可行。没有任何更改：请重新阅读此页面。",
        ),
        RelationError::TooMany => language.pick(
            "You have granted permissions to too many agents. Take some back first.",
            "您已授权的智能体过多。请先撤回一些。",
        ),
        RelationError::TooManyToday { .. } => language.pick(
            "You have changed this too often today. Try again later. You can take everything back at any time.",
            "您今天更改得过于频繁。请稍后再试。您可以随时撤回全部权限。",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_more_changes_is_named_in_both_languages() {
        assert_eq!(more_changes(Language::English, 1), "and 1 more change");
        assert_eq!(more_changes(Language::English, 494), "and 494 more changes");
        assert_eq!(more_changes(Language::Chinese, 494), "以及另外 494 项变更");
    }
}
