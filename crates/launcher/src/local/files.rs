//! The folders of a place, and the small files by which its processes are found again.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use guildhall_domain::ids::{AttemptId, PlaceId, TenantId};
use guildhall_domain::runs::policy::BackendProfile;
use rustix::fs::{FlockOperation, flock};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::warn;

use super::processes::Identity;
use crate::secrets::FileStore;
use crate::{End, Launch, LaunchError, NoProfile};

/// Attempts that have ended and whose logs are kept, the newest.
const KEPT_AT_MOST: usize = 200;

/// A profile is a few small files: what is larger is no profile.
const PROFILE_FILES_AT_MOST: usize = 16;
const PROFILE_BYTES_AT_MOST: u64 = 1024 * 1024;

/// The folders of one place. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Files {
    root: PathBuf,
    profiles: Option<PathBuf>,
    secrets: Option<FileStore>,
}

/// Where a profile comes from.
#[derive(Debug)]
pub(super) enum Source {
    /// The store of what was set over the API.
    Kept(FileStore),
    /// A folder of the operator's.
    Folder(PathBuf),
}

impl Files {
    pub(super) fn open(
        root: &Path,
        profiles: Option<PathBuf>,
        secrets: Option<FileStore>,
    ) -> Result<Self, LaunchError> {
        let failed = || LaunchError::io("make", "the launcher's folder");
        make_private(root).map_err(failed())?;
        let root = root.canonicalize().map_err(failed())?;
        for folder in ["attempts", "storage"] {
            make_private(&root.join(folder)).map_err(failed())?;
        }
        Ok(Self { root, profiles, secrets })
    }

    /// Returns the name of this place, made when it was first used.
    pub(super) fn place(&self) -> Result<PlaceId, LaunchError> {
        let (file, failed) = (self.root.join("place"), || LaunchError::io("read", "the place's name"));
        if !file.exists() {
            let made = PlaceId::generate().to_string();
            let new = self.root.join(format!("place.{made}"));
            write_private(&new, made.as_bytes()).map_err(failed())?;
            // Of two servers that start at once, one is first; the other reads what it wrote.
            let _another_was_first = fs::hard_link(&new, &file);
            fs::remove_file(&new).map_err(failed())?;
        }
        let text = fs::read_to_string(&file).map_err(failed())?;
        let invalid = |_| io::Error::other("it is no place's name");
        text.trim().parse().map_err(invalid).map_err(failed())
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Where sessions are kept: what a runner calls its state.
    pub(super) fn storage(&self) -> PathBuf {
        super::runner_state(&self.root)
    }

    pub(super) fn attempt(&self, attempt: AttemptId) -> Attempt {
        Attempt { folder: self.root.join("attempts").join(attempt.to_string()) }
    }

    /// Lists the attempts that are known, oldest first.
    pub(super) fn attempts(&self) -> Vec<AttemptId> {
        let entries = fs::read_dir(self.root.join("attempts")).into_iter().flatten().flatten();
        let mut attempts: Vec<AttemptId> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        attempts.sort_unstable();
        attempts
    }

    /// Forgets attempts that have ended long ago.
    pub(super) fn prune(&self) {
        let ended: Vec<Attempt> = self
            .attempts()
            .into_iter()
            .map(|attempt| self.attempt(attempt))
            .filter(|attempt| attempt.end().is_some())
            .collect();
        for old in &ended[..ended.len().saturating_sub(KEPT_AT_MOST)] {
            let _next_time = fs::remove_dir_all(&old.folder);
        }
    }

    /// Finds the profile for a tenant's run: what was set over the API, the tenant's own first, or else the operator's
    /// folder; none for the one that needs none. A store that cannot be read gives no profile, nor does anything else.
    pub(super) fn profile(
        &self,
        tenant: Option<TenantId>,
        profile: &BackendProfile,
    ) -> Result<Option<Source>, NoProfile> {
        if !profile.needs_credential() {
            return Ok(None);
        }
        let missing = || NoProfile(profile.as_str().to_owned());
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
                return Ok(Some(Source::Kept(store.clone())));
            }
        }
        // The name is a slug by its type: it cannot lead out of the folder.
        let folder = self.profiles.as_ref().map(|profiles| profiles.join(profile.as_str()));
        let found = folder.filter(|folder| folder.join("profile.toml").is_file());
        found.map(|folder| Some(Source::Folder(folder))).ok_or_else(missing)
    }
}

