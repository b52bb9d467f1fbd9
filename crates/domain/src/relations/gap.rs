//! What has changed between the manifest that a user agreed to and the current one.
//!
//! The server and the guard of a device decide with the same functions.

use std::collections::BTreeSet;

use crate::agents::diff::{Consent, Contract, ManifestDiff};
use crate::agents::manifest::Manifest;
use crate::named_enum::named_enum;

named_enum! {
    /// Whether a tool can be used.
    ToolState, "state of a tool";
    Works = "works",
    /// It changed, and the user was not asked yet: `scope_not_granted`.
    NeedsConsent = "needs-consent",
    NotGranted = "not-granted",
    /// The current manifest does not have it.
    NotDeclared = "not-declared",
}

/// What waits for a new consent: the difference between two versions of a manifest, however many lie between them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConsentGap {
    /// The table of the specification: `h2a.reauth_required` goes to every user.
    pub contract_breaks: bool,
    /// Scopes that users are asked about.
    pub scopes: BTreeSet<String>,
    /// Tools that changed, or whose scope did, by their current names.
    pub tools: BTreeSet<String>,
    /// Scopes that changed themselves: none of their tools works.
    pub whole_scopes: BTreeSet<String>,
    /// Scopes with changes that users are only told about.
    pub notified_scopes: BTreeSet<String>,
    /// Whether something changed that users are told about, and that belongs to no scope.
    pub notifies_everybody: bool,
}

impl ConsentGap {
    /// Compares the manifest of a consent with the current one.
    #[must_use]
    pub fn between(agreed: &Manifest, current: &Manifest) -> Self {
        let diff = ManifestDiff::between(agreed, current);
        let mut gap = Self { contract_breaks: diff.contract() == Contract::Breaking, ..Self::default() };
        for change in diff.changes() {
            match change.consent {
                Consent::Silent => {}
                Consent::Notify => match &change.scope {
                    Some(scope) => {
                        gap.notified_scopes.insert(scope.clone());
                    }
                    None => gap.notifies_everybody = true,
                },
                Consent::ReConsent => {
                    gap.scopes.extend(change.scope.clone());
                    match (&change.tool, &change.scope) {
                        (Some(tool), _) => {
                            gap.tools.insert(tool.clone());
                        }
                        (None, Some(scope)) => {
                            gap.whole_scopes.insert(scope.clone());
                        }
                        (None, None) => {}
                    }
                }
            }
        }
        gap.with_tools_of_scopes(current)
    }

    /// Returns the gap of a consent whose manifest cannot be read by the rules of today: nothing of it counts.
    #[must_use]
    pub fn whole(current: &Manifest) -> Self {
        let scopes: BTreeSet<String> =
            current.permission_scopes.iter().map(|scope| scope.id.clone()).collect();
        let gap = Self { contract_breaks: true, whole_scopes: scopes.clone(), scopes, ..Self::default() };
        gap.with_tools_of_scopes(current)
    }

    /// Adds the tools of scopes that changed themselves.
    fn with_tools_of_scopes(mut self, current: &Manifest) -> Self {
        let tools = current.tools.iter().filter(|tool| self.whole_scopes.contains(&tool.permission_scope));
        self.tools.extend(tools.map(|tool| tool.name.clone()).collect::<Vec<_>>());
        self
    }

    /// Returns whether nothing waits for the user.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.scopes.is_empty() && self.tools.is_empty() && !self.contract_breaks
    }

    /// Returns whether a tool of the current manifest can be used with these scopes.
    #[must_use]
    pub fn tool_state(&self, name: &str, current: &Manifest, granted: &BTreeSet<String>) -> ToolState {
        let Some(tool) = current.tool(name) else { return ToolState::NotDeclared };
        if !granted.contains(&tool.permission_scope) || current.scope(&tool.permission_scope).is_none() {
            return ToolState::NotGranted;
        }
        if self.tools.contains(name) {
            return ToolState::NeedsConsent;
        }
        ToolState::Works
    }

    /// Returns the granted scopes of which nothing waits for a new consent.
    #[must_use]
    pub fn effective_scopes(&self, granted: &BTreeSet<String>) -> BTreeSet<String> {
        granted.difference(&self.scopes).cloned().collect()
    }
}
