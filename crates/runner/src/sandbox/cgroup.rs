//! Cgroups that limit the memory and the number of processes of one sandbox, where this process may create them:
//! version 1 hierarchies, or a delegated version 2 hierarchy.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use super::limits::SandboxLimits;

const ROOT: &str = "/sys/fs/cgroup";

/// Prefix of our cgroups. One that is empty was left by a killed runner.
const PREFIX: &str = "guildhall-";

/// Killed processes leave a cgroup a moment after they die.
const MAX_REMOVALS: u32 = 50;
const REMOVAL_INTERVAL: Duration = Duration::from_millis(10);

static NEXT: AtomicU64 = AtomicU64::new(0);

/// The cgroups of one sandbox. Dropping it removes them; their processes must be dead.
#[derive(Debug, Default)]
pub struct Cgroups {
    dirs: Vec<PathBuf>,
    limits_memory: bool,
}

impl Cgroups {
    /// Creates the cgroups of a sandbox. Without the permission to create them there are none.
    #[must_use]
    pub fn create(limits: &SandboxLimits) -> Self {
        let name = format!("{PREFIX}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let membership = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut cgroups = Self::default();
        for (controllers, path) in membership.lines().filter_map(parse_membership) {
            if controllers.is_empty() {
                cgroups.add_version_2(&unified_dir(path), &name, limits);
            } else if controllers.contains(&"memory") {
                let settings = [("memory.limit_in_bytes", limits.memory_bytes)];
                let was_added = cgroups.add(&version_1_dir("memory", path), &name, &settings);
                cgroups.limits_memory |= was_added;
            } else if controllers.contains(&"pids") {
                cgroups.add(&version_1_dir("pids", path), &name, &[("pids.max", limits.processes)]);
            }
        }
        cgroups
    }

    /// Returns the directories that a process must join.
    #[must_use]
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// Returns whether the kernel enforces the memory limit.
    #[must_use]
    pub fn limits_memory(&self) -> bool {
        self.limits_memory
    }

    fn add_version_2(&mut self, parent: &Path, name: &str, limits: &SandboxLimits) {
        // Succeeds if the hierarchy is delegated and no process is in the parent itself.
        let _not_delegated = fs::write(parent.join("cgroup.subtree_control"), "+memory +pids");
        let settings = [("memory.max", limits.memory_bytes), ("pids.max", limits.processes)];
        self.limits_memory |= self.add(parent, name, &settings);
    }

    /// Creates one cgroup with its settings, or none.
    fn add(&mut self, parent: &Path, name: &str, settings: &[(&str, u64)]) -> bool {
        remove_leftovers(parent);
        let dir = parent.join(name);
        let created = fs::create_dir(&dir).and_then(|()| configure(&dir, settings));
        if created.is_ok() {
            self.dirs.push(dir);
        } else {
            let _not_created = fs::remove_dir(&dir);
        }
        created.is_ok()
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        for dir in &self.dirs {
            for _ in 0..MAX_REMOVALS {
                if fs::remove_dir(dir).is_ok() {
                    break;
                }
                sleep(REMOVAL_INTERVAL);
            }
        }
    }
}

fn configure(dir: &Path, settings: &[(&str, u64)]) -> io::Result<()> {
    for (file, value) in settings {
        let path = dir.join(file);
        // A missing file means that the controller is not enabled; writing would create nothing.
        fs::metadata(&path)?;
        fs::write(path, value.to_string())?;
    }
    Ok(())
}

/// Removes cgroups of killed runners. One with processes cannot be removed.
fn remove_leftovers(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _in_use = fs::remove_dir(entry.path());
        }
    }
}

/// Parses a line of `/proc/self/cgroup`. Version 2 has no controllers there.
fn parse_membership(line: &str) -> Option<(Vec<&str>, &str)> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?);
    Some((controllers.split(',').filter(|name| !name.is_empty()).collect(), path))
}

fn version_1_dir(controller: &str, path: &str) -> PathBuf {
    Path::new(ROOT).join(controller).join(path.trim_start_matches('/'))
}

/// The version 2 hierarchy is the root, unless version 1 hierarchies are mounted there.
fn unified_dir(path: &str) -> PathBuf {
    let hybrid = Path::new(ROOT).join("unified");
    let root = if hybrid.is_dir() { hybrid } else { PathBuf::from(ROOT) };
    root.join(path.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn membership_of_both_versions_is_parsed() {
        assert_eq!(parse_membership("4:cpu,memory:/a:b"), Some((vec!["cpu", "memory"], "/a:b")));
        assert_eq!(parse_membership("0::/user.slice"), Some((vec![], "/user.slice")));
        assert_eq!(parse_membership("nonsense"), None);
    }

    #[test]
    fn cgroup_without_its_controller_is_not_used() {
        let parent = tempfile::tempdir().expect("temporary directory");
        let mut cgroups = Cgroups::default();
        assert!(!cgroups.add(parent.path(), "guildhall-1-0", &[("memory.max", 1)]));
        assert!(cgroups.dirs().is_empty() && !parent.path().join("guildhall-1-0").exists());
    }
}
