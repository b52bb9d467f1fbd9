//! Which files a turn changed: compares a scan of the directory before and after, by size and modification time.
//!
//! It does not use git: the agent controls the repository in its workspace, and `git status` would execute what the
//! agent wrote into its configuration (a filter, a monitor), outside of the agent's sandbox.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

/// Files to scan. In a larger workspace only a part of the changes is reported, and marked as such.
const MAX_FILES: usize = 20_000;

/// Nesting of directories.
const MAX_DEPTH: usize = 32;

/// Files that get an event each; the rest is summed up in one event.
const MAX_FILE_EVENTS: usize = 20;

/// Longer paths are truncated.
const MAX_PATH_CHARS: usize = 400;

/// Time limit of one scan.
const SCAN_TIMEOUT: Duration = Duration::from_secs(10);

/// The attributes of a file that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    bytes: u64,
    modified: (i64, i64),
    inode: u64,
}

/// The files of a directory at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    files: BTreeMap<PathBuf, FileStamp>,
    is_complete: bool,
}

impl Snapshot {
    /// Scans a directory. Returns `None` when that takes too long.
    pub(crate) async fn take(dir: &Path) -> Option<Self> {
        let dir = dir.to_owned();
        let scan = tokio::task::spawn_blocking(move || {
            let mut snapshot = Self { files: BTreeMap::new(), is_complete: true };
            snapshot.scan(&dir, &dir, 0);
            snapshot
        });
        timeout(SCAN_TIMEOUT, scan).await.ok()?.ok()
    }

    fn scan(&mut self, root: &Path, dir: &Path, depth: usize) {
        let Ok(entries) = fs::read_dir(dir) else { return };
        for entry in entries.flatten() {
            if self.files.len() >= MAX_FILES {
                self.is_complete = false;
                return;
            }
            let path = entry.path();
            // Symbolic links are not followed, and `.git` is skipped.
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            if metadata.is_dir() {
                if entry.file_name() == ".git" {
                    continue;
                }
                if depth >= MAX_DEPTH {
                    self.is_complete = false;
                    continue;
                }
                self.scan(root, &path, depth + 1);
            } else if let Ok(name) = path.strip_prefix(root) {
                let modified = (metadata.mtime(), metadata.mtime_nsec());
                let bytes = if metadata.is_file() { metadata.len() } else { 0 };
                self.files.insert(name.to_owned(), FileStamp { bytes, modified, inode: metadata.ino() });
            }
        }
    }
}

/// Returns the events of a turn: one for each of the first changed files, and one for the rest.
pub(crate) fn change_events(before: &Snapshot, after: &Snapshot) -> Vec<Value> {
    let mut changes: Vec<(&Path, &str, u64)> = Vec::new();
    for (path, stamp) in &after.files {
        match before.files.get(path) {
            None => changes.push((path, "added", stamp.bytes)),
            Some(earlier) if earlier != stamp => changes.push((path, "modified", stamp.bytes)),
            Some(_) => {}
        }
    }
    if after.is_complete {
        let removed = before.files.keys().filter(|path| !after.files.contains_key(*path));
        changes.extend(removed.map(|path| (path.as_path(), "deleted", 0)));
    }
    changes.sort();
    let is_complete = before.is_complete && after.is_complete;
    let (named, rest) = changes.split_at(changes.len().min(MAX_FILE_EVENTS));
    let file_event = |(path, change, bytes): &(&Path, &str, u64)| {
        let path: String = path.to_string_lossy().chars().take(MAX_PATH_CHARS).collect();
        json!({ "kind": "file", "path": path, "change": change, "bytes": bytes, "truncated": false })
    };
    let mut events: Vec<Value> = named.iter().map(file_event).collect();
    if !rest.is_empty() || !is_complete {
        let bytes: u64 = rest.iter().map(|(_, _, bytes)| bytes).sum();
        events.push(json!({
            "kind": "summary", "path": null, "files": rest.len(), "bytes": bytes, "truncated": true,
            "filesLookedAt": after.files.len(), "wholeWorkspace": is_complete,
        }));
    }
    events
}
