//! Settings of an agent: what it is told, and the template of its runs.

use serde::{Deserialize, Serialize};

use super::end_users::{EndUserSettings, EndUserSettingsChange, InvalidEndUserLimit};
use super::instructions::Instructions;
use super::pipeline::{InvalidPipeline, Pipeline};
use crate::runs::policy::{
    BackendProfile, PolicyRequest, ProjectName, ProviderName, RunRequest, SecretRef, SecretScope, TraceSink,
    WorkspaceRef,
};

/// What the runs of an agent are created with. Stored as one document per revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentSettings {
    pub description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Instructions>,
    pub project: ProjectName,
    pub provider: ProviderName,
    pub profile: BackendProfile,
    pub workspace: WorkspaceRef,
    pub policy: PolicyRequest,
    #[serde(default, skip_serializing_if = "Pipeline::is_default")]
    pub pipeline: Pipeline,
    #[serde(default, skip_serializing_if = "EndUserSettings::is_default")]
    pub end_users: EndUserSettings,
}

impl AgentSettings {
    pub const MAX_DESCRIPTION_CHARS: usize = 500;

    /// Checks what the types of the fields do not.
    pub fn validate(&self) -> Result<(), InvalidAgentSettings> {
        check_description(&self.description)?;
        check_workspace(&self.workspace)?;
        self.end_users.validate()?;
        Ok(self.pipeline.validate()?)
    }

    /// Returns the run that a conversation starts with. It is checked against the bounds of the tenant each time. A policy
    /// that names no secrets has the credential of the agent's own profile.
    #[must_use]
    pub fn run_request(&self) -> RunRequest {
        RunRequest {
            project: self.project.clone(),
            workspace: self.workspace.clone(),
            provider: self.provider.clone(),
            profile: self.profile.clone(),
            policy: PolicyRequest {
                secret_scope: self.policy.secret_scope.clone().or_else(|| own_credential(&self.profile)),
                ..self.policy.clone()
            },
            trace_sink: TraceSink::None,
        }
    }

    /// Parses stored settings.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

/// A change of settings. Omitted values stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentSettingsChange {
    pub description: Option<String>,
    /// `Some(None)` removes the instructions.
    pub instructions: Option<Option<Instructions>>,
    pub project: Option<ProjectName>,
    pub provider: Option<ProviderName>,
    pub profile: Option<BackendProfile>,
    pub workspace: Option<WorkspaceRef>,
    pub policy: Option<PolicyRequest>,
    pub pipeline: Option<Pipeline>,
    pub end_users: EndUserSettingsChange,
}

impl AgentSettingsChange {
    #[must_use]
    pub fn apply(self, settings: &AgentSettings) -> AgentSettings {
        AgentSettings {
            description: self.description.unwrap_or_else(|| settings.description.clone()),
            instructions: self.instructions.unwrap_or_else(|| settings.instructions.clone()),
            project: self.project.unwrap_or_else(|| settings.project.clone()),
            provider: self.provider.unwrap_or_else(|| settings.provider.clone()),
            profile: self.profile.unwrap_or_else(|| settings.profile.clone()),
            workspace: self.workspace.unwrap_or_else(|| settings.workspace.clone()),
            policy: self.policy.unwrap_or_else(|| settings.policy.clone()),
            pipeline: self.pipeline.unwrap_or_else(|| settings.pipeline.clone()),
            end_users: self.end_users.apply(settings.end_users),
        }
    }
}

