//! The folder of everything that is remembered.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// How long another process may hold the lock: longer than a refresh can take.
const LOCK_WITHIN: Duration = Duration::from_secs(40);
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(20);

#[derive(Debug, Clone)]
pub(crate) struct Folder(PathBuf);

/// Held by the one process that changes something. The kernel gives it back when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Locked(#[expect(dead_code, reason = "held, not read")] File);

impl Folder {
    /// Finds `$XDG_CONFIG_HOME/guildhall`, or `~/.config/guildhall`.
    pub(crate) fn find() -> Result<Self> {
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let above = folder("XDG_CONFIG_HOME").or_else(|| folder("HOME").map(|home| home.join(".config")));
        let Some(above) = above else {
            bail!(
                "there is no place for your logins\n  next: set HOME or XDG_CONFIG_HOME to a folder of yours"
            );
        };
        Ok(Self(above.join("guildhall")))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Waits until no other process changes anything here.
    pub(crate) async fn lock(&self) -> Result<Locked> {
        self.make()?;
        let path = self.file("lock");
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = file.with_context(|| format!("cannot open {}", path.display()))?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Locked(file)),
                Err(TryLockError::WouldBlock) if began.elapsed() < LOCK_WITHIN => {
                    tokio::time::sleep(LOOK_AGAIN_AFTER).await;
                }
                Err(TryLockError::WouldBlock) => bail!(
                    "another guildhall command holds {} for {} s\n  next: end it, then try again",
                    path.display(),
                    LOCK_WITHIN.as_secs()
                ),
                Err(TryLockError::Error(error)) => {
                    return Err(error).with_context(|| format!("cannot lock {}", path.display()));
                }
            }
        }
    }

    /// Reads a file; one that is not there is empty.
    pub(crate) fn read<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T> {
        let path = self.file(name);
        match std::fs::read(&path) {
            // Where, and not what: the parser's message would repeat a token.
            Ok(text) => serde_json::from_slice(&text).map_err(|error| {
                let (path, line, column) = (path.display(), error.line(), error.column());
                anyhow!(
                    "cannot understand line {line}, column {column} of {path}\n  next: remove the file, then sign in again"
                )
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(T::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Writes a file for this user alone. Whoever reads it sees the old one or the new one, whole.
    pub(crate) fn write(&self, name: &str, value: &impl Serialize, _lock: &Locked) -> Result<()> {
        let path = self.file(name);
        write(&self.0, &path, &serde_json::to_vec_pretty(value)?)
            .with_context(|| format!("cannot write {}", path.display()))
    }

    fn make(&self) -> Result<()> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.0);
        made.with_context(|| format!("cannot make the folder {}", self.0.display()))
    }
}

fn write(folder: &Path, path: &Path, text: &[u8]) -> std::io::Result<()> {
    let mut file = tempfile::Builder::new().permissions(Permissions::from_mode(0o600)).tempfile_in(folder)?;
    file.write_all(text)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
