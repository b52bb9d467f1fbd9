//! Ends a process with everything that it started, however far that has run.
//!
//! A group is not enough: a shell that an agent starts has a session of its own, and a process whose parent ends is
//! handed to somebody else. So the runner asks to be that somebody, and looks for descendants where the kernel lists
//! them. A runner works at one run, so whoever is handed to it was started by a backend that ends.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, getpgrp, getpid, kill_process, set_child_subreaper, waitpid,
};

/// What forks while it is being ended is found by the next look.
const LOOKS_AT_MOST: u32 = 200;
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// The processes that somebody in this program holds: their descendants are not orphans.
static HELD: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Makes this program the parent of every descendant that loses its own.
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// The first process of a tree. Dropping it ends the tree.
#[derive(Debug)]
pub(super) struct Root(u32);

impl Root {
    pub(super) fn new(id: u32) -> Self {
        HELD.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        Self(id)
    }

    pub(super) fn id(&self) -> u32 {
        self.0
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(&self.0);
        end(self.0, &held);
    }
}

fn end(root: u32, held: &BTreeSet<u32>) {
    let (ours, our_group) = (number(getpid()), number(getpgrp()));
    for _ in 0..LOOKS_AT_MOST {
        let all = processes();
        let is_first = |process: &Process| {
            let adopted = process.parent == ours && process.group != our_group;
            let is_held = held.contains(&process.id) || held.contains(&process.group);
            process.id == root || process.group == root || (adopted && !is_held)
        };
        let doomed = with_descendants(&all, is_first);
        for process in &doomed {
            match (process.is_dead, process.parent == ours && process.id != root) {
                (false, _) => signal(process.id),
                // Handed to us, so it is ours to bury. The root is buried by who started it.
                (true, true) => bury(process.id),
                (true, false) => {}
            }
        }
        if doomed.iter().all(|process| process.is_dead) {
            return;
        }
        sleep(BETWEEN_LOOKS);
    }
}

fn with_descendants(all: &[Process], is_first: impl Fn(&Process) -> bool) -> Vec<Process> {
    let mut found: BTreeSet<u32> = all.iter().filter(|process| is_first(process)).map(|p| p.id).collect();
    loop {
        let before = found.len();
        let children = all.iter().filter(|process| found.contains(&process.parent)).map(|p| p.id);
        found.extend(children.collect::<Vec<_>>());
        if found.len() == before {
            return all.iter().filter(|process| found.contains(&process.id)).copied().collect();
        }
    }
}

fn signal(id: u32) {
    if let Some(pid) = pid(id) {
        let _already_gone = kill_process(pid, Signal::KILL);
    }
}

fn bury(id: u32) {
    let _not_ours_or_gone = waitpid(pid(id), WaitOptions::NOHANG);
}

fn pid(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    id: u32,
    parent: u32,
    group: u32,
    is_dead: bool,
}

fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter_map(|id| parse(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)).collect()
}

/// Reads the kernel's line on a process. Its name stands in brackets and may hold brackets itself.
fn parse(stat: &str) -> Option<Process> {
    let (id, rest) = stat.split_once(" (")?;
    let mut fields = rest.rsplit_once(") ")?.1.split(' ');
    let is_dead = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    Some(Process { id: id.parse().ok()?, parent, group, is_dead })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_mislead() {
        let expected = Process { id: 12, parent: 1, group: 7, is_dead: true };
        assert_eq!(parse("12 (a) S 99 (b) Z 1 7 12 0 -1"), Some(expected));
        assert_eq!(parse("nonsense"), None);
    }

    #[test]
    fn descendants_are_found_to_the_last() {
        let process = |id, parent| Process { id, parent, group: id, is_dead: false };
        let all = [process(5, 4), process(4, 3), process(3, 2), process(9, 1)];
        let found: Vec<_> = with_descendants(&all, |p| p.id == 3).iter().map(|p| p.id).collect();
        assert_eq!(found, [5, 4, 3]);
    }
}
