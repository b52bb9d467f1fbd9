//! Looks at what is there: programs, a state folder and who holds it, engines that run. Starts and changes nothing.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use crate::{EngineError, find, home, nats, postgres};

/// An engine's program that is new enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub path: PathBuf,
    pub version: String,
}

/// Finds PostgreSQL as [`crate::Postgres::start`] would.
pub fn postgres_program() -> Result<Program, EngineError> {
    find::postgres().map(|found| Program { path: found.program, version: found.version })
}

/// Finds NATS as [`crate::Nats::start`] would.
pub fn nats_program() -> Result<Program, EngineError> {
    find::nats().map(|found| Program { path: found.program, version: found.version })
}

/// Who holds a state folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    Nobody,
    Living {
        pid: u32,
    },
    /// The lock is held, and the process that wrote its number there is gone: something else holds it.
    Gone {
        pid: String,
    },
}

/// Finds out who holds a state folder.
pub fn holder(folder: &Path) -> io::Result<Holder> {
    let path = folder.join("lock");
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Holder::Nobody),
        Err(error) => return Err(error),
    };
    // Shared and given back at once: whoever starts in this very moment is told that the folder is in use.
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| Holder::Nobody),
        Err(TryLockError::WouldBlock) => {
            let pid = fs::read_to_string(&path)?;
            let living =
                pid.trim().parse().ok().filter(|pid: &u32| Path::new("/proc").join(pid.to_string()).exists());
            Ok(living.map_or(Holder::Gone { pid }, |pid| Holder::Living { pid }))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns whether a state folder holds a database.
#[must_use]
pub fn has_data(folder: &Path) -> bool {
    postgres_folder(folder).join("data").is_dir()
}

/// Returns the address of the PostgreSQL that runs in a state folder, if one does.
#[must_use]
pub fn running_postgres(folder: &Path) -> Option<SecretString> {
    let state = fs::read_to_string(postgres_folder(folder).join("data/postmaster.pid")).ok()?;
    let port = state.lines().nth(3)?.trim().parse().ok()?;
    let password = fs::read_to_string(folder.join("postgres.password")).ok()?;
    Some(postgres::address_of_server(&password.into(), port))
}

/// Returns the address of the NATS that was last started in a state folder.
#[must_use]
pub fn running_nats(folder: &Path) -> Option<SecretString> {
    let configuration = fs::read_to_string(folder.join("nats/nats.conf")).ok()?;
    let port = configuration.lines().find_map(|line| line.strip_prefix("port: "))?.trim().parse().ok()?;
    let password = fs::read_to_string(folder.join("nats.password")).ok()?;
    Some(nats::address(&password.into(), port))
}

/// Returns how many bytes can still be written where a path is.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let seen = rustix::fs::statvfs(path)?;
    Ok(seen.f_bavail.saturating_mul(seen.f_frsize))
}

fn postgres_folder(folder: &Path) -> PathBuf {
    home::moved_to(folder, "postgres").ok().flatten().unwrap_or_else(|| folder.join("postgres"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Home;

    #[test]
    fn a_folder_is_held_by_the_living_process_that_opened_it_and_by_nobody_after() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(holder(folder.path()).expect("seen"), Holder::Nobody);
        let held = Home::open(folder.path()).expect("free");
        assert_eq!(holder(folder.path()).expect("seen"), Holder::Living { pid: std::process::id() });
        fs::write(folder.path().join("lock"), "4294967295").expect("written");
        assert_eq!(holder(folder.path()).expect("seen"), Holder::Gone { pid: "4294967295".to_owned() });
        drop(held);
        assert_eq!(holder(folder.path()).expect("seen"), Holder::Nobody);
        Home::open(folder.path()).expect("looking holds nothing");
    }
}
