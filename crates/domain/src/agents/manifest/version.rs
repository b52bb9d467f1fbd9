//! Versions of the manifest of an agent. Every version is kept, and a version never changes.

use jiff::Timestamp;

use super::Manifest;
use super::document::ManifestHash;
use crate::agents::diff::{Consent, Contract, ManifestDiff};
use crate::ids::AgentId;

/// A version by number and hash: what a consent is pinned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManifestPin {
    /// From 1, without gaps.
    pub version: i64,
    pub hash: ManifestHash,
}

impl ManifestPin {
    /// Returns the version that a manifest with this hash is declared as. The same manifest again is the current version.
    #[must_use]
    pub fn declare(current: Option<Self>, hash: ManifestHash) -> Self {
        match current {
            Some(current) if current.hash == hash => current,
            Some(current) => Self { version: current.version + 1, hash },
            None => Self { version: 1, hash },
        }
    }
}

/// What changed since the version before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManifestVerdicts {
    pub contract: Contract,
    pub consent: Consent,
}

impl ManifestVerdicts {
    /// Compares a stored manifest with its successor. One that is not valid by the rules of today counts as a contract break.
    #[must_use]
    pub fn between(stored: &str, new: &Manifest) -> Self {
        let Some(old) = Manifest::read_stored(stored) else {
            return Self { contract: Contract::Breaking, consent: Consent::ReConsent };
        };
        let diff = ManifestDiff::between(&old, new);
        Self { contract: diff.contract(), consent: diff.consent() }
    }
}

/// A version of a manifest, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestVersion {
    pub pin: ManifestPin,
    /// None for the first version.
    pub verdicts: Option<ManifestVerdicts>,
    /// Index of its entry in the transparency log. None: it was never published.
    pub log_index: Option<u64>,
    pub created_at: Timestamp,
}

/// A version with its canonical JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestText {
    pub version: ManifestVersion,
    pub canonical: String,
}

/// What everybody may read about a published agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedManifest {
    pub agent: AgentId,
    pub name: String,
    pub text: ManifestText,
}
