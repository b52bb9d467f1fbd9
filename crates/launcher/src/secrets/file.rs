//! Profiles as folders on this machine: `<root>/providers/<tenant or shared>/<profile>/{profile.toml,credential}`.

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

use super::folder::{Folder, Text};
use super::{Kept, NewProfile, Owner, SecretError, SecretStore};

const PROVIDERS: &str = "providers";
const SETTINGS: &str = "profile.toml";
const CREDENTIAL: &str = "credential";

/// What is being written, or removed, has a name that no profile can have.
const PASSING: &str = ".passing-";

/// A half-written profile of a server that was killed is removed when it is this old. Writing takes milliseconds.
const PASSING_FOR: Duration = Duration::from_secs(600);

const SETTINGS_BYTES: u64 = 64 * 1024;
const CREDENTIAL_BYTES: u64 = 16 * 1024;

/// A profile that was replaced while it was read is read again, this often.
const LOOKS: usize = 8;

/// Digits of the hash that may be shown: enough to tell two credentials apart, too few to find one.
const SUFFIX_DIGITS: usize = 8;

/// Keeps profiles in a folder of this machine that no other user can read. Replicas on several machines need one that
/// they share.
#[derive(Debug, Clone)]
pub struct FileStore {
    root: PathBuf,
}

impl FileStore {
    /// Opens the store, made where it is missing. One that others can read is refused.
    pub fn open(root: &Path) -> Result<Self, SecretError> {
        let store = Self { root: root.to_owned() };
        store.providers()?;
        Ok(store)
    }

    /// Says whose profile a runner for a tenant's run would be given: the tenant's own, or else the operator's; without a
    /// tenant, the operator's alone. One that is there and cannot be used is missing: no other takes its place.
    pub fn owner_for(
        &self,
        tenant: Option<TenantId>,
        profile: &BackendProfile,
    ) -> Result<Option<Owner>, SecretError> {
        for owner in owners(tenant) {
            match self.find_now(owner, profile)? {
                Some(kept) if kept.is_configured() => return Ok(Some(owner)),
                Some(_) => return Err(SecretError::Missing(profile.clone())),
                None => {}
            }
        }
        Ok(None)
    }

    /// Copies a profile for one runner into a folder that is not there yet, so that a runner of one profile can read no
    /// other: the one that [`FileStore::owner_for`] names. It then has the form that `guildhall-runner --profiles` reads,
    /// `into` being the folder of this one profile.
    pub fn copy_for_runner(
        &self,
        tenant: Option<TenantId>,
        profile: &BackendProfile,
        into: &Path,
    ) -> Result<Owner, SecretError> {
        for owner in owners(tenant) {
            let Some(found) = self.files(owner, profile)? else { continue };
            let settings = found.settings.ok_or_else(|| SecretError::Missing(profile.clone()))?;
            let copy = Folder::make(into)?;
            copy.write(SETTINGS, &settings.text)?;
            if let Some(credential) = found.credential {
                copy.write(CREDENTIAL, &credential.text)?;
            }
            return Ok(owner);
        }
        Err(SecretError::Missing(profile.clone()))
    }

    fn providers(&self) -> Result<Folder, SecretError> {
        Folder::make(&self.root)?.open_or_make(PROVIDERS)
    }

    fn folder(&self, owner: Owner, profile: &BackendProfile) -> Result<Option<Folder>, SecretError> {
        match self.providers()?.open(&owner.to_string())? {
            Some(of_owner) => of_owner.open(profile.as_str()),
            None => Ok(None),
        }
    }

    /// Reads both files of a profile as they stood at one moment: a folder that was replaced meanwhile is read again.
    fn files(&self, owner: Owner, profile: &BackendProfile) -> Result<Option<Files>, SecretError> {
        let mut folder = self.folder(owner, profile)?;
        for _ in 0..LOOKS {
            let Some(before) = folder else { return Ok(None) };
            let files = Files::read(&before);
            let after = self.folder(owner, profile)?;
            if after.as_ref().is_some_and(|after| after.is(&before)) {
                return files.map(Some);
            }
            folder = after;
        }
        Err(SecretError::Form(self.root.join(profile.as_str())))
    }

    pub(super) fn put_now(
        &self,
        owner: Owner,
        profile: &BackendProfile,
        new: &NewProfile,
    ) -> Result<Kept, SecretError> {
        let of_owner = self.providers()?.open_or_make(&owner.to_string())?;
        let passing = passing();
        let folder = of_owner.open_or_make(&passing)?;
        folder.write(SETTINGS, &new.settings.to_toml())?;
        folder.write(CREDENTIAL, &format!("{}\n", new.credential.expose_secret()))?;
        if of_owner.take_place(&passing, profile.as_str())? {
            of_owner.remove(&passing)?;
        }
        Ok(Files::read(&folder)?.kept())
    }

