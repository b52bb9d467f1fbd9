//! The directories of a launcher, and the records with which its processes are found again.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use guildhall_domain::ids::{AttemptId, LauncherId, TenantId};
use guildhall_domain::runners::job::attempt_name;
use guildhall_domain::runs::policy::BackendProfile;
use rustix::fs::{FlockOperation, flock};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::warn;

use super::processes::ProcessIdentity;
use crate::secrets::FileStore;
use crate::{ExitReason, LaunchError, LaunchRequest, ProfileUnavailable};

/// Number of ended attempts whose logs are kept.
const MAX_ENDED_ATTEMPTS: usize = 200;

/// A profile consists of a few small files.
const MAX_PROFILE_FILES: usize = 16;
const MAX_PROFILE_BYTES: u64 = 1024 * 1024;

/// Returns the directory in which the runners of a launcher store sessions and workspaces.
#[must_use]
pub fn runner_state(state: &Path) -> PathBuf {
    state.join("storage")
}

/// The directories of one launcher. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct LauncherDir {
    root: PathBuf,
    profiles: Option<PathBuf>,
    secrets: Option<FileStore>,
}

/// The source of a profile.
#[derive(Debug)]
pub(super) enum ProfileSource {
    /// Set over the API.
    Store(FileStore),
    /// A directory of the operator.
    Directory(PathBuf),
}

impl LauncherDir {
    pub(super) fn open(
        root: &Path,
        profiles: Option<PathBuf>,
        secrets: Option<FileStore>,
    ) -> Result<Self, LaunchError> {
        let failed = || LaunchError::io("create", "the launcher's directory");
        create_private_dir(root).map_err(failed())?;
        let root = root.canonicalize().map_err(failed())?;
        for folder in ["attempts", "storage"] {
            create_private_dir(&root.join(folder)).map_err(failed())?;
        }
        Ok(Self { root, profiles, secrets })
    }

    /// Returns the id of this launcher, which is generated at first use.
    pub(super) fn id(&self) -> Result<LauncherId, LaunchError> {
        // The file is called `place`: existing directories have that name.
        let (file, failed) = (self.root.join("place"), || LaunchError::io("read", "the id of the launcher"));
        if !file.exists() {
            let id = LauncherId::generate().to_string();
            let new = self.root.join(format!("place.{id}"));
            write_private(&new, id.as_bytes()).map_err(failed())?;
            // If two servers start at the same time, one wins and the other reads its id.
            let _another_server_won = fs::hard_link(&new, &file);
            fs::remove_file(&new).map_err(failed())?;
        }
        let text = fs::read_to_string(&file).map_err(failed())?;
        let invalid = |_| io::Error::other("not a launcher id");
        text.trim().parse().map_err(invalid).map_err(failed())
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The state directory of runners, with the storage of sessions.
    pub(super) fn storage(&self) -> PathBuf {
        runner_state(&self.root)
    }

    pub(super) fn attempt(&self, attempt: AttemptId) -> AttemptDir {
        AttemptDir { folder: self.root.join("attempts").join(attempt_name(attempt)) }
    }

    /// Lists the known attempts, oldest first.
    pub(super) fn attempts(&self) -> Vec<AttemptId> {
        let entries = fs::read_dir(self.root.join("attempts")).into_iter().flatten().flatten();
        let mut attempts: Vec<AttemptId> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        attempts.sort_unstable();
        attempts
    }

    /// Deletes the oldest ended attempts.
    pub(super) fn prune(&self) {
        let ended: Vec<AttemptDir> = self
            .attempts()
            .into_iter()
            .map(|attempt| self.attempt(attempt))
            .filter(|attempt| attempt.exit_reason().is_some())
            .collect();
        for old in &ended[..ended.len().saturating_sub(MAX_ENDED_ATTEMPTS)] {
            let _next_time = fs::remove_dir_all(&old.folder);
        }
    }

    /// Finds the profile for a tenant's run: the tenant's own, the shared one that was set over the API, or the
    /// operator's directory, in this order. Returns `None` for a profile without a credential. If the store cannot be
    /// read, there is no fallback.
    pub(super) fn profile(
        &self,
        tenant: Option<TenantId>,
        profile: &BackendProfile,
    ) -> Result<Option<ProfileSource>, ProfileUnavailable> {
        if !profile.needs_credential() {
            return Ok(None);
        }
        let missing = || ProfileUnavailable(profile.as_str().to_owned());
        if let Some(store) = &self.secrets {
            let owner = store.owner_for(tenant, profile).map_err(|error| {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "cannot use the profile {}",
                    profile.as_str()
                );
                missing()
            })?;
            if owner.is_some() {
                return Ok(Some(ProfileSource::Store(store.clone())));
            }
        }
        // The name is a slug by its type: it cannot escape the directory.
        let folder = self.profiles.as_ref().map(|profiles| profiles.join(profile.as_str()));
        let found = folder.filter(|folder| folder.join("profile.toml").is_file());
        found.map(|folder| Some(ProfileSource::Directory(folder))).ok_or_else(missing)
    }
}

