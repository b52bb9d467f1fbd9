//! Agents: principals that a tenant owns, with the settings that their conversations start with.

pub mod aid;
pub mod automation;
pub mod diff;
pub mod end_users;
pub mod inbox;
pub mod instructions;
pub mod manifest;
pub mod pipeline;
pub mod pipeline_text;
pub mod settings;
pub mod tool_calls;
pub mod turn_pipeline;

use std::str::FromStr;

use jiff::Timestamp;

use crate::access::authorized::TenantObject;
use crate::access::principal::{InvalidSlug, Slug};
use crate::ids::{AgentId, AutomationId, PrincipalId, TenantId};
use manifest::DeclaredManifest;
use manifest::version::ManifestPin;
use settings::{AgentSettings, AgentSettingsChange};

/// Agents of a tenant.
pub const MAX_AGENTS: u32 = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub id: AgentId,
    pub tenant: TenantId,
    pub slug: String,
    pub name: String,
    /// Whether it takes new turns.
    pub enabled: bool,
    /// Whether requests of the tenant that name no agent are for this one.
    pub is_default: bool,
    /// Incremented by every change of its settings. A run keeps the revision that it was created with.
    pub revision: i64,
    pub settings: AgentSettings,
    /// The current version of its manifest, if it has declared one.
    pub manifest: Option<ManifestPin>,
    /// Whether everybody may read its name and its manifest.
    pub published: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The settings of an agent at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentRevision {
    pub id: AgentId,
    pub revision: i64,
}

impl Agent {
    /// Returns the principal of the agent.
    #[must_use]
    pub fn principal(&self) -> PrincipalId {
        PrincipalId::from_uuid(self.id.as_uuid())
    }
}

impl TenantObject for Agent {
    fn tenant(&self) -> TenantId {
        self.tenant
    }
}

/// A change of an agent. Omitted values stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentChange {
    /// The revision that the caller has read. Another one refuses the change.
    pub revision: Option<i64>,
    pub name: Option<String>,
    pub enabled: Option<bool>,
    pub is_default: Option<bool>,
    pub settings: AgentSettingsChange,
    /// The version of the manifest that the caller has read, 0 for none. Another one refuses the change.
    pub manifest_version: Option<i64>,
    pub manifest: Option<DeclaredManifest>,
    pub published: Option<bool>,
}

/// Why an agent is not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AgentChangeError {
    #[error("the agent was changed meanwhile: its revision is {current}, not {expected}: read it again")]
    RevisionConflict { expected: i64, current: i64 },
    #[error("the default agent cannot be disabled: make another agent the default first")]
    DefaultDisabled,
    #[error(
        "the manifest was changed meanwhile: its version is {current}, not {expected} (0 is none): read it again"
    )]
    ManifestConflict { expected: i64, current: i64 },
    #[error("an agent without a manifest cannot be published: declare a manifest first")]
    NothingToPublish,
}

impl AgentChange {
    /// Returns the changed agent, or the same if nothing changes. The settings get a new revision if they differ.
    pub fn apply(&self, agent: &Agent) -> Result<Agent, AgentChangeError> {
        if let Some(expected) = self.revision.filter(|expected| *expected != agent.revision) {
            return Err(AgentChangeError::RevisionConflict { expected, current: agent.revision });
        }
        let version = agent.manifest.map_or(0, |manifest| manifest.version);
        if let Some(expected) = self.manifest_version.filter(|expected| *expected != version) {
            return Err(AgentChangeError::ManifestConflict { expected, current: version });
        }
        let settings = self.settings.clone().apply(&agent.settings);
        let declared =
            self.manifest.as_ref().map(|new| ManifestPin::declare(agent.manifest, new.document.hash()));
        let changed = Agent {
            name: self.name.clone().unwrap_or_else(|| agent.name.clone()),
            enabled: self.enabled.unwrap_or(agent.enabled),
            is_default: self.is_default.unwrap_or(agent.is_default),
            revision: agent.revision + i64::from(settings != agent.settings),
            settings,
            manifest: declared.or(agent.manifest),
            published: self.published.unwrap_or(agent.published),
            ..agent.clone()
        };
        if changed.is_default && !changed.enabled {
            return Err(AgentChangeError::DefaultDisabled);
        }
        if changed.published && changed.manifest.is_none() {
            return Err(AgentChangeError::NothingToPublish);
        }
        Ok(changed)
    }
}

/// An object of a tenant as a request names it. An id contains `_`, which a slug cannot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdOrSlug<I> {
    Id(I),
    Slug(Slug),
}

pub type AgentKey = IdOrSlug<AgentId>;

pub type AutomationKey = IdOrSlug<AutomationId>;

impl<I: FromStr> FromStr for IdOrSlug<I> {
    type Err = InvalidSlug;

