//! Ctrl-C (SIGINT) and SIGTERM.

use anyhow::{Result, bail};
use guildhall_server::{Config, Server};
use tokio::signal::unix::{Signal, SignalKind, signal};

struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for a signal. Returns the conventional exit code, 128 + signal number.
    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => 130,
            _ = self.terminate.recv() => 143,
        }
    }
}

/// Starts a server, calls `on_started`, and serves until a signal arrives or a part of the server fails; then shuts
/// down gracefully. A signal during the start, or a second signal, exits at once.
pub(crate) async fn serve_until_signal(
    config: &Config,
    on_started: impl AsyncFnOnce(&Server) -> Result<()>,
) -> Result<()> {
    // Before `on_started`: whoever reads its output may send a signal at once.
    let mut signals = Signals::listen()?;
    let server = tokio::select! {
        started = Server::start(config) => started?,
        code = signals.next() => std::process::exit(code),
    };
    on_started(&server).await?;
    let signalled = tokio::select! {
        _ = signals.next() => true,
        () = server.wait_for_failure() => false,
    };
    let finished = tokio::select! {
        finished = server.shutdown() => finished,
        code = signals.next() => std::process::exit(code),
    };
    if !signalled {
        bail!("the server stopped because a part of it failed; see its log");
    }
    if !finished {
        bail!("the server stopped before all work was finished: the shutdown timed out; see its log");
    }
    Ok(())
}
