//! The folder in which a session's backend keeps its threads: what it holds, told to the server as a summary.

use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::sessions::StorageKind;
use guildhall_protocol::rest::sessions::RefreshStorage;
use guildhall_sdk::runner::{Grant, HeldRun};
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use tracing::warn;

use crate::backend::BackendFailure;

/// Files looked at. A session has some dozens; more are counted no further.
const FILES_AT_MOST: u64 = 20_000;

/// Folders within folders.
const DEPTH_AT_MOST: usize = 32;

/// Bytes that are read for the hash; of what comes after, name and size count.
const HASHED_BYTES: u64 = 64 * 1024 * 1024;

/// A summary that takes longer is left for the next time.
const SUMMED_UP_WITHIN: Duration = Duration::from_secs(10);

/// The storage of a session on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Storage {
    session: String,
    pub(crate) folder: PathBuf,
    /// Whether the server was told before that there is one.
    was_kept: bool,
}

impl Storage {
    pub(crate) fn of(grant: &Grant, state: &Path) -> Self {
        Self {
            session: grant.run.session_id.clone(),
            folder: state.join("sessions").join(&grant.run.session_id),
            was_kept: grant.storage_kind == StorageKind::Directory.as_str(),
        }
    }

    /// Says whether there was storage and it is gone from this machine.
    pub(crate) fn is_gone(&self) -> bool {
        self.was_kept && !self.folder.is_dir()
    }

    /// Tells the server what the folder holds. A word that is lost is said again after the next command.
    pub(crate) async fn report(&mut self, held: &HeldRun) {
        let folder = self.folder.clone();
        let summing = tokio::task::spawn_blocking(move || summary(&folder));
        let Ok(Ok(Some(summary))) = timeout(SUMMED_UP_WITHIN, summing).await else { return };
        match held.refresh_storage(&self.session, &summary).await {
            Ok(_) => self.was_kept = true,
            Err(error) => warn!("cannot say what the session's storage holds: {error}"),
        }
    }
}

/// Says why a thread could not be resumed: because its storage is gone, or for a reason of the backend's own.
pub(crate) fn judge(failure: BackendFailure, was_gone: bool) -> BackendFailure {
    if failure.kind != FailureKind::ThreadResumeFailed || !was_gone {
        return failure;
    }
    let message = "the session's storage is gone from this machine, and its thread with it".to_owned();
    BackendFailure { kind: FailureKind::SessionStoreEvicted, message, ..failure }
}

/// Sums a folder up: names, sizes and contents in the order of the names, within bounds. None where there is no folder.
/// Links count by their name and are not followed.
#[must_use]
pub fn summary(folder: &Path) -> Option<RefreshStorage> {
    if !fs::symlink_metadata(folder).ok()?.is_dir() {
        return None;
    }
    let mut sum = Sum { size: 0, files: 0, left: HASHED_BYTES, hash: Sha256::new() };
    sum.add_folder(folder, folder, 0);
    let sha256 = sum.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(RefreshStorage { size_bytes: sum.size, files_count: sum.files, sha256 })
}

struct Sum {
    size: u64,
    files: u64,
    /// Bytes that may still be read.
    left: u64,
    hash: Sha256,
}

impl Sum {
    fn add_folder(&mut self, root: &Path, folder: &Path, depth: usize) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in entries.flatten() {
            if paths.len() as u64 >= FILES_AT_MOST {
                break;
            }
            paths.push(entry.path());
        }
        paths.sort();
        for path in paths {
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            if found.is_dir() {
                if depth < DEPTH_AT_MOST {
                    self.add_folder(root, &path, depth + 1);
                }
            } else if self.files < FILES_AT_MOST {
                self.add_file(root, &path, found.is_file().then_some(found.len()));
            }
        }
    }

    /// Adds a file; one without a size is a link, a pipe or the like, of which only the name counts.
    fn add_file(&mut self, root: &Path, path: &Path, size: Option<u64>) {
        let name = path.strip_prefix(root).unwrap_or(path).as_os_str().as_bytes();
        self.files += 1;
        self.hash.update((name.len() as u64).to_be_bytes());
        self.hash.update(name);
        let Some(size) = size else { return };
        self.size += size;
        self.hash.update(size.to_be_bytes());
        if size <= self.left
            && let Ok(digest) = content(path, size)
        {
            self.left -= size;
            self.hash.update(digest);
        }
    }
}

fn content(path: &Path, size: u64) -> std::io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut file = fs::File::open(path)?.take(size);
    let mut piece = [0; 64 * 1024];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hash.finalize().into()),
            read => hash.update(&piece[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_summary_is_the_same_for_the_same_files_and_another_for_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::create_dir(root.join("b")).expect("a folder");
        fs::write(root.join("b/two"), "22").expect("a file");
        fs::write(root.join("one"), "1").expect("a file");
        let first = summary(root).expect("there");
        assert_eq!((first.size_bytes, first.files_count), (3, 2));
        assert_eq!(summary(root), Some(first.clone()));
        fs::write(root.join("b/two"), "23").expect("a file");
        let changed = summary(root).expect("there");
        assert!(changed.sha256 != first.sha256 && changed.size_bytes == 3);
        fs::rename(root.join("one"), root.join("eno")).expect("renamed");
        assert!(summary(root).expect("there").sha256 != changed.sha256);
        assert_eq!(summary(&root.join("nothing")), None);
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (root, secret) = (folder.path().join("storage"), folder.path().join("secret"));
        fs::create_dir(&root).expect("a folder");
        fs::write(&secret, "x".repeat(1000)).expect("a file");
        symlink(&secret, root.join("link")).expect("a link");
        symlink(folder.path(), root.join("up")).expect("a link");
        let before = summary(&root).expect("there");
        assert_eq!((before.size_bytes, before.files_count), (0, 2));
        fs::write(&secret, "y".repeat(1000)).expect("a file");
        assert_eq!(summary(&root), Some(before));
        symlink(&root, folder.path().join("linked")).expect("a link");
        assert_eq!(summary(&folder.path().join("linked")), None);
    }

    #[test]
    fn only_a_thread_that_was_kept_here_and_is_gone_was_evicted() {
        let failed = |kind| BackendFailure::new(kind, "no rollout found");
        for (kind, was_gone, expected) in [
            (FailureKind::ThreadResumeFailed, true, FailureKind::SessionStoreEvicted),
            (FailureKind::ThreadResumeFailed, false, FailureKind::ThreadResumeFailed),
            (FailureKind::BackendFailed, true, FailureKind::BackendFailed),
        ] {
            assert_eq!(judge(failed(kind), was_gone).kind, expected);
        }
    }
}
