//! What users are told about a new version of a manifest.

use std::collections::BTreeSet;

use super::gap::ConsentGap;
use crate::agents::manifest::version::ManifestPin;
use crate::ids::{AgentId, RelationId};
use crate::named_enum::named_enum;

named_enum! {
    /// What a notice asks of a user.
    NoticeKind, "kind of a notice";
    /// A decision: what changed does not work until then.
    ReauthRequired = "reauth-required",
    /// Nothing: it says what has changed.
    Information = "information",
}

/// A notice that waits for its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationNotice {
    pub relation: RelationId,
    pub agent: AgentId,
    pub kind: NoticeKind,
    /// The new version.
    pub manifest: ManifestPin,
    pub scopes: BTreeSet<String>,
    pub revision: i64,
}

/// Returns the scopes that observers of the agent are told about, if users are asked again.
#[must_use]
pub fn reauth_scopes(gap: &ConsentGap) -> Option<&BTreeSet<String>> {
    (gap.contract_breaks || !gap.scopes.is_empty()).then_some(&gap.scopes)
}

/// Decides whether a user is told, and about which scopes.
///
/// Everybody is told when the contract breaks, as the specification has it, with the same scopes. What else needs a new consent
/// concerns those who granted it, and so does information.
#[must_use]
pub fn notice_of(gap: &ConsentGap, granted: &BTreeSet<String>) -> Option<(NoticeKind, BTreeSet<String>)> {
    if gap.contract_breaks {
        return Some((NoticeKind::ReauthRequired, gap.scopes.clone()));
    }
    let asked: BTreeSet<String> = gap.scopes.intersection(granted).cloned().collect();
    if !asked.is_empty() {
        return Some((NoticeKind::ReauthRequired, asked));
    }
    let told: BTreeSet<String> = gap.notified_scopes.intersection(granted).cloned().collect();
    (!told.is_empty() || gap.notifies_everybody).then_some((NoticeKind::Information, told))
}
