//! Ctrl-C and SIGTERM.

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

    /// Waits for a signal. Returns the exit code of a process that obeys it at once.
    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => 130,
            _ = self.terminate.recv() => 143,
        }
    }
}

/// Starts a server, announces it, and serves until somebody asks for the end or a part of it fails; then ends it
/// in good order. A signal before the start is done, and a second one after, end the process at once.
pub(crate) async fn serve_until_asked(
    config: &Config,
    announce: impl AsyncFnOnce(&Server) -> Result<()>,
) -> Result<()> {
    // Before anything is announced: whoever reads the announcement may ask for the end at once.
    let mut signals = Signals::listen()?;
    let server = tokio::select! {
        started = Server::start(config) => started?,
        code = signals.next() => std::process::exit(code),
    };
    announce(&server).await?;
    let asked = tokio::select! {
        _ = signals.next() => true,
        () = server.failed() => false,
    };
    let whole = tokio::select! {
        whole = server.shutdown() => whole,
        code = signals.next() => std::process::exit(code),
    };
    if !asked {
        bail!("the server ended because a part of it failed; its log says which");
    }
    if !whole {
        bail!("the server ended, but not everything was finished in time; its log says what");
    }
    Ok(())
}
