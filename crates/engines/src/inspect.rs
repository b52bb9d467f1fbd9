//! Read-only inspection: installed programs, the holder of a state directory, and running engines.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use crate::{EngineError, nats, postgres, programs, state_dir};

/// An installed engine of a supported version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub path: PathBuf,
    pub version: String,
}

/// Finds PostgreSQL as [`crate::Postgres::start`] would.
pub fn postgres_program() -> Result<Program, EngineError> {
    programs::find_postgres().map(|found| Program { path: found.program, version: found.version })
}

/// Finds NATS as [`crate::Nats::start`] would.
pub fn nats_program() -> Result<Program, EngineError> {
    programs::find_nats().map(|found| Program { path: found.program, version: found.version })
}

/// The holder of the lock of a state directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockHolder {
    Unlocked,
    Alive {
        pid: u32,
    },
    /// The recorded process is dead, but the lock is held: another process holds it.
    Dead {
        pid: String,
    },
}

/// Returns the holder of a state directory.
pub fn holder(folder: &Path) -> io::Result<LockHolder> {
    let path = folder.join("lock");
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LockHolder::Unlocked),
        Err(error) => return Err(error),
    };
    // A shared lock, released immediately. A process that starts at this very moment fails because the lock is held.
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| LockHolder::Unlocked),
        Err(TryLockError::WouldBlock) => {
            let pid = fs::read_to_string(&path)?;
            let alive =
                pid.trim().parse().ok().filter(|pid: &u32| Path::new("/proc").join(pid.to_string()).exists());
            Ok(alive.map_or(LockHolder::Dead { pid }, |pid| LockHolder::Alive { pid }))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns whether a state directory contains a database.
#[must_use]
pub fn has_data(folder: &Path) -> bool {
    postgres_dir(folder).join("data").is_dir()
}

/// Returns the URL of the PostgreSQL that runs in a state directory, if any.
#[must_use]
pub fn running_postgres(folder: &Path) -> Option<SecretString> {
    let state = fs::read_to_string(postgres_dir(folder).join("data/postmaster.pid")).ok()?;
    let port = state.lines().nth(3)?.trim().parse().ok()?;
    let password = fs::read_to_string(folder.join("postgres.password")).ok()?;
    Some(postgres::server_url(&password.into(), port))
}

/// Returns the URL of the NATS that was last started in a state directory.
#[must_use]
pub fn running_nats(folder: &Path) -> Option<SecretString> {
    let configuration = fs::read_to_string(folder.join("nats/nats.conf")).ok()?;
    let port = configuration.lines().find_map(|line| line.strip_prefix("port: "))?.trim().parse().ok()?;
    let password = fs::read_to_string(folder.join("nats.password")).ok()?;
    Some(nats::server_url(&password.into(), port))
}

/// Returns the free space of the file system of a path.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

fn postgres_dir(folder: &Path) -> PathBuf {
    state_dir::relocated_dir(folder, "postgres").ok().flatten().unwrap_or_else(|| folder.join("postgres"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateDir;

    #[test]
    fn holder_is_the_process_that_opened_the_directory() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(holder(folder.path()).expect("inspected"), LockHolder::Unlocked);
        let held = StateDir::open(folder.path()).expect("free");
        assert_eq!(holder(folder.path()).expect("inspected"), LockHolder::Alive { pid: std::process::id() });
        fs::write(folder.path().join("lock"), "4294967295").expect("written");
        assert_eq!(
            holder(folder.path()).expect("inspected"),
            LockHolder::Dead { pid: "4294967295".to_owned() }
        );
        drop(held);
        assert_eq!(holder(folder.path()).expect("inspected"), LockHolder::Unlocked);
        StateDir::open(folder.path()).expect("inspection does not lock");
    }
}
