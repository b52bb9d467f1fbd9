//! Profiles as local directories: `<root>/providers/<tenant or shared>/<profile>/{profile.toml,credential}`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::future::BoxFuture;
use guildhall_domain::ids::TenantId;
use guildhall_domain::profiles::Profile;
use guildhall_domain::runs::policy::BackendProfile;
use jiff::Timestamp;
use secrecy::ExposeSecret;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::private_dir::{FileText, PrivateDir};
use super::store::{NewProfile, SecretError, SecretStore};
use crate::directories::check_creatable;
use guildhall_domain::profiles::{ProfileOwner, StoredProfile};

const PROVIDERS: &str = "providers";
const SETTINGS: &str = "profile.toml";
const CREDENTIAL: &str = "credential";

/// Name prefix of a directory that is being written or removed. No profile name can start with it.
pub(super) const TEMP_PREFIX: &str = ".passing-";

/// Age at which a partial profile of a killed server is removed. Writing takes milliseconds.
pub(super) const TEMP_MAX_AGE: Duration = Duration::from_secs(600);

const MAX_SETTINGS_BYTES: u64 = 64 * 1024;
const MAX_CREDENTIAL_BYTES: u64 = 16 * 1024;

/// How often a profile is read again that was replaced during the read.
const MAX_READ_ATTEMPTS: usize = 8;

/// Number of public digits of the hash: enough to distinguish two credentials, too few to guess one.
pub(super) const SUFFIX_DIGITS: usize = 8;

/// Stores profiles in a local directory that no other user can read. Replicas on several machines need a shared one.
#[derive(Debug, Clone)]
pub struct FileStore {
    root: PathBuf,
}

impl FileStore {
    /// Opens or creates the store. Fails if other users can read it.
    pub fn open(root: &Path) -> Result<Self, SecretError> {
        let store = Self { root: root.to_owned() };
        store.providers()?;
        Ok(store)
    }

    /// Checks that [`FileStore::open`] can succeed. Creates nothing.
    pub fn check(root: &Path) -> Result<(), SecretError> {
        match PrivateDir::find(root)? {
            Some(dir) => dir.open(PROVIDERS).map(drop),
            None => check_creatable(root).map_err(|source| SecretError::Io {
                action: "create",
                path: root.to_owned(),
                source,
            }),
        }
    }

    /// Returns the owner of the profile that a tenant's run gets: the tenant, or else the operator; without a tenant,
    /// only the operator. An unusable profile is an error: there is no fallback to another owner.
    pub fn owner_for(
        &self,
        tenant: Option<TenantId>,
        profile: &BackendProfile,
    ) -> Result<Option<ProfileOwner>, SecretError> {
        for owner in owners_in_lookup_order(tenant) {
            match self.find_blocking(owner, profile)? {
                Some(profile) if profile.is_configured() => return Ok(Some(owner)),
                Some(_) => return Err(SecretError::Missing(profile.clone())),
                None => {}
            }
        }
        Ok(None)
    }

    /// Copies the profile of [`FileStore::owner_for`] into a new directory for one runner, so that the runner can read
    /// no other profile. The copy has the format of `guildhall-runner --profiles`; `into` is the directory of this
    /// profile.
    pub fn copy_for_runner(
        &self,
        tenant: Option<TenantId>,
        profile: &BackendProfile,
        into: &Path,
    ) -> Result<ProfileOwner, SecretError> {
        for owner in owners_in_lookup_order(tenant) {
            let Some(found) = self.files(owner, profile)? else { continue };
            let settings = found.settings.ok_or_else(|| SecretError::Missing(profile.clone()))?;
            let copy = PrivateDir::create(into)?;
            copy.write(SETTINGS, &settings.text)?;
            if let Some(credential) = found.credential {
                copy.write(CREDENTIAL, &credential.text)?;
            }
            return Ok(owner);
        }
        Err(SecretError::Missing(profile.clone()))
    }

    fn providers(&self) -> Result<PrivateDir, SecretError> {
        PrivateDir::create(&self.root)?.open_or_create(PROVIDERS)
    }

    fn profile_dir(
        &self,
        owner: ProfileOwner,
        profile: &BackendProfile,
    ) -> Result<Option<PrivateDir>, SecretError> {
        match self.providers()?.open(&owner.to_string())? {
            Some(owner_dir) => owner_dir.open(profile.as_str()),
            None => Ok(None),
        }
    }

    /// Reads a consistent snapshot of both files: a directory that was replaced during the read is read again.
    fn files(
        &self,
        owner: ProfileOwner,
        profile: &BackendProfile,
    ) -> Result<Option<ProfileFiles>, SecretError> {
        let mut folder = self.profile_dir(owner, profile)?;
        for _ in 0..MAX_READ_ATTEMPTS {
            let Some(before) = folder else { return Ok(None) };
            let files = ProfileFiles::read(&before);
            let after = self.profile_dir(owner, profile)?;
            if after.as_ref().is_some_and(|after| after.is_same(&before)) {
                return files.map(Some);
            }
            folder = after;
        }
        Err(SecretError::InvalidFormat(self.root.join(profile.as_str())))
    }

    pub(super) fn put_blocking(
        &self,
        owner: ProfileOwner,
        profile: &BackendProfile,
        new: &NewProfile,
    ) -> Result<StoredProfile, SecretError> {
        let owner_dir = self.providers()?.open_or_create(&owner.to_string())?;
        let temp = temp_name();
        let folder = owner_dir.open_or_create(&temp)?;
        folder.write(SETTINGS, &new.settings.to_toml())?;
        folder.write(CREDENTIAL, &format!("{}\n", new.credential.expose_secret()))?;
        if owner_dir.replace(&temp, profile.as_str())? {
            owner_dir.remove(&temp)?;
        }
        Ok(ProfileFiles::read(&folder)?.summary())
    }

