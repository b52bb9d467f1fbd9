//! Ends a runner with everything that it started.
//!
//! While a runner lives it is handed the orphans among its descendants (it asks the kernel for that), so the tree below it
//! is whole: it is stopped, the tree is killed until nothing of it is left, and it goes last. A runner that was killed by
//! somebody else has left its descendants to others; those are found by what they were given when they began.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use guildhall_domain::ids::AttemptId;
use rustix::process::Signal;

use super::processes::{Identity, Life, Process, send};

/// The variable by which what a runner started is found again.
pub(super) const MARK: &str = "GUILDHALL_ATTEMPT";

/// What forks while it is being ended is found by the next look.
const LOOKS_AT_MOST: u32 = 500;
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// Ends a process and all below it. Returns whether it is dead.
pub(super) fn end(root: &Identity) -> bool {
    root.signal(Signal::STOP);
    kill_until_none(|all| {
        if root.life() != Life::Alive {
            return Vec::new();
        }
        let below = with_descendants(all, &BTreeSet::from([root.pid]));
        below.into_iter().filter(|process| process.id != root.pid).collect()
    });
    root.signal(Signal::KILL);
    for _ in 0..LOOKS_AT_MOST {
        if root.life() != Life::Alive {
            return true;
        }
        sleep(BETWEEN_LOOKS);
    }
    false
}

/// Ends what a dead runner left: who carries its mark, and who lives in the storage of sessions, by its home or by the
/// folder that it stands in, without belonging to a runner that lives. A person's shell in a workspace has a terminal, which
/// runners and what they start have not: it is left alone.
pub(super) fn end_leftovers(attempt: AttemptId, storage: &Path, living: &BTreeSet<u32>) -> bool {
    let (attempt, home) = (attempt.to_string(), storage.as_os_str().as_bytes());
    let homes: [&[u8]; 3] = [b"HOME", b"TMPDIR", b"CODEX_HOME"];
    kill_until_none(|all| {
        let ours = with_descendants(all, living);
        let is_left = |process: &&Process| {
            process.id != std::process::id()
                && !ours.iter().any(|our| our.id == process.id)
                && ((!process.has_terminal && process.is_within(storage))
                    || process.has_variable(|name, value| {
                        let marked = name == MARK.as_bytes() && value == attempt.as_bytes();
                        marked || (homes.contains(&name) && value.starts_with(home))
                    }))
        };
        all.iter().filter(|process| !process.is_dead).filter(is_left).copied().collect()
    })
}

fn kill_until_none(find: impl Fn(&[Process]) -> Vec<Process>) -> bool {
    for _ in 0..LOOKS_AT_MOST {
        let mut found = find(&Process::all());
        found.retain(|process| !process.is_dead);
        if found.is_empty() {
            return true;
        }
        for process in found {
            send(process.id, Signal::KILL);
        }
        sleep(BETWEEN_LOOKS);
    }
    false
}

/// Returns processes and all that are below them.
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
