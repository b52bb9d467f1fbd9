//! Which files a turn changed: the folder is looked through before and after, by size and time.
//!
//! Git is not asked. The agent owns the repository in its workspace, and a `git status` of ours would run what the agent
//! wrote into its configuration (a filter, a monitor), outside the agent's sandbox.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

/// Files looked at; a workspace with more has its changes told in part, and says so.
const FILES_AT_MOST: usize = 20_000;

/// Folders within folders.
const DEPTH_AT_MOST: usize = 32;

/// Files that are named one by one; of the rest there is a sum.
const NAMED_AT_MOST: usize = 20;

/// Longer paths are cut.
const PATH_CHARS: usize = 400;

/// Looking takes no longer.
const WITHIN: Duration = Duration::from_secs(10);

/// What of a file is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    bytes: u64,
    modified: (i64, i64),
    inode: u64,
}

/// A folder as it stood at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    files: BTreeMap<PathBuf, Seen>,
    is_whole: bool,
}

impl Snapshot {
    /// Looks through a folder; none where that takes too long.
    pub(crate) async fn take(folder: &Path) -> Option<Self> {
        let folder = folder.to_owned();
        let looking = tokio::task::spawn_blocking(move || {
            let mut snapshot = Self { files: BTreeMap::new(), is_whole: true };
            snapshot.look(&folder, &folder, 0);
            snapshot
        });
        timeout(WITHIN, looking).await.ok()?.ok()
    }

    fn look(&mut self, root: &Path, folder: &Path, depth: usize) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            if self.files.len() >= FILES_AT_MOST {
                self.is_whole = false;
                return;
            }
            let path = entry.path();
            // Links are not followed; git's own folder is not the work.
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            if found.is_dir() {
                if entry.file_name() == ".git" {
                    continue;
                }
                if depth >= DEPTH_AT_MOST {
                    self.is_whole = false;
                    continue;
                }
                self.look(root, &path, depth + 1);
            } else if let Ok(name) = path.strip_prefix(root) {
                let modified = (found.mtime(), found.mtime_nsec());
                let bytes = if found.is_file() { found.len() } else { 0 };
                self.files.insert(name.to_owned(), Seen { bytes, modified, inode: found.ino() });
            }
        }
    }
}

/// Returns what to tell of a turn: an event for each of the first files that changed, and one for the rest.
pub(crate) fn events(before: &Snapshot, after: &Snapshot) -> Vec<Value> {
    let mut changes: Vec<(&Path, &str, u64)> = Vec::new();
    for (path, seen) in &after.files {
        match before.files.get(path) {
            None => changes.push((path, "added", seen.bytes)),
            Some(earlier) if earlier != seen => changes.push((path, "modified", seen.bytes)),
            Some(_) => {}
        }
    }
    if after.is_whole {
        let removed = before.files.keys().filter(|path| !after.files.contains_key(*path));
        changes.extend(removed.map(|path| (path.as_path(), "deleted", 0)));
    }
    changes.sort();
    let is_whole = before.is_whole && after.is_whole;
    let (named, rest) = changes.split_at(changes.len().min(NAMED_AT_MOST));
    let one = |(path, change, bytes): &(&Path, &str, u64)| {
        let path: String = path.to_string_lossy().chars().take(PATH_CHARS).collect();
        json!({ "kind": "file", "path": path, "change": change, "bytes": bytes, "truncated": false })
    };
    let mut events: Vec<Value> = named.iter().map(one).collect();
    if !rest.is_empty() || !is_whole {
        let bytes: u64 = rest.iter().map(|(_, _, bytes)| bytes).sum();
        events.push(json!({
            "kind": "summary", "path": null, "files": rest.len(), "bytes": bytes, "truncated": true,
            "filesLookedAt": after.files.len(), "wholeWorkspace": is_whole,
        }));
    }
    events
}
