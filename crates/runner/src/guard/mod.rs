//! The guard: the runner's parent, which does nothing but outlive it.
//!
//! A runner that is killed cannot end its backend any more. So the program starts itself once more: the first process
//! guards, the second works. When the worker ends, however it does, the guard is handed what it left and ends that too.
//! When the guard ends, the worker sees it and ends itself with everything below. And the worker tells the guard until
//! when its lease lasts: one that hangs, or was stopped, is killed before somebody else may take its run.

mod leash;
mod word;

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until};

pub use leash::Leash;
use word::Word;

use crate::child;

/// How the program is told that it is the worker.
pub const WORKER: &str = "--under-guard";

/// Later than anything that a worker says.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// How the worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    ByItself(ExitStatus),
    /// It gave no sign of life until its lease was almost over, and was killed.
    Silent,
}

impl Ended {
    /// Returns the worker's own code; 128 and the number of the signal that killed it, as shells do.
    #[must_use]
    pub fn code(self) -> ExitCode {
        let status = match self {
            Self::ByItself(status) => status,
            Self::Silent => return ExitCode::FAILURE,
        };
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
        ExitCode::from(u8::try_from(code).unwrap_or(1))
    }
}

/// Starts this program once more with the same arguments, and guards it to its end. Nothing that it started is left.
pub async fn guard(arguments: Vec<OsString>) -> io::Result<Ended> {
    child::adopt_orphans()?;
    let mut worker = Command::new("/proc/self/exe")
        .arg0("guildhall-runner")
        .args(arguments)
        .arg(WORKER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // A signal to our group is ours to pass on, once.
        .process_group(0)
        .spawn()?;
    let ended = watch(&mut worker).await;
    child::end_everything();
    ended
}

async fn watch(worker: &mut Child) -> io::Result<Ended> {
    let missing = || io::Error::other("the worker has no pipes");
    // Closed when we are gone, however that comes; the worker waits for nothing else there.
    let _held_open = worker.stdin.take().ok_or_else(missing)?;
    let mut words = BufReader::new(worker.stdout.take().ok_or_else(missing)?).lines();
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (mut until, mut speaks) = (None, true);
    loop {
        let silent_at = until.unwrap_or_else(|| Instant::now() + FAR);
        tokio::select! {
            // A word that has come counts before the time that is over.
            biased;
            status = worker.wait() => return Ok(Ended::ByItself(status?)),
            line = words.next_line(), if speaks => match line.ok().flatten().as_deref().map(Word::parse) {
                Some(Some(Word::Until(left))) => until = Some(Instant::now() + left),
                Some(Some(Word::Free)) => until = None,
                Some(None) => {}
                None => speaks = false,
            },
            () = sleep_until(silent_at) => return Ok(Ended::Silent),
            _ = terminate.recv() => pass_on(worker, Signal::TERM),
            _ = interrupt.recv() => pass_on(worker, Signal::INT),
        }
    }
}

fn pass_on(worker: &Child, signal: Signal) {
    let pid = worker.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let _already_gone = kill_process(pid, signal);
    }
}
