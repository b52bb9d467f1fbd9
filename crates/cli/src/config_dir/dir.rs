//! Files in the configuration directory, with a lock for writers.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// How long to wait for another process: longer than a token refresh can take.
const LOCK_TIMEOUT: Duration = Duration::from_secs(40);
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Debug, Clone)]
pub(crate) struct ConfigDir(PathBuf);

/// Lock of the one process that may write. The kernel releases it when the process exits.
#[derive(Debug)]
pub(crate) struct ConfigDirLock(#[expect(dead_code, reason = "held, not read")] File);

impl ConfigDir {
    /// Returns `$XDG_CONFIG_HOME/guildhall`, or `~/.config/guildhall`.
    pub(crate) fn find() -> Result<Self> {
        let dir = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let parent = dir("XDG_CONFIG_HOME").or_else(|| dir("HOME").map(|home| home.join(".config")));
        let Some(parent) = parent else {
            bail!(
                "cannot find your configuration directory: HOME and XDG_CONFIG_HOME are not set\n  \
                 next: set one of them to an absolute path"
            );
        };
        Ok(Self(parent.join("guildhall")))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Waits until no other process holds the lock, and takes it.
    pub(crate) async fn lock(&self) -> Result<ConfigDirLock> {
        self.create()?;
        let path = self.file("lock");
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = file.with_context(|| format!("cannot open {}", path.display()))?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(ConfigDirLock(file)),
                Err(TryLockError::WouldBlock) if started.elapsed() < LOCK_TIMEOUT => {
                    tokio::time::sleep(LOCK_POLL_INTERVAL).await;
                }
                Err(TryLockError::WouldBlock) => bail!(
                    "cannot lock {}: another guildhall command has held it for {} s\n  next: stop it, then try again",
                    path.display(),
                    LOCK_TIMEOUT.as_secs()
                ),
                Err(TryLockError::Error(error)) => {
                    return Err(error).with_context(|| format!("cannot lock {}", path.display()));
                }
            }
        }
    }

    /// Reads a file. A missing file gives the default value.
    pub(crate) fn read<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T> {
        let path = self.file(name);
        match std::fs::read(&path) {
            // Only the position: the message of the parser could contain a token.
            Ok(text) => serde_json::from_slice(&text).map_err(|error| {
                let (path, line, column) = (path.display(), error.line(), error.column());
                anyhow!(
                    "cannot parse {path}: invalid JSON at line {line}, column {column}\n  \
                     next: remove the file, then sign in again"
                )
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(T::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Reads a file with tokens, as [`ConfigDir::read`] does. Refuses one that other users can read. `commands` sign out and in.
    pub(crate) fn read_private<T: DeserializeOwned + Default>(
        &self,
        name: &str,
        commands: [&str; 2],
    ) -> Result<T> {
        let path = self.file(name);
        if is_readable_by_others(&path) {
            let (path, [out, again]) = (path.display(), commands);
            bail!(
                "other users of this machine can read your tokens in {path}\n  next: `chmod 600 {path}`; if another \
                 user may have read them, also run `{out}` and `{again}`"
            );
        }
        self.read(name)
    }

    /// Replaces a file atomically, with permissions for this user only.
    pub(crate) fn write(&self, name: &str, value: &impl Serialize, _lock: &ConfigDirLock) -> Result<()> {
        let path = self.file(name);
        replace_file(&self.0, &path, &serde_json::to_vec_pretty(value)?)
            .with_context(|| format!("cannot write {}", path.display()))
    }

    fn create(&self) -> Result<()> {
        let created = DirBuilder::new().recursive(true).mode(0o700).create(&self.0);
        created.with_context(|| format!("cannot create the directory {}", self.0.display()))
    }
}

/// Returns whether other users have any permission for a file. A missing file is not readable.
pub(crate) fn is_readable_by_others(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0)
}

fn replace_file(dir: &Path, path: &Path, text: &[u8]) -> std::io::Result<()> {
    let mut file = tempfile::Builder::new().permissions(Permissions::from_mode(0o600)).tempfile_in(dir)?;
    file.write_all(text)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