/// Why settings are invalid. Values are not repeated, because they may be long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAgentSettings {
    #[error(
        "description: use at most {} characters and no control characters",
        AgentSettings::MAX_DESCRIPTION_CHARS
    )]
    Description,
    #[error("workspaceRef: a `bundle` is uploaded for one run: use another kind of workspace")]
    UploadedWorkspace,
    #[error(transparent)]
    Pipeline(#[from] InvalidPipeline),
    #[error(transparent)]
    EndUsers(#[from] InvalidEndUserLimit),
}

/// Returns the secrets of an agent that names none: the credential of its profile, if that needs one.
fn own_credential(profile: &BackendProfile) -> Option<SecretScope> {
    let credential = SecretRef::new(&SecretRef::provider_name(profile), ["credential"]).ok()?;
    let scope = SecretScope { provider_credentials: vec![credential], ..SecretScope::default() };
    profile.needs_credential().then_some(scope)
}

fn check_description(text: &str) -> Result<(), InvalidAgentSettings> {
    let is_short = text.chars().count() <= AgentSettings::MAX_DESCRIPTION_CHARS;
    if is_short && !text.chars().any(char::is_control) {
        Ok(())
    } else {
        Err(InvalidAgentSettings::Description)
    }
}

fn check_workspace(workspace: &WorkspaceRef) -> Result<(), InvalidAgentSettings> {
    match workspace {
        WorkspaceRef::Bundle(_) => Err(InvalidAgentSettings::UploadedWorkspace),
        WorkspaceRef::Empty
        | WorkspaceRef::Directory { .. }
        | WorkspaceRef::Copy { .. }
        | WorkspaceRef::Git { .. }
        | WorkspaceRef::GitBundle { .. } => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod test_settings {
    use super::*;

    pub(crate) fn settings() -> AgentSettings {
        AgentSettings {
            description: "answers".to_owned(),
            instructions: Some("Be brief.".to_owned().try_into().expect("valid")),
            project: "acme/web".parse().expect("valid"),
            provider: "local".parse().expect("valid"),
            profile: "demo".parse().expect("valid"),
            workspace: WorkspaceRef::Empty,
            policy: PolicyRequest::default(),
            pipeline: Pipeline::default(),
            end_users: EndUserSettings::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::test_settings::settings;
    use super::*;

    #[test]
    fn settings_round_trip_through_json() {
        let text = settings().to_json();
        let expected = json!({
            "description": "answers", "instructions": "Be brief.", "project": "acme/web", "provider": "local",
            "profile": "demo", "workspace": { "kind": "empty" }, "policy": {},
        });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), expected);
        assert_eq!(AgentSettings::from_json(&text).expect("settings"), settings());
        assert!(AgentSettings::from_json(&text.replace("provider", "ofANewerVersion")).is_err());
    }

    #[test]
    fn uploaded_workspace_and_long_description_are_refused() {
        let uploaded = json!({ "kind": "bundle", "sha256": "0".repeat(64), "sizeBytes": 1 });
        let workspace = serde_json::from_value(uploaded).expect("a workspace");
        let error = AgentSettings { workspace, ..settings() }.validate();
        assert_eq!(error, Err(InvalidAgentSettings::UploadedWorkspace));
        for (length, expected) in [(500, Ok(())), (501, Err(InvalidAgentSettings::Description))] {
            assert_eq!(AgentSettings { description: "é".repeat(length), ..settings() }.validate(), expected);
        }
    }

    #[test]
    fn run_request_is_the_template() {
        let expected = RunRequest {
            project: "acme/web".parse().expect("valid"),
            workspace: WorkspaceRef::Empty,
            provider: "local".parse().expect("valid"),
            profile: "demo".parse().expect("valid"),
            policy: PolicyRequest::default(),
            trace_sink: TraceSink::None,
        };
        assert_eq!(settings().run_request(), expected);
    }

    #[test]
    fn agent_uses_the_credential_of_its_profile_unless_it_names_secrets() {
        let codex = AgentSettings { profile: "codex".parse().expect("valid"), ..settings() };
        let expected = json!({
            "allowCredentialEcho": false, "toolCredentials": [],
            "providerCredentials": [{ "name": "guildhall-provider-codex", "keys": ["credential"] }],
        });
        assert_eq!(json!(codex.run_request().policy.secret_scope), expected);
        let none = PolicyRequest { secret_scope: Some(SecretScope::default()), ..PolicyRequest::default() };
        let without = AgentSettings { policy: none.clone(), ..codex };
        assert_eq!(without.run_request().policy, none);
    }

    proptest! {
        #[test]
        fn empty_change_keeps_the_settings(description in "[a-z]{0,10}") {
            let settings = AgentSettings { description, ..settings() };
            prop_assert_eq!(AgentSettingsChange::default().apply(&settings), settings);
        }
    }
}
