//! Collects changes.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::change::{Change, ChangeKind, Consent, Contract, Side};
use crate::agents::manifest::Sensitivity;
use crate::agents::manifest::pointer::Pointer;

/// Longest text of a value in a change.
const MAX_VALUE_CHARS: usize = 120;

/// Where a change is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) side: Side,
    pub(super) pointer: Pointer,
}

impl Place {
    pub(super) fn new(pointer: Pointer) -> Self {
        Self { side: Side::New, pointer }
    }

    pub(super) fn old(pointer: Pointer) -> Self {
        Self { side: Side::Old, pointer }
    }

    /// Returns a compatible and silent change here.
    pub(super) fn change(&self, kind: ChangeKind, subject: &str) -> Change {
        Change {
            side: self.side,
            pointer: self.pointer.clone(),
            kind,
            subject: subject.to_owned(),
            before: None,
            after: None,
            tool: None,
            scope: None,
            contract: Contract::Compatible,
            consent: Consent::Silent,
        }
    }
}

/// Returns the verdict on something that widens what users agreed to, or changes its words.
pub(super) fn widening(sensitivity: Sensitivity) -> Consent {
    match sensitivity {
        Sensitivity::Low => Consent::Notify,
        Sensitivity::Medium | Sensitivity::High => Consent::ReConsent,
    }
}

#[derive(Debug, Default)]
pub(super) struct Collector {
    changes: Vec<Change>,
    positions: BTreeMap<(Side, Pointer, ChangeKind, String), usize>,
}

impl Collector {
    /// Adds a change. The same place is compared twice if two references lead to it: the worse verdict counts.
    pub(super) fn add(&mut self, change: Change) {
        let key = (change.side, change.pointer.clone(), change.kind, change.subject.clone());
        match self.positions.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(self.changes.len());
                self.changes.push(change);
            }
            Entry::Occupied(entry) => {
                let other = &mut self.changes[*entry.get()];
                other.contract = other.contract.max(change.contract);
                other.consent = other.consent.max(change.consent);
            }
        }
    }

    /// Compares members that nobody reads.
    pub(super) fn compare_unknown(
        &mut self,
        old: &BTreeMap<String, Value>,
        new: &BTreeMap<String, Value>,
        at: &Pointer,
    ) {
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            let place =
                if new.contains_key(name) { Place::new(at.key(name)) } else { Place::old(at.key(name)) };
            if old.get(name) != new.get(name) {
                self.add(place.change(ChangeKind::UnknownMemberChanged, name).consent(Consent::Notify));
            }
        }
    }

    /// Returns all changes, the most important first, otherwise in the order in which they were found.
    pub(super) fn into_changes(self) -> Vec<Change> {
        let mut changes = self.changes;
        changes.sort_by_key(|change| std::cmp::Reverse((change.contract, change.consent)));
        changes
    }
}

/// Shortens a text that is repeated in a change.
pub(super) fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_VALUE_CHARS {
        return text.to_owned();
    }
    let head: String = text.chars().take(MAX_VALUE_CHARS - 1).collect();
    format!("{head}…")
}