    fn from_str(text: &str) -> Result<Self, InvalidSlug> {
        match text.parse() {
            Ok(id) => Ok(Self::Id(id)),
            Err(_) => text.parse().map(Self::Slug),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::manifest::document::ManifestDocument;
    use super::settings::test_settings::settings;
    use super::*;

    fn agent() -> Agent {
        Agent {
            id: AgentId::generate(),
            tenant: TenantId::generate(),
            slug: "helper".to_owned(),
            name: "Helper".to_owned(),
            enabled: true,
            is_default: true,
            revision: 3,
            settings: settings(),
            manifest: None,
            published: false,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn change_of_another_revision_is_refused() {
        let change =
            AgentChange { revision: Some(2), name: Some("New".to_owned()), ..AgentChange::default() };
        let error = AgentChangeError::RevisionConflict { expected: 2, current: 3 };
        assert_eq!(change.apply(&agent()), Err(error));
    }

    #[test]
    fn default_agent_cannot_be_disabled() {
        let disabled = AgentChange { enabled: Some(false), ..AgentChange::default() };
        assert_eq!(disabled.apply(&agent()), Err(AgentChangeError::DefaultDisabled));
        let both = AgentChange { is_default: Some(false), ..disabled };
        assert!(both.apply(&agent()).is_ok());
        let other = Agent { enabled: false, is_default: false, ..agent() };
        let default = AgentChange { is_default: Some(true), ..AgentChange::default() };
        assert_eq!(default.apply(&other), Err(AgentChangeError::DefaultDisabled));
    }

    fn declared(version: &str) -> DeclaredManifest {
        let text = format!(
            r#"{{"schema_version":"1.0","agent_version":"{version}","tools":[],"permission_scopes":[],
            "capability_flags":{{"supports_streaming":true,"supports_artifacts":true,"supports_voice":false,
            "supports_group_chat":false}}}}"#
        );
        let document = ManifestDocument::parse(&text).expect("JSON");
        let (manifest, findings) = manifest::read(&document);
        DeclaredManifest { manifest: manifest.unwrap_or_else(|| panic!("{findings:?}")), document }
    }

    fn with_manifest(manifest: DeclaredManifest) -> AgentChange {
        AgentChange { manifest: Some(manifest), ..AgentChange::default() }
    }

    // covers: M2
    #[test]
    fn each_other_manifest_is_the_next_version_and_the_same_one_is_none() {
        let (first, second) = (declared("1.0.0"), declared("1.0.1"));
        let pin = |version, manifest: &DeclaredManifest| {
            Some(ManifestPin { version, hash: manifest.document.hash() })
        };
        let mut agent = agent();
        for (manifest, version) in [(&first, 1), (&first, 1), (&second, 2), (&second, 2), (&first, 3)] {
            let changed = with_manifest(manifest.clone()).apply(&agent).expect("valid");
            assert_eq!(changed, Agent { manifest: pin(version, manifest), ..agent });
            agent = changed;
        }
    }

    #[test]
    fn change_of_another_manifest_version_is_refused() {
        let read =
            |version| AgentChange { manifest_version: Some(version), ..with_manifest(declared("1.0.0")) };
        let agent = agent();
        let error = AgentChangeError::ManifestConflict { expected: 1, current: 0 };
        assert_eq!(read(1).apply(&agent), Err(error));
        let agent = read(0).apply(&agent).expect("none was read");
        let error = AgentChangeError::ManifestConflict { expected: 0, current: 1 };
        assert_eq!(read(0).apply(&agent), Err(error));
        assert_eq!(read(1).apply(&agent), Ok(agent));
    }

    #[test]
    fn agent_without_a_manifest_cannot_be_published() {
        let publish = AgentChange { published: Some(true), ..AgentChange::default() };
        assert_eq!(publish.apply(&agent()), Err(AgentChangeError::NothingToPublish));
        let both = AgentChange { manifest: Some(declared("1.0.0")), ..publish };
        let published = both.apply(&agent()).expect("valid");
        assert!(published.published);
        let withdrawn = AgentChange { published: Some(false), ..AgentChange::default() };
        assert_eq!(withdrawn.apply(&published), Ok(Agent { published: false, ..published }));
    }

    #[test]
    fn agent_is_named_by_id_or_slug() {
        let id = AgentId::generate();
        assert_eq!(id.to_string().parse(), Ok(AgentKey::Id(id)));
        assert_eq!("helper".parse(), "helper".parse().map(AgentKey::Slug));
        assert!("Not A Slug".parse::<AgentKey>().is_err());
    }

    proptest! {
        /// Names and flags are no part of what a run is created with.
        #[test]
        fn only_changed_settings_get_a_new_revision(
            name in proptest::option::of("[a-z]{1,8}"),
            is_default in proptest::option::of(any::<bool>()),
            description in proptest::option::of("[a-z]{0,4}"),
        ) {
            let agent = agent();
            let settings = AgentSettingsChange { description: description.clone(), ..AgentSettingsChange::default() };
            let change = AgentChange { name: name.clone(), is_default, settings, ..AgentChange::default() };
            let changed = change.apply(&agent).expect("valid");
            let is_new = description.as_ref().is_some_and(|text| *text != agent.settings.description);
            prop_assert_eq!(changed.revision, agent.revision + i64::from(is_new));
            let expected = Agent {
                name: name.unwrap_or_else(|| agent.name.clone()),
                is_default: is_default.unwrap_or(true),
                revision: changed.revision,
                settings: AgentSettings {
                    description: description.unwrap_or_else(|| agent.settings.description.clone()),
                    ..agent.settings.clone()
                },
                ..agent
            };
            prop_assert_eq!(changed, expected);
        }
    }
}
