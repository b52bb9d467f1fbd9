//! Which consents can be given.

use std::collections::BTreeSet;

use super::change::RelationChangeKind;
use super::{Relation, RelationStatus};
use crate::agents::manifest::Manifest;
use crate::agents::manifest::document::ManifestHash;
use crate::agents::manifest::version::ManifestPin;
use crate::ids::RelationId;

/// The manifest that a user was shown, as far as their client names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShownManifest {
    pub version: Option<i64>,
    pub hash: Option<ManifestHash>,
}

/// What a user agrees to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    pub scopes: BTreeSet<String>,
    pub shown: ShownManifest,
}

/// Why a consent does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    #[error("the agent has no manifest, so there is nothing to grant")]
    NoManifest,
    #[error(
        "the manifest was changed: its version is {}, its hash {}: show it to the user, and ask again", .current.version, .current.hash
    )]
    OtherManifest { current: ManifestPin },
    /// The ids of scopes are ASCII, and not secret; one that is no id is not repeated.
    #[error("granted_scopes: the manifest of version {version} declares no such scope")]
    UndeclaredScope { version: i64 },
    #[error("you have granted scopes to this agent before: change the relation {relation}")]
    Exists { relation: RelationId },
    #[error("the relation has ended: grant scopes again for a new one")]
    Ended,
}

impl Consent {
    /// Checks a consent against the current manifest of the agent. Returns what it is pinned to.
    pub fn check(&self, current: ManifestPin, manifest: &Manifest) -> Result<ManifestPin, GrantError> {
        let is_other = self.shown.version.is_some_and(|version| version != current.version)
            || self.shown.hash.is_some_and(|hash| hash != current.hash);
        if is_other {
            return Err(GrantError::OtherManifest { current });
        }
        if self.scopes.iter().any(|scope| manifest.scope(scope).is_none()) {
            return Err(GrantError::UndeclaredScope { version: current.version });
        }
        Ok(current)
    }

    /// Changes a relation. Returns it as it was, if nothing changes.
    pub fn apply(
        &self,
        relation: &Relation,
        current: ManifestPin,
        manifest: &Manifest,
    ) -> Result<(Relation, Option<RelationChangeKind>), GrantError> {
        if relation.status() == RelationStatus::Ended {
            return Err(GrantError::Ended);
        }
        let pin = self.check(current, manifest)?;
        let changed = Relation { granted_scopes: self.scopes.clone(), manifest: pin, ..relation.clone() };
        let kind = if pin != relation.manifest {
            Some(RelationChangeKind::Reconsented)
        } else if changed.granted_scopes != relation.granted_scopes {
            Some(RelationChangeKind::Changed)
        } else {
            None
        };
        Ok((changed, kind))
    }
}
