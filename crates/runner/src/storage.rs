//! The directory in which a session's backend stores its threads, and the summary of it for the server.

use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::sessions::StorageKind;
use guildhall_protocol::rest::sessions::RefreshStorage;
use guildhall_sdk::runner::{Grant, LeasedRun};
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use tracing::warn;

use crate::backend::BackendFailure;

/// Files to include. A session has a few dozen; the rest is ignored.
const MAX_FILES: u64 = 20_000;

/// Nesting of directories.
const MAX_DEPTH: usize = 32;

/// Bytes of content to hash; files beyond that count by name and size only.
const MAX_HASHED_BYTES: u64 = 64 * 1024 * 1024;

/// A summary that takes longer is skipped until the next command.
const SUMMARY_TIMEOUT: Duration = Duration::from_secs(10);

/// The storage of a session on this machine.
#[derive(Debug, Clone)]
pub(crate) struct SessionStorage {
    session: String,
    pub(crate) dir: PathBuf,
    /// Whether the server knows that the session has storage.
    was_reported: bool,
}

impl SessionStorage {
    pub(crate) fn new(grant: &Grant, state: &Path) -> Self {
        Self {
            session: grant.run.session_id.clone(),
            dir: state.join("sessions").join(&grant.run.session_id),
            was_reported: grant.storage_kind == StorageKind::Directory.as_str(),
        }
    }

    /// Returns whether the session had storage that is missing on this machine.
    pub(crate) fn is_missing(&self) -> bool {
        self.was_reported && !self.dir.is_dir()
    }

    /// Sends a summary of the directory to the server. A failed report is repeated after the next command.
    pub(crate) async fn report(&mut self, held: &LeasedRun) {
        let dir = self.dir.clone();
        let task = tokio::task::spawn_blocking(move || summarize(&dir));
        let Ok(Ok(Some(summary))) = timeout(SUMMARY_TIMEOUT, task).await else { return };
        match held.refresh_storage(&self.session, &summary).await {
            Ok(_) => self.was_reported = true,
            Err(error) => warn!("cannot report the session's storage: {error}"),
        }
    }
}

/// Changes the kind of a resume failure to `session-store-evicted` when the storage was missing.
pub(crate) fn classify_resume_failure(failure: BackendFailure, was_missing: bool) -> BackendFailure {
    if failure.kind != FailureKind::ThreadResumeFailed || !was_missing {
        return failure;
    }
    let message =
        "the session's storage is missing on this machine, so its thread cannot be resumed".to_owned();
    BackendFailure { kind: FailureKind::SessionStoreEvicted, message, ..failure }
}

/// Summarizes a directory: size, file count and a hash over names, sizes and contents in the order of the names.
/// Returns `None` when there is no such directory. Symbolic links count by name and are not followed.
#[must_use]
pub fn summarize(dir: &Path) -> Option<RefreshStorage> {
    if !fs::symlink_metadata(dir).ok()?.is_dir() {
        return None;
    }
    let mut summary =
        DirectorySummary { size: 0, files: 0, hash_budget: MAX_HASHED_BYTES, hash: Sha256::new() };
    summary.add_dir(dir, dir, 0);
    let sha256 = summary.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(RefreshStorage { size_bytes: summary.size, files_count: summary.files, sha256 })
}

struct DirectorySummary {
    size: u64,
    files: u64,
    /// Bytes that may still be hashed.
    hash_budget: u64,
    hash: Sha256,
}

impl DirectorySummary {
    fn add_dir(&mut self, root: &Path, dir: &Path, depth: usize) {
        let Ok(entries) = fs::read_dir(dir) else { return };
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in entries.flatten() {
            if paths.len() as u64 >= MAX_FILES {
                break;
            }
            paths.push(entry.path());
        }
        paths.sort();
        for path in paths {
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            if metadata.is_dir() {
                if depth < MAX_DEPTH {
                    self.add_dir(root, &path, depth + 1);
                }
            } else if self.files < MAX_FILES {
                self.add_file(root, &path, metadata.is_file().then_some(metadata.len()));
            }
        }
    }

    /// Adds a file. Without a size it is a link, a pipe or similar: only its name counts.
    fn add_file(&mut self, root: &Path, path: &Path, size: Option<u64>) {
        let name = path.strip_prefix(root).unwrap_or(path).as_os_str().as_bytes();
        self.files += 1;
        self.hash.update((name.len() as u64).to_be_bytes());
        self.hash.update(name);
        let Some(size) = size else { return };
        self.size += size;
        self.hash.update(size.to_be_bytes());
        if size <= self.hash_budget
            && let Ok(digest) = hash_file(path, size)
        {
            self.hash_budget -= size;
            self.hash.update(digest);
        }
    }
}

fn hash_file(path: &Path, size: u64) -> std::io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    // An agent may have replaced the file by a link, or by a FIFO, which would block.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::ErrorKind::InvalidData.into());
    }
    let mut file = file.take(size);
    let mut buffer = [0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finalize().into()),
            read => hash.update(&buffer[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn summary_changes_only_when_files_change() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let root = dir.path();
        fs::create_dir(root.join("b")).expect("create directory");
        fs::write(root.join("b/two"), "22").expect("write file");
        fs::write(root.join("one"), "1").expect("write file");
        let first = summarize(root).expect("directory exists");
        assert_eq!((first.size_bytes, first.files_count), (3, 2));
        assert_eq!(summarize(root), Some(first.clone()));
        fs::write(root.join("b/two"), "23").expect("write file");
        let changed = summarize(root).expect("directory exists");
        assert!(changed.sha256 != first.sha256 && changed.size_bytes == 3);
        fs::rename(root.join("one"), root.join("eno")).expect("rename");
        assert!(summarize(root).expect("directory exists").sha256 != changed.sha256);
        assert_eq!(summarize(&root.join("nothing")), None);
    }

    #[test]
    fn summary_does_not_follow_symlinks() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let (root, secret) = (dir.path().join("storage"), dir.path().join("secret"));
        fs::create_dir(&root).expect("create directory");
        fs::write(&secret, "x".repeat(1000)).expect("write file");
        symlink(&secret, root.join("link")).expect("create symlink");
        symlink(dir.path(), root.join("up")).expect("create symlink");
        let before = summarize(&root).expect("directory exists");
        assert_eq!((before.size_bytes, before.files_count), (0, 2));
        fs::write(&secret, "y".repeat(1000)).expect("write file");
        assert_eq!(summarize(&root), Some(before));
        symlink(&root, dir.path().join("linked")).expect("create symlink");
        assert_eq!(summarize(&dir.path().join("linked")), None);
    }

    #[test]
    fn resume_failure_is_evicted_only_when_storage_was_missing() {
        let failure = |kind| BackendFailure::new(kind, "no rollout found");
        for (kind, was_missing, expected) in [
            (FailureKind::ThreadResumeFailed, true, FailureKind::SessionStoreEvicted),
            (FailureKind::ThreadResumeFailed, false, FailureKind::ThreadResumeFailed),
            (FailureKind::BackendFailed, true, FailureKind::BackendFailed),
        ] {
            assert_eq!(classify_resume_failure(failure(kind), was_missing).kind, expected);
        }
    }
}
