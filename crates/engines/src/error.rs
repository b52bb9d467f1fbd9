use std::io;
use std::path::{Path, PathBuf};

/// Why an engine could not be found or run. Each message ends with what to do next.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("{engine} was not found (looked at {looked_at})\n{hint}")]
    NotFound { engine: &'static str, looked_at: String, hint: &'static str },
    #[error("{engine} {found} at {} is too old: {wanted} or newer is needed\n{hint}", path.display())]
    TooOld { engine: &'static str, path: PathBuf, found: String, wanted: &'static str, hint: &'static str },
    #[error(
        "PostgreSQL does not run as root, and there is no account `postgres` to run it as\n  \
         create one:  useradd --system --no-create-home postgres\n  or start as another user than root"
    )]
    NoAccount,
    #[error(
        "`setpriv` was not found; it makes the engines end with this process\n  install it:  apt-get install util-linux"
    )]
    NoSetpriv,
    #[error(
        "another process (pid {pid}) already uses {}\n  stop it first, or choose another folder with --state",
        folder.display()
    )]
    Busy { folder: PathBuf, pid: String },
    #[error("cannot {act} {}", path.display())]
    Io {
        act: &'static str,
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
    #[error("{step} failed\n  its last words:\n{log}")]
    Setup { step: &'static str, log: String },
    #[error("{engine} was not ready within {seconds} s\n  its last words ({}):\n{log}", path.display())]
    NotReady { engine: &'static str, seconds: u64, path: PathBuf, log: String },
}

impl EngineError {
    pub(crate) fn io(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { act, path, source }
    }
}
