//! The state directory of a set of engines, locked by one process at a time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::account::Account;
use crate::{EngineError, secret_file};

/// Location of PostgreSQL's data if its account cannot access the state directory.
const FALLBACK_DIR: &str = "/var/lib/guildhall";

/// A state directory that this process has locked. Dropping it releases the lock.
#[derive(Debug)]
pub struct StateDir {
    folder: PathBuf,
    _lock: File,
}

impl StateDir {
    /// Opens or creates a state directory. Fails if another process has locked it.
    pub fn open(folder: &Path) -> Result<Self, EngineError> {
        fs::create_dir_all(folder).map_err(EngineError::io("create", folder))?;
        let folder = folder.canonicalize().map_err(EngineError::io("find", folder))?;
        // Other accounts may traverse it to their own directory, but not list it.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o711))
            .map_err(EngineError::io("protect", &folder))?;
        let lock = lock(&folder)?;
        Ok(Self { folder, _lock: lock })
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the directory of an engine that runs as the current user.
    pub(crate) fn private_dir(&self, name: &str) -> Result<PathBuf, EngineError> {
        let folder = self.folder.join(name);
        create_private_dir(&folder)?;
        Ok(folder)
    }

    /// Returns the directory of PostgreSQL: in the state directory, or elsewhere if its account cannot access that.
    pub(crate) fn dir_for_account(
        &self,
        name: &str,
        account: Option<&Account>,
    ) -> Result<PathBuf, EngineError> {
        let Some(account) = account else { return self.private_dir(name) };
        let folder = match relocated_dir(&self.folder, name)? {
            Some(relocated) => relocated,
            None if account.can_enter(&self.folder)? => self.folder.join(name),
            None => self.relocate(name)?,
        };
        create_private_dir(&folder)?;
        account.chown(&folder)?;
        Ok(folder)
    }

    /// Chooses a directory elsewhere, and records it first, so that it is found again after a crash.
    fn relocate(&self, name: &str) -> Result<PathBuf, EngineError> {
        use secrecy::ExposeSecret;
        let parent = Path::new(FALLBACK_DIR);
        fs::create_dir_all(parent).map_err(EngineError::io("create", parent))?;
        let unique = secret_file::generate(parent)?;
        let dir = parent.join(format!("{name}-{}", &unique.expose_secret()[..16]));
        secret_file::write(&relocation_file(&self.folder, name), &dir.display().to_string())?;
        Ok(dir)
    }
}

fn relocation_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.moved"))
}

/// Returns the directory of an engine that is outside the state directory.
pub(crate) fn relocated_dir(folder: &Path, name: &str) -> Result<Option<PathBuf>, EngineError> {
    let file = relocation_file(folder, name);
    match fs::read_to_string(&file) {
        Ok(dir) => Ok(Some(PathBuf::from(dir.trim()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(EngineError::io("read", &file)(error)),
    }
}

fn create_private_dir(folder: &Path) -> Result<(), EngineError> {
    fs::create_dir_all(folder).map_err(EngineError::io("create", folder))?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).map_err(EngineError::io("protect", folder))
}

fn lock(folder: &Path) -> Result<File, EngineError> {
    let path = folder.join("lock");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(EngineError::io("open", &path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            let _unreadable = file.read_to_string(&mut pid);
            return Err(EngineError::Busy { folder: folder.to_owned(), pid });
        }
        Err(TryLockError::Error(source)) => return Err(EngineError::io("lock", &path)(source)),
    }
    file.set_len(0)
        .and_then(|()| write!(file, "{}", std::process::id()))
        .map_err(EngineError::io("write", &path))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locked_directory_is_rejected_with_the_pid_of_the_holder() {
        let folder = tempfile::tempdir().expect("a folder");
        let held = StateDir::open(folder.path()).expect("free");
        let message = StateDir::open(folder.path()).expect_err("held").to_string();
        assert!(message.contains(&format!("(pid {})", std::process::id())), "{message}");
        drop(held);
        StateDir::open(folder.path()).expect("free again");
    }
}