/// The directory of one attempt.
#[derive(Debug)]
pub(super) struct AttemptDir {
    folder: PathBuf,
}

impl AttemptDir {
    pub(super) fn create(&self) -> io::Result<()> {
        create_private_dir(&self.folder)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Locks the attempt against other servers until the file is dropped.
    pub(super) fn lock(&self) -> io::Result<File> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.folder.join("lock"))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(file)
    }

    pub(super) fn enrolment_file(&self) -> PathBuf {
        self.folder.join("enrolment")
    }

    pub(super) fn write_enrolment(&self, secret: &SecretString) -> io::Result<()> {
        write_private(&self.enrolment_file(), secret.expose_secret().as_bytes())
    }

    /// Copies the profile into this attempt. Returns the parent directory of the copy.
    pub(super) fn copy_profile(
        &self,
        request: &LaunchRequest,
        from: &ProfileSource,
    ) -> Result<PathBuf, LaunchError> {
        let failed = || LaunchError::io("copy", "the profile");
        let parent = self.folder.join("profiles");
        let to = parent.join(request.profile.as_str());
        // A failed attempt may have left a partial copy.
        let _missing = fs::remove_dir_all(&parent);
        create_private_dir(&parent).map_err(failed())?;
        match from {
            ProfileSource::Store(store) => {
                store.copy_for_runner(request.tenant, &request.profile, &to)?;
            }
            ProfileSource::Directory(from) => Self::copy_files(from, &to).map_err(failed())?,
        }
        Ok(parent)
    }

    /// Copies the regular files of a profile.
    fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
        create_private_dir(to)?;
        for (count, entry) in fs::read_dir(from)?.enumerate() {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if count >= MAX_PROFILE_FILES || metadata.size() > MAX_PROFILE_BYTES {
                return Err(io::Error::other("the profile has too many files or a file that is too large"));
            }
            if metadata.is_file() {
                write_private(&to.join(entry.file_name()), &fs::read(entry.path())?)?;
            }
        }
        Ok(())
    }

    /// Opens the log for appending.
    pub(super) fn log(&self) -> io::Result<File> {
        OpenOptions::new().create(true).append(true).mode(0o600).open(self.folder.join("runner.log"))
    }

    /// Rotates a log that is too large: keeps its last half in `runner.log.1` and truncates it.
    pub(super) fn rotate_log(&self, max_bytes: u64) -> io::Result<()> {
        let log = self.folder.join("runner.log");
        if fs::metadata(&log).map_or(0, |metadata| metadata.len()) <= max_bytes {
            return Ok(());
        }
        let text = fs::read(&log)?;
        let half = usize::try_from(max_bytes / 2).unwrap_or(usize::MAX);
        write_private(&self.folder.join("runner.log.1"), &text[text.len().saturating_sub(half)..])?;
        OpenOptions::new().write(true).open(&log)?.set_len(0)
    }

    pub(super) fn process(&self) -> Option<ProcessIdentity> {
        read_json(&self.folder.join("process.json"))
    }

    pub(super) fn record_process(&self, identity: &ProcessIdentity) -> io::Result<()> {
        write_json(&self.folder.join("process.json"), identity)
    }

    pub(super) fn exit_reason(&self) -> Option<ExitReason> {
        read_json(&self.folder.join("ended.json"))
    }

    /// Records the exit, and deletes the token and the profile. The log is kept for a while.
    pub(super) fn record_exit(&self, reason: &ExitReason) -> io::Result<()> {
        let _never_written = fs::remove_file(self.enrolment_file());
        let _never_copied = fs::remove_dir_all(self.folder.join("profiles"));
        write_json(&self.folder.join("ended.json"), reason)
    }
}

fn create_private_dir(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Writes a file with mode 0600 atomically.
fn write_private(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    let _left_by_a_killed_server = fs::remove_file(&new);
    let mut open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    open.write_all(bytes)?;
    fs::rename(&new, file)
}

fn write_json(file: &Path, value: &impl Serialize) -> io::Result<()> {
    write_private(file, &serde_json::to_vec(value)?)
}

fn read_json<T: DeserializeOwned>(file: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}
