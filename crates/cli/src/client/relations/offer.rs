//! What an agent asks for, as text. Words of the manifest are those of the agent's author.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use guildhall_domain::FailureKind;
use guildhall_domain::agents::diff::Language;
use guildhall_domain::agents::manifest::document::ManifestDocument;
use guildhall_domain::agents::manifest::presets::preset;
use guildhall_domain::agents::manifest::{Manifest, PermissionScope, Sensitivity, read};
use guildhall_domain::ids::AgentId;
use guildhall_sdk::{Client, ClientError};

use crate::output::sanitize_line;

/// Sensitivities in the order in which they are shown: what can hurt most comes first.
const ORDER: [Sensitivity; 3] = [Sensitivity::High, Sensitivity::Medium, Sensitivity::Low];

/// A manifest with its hash, which was computed here.
pub(super) struct Offer {
    pub(super) name: String,
    pub(super) version: i64,
    pub(super) document: ManifestDocument,
    pub(super) manifest: Manifest,
}

impl Offer {
    /// Reads the current manifest: that of a published agent, or of an agent of a tenant of the caller.
    pub(super) async fn read(client: &Client, agent: AgentId) -> Result<Self> {
        let (name, version, manifest) = match client.get_published_agent(agent).await {
            Ok(found) => (found.name, found.capability_manifest_version, found.capability_manifest),
            Err(error) if is_not_found(&error) => {
                let found = client.get_agent(agent).await?;
                let Some(version) = found.capability_manifest_version else {
                    bail!("the agent has no manifest: there is nothing to grant");
                };
                let manifest = client.get_agent_manifest(agent, version).await?.capability_manifest;
                (found.name, version, manifest.unwrap_or_default())
            }
            Err(error) => return Err(error.into()),
        };
        let Ok(document) = ManifestDocument::parse(&manifest.to_string()) else {
            bail!("the manifest of the agent cannot be read");
        };
        let Some(manifest) = read(&document).0 else {
            bail!("the manifest of the agent is not valid: use a newer guildhall");
        };
        Ok(Self { name, version, document, manifest })
    }

    /// Returns the scopes in the order in which they are shown.
    pub(super) fn scopes(&self) -> Vec<&PermissionScope> {
        let of = |sensitivity| {
            self.manifest.permission_scopes.iter().filter(move |scope| scope.sensitivity == sensitivity)
        };
        ORDER.into_iter().flat_map(of).collect()
    }

    /// Returns all scopes with their tools. Numbers are those to choose with.
    pub(super) fn text(&self, language: Language, granted: &BTreeSet<String>) -> String {
        let mut lines = vec![
            sanitize_line(&self.name),
            format!("manifest version {}, {}", self.version, self.document.hash()),
        ];
        for (index, scope) in self.scopes().into_iter().enumerate() {
            let (label, description) = words(language, scope);
            let mark = if granted.contains(&scope.id) { "granted" } else { "not granted" };
            lines.push(String::new());
            lines.push(format!(
                "{}. [{}] {} ({}), {mark}",
                index + 1,
                risk(language, scope.sensitivity),
                sanitize_line(label),
                scope.id
            ));
            lines.push(format!("   {}", sanitize_line(description)));
            for tool in self.manifest.tools.iter().filter(|tool| tool.permission_scope == scope.id) {
                let description = tool.description_fallback.as_ref().unwrap_or(&tool.description_i18n_key);
                lines.push(format!("   - {}: {}", tool.name, sanitize_line(description)));
            }
        }
        lines.join("\n")
    }
}

fn is_not_found(error: &ClientError) -> bool {
    error.kind() == Some(FailureKind::NotFound)
}

/// Returns the label and the description: those of the platform for a preset scope, else those of the manifest.
fn words(language: Language, scope: &PermissionScope) -> (&str, &str) {
    if let Some(preset) = preset(&scope.id) {
        return (preset.label(language), preset.description(language));
    }
    (
        scope.label_fallback.as_ref().unwrap_or(&scope.label_i18n_key),
        scope.description_fallback.as_ref().unwrap_or(&scope.description_i18n_key),
    )
}

fn risk(language: Language, sensitivity: Sensitivity) -> &'static str {
    match (language, sensitivity) {
        (Language::English, Sensitivity::High) => "high: you are asked every time",
        (Language::English, Sensitivity::Medium) => "medium: you are asked once in a conversation",
        (Language::English, Sensitivity::Low) => "low: you are not asked",
        (Language::Chinese, Sensitivity::High) => "高风险：每次都会询问您",
        (Language::Chinese, Sensitivity::Medium) => "中风险：每个会话询问一次",
        (Language::Chinese, Sensitivity::Low) => "低风险：不会询问您",
    }
}
