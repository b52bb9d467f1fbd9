//! What blocks, and how it fails.

use guildhall_engines::EngineError;

use super::not_seen;
use crate::doctor::check::Trouble;

/// Says in one line why an engine could not be found or started.
pub(super) fn engine(error: &EngineError, fix: &str) -> Trouble {
    let said = error.to_string();
    let first = said.lines().next().unwrap_or_default();
    let last_words = match error {
        EngineError::Setup { log, .. } | EngineError::NotReady { log, .. } => log.lines().next_back(),
        EngineError::NotFound { .. }
        | EngineError::TooOld { .. }
        | EngineError::NoAccount
        | EngineError::NoSetpriv
        | EngineError::Busy { .. }
        | EngineError::Io { .. }
        | EngineError::Spawn { .. } => None,
    };
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    let cause = cause.or_else(|| last_words.map(|words| format!(": {}", words.trim()))).unwrap_or_default();
    let fix = match error {
        EngineError::NoAccount => "useradd --system --no-create-home postgres",
        EngineError::NoSetpriv => "apt-get install -y util-linux",
        EngineError::NotFound { .. }
        | EngineError::TooOld { .. }
        | EngineError::Busy { .. }
        | EngineError::Io { .. }
        | EngineError::Spawn { .. }
        | EngineError::Setup { .. }
        | EngineError::NotReady { .. } => fix,
    };
    Trouble::new(format!("{first}{cause}"), fix)
}

/// Does what blocks on a thread of its own, which nobody joins: a check that takes too long is given up.
pub(super) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Trouble> {
    let (done, wait) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _given_up = done.send(work());
    });
    wait.await.map_err(|_| not_seen())
}