    pub(super) fn find_now(
        &self,
        owner: Owner,
        profile: &BackendProfile,
    ) -> Result<Option<Kept>, SecretError> {
        Ok(self.files(owner, profile)?.map(|files| files.kept()))
    }

    fn list_now(&self, owner: Owner, limit: usize) -> Result<Vec<(BackendProfile, Kept)>, SecretError> {
        let Some(of_owner) = self.providers()?.open(&owner.to_string())? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for name in of_owner.names()? {
            if found.len() == limit {
                break;
            }
            // What is being written has a name that is no profile.
            let Ok(profile) = name.parse::<BackendProfile>() else { continue };
            if let Some(files) = self.files(owner, &profile)? {
                found.push((profile, files.kept()));
            }
        }
        Ok(found)
    }

    fn remove_now(&self, owner: Owner, profile: &BackendProfile) -> Result<bool, SecretError> {
        let Some(of_owner) = self.providers()?.open(&owner.to_string())? else { return Ok(false) };
        let passing = passing();
        // Moved first: whoever reads meanwhile sees all of it or nothing.
        let was_there = of_owner.move_away(profile.as_str(), &passing)?;
        if was_there {
            of_owner.remove(&passing)?;
        }
        Ok(was_there)
    }

    /// Removes what servers that were killed left half-written.
    pub fn sweep(&self, now: Timestamp) -> Result<(), SecretError> {
        let providers = self.providers()?;
        for owner in providers.names()? {
            let Some(of_owner) = providers.open(&owner)? else { continue };
            for name in of_owner.names()?.iter().filter(|name| name.starts_with(PASSING)) {
                let Some(folder) = of_owner.open(name)? else { continue };
                let age = now.duration_since(folder.changed_at()?);
                if Duration::try_from(age).is_ok_and(|age| age > PASSING_FOR) {
                    of_owner.remove(name)?;
                }
            }
        }
        Ok(())
    }

    /// Does something with files on a thread that may wait for a disk.
    fn work<T: Send + 'static>(
        &self,
        what: impl FnOnce(&Self) -> Result<T, SecretError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, SecretError>> {
        let store = self.clone();
        Box::pin(async move {
            let path = store.root.clone();
            let done = tokio::task::spawn_blocking(move || what(&store)).await;
            done.unwrap_or_else(|source| {
                Err(SecretError::Io { act: "use", path, source: std::io::Error::other(source) })
            })
        })
    }
}

impl SecretStore for FileStore {
    fn put<'a>(
        &'a self,
        owner: Owner,
        profile: &'a BackendProfile,
        new: NewProfile,
    ) -> BoxFuture<'a, Result<Kept, SecretError>> {
        let profile = profile.clone();
        self.work(move |store| store.put_now(owner, &profile, &new))
    }

    fn find<'a>(
        &'a self,
        owner: Owner,
        profile: &'a BackendProfile,
    ) -> BoxFuture<'a, Result<Option<Kept>, SecretError>> {
        let profile = profile.clone();
        self.work(move |store| store.find_now(owner, &profile))
    }

    fn list(
        &self,
        owner: Owner,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(BackendProfile, Kept)>, SecretError>> {
        self.work(move |store| store.list_now(owner, limit))
    }

    fn remove<'a>(
        &'a self,
        owner: Owner,
        profile: &'a BackendProfile,
    ) -> BoxFuture<'a, Result<bool, SecretError>> {
        let profile = profile.clone();
        self.work(move |store| store.remove_now(owner, &profile))
    }
}

fn owners(tenant: Option<TenantId>) -> impl Iterator<Item = Owner> {
    tenant.map(Owner::Tenant).into_iter().chain([Owner::Shared])
}

fn passing() -> String {
    format!("{PASSING}{}", Uuid::now_v7().simple())
}

/// The files of a profile, as they stood at one moment. It holds a credential and has no way to print it.
struct Files {
    settings: Option<Text>,
    credential: Option<Text>,
    made_at: Timestamp,
}

impl Files {
    fn read(folder: &Folder) -> Result<Self, SecretError> {
        Ok(Self {
            settings: folder.read(SETTINGS, SETTINGS_BYTES)?,
            credential: folder.read(CREDENTIAL, CREDENTIAL_BYTES)?,
            made_at: folder.changed_at()?,
        })
    }

    /// Returns what may be known. The version is the time of the last change: also of one by hand.
    fn kept(&self) -> Kept {
        let times = [&self.settings, &self.credential].into_iter().flatten().map(|text| text.changed_at);
        let changed_at = times.max().unwrap_or(self.made_at);
        let value = self.credential.as_ref().map(|text| text.text.trim()).filter(|value| !value.is_empty());
        Kept {
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
