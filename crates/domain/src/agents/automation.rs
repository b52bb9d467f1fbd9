//! Automations: stored messages to an agent, each with a pipeline of its own.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::pipeline::{InvalidPipeline, Pipeline};
use crate::access::authorized::TenantObject;
use crate::ids::{AgentId, AutomationId, TenantId};

/// Automations of a tenant.
pub const MAX_AUTOMATIONS: u32 = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Automation {
    pub id: AutomationId,
    pub tenant: TenantId,
    pub agent: AgentId,
    pub slug: String,
    pub name: String,
    /// Whether it starts new runs.
    pub enabled: bool,
    /// Incremented by every change of its settings.
    pub revision: i64,
    pub settings: AutomationSettings,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl TenantObject for Automation {
    fn tenant(&self) -> TenantId {
        self.tenant
    }
}

/// What an automation says to its agent, and how the turn is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AutomationSettings {
    /// The message of a run that has none of its own.
    pub prompt: String,
    #[serde(default)]
    pub pipeline: Pipeline,
}

impl AutomationSettings {
    pub const MAX_PROMPT_CHARS: usize = 10_000;

    /// Checks what the types of the fields do not.
    pub fn validate(&self) -> Result<(), InvalidAutomation> {
        let is_allowed = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r');
        let is_short = self.prompt.chars().count() <= Self::MAX_PROMPT_CHARS;
        if !is_short || self.prompt.trim().is_empty() || !self.prompt.chars().all(is_allowed) {
            return Err(InvalidAutomation::Prompt);
        }
        Ok(self.pipeline.validate()?)
    }
}

/// Why an automation is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAutomation {
    #[error(
        "prompt: use 1 to {} characters, not only white space, and no control characters except tabs and line breaks",
        AutomationSettings::MAX_PROMPT_CHARS
    )]
    Prompt,
    #[error(transparent)]
    Pipeline(#[from] InvalidPipeline),
}

/// A change of an automation. Omitted values stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AutomationChange {
    /// The revision that the caller has read. Another one refuses the change.
    pub revision: Option<i64>,
    pub name: Option<String>,
    pub enabled: Option<bool>,
    pub prompt: Option<String>,
    pub pipeline: Option<Pipeline>,
}

/// The automation has another revision than the caller has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the automation was changed meanwhile: its revision is {current}, not {expected}: read it again")]
pub struct AutomationConflict {
    pub expected: i64,
    pub current: i64,
}

impl AutomationChange {
    /// Returns the changed automation, or the same if nothing changes. Settings that differ get a new revision.
    pub fn apply(self, automation: &Automation) -> Result<Automation, AutomationConflict> {
        let current = automation.revision;
        if let Some(expected) = self.revision.filter(|expected| *expected != current) {
            return Err(AutomationConflict { expected, current });
        }
        let old = &automation.settings;
        let settings = AutomationSettings {
            prompt: self.prompt.unwrap_or_else(|| old.prompt.clone()),
            pipeline: self.pipeline.unwrap_or_else(|| old.pipeline.clone()),
        };
        Ok(Automation {
            name: self.name.unwrap_or_else(|| automation.name.clone()),
            enabled: self.enabled.unwrap_or(automation.enabled),
            revision: current + i64::from(settings != *old),
            settings,
            ..automation.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn automation() -> Automation {
        Automation {
            id: AutomationId::generate(),
            tenant: TenantId::generate(),
            agent: AgentId::generate(),
            slug: "daily".to_owned(),
            name: "Daily".to_owned(),
            enabled: true,
            revision: 3,
            settings: AutomationSettings { prompt: "report".to_owned(), pipeline: Pipeline::default() },
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn change_of_the_settings_makes_a_revision_and_other_changes_do_not() {
        let old = automation();
        let renamed =
            AutomationChange { name: Some("New".to_owned()), enabled: Some(false), ..Default::default() };
        let expected = Automation { name: "New".to_owned(), enabled: false, ..old.clone() };
        assert_eq!(renamed.apply(&old), Ok(expected));
        let told = AutomationChange { prompt: Some("other".to_owned()), ..Default::default() };
        let settings = AutomationSettings { prompt: "other".to_owned(), pipeline: Pipeline::default() };
        assert_eq!(told.apply(&old), Ok(Automation { revision: 4, settings, ..old.clone() }));
        let stale = AutomationChange { revision: Some(2), ..Default::default() };
        assert_eq!(stale.apply(&old), Err(AutomationConflict { expected: 2, current: 3 }));
    }

    #[test]
    fn prompt_is_text_that_an_agent_can_be_sent() {
        for prompt in ["", " \n", "a\u{0}b", &"x".repeat(10_001)] {
            let settings = AutomationSettings { prompt: prompt.to_owned(), pipeline: Pipeline::default() };
            assert_eq!(settings.validate(), Err(InvalidAutomation::Prompt), "{prompt:?}");
        }
        let longest = AutomationSettings { prompt: "日".repeat(10_000), pipeline: Pipeline::default() };
        assert_eq!(longest.validate(), Ok(()));
    }
}
