//! Kills engines that a killed process left running.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tracing::warn;

/// Only these programs are killed: a shell in the directory may belong to a user.
const ENGINES: [&str; 4] = ["postgres", "initdb", "nats-server", "setpriv"];

const QUIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Kills every engine process whose working directory is inside a directory. The caller holds its lock, so no live
/// process owns them. Returns how many there were.
pub(crate) fn kill_leftovers(folder: &Path) -> usize {
    let found = engines_within(folder);
    for pid in &found {
        warn!(
            pid = pid.as_raw_nonzero(),
            "killing an engine that a killed process left in {}",
            folder.display()
        );
        // SIGQUIT: PostgreSQL stops immediately and recovers from its log at the next start.
        let _already_gone = kill_process(*pid, Signal::QUIT);
    }
    let deadline = Instant::now() + QUIT_TIMEOUT;
    while !engines_within(folder).is_empty() && Instant::now() < deadline {
        sleep(Duration::from_millis(20));
    }
    for pid in engines_within(folder) {
        let _already_gone = kill_process(pid, Signal::KILL);
    }
    found.len()
}

fn engines_within(folder: &Path) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
        .filter(|pid| is_engine_within(*pid, folder))
        .collect()
}

fn is_engine_within(pid: Pid, folder: &Path) -> bool {
    let proc = Path::new("/proc").join(pid.as_raw_nonzero().to_string());
    let name = fs::read_to_string(proc.join("comm")).unwrap_or_default();
    ENGINES.contains(&name.trim()) && fs::read_link(proc.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
}
