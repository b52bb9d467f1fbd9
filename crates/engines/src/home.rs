//! The state folder of a set of engines, held by one process at a time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::account::Account;
use crate::{EngineError, secret_file};

/// Where PostgreSQL's data goes when its account cannot enter the state folder.
const FALLBACK: &str = "/var/lib/guildhall";

/// A state folder that this process holds. Dropping it lets the next process in.
#[derive(Debug)]
pub struct Home {
    folder: PathBuf,
    _lock: File,
}

impl Home {
    /// Takes a state folder, made where it is missing. Fails when a living process holds it.
    pub fn open(folder: &Path) -> Result<Self, EngineError> {
        fs::create_dir_all(folder).map_err(EngineError::io("make", folder))?;
        let folder = folder.canonicalize().map_err(EngineError::io("find", folder))?;
        // Others may pass through to what is theirs, and see nothing else.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o711))
            .map_err(EngineError::io("protect", &folder))?;
        let lock = lock(&folder)?;
        Ok(Self { folder, _lock: lock })
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of an engine that runs as ourselves.
    pub(crate) fn own(&self, name: &str) -> Result<PathBuf, EngineError> {
        let folder = self.folder.join(name);
        make_private(&folder)?;
        Ok(folder)
    }

    /// Returns the folder of PostgreSQL: inside the state folder, or beside it where its account cannot go there.
    pub(crate) fn for_account(&self, name: &str, account: Option<&Account>) -> Result<PathBuf, EngineError> {
        let Some(account) = account else { return self.own(name) };
        let folder = match moved_to(&self.folder, name)? {
            Some(elsewhere) => elsewhere,
            None if account.can_enter(&self.folder)? => self.folder.join(name),
            None => self.move_away(name)?,
        };
        make_private(&folder)?;
        account.give(&folder)?;
        Ok(folder)
    }

    /// Chooses a place outside and writes it down first, so that it is found again whatever happens next.
    fn move_away(&self, name: &str) -> Result<PathBuf, EngineError> {
        use secrecy::ExposeSecret;
        let parent = Path::new(FALLBACK);
        fs::create_dir_all(parent).map_err(EngineError::io("make", parent))?;
        let unique = secret_file::generate(parent)?;
        let place = parent.join(format!("{name}-{}", &unique.expose_secret()[..16]));
        secret_file::write(&note(&self.folder, name), &place.display().to_string())?;
        Ok(place)
    }
}

fn note(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.moved"))
}

/// Returns where an engine's folder went that could not stay in the state folder.
pub(crate) fn moved_to(folder: &Path, name: &str) -> Result<Option<PathBuf>, EngineError> {
    let note = note(folder, name);
    match fs::read_to_string(&note) {
        Ok(place) => Ok(Some(PathBuf::from(place.trim()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(EngineError::io("read", &note)(error)),
    }
}

fn make_private(folder: &Path) -> Result<(), EngineError> {
    fs::create_dir_all(folder).map_err(EngineError::io("make", folder))?;
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
    fn a_folder_in_use_is_refused_with_the_pid_that_holds_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let held = Home::open(folder.path()).expect("free");
        let message = Home::open(folder.path()).expect_err("held").to_string();
        assert!(message.contains(&format!("(pid {})", std::process::id())), "{message}");
        drop(held);
        Home::open(folder.path()).expect("free again");
    }
}
