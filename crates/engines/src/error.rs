//! Errors of finding and running engines.

use std::io;
use std::path::{Path, PathBuf};

use crate::packages::Package;

/// An engine could not be found or run. Each message ends with what to do next.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("{engine} was not found (searched {searched})\n{hint}")]
    NotFound { engine: &'static str, searched: String, hint: String },
    #[error("{engine} {found} at {} is too old: {required} or newer is required\n{hint}", path.display())]
    TooOld { engine: &'static str, path: PathBuf, found: String, required: &'static str, hint: String },
    #[error(
        "PostgreSQL does not run as root, and there is no account `postgres` to run it as\n  \
         create one:  useradd --system --no-create-home postgres\n  or start as a user other than root"
    )]
    NoAccount,
    #[error(
        "`setpriv` was not found; it is needed to end the engines with this process\n  install it:  {}",
        Package::UtilLinux.install_command()
    )]
    NoSetpriv,
    #[error(
        "`guildhall dev` is already running on {} (pid {pid})\n  use it:  guildhall login\n  \
         or stop it first, or choose another directory with --state",
        folder.display()
    )]
    Busy { folder: PathBuf, pid: String },
    #[error("cannot {action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot start {program}")]
    Spawn {
        program: String,
        #[source]
        source: io::Error,
    },
    #[error("{step} failed\n  last log lines:\n{log}")]
    Setup { step: &'static str, log: String },
    #[error("{engine} was not ready within {seconds} s\n  last log lines ({}):\n{log}", path.display())]
    NotReady { engine: &'static str, seconds: u64, path: PathBuf, log: String },
}

impl EngineError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}
