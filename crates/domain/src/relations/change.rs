//! The history of a consent.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::agents::manifest::version::ManifestPin;
use crate::ids::PrincipalId;
use crate::named_enum::named_enum;

named_enum! {
    /// What a user has done.
    RelationChangeKind, "change of a relation";
    Granted = "granted",
    /// Other scopes of the same manifest.
    Changed = "changed",
    /// Agreed to another version of the manifest.
    Reconsented = "reconsented",
    Revoked = "revoked",
}

/// An entry of the history. Entries never change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationChange {
    /// From 1, without gaps.
    pub number: i32,
    pub kind: RelationChangeKind,
    /// What was granted from then on.
    pub granted_scopes: BTreeSet<String>,
    pub manifest: ManifestPin,
    pub actor: PrincipalId,
    pub changed_at: Timestamp,
}
