//! Credentials of provider profiles: where they are kept, and how a runner gets the one that it needs.
//!
//! A profile belongs to a tenant, or to the operator and so to all tenants. What is kept of it is a folder with two
//! files: `profile.toml`, which holds no secret, and `credential`. PostgreSQL, logs, answers and the audit log never see
//! the credential: they know a name, a version and the last digits of a hash ([`Kept`]).
//!
//! [`FileStore`] keeps them on this machine. Kubernetes keeps them as Secrets, behind the same trait.

mod file;
mod folder;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;

use futures::future::BoxFuture;
use guildhall_domain::ids::TenantId;
use guildhall_domain::profiles::{BackendKind, Profile};
use guildhall_domain::runs::policy::{BackendProfile, SecretRef};
use jiff::Timestamp;
use secrecy::SecretString;

pub use file::FileStore;

/// Whose a profile is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The operator's: every tenant may use it, none may change it.
    Shared,
    Tenant(TenantId),
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared => f.write_str("shared"),
            Self::Tenant(tenant) => tenant.fmt(f),
        }
    }
}

/// A profile to keep. It has no way to print its credential.
#[derive(Debug, Clone)]
pub struct NewProfile {
    pub settings: Profile,
    pub credential: SecretString,
}

/// What may be known of a profile that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// None where `profile.toml` cannot be read: then no runner can use it either.
    pub settings: Option<Profile>,
    /// Changes with every change.
    pub resource_version: String,
    pub changed_at: Timestamp,
    /// The last digits of the credential's SHA-256; none where there is no credential.
    pub hash_suffix: Option<String>,
}

impl Kept {
    /// Says whether a runner has all that it needs. Only Codex always needs a credential: an agent of the operator's may
    /// have signed in by itself.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        let Some(settings) = &self.settings else { return false };
        self.hash_suffix.is_some() || settings.backend != BackendKind::Codex
    }
}

/// Why a store did not do what it was asked. No variant can hold a credential.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// Others on this machine could read what is kept, so nothing is read or written.
    #[error("{} is open to others: give it to this server's user alone, `chmod 700` for folders and `chmod 600` for files", .0.display())]
    Open(PathBuf),
    #[error("{} is not of the form that this server keeps", .0.display())]
    Form(PathBuf),
    #[error("there is no credential {name}", name = SecretRef::provider_name(.0))]
    Missing(BackendProfile),
    #[error("cannot {act} {}", path.display())]
    Io {
        act: &'static str,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// Keeps profiles and their credentials.
pub trait SecretStore: fmt::Debug + Send + Sync {
    /// Keeps a profile, in place of the one that was there. Whoever reads meanwhile sees the old one or the new one.
    fn put<'a>(
        &'a self,
        owner: Owner,
        profile: &'a BackendProfile,
        new: NewProfile,
    ) -> BoxFuture<'a, Result<Kept, SecretError>>;

    fn find<'a>(
        &'a self,
        owner: Owner,
        profile: &'a BackendProfile,
    ) -> BoxFuture<'a, Result<Option<Kept>, SecretError>>;

    /// Lists what an owner keeps, by name, at most `limit`.
    fn list(
        &self,
        owner: Owner,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(BackendProfile, Kept)>, SecretError>>;

    /// Forgets a profile and its credential. Returns whether there was one.
    fn remove<'a>(
        &'a self,
        owner: Owner,
        profile: &'a BackendProfile,
    ) -> BoxFuture<'a, Result<bool, SecretError>>;
}
