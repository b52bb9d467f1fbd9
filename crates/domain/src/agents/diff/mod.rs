//! What changes between two versions of a manifest, and who has to know.
//!
//! Each change has two verdicts. *Contract* is the table of the specification: does it break who relies on the manifest?
//! *Consent* is about what users agreed to: does the agent get more, or something else, than the words they saw?

mod change;
mod collector;
mod schema;
mod scopes;
mod sentence;
#[cfg(test)]
mod table_tests;
#[cfg(test)]
pub(crate) mod test_manifests;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::BTreeSet;

pub use change::{Change, ChangeKind, Consent, Contract, Side};
pub use sentence::Language;

use super::manifest::{CapabilityFlags, Manifest, pointer::Pointer};
use crate::named_enum::named_enum;
use collector::{Collector, Place};

named_enum! {
    /// The worst verdict of all changes.
    Outcome, "outcome";
    /// Nothing that users are told.
    Same = "same",
    Notify = "notify",
    ReConsent = "re-consent",
    ContractBreak = "contract-break",
}

/// The changes between two manifests, the most important first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ManifestDiff {
    changes: Vec<Change>,
}

impl ManifestDiff {
    /// Compares two valid manifests.
    #[must_use]
    pub fn between(old: &Manifest, new: &Manifest) -> Self {
        let mut collector = Collector::default();
        scopes::compare(old, new, &mut collector);
        tools::compare(old, new, &mut collector);
        compare_flags(&old.capability_flags, &new.capability_flags, &mut collector);
        compare_rest(old, new, &mut collector);
        Self { changes: collector.into_changes() }
    }

    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    #[must_use]
    pub fn contract(&self) -> Contract {
        self.changes.iter().map(|change| change.contract).max().unwrap_or(Contract::Compatible)
    }

    #[must_use]
    pub fn consent(&self) -> Consent {
        self.changes.iter().map(|change| change.consent).max().unwrap_or(Consent::Silent)
    }

    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match (self.contract(), self.consent()) {
            (Contract::Breaking, _) => Outcome::ContractBreak,
            (Contract::Compatible, Consent::ReConsent) => Outcome::ReConsent,
            (Contract::Compatible, Consent::Notify) => Outcome::Notify,
            (Contract::Compatible, Consent::Silent) => Outcome::Same,
        }
    }

    /// Returns the scopes that users are asked about again.
    #[must_use]
    pub fn scopes_requiring_reauth(&self) -> BTreeSet<&str> {
        self.asked().filter_map(|change| change.scope.as_deref()).collect()
    }

    /// Returns the tools that do not work until a user has decided.
    #[must_use]
    pub fn tools_requiring_reauth(&self) -> BTreeSet<&str> {
        self.asked().filter_map(|change| change.tool.as_deref()).collect()
    }

    fn asked(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.consent == Consent::ReConsent)
    }
}

fn compare_flags(old: &CapabilityFlags, new: &CapabilityFlags, collector: &mut Collector) {
    let at = Pointer::root().key("capability_flags");
    for (name, (before, after)) in CapabilityFlags::NAMES.iter().zip(old.values().iter().zip(new.values())) {
        if *before != after {
            let change = Place::new(at.key(name)).change(ChangeKind::FlagChanged, name);
            collector.add(change.values(before.to_string(), after.to_string()).consent(Consent::Notify));
        }
    }
    collector.compare_unknown(&old.unknown, &new.unknown, &at);
}

fn compare_rest(old: &Manifest, new: &Manifest, collector: &mut Collector) {
    if old.agent_version != new.agent_version {
        let place = Place::new(Pointer::root().key("agent_version"));
        let change = place.change(ChangeKind::VersionChanged, "agent_version");
        collector.add(change.values(old.agent_version.clone(), new.agent_version.clone()));
    }
    collector.compare_unknown(&old.unknown, &new.unknown, &Pointer::root());
}
