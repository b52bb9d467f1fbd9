//! The cache of a setup, as a process in a sandbox sees it.

use std::path::{Path, PathBuf};

use crate::sandbox::{Mount, MountAccess};

/// Where a process sees the cache, whichever directory it is on this machine: build tools write paths into their files.
const CACHE_DIR: &str = "/run/guildhall/cache";

/// Where a setup sees the cache that it starts from.
pub(super) const BASE_DIR: &str = "/run/guildhall/base-cache";

/// Variables of tools that must find their packages again when the agent runs, and their directory in the cache.
const PACKAGE_DIRS: [(&str, &str); 2] = [("CARGO_HOME", "cargo"), ("GOMODCACHE", "go")];

/// Variables of tools that install packages into the workspace, and only keep their downloads.
const DOWNLOAD_DIRS: [(&str, &str); 3] =
    [("npm_config_cache", "npm"), ("PIP_CACHE_DIR", "pip"), ("UV_CACHE_DIR", "uv")];

/// The cache of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheMount {
    pub dir: PathBuf,
    pub access: MountAccess,
    /// A cache that the process may copy.
    pub base: Option<PathBuf>,
}

impl CacheMount {
    /// Returns the mounts. A cache that does not exist is not mounted: it was deleted, or no setup has filled it.
    pub(in crate::backend) fn mounts(&self) -> Vec<Mount> {
        let mount = |source: &PathBuf, target: &str, access| Mount {
            source: source.clone(),
            target: target.into(),
            access,
        };
        let own = self.dir.is_dir().then(|| mount(&self.dir, CACHE_DIR, self.access));
        let base = self.base.iter().map(|dir| mount(dir, BASE_DIR, MountAccess::Read));
        own.into_iter().chain(base).collect()
    }

    /// Returns the variables with which tools find the cache.
    pub(in crate::backend) fn environment(&self) -> Vec<(String, String)> {
        if !self.dir.is_dir() {
            return Vec::new();
        }
        let is_dir = |name: &str| self.dir.join(name).symlink_metadata().is_ok_and(|file| file.is_dir());
        let tools: Vec<(&str, &str)> = match self.access {
            MountAccess::Write => PACKAGE_DIRS.into_iter().chain(DOWNLOAD_DIRS).collect(),
            // Cargo fails where it cannot create its directory.
            MountAccess::Read => PACKAGE_DIRS.into_iter().filter(|(_, dir)| is_dir(dir)).collect(),
        };
        let path = |dir: &str| Path::new(CACHE_DIR).join(dir).to_string_lossy().into_owned();
        let tools = tools.into_iter().map(|(name, dir)| (name.to_owned(), path(dir)));
        [("GUILDHALL_CACHE".to_owned(), CACHE_DIR.to_owned())].into_iter().chain(tools).collect()
    }
}
