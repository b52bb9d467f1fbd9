//! A runner that runs, and whoever runs below it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::Running;

/// A runner's two processes: the guard, which the test started, and the worker below it.
pub(super) struct Runner {
    pub(super) running: Running,
    pub(super) log: PathBuf,
}

impl Runner {
    pub(super) fn start(command: &mut Command, log: PathBuf) -> Self {
        let file = fs::File::create(&log).expect("a log");
        Self { running: Running::start_logging(command, file.into()), log }
    }

    pub(super) fn guard(&self) -> u32 {
        self.running.pid()
    }

    /// Returns the worker; there is one as soon as the guard has started it.
    pub(super) fn worker(&self) -> u32 {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            if let [worker] = children(self.guard())[..] {
                return worker;
            }
            assert!(Instant::now() < deadline, "no worker: {}", self.said());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(super) fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

pub(super) fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a pid");
    let _already_gone = kill_process(pid, signal);
}

fn children(pid: u32) -> Vec<u32> {
    let listed = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    listed.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

/// Returns everything that runs below a process.
pub(super) fn descendants(pid: u32) -> Vec<u32> {
    let mut found = children(pid);
    let mut at = 0;
    while at < found.len() {
        found.extend(children(found[at]));
        at += 1;
    }
    found
}

/// Returns the words that a process was started with.
pub(super) fn arguments(pid: u32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

/// Returns whether a process runs; one that has ended and was not buried does not.
pub(super) fn lives(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Waits until none of them runs. Returns how long it took.
pub(super) async fn wait_until_dead(pids: &[u32], within: Duration) -> Duration {
    let began = Instant::now();
    loop {
        let left: Vec<_> = pids.iter().filter(|pid| lives(**pid)).collect();
        if left.is_empty() {
            return began.elapsed();
        }
        assert!(began.elapsed() < within, "{left:?} live on after {within:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits for a file to have so many lines, and returns them.
pub(super) async fn lines(file: &Path, at_least: usize) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let text = fs::read_to_string(file).unwrap_or_default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let found: Vec<String> = whole.lines().map(str::to_owned).collect();
        if found.len() >= at_least {
            return found;
        }
        assert!(Instant::now() < deadline, "{} has {found:?}", file.display());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Reads process ids that a tool wrote, a line each.
pub(super) async fn pids(file: &Path, count: usize) -> Vec<u32> {
    lines(file, count).await.iter().map(|line| line.parse().expect("a pid")).collect()
}
