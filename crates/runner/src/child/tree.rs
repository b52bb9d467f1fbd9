//! Ends a process with everything that it started, however far that has run.
//!
//! A group is not enough: a shell that an agent starts has a session of its own, and a process whose parent ends is
//! handed to somebody else. So the runner asks to be that somebody, and looks for descendants where the kernel lists
//! them. A runner works at one run, so whoever is handed to it was started by a backend that ends.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
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
pub fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// The first process of a tree. Dropping it ends the tree.
#[derive(Debug)]
pub(super) struct Root(u32);

impl Root {
    pub(super) fn new(id: u32) -> Self {
        held().insert(id);
        Self(id)
    }

    pub(super) fn id(&self) -> u32 {
        self.0
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let mut held = held();
        held.remove(&self.0);
        end(|process| process.is_of(self.0) || is_orphan(process, &held), &[self.0]);
    }
}

/// Ends every backend that runs, at once; whoever holds one finds it dead.
pub fn end_backends() {
    let held: Vec<u32> = held().iter().copied().collect();
    let none = BTreeSet::new();
    end(|process| held.iter().any(|root| process.is_of(*root)) || is_orphan(process, &none), &held);
}

/// Ends what backends started and left behind; the backends go on.
pub fn end_orphans() {
    let held = held();
    end(|process| is_orphan(process, &held), &[]);
}

/// Ends everything below this program. For a program that ends itself afterwards.
pub fn end_everything() {
    let ours = number(getpid());
    end(|process| process.parent == ours, &[]);
}

fn held() -> MutexGuard<'static, BTreeSet<u32>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether a process was handed to us, and belongs to nothing that somebody holds.
fn is_orphan(process: &Process, held: &BTreeSet<u32>) -> bool {
    let adopted = process.parent == number(getpid()) && process.group != number(getpgrp());
    adopted && !held.contains(&process.id) && !held.contains(&process.group)
}

/// Ends processes with all of their descendants. Those named are buried by who started them.
fn end(is_first: impl Fn(&Process) -> bool, buried_by_others: &[u32]) {
    let ours = number(getpid());
    for _ in 0..LOOKS_AT_MOST {
        let doomed = with_descendants(&processes(), &is_first);
        for process in &doomed {
            match (process.is_dead, process.parent == ours && !buried_by_others.contains(&process.id)) {
                (false, _) => signal(process.id),
                // Handed to us, so it is ours to bury.
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

impl Process {
    /// Returns whether this is the first process of a tree, or of its group.
    fn is_of(&self, root: u32) -> bool {
        self.id == root || self.group == root
    }
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
