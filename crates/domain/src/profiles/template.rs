//! Templates of profiles: the agent and its provider.
//!
//! Operators define them, because the command of an agent is code on the runner's machine. A tenant chooses a template and
//! adds a credential and a model.

use std::collections::BTreeMap;
use std::collections::btree_map;

use super::Profile;
use crate::runs::policy::BackendProfile;

/// The built-in templates, in the format of `profile.toml`.
const BUILT_IN: [(&str, &str); 6] = [
    ("claude", include_str!("templates/claude.toml")),
    ("codex", include_str!("templates/codex.toml")),
    ("deepseek", include_str!("templates/deepseek.toml")),
    ("gemini", include_str!("templates/gemini.toml")),
    ("minimax-m3", include_str!("templates/minimax-m3.toml")),
    ("qwen", include_str!("templates/qwen.toml")),
];

/// Templates by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileTemplates(BTreeMap<BackendProfile, Profile>);

/// No template was chosen. The name of the request is not repeated, because it is untrusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("there is no such template; use one of {0}")]
    Unknown(String),
    #[error("the profile has no template of its own name; choose one of {0}")]
    Missing(String),
}

impl Default for ProfileTemplates {
    /// Returns the built-in templates.
    fn default() -> Self {
        let parse = |(name, text): (&str, &str)| Some((name.parse().ok()?, Profile::parse(text).ok()?));
        BUILT_IN.into_iter().filter_map(parse).collect()
    }
}

impl FromIterator<(BackendProfile, Profile)> for ProfileTemplates {
    fn from_iter<I: IntoIterator<Item = (BackendProfile, Profile)>>(templates: I) -> Self {
        Self(templates.into_iter().collect())
    }
}

impl ProfileTemplates {
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Profile> {
        self.0.iter().find(|(template, _)| template.as_str() == name).map(|(_, profile)| profile)
    }

    /// Returns the names in order.
    pub fn names(&self) -> btree_map::Keys<'_, BackendProfile, Profile> {
        self.0.keys()
    }

    /// Returns the settings to start from: the chosen template, or else the stored settings, or else the template with
    /// the name of the profile.
    pub fn resolve(
        &self,
        profile: &BackendProfile,
        chosen: Option<&str>,
        stored: Option<Profile>,
    ) -> Result<Profile, TemplateError> {
        match (chosen, stored) {
            (Some(name), _) => self.get(name).cloned().ok_or_else(|| TemplateError::Unknown(self.list())),
            (None, Some(stored)) => Ok(stored),
            (None, None) => {
                self.get(profile.as_str()).cloned().ok_or_else(|| TemplateError::Missing(self.list()))
            }
        }
    }

    fn list(&self) -> String {
        self.0.keys().map(BackendProfile::as_str).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::BackendKind;

    fn name(text: &str) -> BackendProfile {
        text.parse().expect("a name")
    }

    #[test]
    fn every_built_in_template_is_valid_and_names_its_provider() {
        let templates = ProfileTemplates::default();
        let names: Vec<&str> = templates.names().map(BackendProfile::as_str).collect();
        assert_eq!(names, ["claude", "codex", "deepseek", "gemini", "minimax-m3", "qwen"]);
        for name in names {
            let template = templates.get(name).expect("a template");
            assert!(template.base_url.as_deref().is_some_and(|url| url.starts_with("https://")), "{name}");
            assert_ne!(template.backend, BackendKind::Script, "{name}");
        }
    }

    #[test]
    fn templates_of_different_providers_have_different_urls() {
        let templates = ProfileTemplates::default();
        let urls = templates.names().filter_map(|name| templates.get(name.as_str())?.base_url.clone());
        let urls: Vec<String> = urls.collect();
        let distinct: std::collections::BTreeSet<&String> = urls.iter().collect();
        assert_eq!(distinct.len(), urls.len(), "{urls:?}");
    }

    #[test]
    fn settings_come_from_the_choice_then_the_store_then_the_own_name() {
        let templates = ProfileTemplates::default();
        let (qwen, codex) = (templates.get("qwen").cloned(), templates.get("codex").cloned());
        let stored = Profile { model: Some("mine".to_owned()), ..Profile::new(BackendKind::Codex) };
        let resolve = |profile: &str, chosen, stored| templates.resolve(&name(profile), chosen, stored).ok();
        assert_eq!(resolve("house", Some("qwen"), Some(stored.clone())), qwen);
        assert_eq!(resolve("qwen", None, Some(stored.clone())), Some(stored));
        assert_eq!(resolve("codex", None, None), codex);
        let list = "claude, codex, deepseek, gemini, minimax-m3, qwen".to_owned();
        assert_eq!(templates.resolve(&name("house"), None, None), Err(TemplateError::Missing(list.clone())));
        assert_eq!(templates.resolve(&name("codex"), Some("x"), None), Err(TemplateError::Unknown(list)));
    }
}
