//! The store of profiles and credentials.

use std::fmt;
use std::path::PathBuf;

use futures::future::BoxFuture;
use guildhall_domain::profiles::{Profile, ProfileOwner, StoredProfile};
use guildhall_domain::runs::policy::{BackendProfile, SecretRef};
use secrecy::SecretString;

/// A profile to store. Its `Debug` output does not contain the credential.
#[derive(Debug, Clone)]
pub struct NewProfile {
    pub settings: Profile,
    pub credential: SecretString,
}

/// A failed store operation. No variant contains a credential.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// Other users could read the file, so nothing is read or written.
    #[error("{} is accessible to other users: make it private to the server's user, with `chmod 700` for directories and `chmod 600` for files", .0.display())]
    InsecurePermissions(PathBuf),
    #[error("{} has an unexpected type, size or encoding", .0.display())]
    InvalidFormat(PathBuf),
    #[error("no credential {name} is stored", name = SecretRef::provider_name(.0))]
    Missing(BackendProfile),
    #[error("cannot {action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// Stores profiles and their credentials.
pub trait SecretStore: fmt::Debug + Send + Sync {
    /// Stores a profile, replacing an earlier one. A concurrent reader sees the old or the new one, never a mixture.
    fn put<'a>(
        &'a self,
        owner: ProfileOwner,
        profile: &'a BackendProfile,
        new: NewProfile,
    ) -> BoxFuture<'a, Result<StoredProfile, SecretError>>;

    fn find<'a>(
        &'a self,
        owner: ProfileOwner,
        profile: &'a BackendProfile,
    ) -> BoxFuture<'a, Result<Option<StoredProfile>, SecretError>>;

    /// Lists at most `limit` profiles of an owner, by name.
    fn list(
        &self,
        owner: ProfileOwner,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(BackendProfile, StoredProfile)>, SecretError>>;

    /// Deletes a profile and its credential. Returns `false` if it did not exist.
    fn remove<'a>(
        &'a self,
        owner: ProfileOwner,
        profile: &'a BackendProfile,
    ) -> BoxFuture<'a, Result<bool, SecretError>>;
}
