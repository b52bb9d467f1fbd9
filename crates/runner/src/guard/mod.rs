//! The guard: the parent process of the runner, which cleans up when the runner dies.
//!
//! A runner that is killed cannot kill its backend. So the program starts itself a second time: the first process is
//! the guard, the second is the worker. When the worker exits for any reason, the guard inherits its orphans and
//! kills them. When the guard exits, the worker notices and kills itself and its descendants. The worker also reports
//! its lease: a worker that hangs or was stopped is killed before another runner can claim its run.

mod link;
mod message;

use std::ffi::OsString;
use std::io;
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until};

pub use link::GuardLink;
use message::GuardMessage;

use crate::child;
use crate::exit_code::exit_code;

/// Marks the worker process on its command line.
pub const WORKER_FLAG: &str = "--under-guard";

/// Longer than any lease: used while no run is held.
const NO_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);

/// How the worker exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerExit {
    Exited(ExitStatus),
    /// It sent no message until its lease had almost expired, and was killed.
    TimedOut,
}

impl WorkerExit {
    /// Returns the worker's exit code, or 128 plus the number of the signal that killed it, as shells do.
    #[must_use]
    pub fn code(self) -> ExitCode {
        match self {
            Self::Exited(status) => exit_code(status),
            Self::TimedOut => ExitCode::FAILURE,
        }
    }
}

/// Starts this program again as a worker with the same arguments, waits for it, and kills everything that it started.
pub async fn guard(arguments: Vec<OsString>) -> io::Result<WorkerExit> {
    child::become_subreaper()?;
    let mut worker = Command::new("/proc/self/exe")
        .arg0("guildhall-runner")
        .args(arguments)
        .arg(WORKER_FLAG)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // A group of its own: the guard forwards signals, so the worker gets each of them once.
        .process_group(0)
        .spawn()?;
    let exit = supervise(&mut worker).await;
    child::kill_descendants();
    exit
}

async fn supervise(worker: &mut Child) -> io::Result<WorkerExit> {
    let missing_pipe = || io::Error::other("the worker has no pipes");
    // The pipe closes when the guard exits for any reason; the worker waits for that.
    let _held_open = worker.stdin.take().ok_or_else(missing_pipe)?;
    let mut lines = BufReader::new(worker.stdout.take().ok_or_else(missing_pipe)?).lines();
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (mut deadline, mut is_open) = (None, true);
    loop {
        let timeout_at = deadline.unwrap_or_else(|| Instant::now() + NO_TIMEOUT);
        tokio::select! {
            // A message that has arrived is handled before the timeout.
            biased;
            status = worker.wait() => return Ok(WorkerExit::Exited(status?)),
            line = lines.next_line(), if is_open => {
                match line.ok().flatten().as_deref().map(GuardMessage::parse) {
                    Some(Some(GuardMessage::LeaseHeld(time_left))) => {
                        deadline = Some(Instant::now() + time_left);
                    }
                    Some(Some(GuardMessage::Idle)) => deadline = None,
                    Some(None) => {}
                    None => is_open = false,
                }
            }
            () = sleep_until(timeout_at) => return Ok(WorkerExit::TimedOut),
            _ = terminate.recv() => forward_signal(worker, Signal::TERM),
            _ = interrupt.recv() => forward_signal(worker, Signal::INT),
        }
    }
}

fn forward_signal(worker: &Child, signal: Signal) {
    let pid = worker.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let _already_gone = kill_process(pid, signal);
    }
}
