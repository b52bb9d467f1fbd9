//! Calls of the engines crate, which block.

use guildhall_engines::{EngineError, Package};

use crate::doctor::problem::Problem;

/// Describes in one line why an engine was not found or did not start.
pub(super) fn engine_problem(error: &EngineError, fix: &str) -> Problem {
    let text = error.to_string();
    let first_line = text.lines().next().unwrap_or_default();
    let last_log_line = match error {
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
    let cause = cause.or_else(|| last_log_line.map(|line| format!(": {}", line.trim()))).unwrap_or_default();
    let fix = match error {
        EngineError::NoAccount => "useradd --system --no-create-home postgres".to_owned(),
        EngineError::NoSetpriv => Package::UtilLinux.install_command(),
        EngineError::NotFound { .. }
        | EngineError::TooOld { .. }
        | EngineError::Busy { .. }
        | EngineError::Io { .. }
        | EngineError::Spawn { .. }
        | EngineError::Setup { .. }
        | EngineError::NotReady { .. } => fix.to_owned(),
    };
    Problem::new(format!("{first_line}{cause}"), fix)
}

/// Describes why the program of an engine cannot be used, with the command that installs it.
pub(super) fn program_problem(error: &EngineError, package: Package) -> Problem {
    let is_too_old = matches!(error, EngineError::TooOld { .. });
    let fix = if is_too_old { package.upgrade_command() } else { package.install_command() };
    engine_problem(error, &fix)
}

/// Runs blocking work on its own thread. The thread is not joined, so that a check can time out.
pub(super) async fn run_on_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _timed_out = sender.send(work());
    });
    receiver.await.map_err(|_| Problem::missing_input())
}
