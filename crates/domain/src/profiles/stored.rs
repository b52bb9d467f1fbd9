//! A stored profile as it is read.

use std::fmt;

use jiff::Timestamp;

use super::{BackendKind, Profile};
use crate::ids::TenantId;

/// The owner of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProfileOwner {
    /// The operator: every tenant may use the profile, none may change it.
    Shared,
    Tenant(TenantId),
}

impl fmt::Display for ProfileOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared => f.write_str("shared"),
            Self::Tenant(tenant) => tenant.fmt(f),
        }
    }
}

/// The public data of a stored profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredProfile {
    /// `None` if `profile.toml` cannot be parsed: then no runner can use it either.
    pub settings: Option<Profile>,
    /// Changes with every update.
    pub resource_version: String,
    pub changed_at: Timestamp,
    /// The last digits of the credential's SHA-256; `None` without a credential.
    pub hash_suffix: Option<String>,
}

impl StoredProfile {
    /// Returns whether a runner can use the profile. Only Codex always needs a credential: other agents may be signed
    /// in already.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        let Some(settings) = &self.settings else { return false };
        self.hash_suffix.is_some() || settings.backend != BackendKind::Codex
    }
}
