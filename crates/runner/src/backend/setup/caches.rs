//! The caches of setups on this machine. Each is filled by one setup, and never changed afterwards.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::sandbox::{AgentUser, give_to_agent};

/// A cache that was not used for this long is deleted.
const MAX_UNUSED: Duration = Duration::from_secs(14 * 24 * 3600);

/// A setup takes less: what is older was left by a runner that was killed.
const MAX_UNFINISHED: Duration = Duration::from_secs(24 * 3600);

const UNFINISHED_PREFIX: &str = "new-";

/// The directory of all caches.
#[derive(Debug, Clone)]
pub(super) struct SetupCaches {
    dir: PathBuf,
}

impl SetupCaches {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub(super) fn path(&self, key: &str) -> PathBuf {
        self.dir.join(key)
    }

    /// Creates an empty directory for a setup. Dropping it deletes it, unless it was published.
    pub(super) fn create_unfinished(&self, user: Option<AgentUser>) -> io::Result<TempDir> {
        fs::create_dir_all(&self.dir)?;
        let dir = tempfile::Builder::new().prefix(UNFINISHED_PREFIX).tempdir_in(&self.dir)?;
        user.map_or(Ok(()), |user| give_to_agent(dir.path(), user))?;
        Ok(dir)
    }

    /// Makes a filled directory the cache of a key. Where another setup was faster, that one stays.
    pub(super) fn publish(&self, filled: TempDir, key: &str) -> io::Result<()> {
        let path = self.path(key);
        match fs::rename(filled.path(), &path) {
            Ok(()) => {
                let _moved_away = filled.keep();
                Ok(())
            }
            Err(_) if path.is_dir() => filled.close(),
            Err(error) => Err(error),
        }
    }

    /// Remembers that a cache is used, if it exists.
    pub(super) fn touch(&self, key: &str) -> io::Result<()> {
        if !self.path(key).is_dir() {
            return Ok(());
        }
        fs::write(self.used_path(key), "")
    }

    fn used_path(&self, key: &str) -> PathBuf {
        self.dir.join(format!("{key}.used"))
    }

    /// Deletes the caches that were not used for long, and what killed runners left.
    pub(super) fn delete_unused(&self, now: SystemTime) -> io::Result<()> {
        if !self.dir.is_dir() {
            return Ok(());
        }
        for entry in fs::read_dir(&self.dir)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !path.symlink_metadata().is_ok_and(|file| file.is_dir()) {
                continue;
            }
            let is_unfinished = name.starts_with(UNFINISHED_PREFIX);
            let (marker, max_age) = if is_unfinished {
                (path.clone(), MAX_UNFINISHED)
            } else {
                (self.used_path(&name), MAX_UNUSED)
            };
            if age(&marker, now).is_none_or(|age| age > max_age) {
                fs::remove_dir_all(&path)?;
                if !is_unfinished {
                    let _not_used_yet = fs::remove_file(marker);
                }
            }
        }
        Ok(())
    }
}

/// Returns the time since a file was written; `None` if there is no such file.
fn age(path: &Path, now: SystemTime) -> Option<Duration> {
    let modified = path.symlink_metadata().and_then(|file| file.modified()).ok()?;
    Some(now.duration_since(modified).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use guildhall_runtime::Clock;

    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).expect("read directory").flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn unused_caches_and_unfinished_ones_are_deleted() {
        let (root, now) =
            (tempfile::tempdir().expect("temporary directory"), SystemTime::from(Clock::system().now()));
        let caches = SetupCaches::new(root.path().join("caches"));
        for key in ["first", "second"] {
            let filled = caches.create_unfinished(None).expect("create directory");
            fs::write(filled.path().join("package"), key).expect("write file");
            caches.publish(filled, key).expect("publish");
            caches.touch(key).expect("touch");
        }
        let _abandoned = caches.create_unfinished(None).expect("create directory").keep();
        caches.delete_unused(now).expect("delete");
        assert_eq!(names(&root.path().join("caches")).len(), 5, "two caches, two markers, one unfinished");
        let later = now + MAX_UNFINISHED + Duration::from_secs(60);
        caches.delete_unused(later).expect("delete");
        assert_eq!(
            names(&root.path().join("caches")),
            ["first", "first.used", "second", "second.used"],
            "the unfinished one is deleted"
        );
        caches.delete_unused(now + MAX_UNUSED + Duration::from_secs(60)).expect("delete");
        assert_eq!(names(&root.path().join("caches")), [] as [&str; 0]);
    }

    #[test]
    fn published_cache_is_not_replaced_by_a_later_setup() {
        let root = tempfile::tempdir().expect("temporary directory");
        let caches = SetupCaches::new(root.path().join("caches"));
        for text in ["first", "second"] {
            let filled = caches.create_unfinished(None).expect("create directory");
            fs::write(filled.path().join("package"), text).expect("write file");
            caches.publish(filled, "key").expect("publish");
        }
        assert_eq!(fs::read_to_string(caches.path("key").join("package")).expect("read file"), "first");
        assert_eq!(names(&root.path().join("caches")), ["key"]);
    }
}
