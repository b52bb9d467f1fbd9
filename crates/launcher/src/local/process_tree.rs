//! Kills a runner with all its descendants.
//!
//! A runner is a child subreaper: orphaned descendants become its children, so the tree below it is complete. The
//! runner is stopped, its descendants are killed until none is left, and the runner is killed last. If the runner
//! itself was killed by someone else, its descendants have other parents; they are found by their environment and
//! working directory.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use guildhall_domain::ids::AttemptId;
use guildhall_domain::runners::job::attempt_name;
use rustix::process::Signal;

use super::processes::{Process, ProcessIdentity, ProcessState, send_signal};

/// The environment variable that marks the descendants of a runner.
pub(super) const ATTEMPT_VARIABLE: &str = "GUILDHALL_ATTEMPT";

/// A process that forks while its tree is being killed is found by the next scan.
const MAX_SCANS: u32 = 500;
const SCAN_INTERVAL: Duration = Duration::from_millis(2);

/// Kills a process and all its descendants. Returns whether it is dead.
pub(super) fn kill_tree(root: &ProcessIdentity) -> bool {
    root.signal(Signal::STOP);
    kill_until_none(|all| {
        if root.state() != ProcessState::Alive {
            return Vec::new();
        }
        let below = with_descendants(all, &BTreeSet::from([root.pid]));
        below.into_iter().filter(|process| process.id != root.pid).collect()
    });
    root.signal(Signal::KILL);
    for _ in 0..MAX_SCANS {
        if root.state() != ProcessState::Alive {
            return true;
        }
        sleep(SCAN_INTERVAL);
    }
    false
}

/// Kills the leftover processes of a dead runner: those with its [`ATTEMPT_VARIABLE`], and those that use the storage
/// of sessions as home or working directory and do not descend from a live runner. A process with a terminal, such as a
/// user's shell in a workspace, is spared: runners and their descendants have none.
pub(super) fn kill_leftovers(attempt: AttemptId, storage: &Path, live_runners: &BTreeSet<u32>) -> bool {
    let (attempt, home) = (attempt_name(attempt), storage.as_os_str().as_bytes());
    let homes: [&[u8]; 3] = [b"HOME", b"TMPDIR", b"CODEX_HOME"];
    kill_until_none(|all| {
        let ours = with_descendants(all, live_runners);
        let is_leftover = |process: &&Process| {
            process.id != std::process::id()
                && !ours.iter().any(|our| our.id == process.id)
                && ((!process.has_terminal && process.is_within(storage))
                    || process.has_variable(|name, value| {
                        let marked = name == ATTEMPT_VARIABLE.as_bytes() && value == attempt.as_bytes();
                        marked || (homes.contains(&name) && value.starts_with(home))
                    }))
        };
        all.iter().filter(|process| !process.is_dead).filter(is_leftover).copied().collect()
    })
}

fn kill_until_none(find: impl Fn(&[Process]) -> Vec<Process>) -> bool {
    for _ in 0..MAX_SCANS {
        let mut found = find(&Process::all());
        found.retain(|process| !process.is_dead);
        if found.is_empty() {
            return true;
        }
        for process in found {
            send_signal(process.id, Signal::KILL);
        }
        sleep(SCAN_INTERVAL);
    }
    false
}

/// Returns processes and all their descendants.
fn with_descendants(all: &[Process], roots: &BTreeSet<u32>) -> Vec<Process> {
    let mut found = roots.clone();
    loop {
        let before = found.len();
        let children = all.iter().filter(|process| found.contains(&process.parent)).map(|process| process.id);
        found.extend(children.collect::<Vec<_>>());
        if found.len() == before {
            return all.iter().filter(|process| found.contains(&process.id)).copied().collect();
        }
    }
}
