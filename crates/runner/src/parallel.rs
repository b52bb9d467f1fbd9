//! Several runners under one parent process, which share a state directory.
//!
//! Each has its own guard and its own lease. A session is served by one of them at a time, because its run has one lease.

use std::ffi::OsString;
use std::io;
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::exit_code::exit_code;

/// A runner that fails sooner after its start is misconfigured, and is not started again.
const MIN_LIFETIME: Duration = Duration::from_secs(10);

/// Delay before a failed runner is started again.
const RESTART_DELAY: Duration = Duration::from_secs(1);

/// Lets this process receive `SIGTERM` when its parent exits.
pub fn end_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::TERM))?)
}

/// Starts this program `count` times with the same arguments, and waits until all have ended. Signals are forwarded. A
/// runner that fails is started again; one that fails at once stops all of them, and its exit code is returned.
pub async fn run(arguments: Vec<OsString>, count: u8) -> io::Result<ExitCode> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    // The number of stop signals: the second one ends a runner at once.
    let (stop, stopped) = watch::channel(0_u32);
    let mut runners = JoinSet::new();
    for number in 1..=count {
        runners.spawn(keep_running(arguments.clone(), number, stopped.clone()));
    }
    let mut result = ExitCode::SUCCESS;
    loop {
        tokio::select! {
            ended = runners.join_next() => {
                let Some(ended) = ended else { return Ok(result) };
                let status = ended.map_err(io::Error::other)??;
                if !status.success() && *stop.borrow() == 0 {
                    result = exit_code(status);
                    stop.send_replace(1);
                }
            }
            _ = terminate.recv() => stop.send_modify(|signals| *signals += 1),
            _ = interrupt.recv() => stop.send_modify(|signals| *signals += 1),
        }
    }
}

/// Starts a runner, again if it fails later than at its start. Returns how the last one ended.
async fn keep_running(
    arguments: Vec<OsString>,
    number: u8,
    mut stopped: watch::Receiver<u32>,
) -> io::Result<ExitStatus> {
    loop {
        let started = Instant::now();
        let mut runner = Command::new("/proc/self/exe")
            .arg0("guildhall-runner")
            .args(&arguments)
            .arg(format!("--worker-number={number}"))
            // A group of its own: this process forwards signals, so each runner gets each of them once.
            .process_group(0)
            .spawn()?;
        let status = wait(&mut runner, &mut stopped).await?;
        if status.success() || *stopped.borrow() > 0 || started.elapsed() < MIN_LIFETIME {
            return Ok(status);
        }
        tokio::select! {
            () = sleep(RESTART_DELAY) => {}
            _ = stopped.changed() => return Ok(status),
        }
    }
}

/// Waits for a runner, and forwards each stop signal to it.
async fn wait(runner: &mut Child, stopped: &mut watch::Receiver<u32>) -> io::Result<ExitStatus> {
    loop {
        tokio::select! {
            status = runner.wait() => return status,
            Ok(()) = stopped.changed() => {
                let pid = runner.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
                if let Some(pid) = pid {
                    let _already_gone = kill_process(pid, Signal::TERM);
                }
            }
        }
    }
}