/// The folder of one attempt.
#[derive(Debug)]
pub(super) struct Attempt {
    folder: PathBuf,
}

impl Attempt {
    pub(super) fn make(&self) -> io::Result<()> {
        make_private(&self.folder)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps other servers from starting the same attempt, until it is dropped.
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

    pub(super) fn enrolment(&self) -> PathBuf {
        self.folder.join("enrolment")
    }

    pub(super) fn write_enrolment(&self, secret: &SecretString) -> io::Result<()> {
        write_private(&self.enrolment(), secret.expose_secret().as_bytes())
    }

    /// Copies the profile of a launch into this attempt. Returns the folder above it.
    pub(super) fn copy_profile(&self, launch: &Launch, from: &Source) -> Result<PathBuf, LaunchError> {
        let failed = || LaunchError::io("copy", "the profile");
        let above = self.folder.join("profiles");
        let to = above.join(launch.profile.as_str());
        // An earlier try may have left a part of it.
        let _first_try = fs::remove_dir_all(&above);
        make_private(&above).map_err(failed())?;
        match from {
            Source::Kept(store) => {
                store.copy_for_runner(launch.tenant, &launch.profile, &to)?;
            }
            Source::Folder(from) => Self::copy_files(from, &to).map_err(failed())?,
        }
        Ok(above)
    }

    /// Copies the plain files of a profile, and nothing else.
    fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
        make_private(to)?;
        for (count, entry) in fs::read_dir(from)?.enumerate() {
            let entry = entry?;
            let about = entry.metadata()?;
            if count >= PROFILE_FILES_AT_MOST || about.size() > PROFILE_BYTES_AT_MOST {
                return Err(io::Error::other("it holds more than a profile does"));
            }
            if about.is_file() {
                write_private(&to.join(entry.file_name()), &fs::read(entry.path())?)?;
            }
        }
        Ok(())
    }

    /// Opens the log, for the process to write at its end.
    pub(super) fn log(&self) -> io::Result<File> {
        OpenOptions::new().create(true).append(true).mode(0o600).open(self.folder.join("runner.log"))
    }

    /// Cuts a log that has grown too long: its last half is set aside. The process writes on at the new end.
    pub(super) fn cut_log(&self, bytes_at_most: u64) -> io::Result<()> {
        let log = self.folder.join("runner.log");
        if fs::metadata(&log).map_or(0, |about| about.len()) <= bytes_at_most {
            return Ok(());
        }
        let text = fs::read(&log)?;
        let half = usize::try_from(bytes_at_most / 2).unwrap_or(usize::MAX);
        write_private(&self.folder.join("runner.log.1"), &text[text.len().saturating_sub(half)..])?;
        OpenOptions::new().write(true).open(&log)?.set_len(0)
    }

    pub(super) fn process(&self) -> Option<Identity> {
        read_json(&self.folder.join("process.json"))
    }

    pub(super) fn note_process(&self, identity: &Identity) -> io::Result<()> {
        write_json(&self.folder.join("process.json"), identity)
    }

    pub(super) fn end(&self) -> Option<End> {
        read_json(&self.folder.join("ended.json"))
    }

    /// Notes the end. What the runner was given goes; its log stays for a while.
    pub(super) fn note_end(&self, end: &End) -> io::Result<()> {
        let _never_written = fs::remove_file(self.enrolment());
        let _never_copied = fs::remove_dir_all(self.folder.join("profiles"));
        write_json(&self.folder.join("ended.json"), end)
    }
}

fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Writes a file that nobody else may read, whole or not at all.
fn write_private(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    let _left_by_a_kill = fs::remove_file(&new);
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