    pub(super) fn find_blocking(
        &self,
        owner: ProfileOwner,
        profile: &BackendProfile,
    ) -> Result<Option<StoredProfile>, SecretError> {
        Ok(self.files(owner, profile)?.map(|files| files.summary()))
    }

    fn list_blocking(
        &self,
        owner: ProfileOwner,
        limit: usize,
    ) -> Result<Vec<(BackendProfile, StoredProfile)>, SecretError> {
        let Some(owner_dir) = self.providers()?.open(&owner.to_string())? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for name in owner_dir.names()? {
            if found.len() == limit {
                break;
            }
            // Skips directories that are being written.
            let Ok(profile) = name.parse::<BackendProfile>() else { continue };
            if let Some(files) = self.files(owner, &profile)? {
                found.push((profile, files.summary()));
            }
        }
        Ok(found)
    }

    fn remove_blocking(&self, owner: ProfileOwner, profile: &BackendProfile) -> Result<bool, SecretError> {
        let Some(owner_dir) = self.providers()?.open(&owner.to_string())? else { return Ok(false) };
        let temp = temp_name();
        // Renamed first, so that a concurrent reader sees all of it or nothing.
        let existed = owner_dir.rename(profile.as_str(), &temp)?;
        if existed {
            owner_dir.remove(&temp)?;
        }
        Ok(existed)
    }

    /// Removes partial profiles of killed servers.
    pub fn sweep(&self, now: Timestamp) -> Result<(), SecretError> {
        let providers = self.providers()?;
        for owner in providers.names()? {
            let Some(owner_dir) = providers.open(&owner)? else { continue };
            for name in owner_dir.names()?.iter().filter(|name| name.starts_with(TEMP_PREFIX)) {
                let Some(folder) = owner_dir.open(name)? else { continue };
                let age = now.duration_since(folder.changed_at()?);
                if Duration::try_from(age).is_ok_and(|age| age > TEMP_MAX_AGE) {
                    owner_dir.remove(name)?;
                }
            }
        }
        Ok(())
    }

    /// Runs file operations on a blocking thread.
    fn run_blocking<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Self) -> Result<T, SecretError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, SecretError>> {
        let store = self.clone();
        Box::pin(async move {
            let path = store.root.clone();
            let result = tokio::task::spawn_blocking(move || operation(&store)).await;
            result.unwrap_or_else(|source| {
                Err(SecretError::Io { action: "access", path, source: std::io::Error::other(source) })
            })
        })
    }
}

impl SecretStore for FileStore {
    fn put<'a>(
        &'a self,
        owner: ProfileOwner,
        profile: &'a BackendProfile,
        new: NewProfile,
    ) -> BoxFuture<'a, Result<StoredProfile, SecretError>> {
        let profile = profile.clone();
        self.run_blocking(move |store| store.put_blocking(owner, &profile, &new))
    }

    fn find<'a>(
        &'a self,
        owner: ProfileOwner,
        profile: &'a BackendProfile,
    ) -> BoxFuture<'a, Result<Option<StoredProfile>, SecretError>> {
        let profile = profile.clone();
        self.run_blocking(move |store| store.find_blocking(owner, &profile))
    }

    fn list(
        &self,
        owner: ProfileOwner,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(BackendProfile, StoredProfile)>, SecretError>> {
        self.run_blocking(move |store| store.list_blocking(owner, limit))
    }

    fn remove<'a>(
        &'a self,
        owner: ProfileOwner,
        profile: &'a BackendProfile,
    ) -> BoxFuture<'a, Result<bool, SecretError>> {
        let profile = profile.clone();
        self.run_blocking(move |store| store.remove_blocking(owner, &profile))
    }
}

fn owners_in_lookup_order(tenant: Option<TenantId>) -> impl Iterator<Item = ProfileOwner> {
    tenant.map(ProfileOwner::Tenant).into_iter().chain([ProfileOwner::Shared])
}

fn temp_name() -> String {
    format!("{TEMP_PREFIX}{}", Uuid::now_v7().simple())
}

/// A snapshot of a profile's files. It contains the credential, so it has no `Debug`.
struct ProfileFiles {
    settings: Option<FileText>,
    credential: Option<FileText>,
    created_at: Timestamp,
}

impl ProfileFiles {
    fn read(folder: &PrivateDir) -> Result<Self, SecretError> {
        Ok(Self {
            settings: folder.read(SETTINGS, MAX_SETTINGS_BYTES)?,
            credential: folder.read(CREDENTIAL, MAX_CREDENTIAL_BYTES)?,
            created_at: folder.changed_at()?,
        })
    }

    /// Returns the public data. The version is the time of the last change, including manual edits.
    fn summary(&self) -> StoredProfile {
        let times = [&self.settings, &self.credential].into_iter().flatten().map(|text| text.changed_at);
        let changed_at = times.max().unwrap_or(self.created_at);
        let value = self.credential.as_ref().map(|text| text.text.trim()).filter(|value| !value.is_empty());
        StoredProfile {
            settings: self.settings.as_ref().and_then(|text| Profile::parse(&text.text).ok()),
            resource_version: format!("{:x}", changed_at.as_nanosecond()),
            changed_at,
            hash_suffix: value.map(hash_suffix),
        }
    }
}

fn hash_suffix(credential: &str) -> String {
    let digest = Sha256::digest(credential);
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    digits[digits.len() - SUFFIX_DIGITS..].to_owned()
}
