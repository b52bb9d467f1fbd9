//! Kills a process and all of its descendants.
//!
//! Killing the process group is not enough: an agent's shell may run in a session of its own, and a process whose
//! parent exits is reparented. So the runner becomes the subreaper of its descendants and looks for them in `/proc`.
//! A runner serves one run at a time, so every orphan it adopts was started by a backend.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, getpgrp, getpid, kill_process, set_child_subreaper, waitpid,
};

/// A process may fork while its tree is killed, so the scan is repeated.
const MAX_SCANS: u32 = 200;
const SCAN_INTERVAL: Duration = Duration::from_millis(2);

/// The root processes that are in use: their descendants are not orphans.
static ACTIVE_ROOTS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Makes this process the parent of every descendant that loses its own.
pub fn become_subreaper() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// A process and its descendants. Dropping it kills them all.
#[derive(Debug)]
pub(super) struct ProcessTree(u32);

impl ProcessTree {
    pub(super) fn new(root: u32) -> Self {
        active_roots().insert(root);
        Self(root)
    }

    pub(super) fn root(&self) -> u32 {
        self.0
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        let mut active = active_roots();
        active.remove(&self.0);
        kill_trees(|process| process.belongs_to(self.0) || is_orphan(process, &active), &[self.0]);
    }
}

/// Kills all running backends; their owners find them dead.
pub fn kill_backends() {
    let roots: Vec<u32> = active_roots().iter().copied().collect();
    let none = BTreeSet::new();
    let is_backend = |process: &ProcessInfo| {
        roots.iter().any(|root| process.belongs_to(*root)) || is_orphan(process, &none)
    };
    kill_trees(is_backend, &roots);
}

/// The processes of the running backends at one time.
#[derive(Debug)]
pub struct BackendProcesses(BTreeSet<ProcessKey>);

impl BackendProcesses {
    #[must_use]
    pub fn list() -> Self {
        let roots = active_roots();
        Self(backend_processes(&list_processes(), &roots).map(|process| process.key()).collect())
    }

    /// Kills what the backends have started since then, detached processes too; the backends continue. An agent that
    /// is interrupted while it starts a command may leave the command running.
    pub fn kill_newer(&self) {
        let roots = active_roots();
        let select = |all: &[ProcessInfo]| {
            let newer = backend_processes(all, &roots).filter(|process| !self.0.contains(&process.key()));
            newer.chain(with_descendants(all, |process| is_orphan(process, &roots))).collect()
        };
        kill_selected(select, &roots.iter().copied().collect::<Vec<_>>());
    }
}

/// Returns the processes of the backends with the given roots.
fn backend_processes(
    all: &[ProcessInfo],
    roots: &BTreeSet<u32>,
) -> impl Iterator<Item = ProcessInfo> + use<> {
    with_descendants(all, |process| roots.iter().any(|root| process.belongs_to(*root))).into_iter()
}

/// Kills all descendants of this process, which must exit afterwards.
pub fn kill_descendants() {
    let own_id = raw_pid(getpid());
    kill_trees(|process| process.parent == own_id, &[]);
}

/// Returns the ids of a process and all of its descendants.
#[must_use]
pub fn descendant_ids(root: u32) -> Vec<u32> {
    let found = with_descendants(&list_processes(), |process| process.belongs_to(root));
    found.iter().map(|process| process.id).collect()
}

/// Kills a process. The processes of a sandbox end with the first one.
pub(super) fn kill_one(id: u32) {
    kill(id);
}

fn active_roots() -> MutexGuard<'static, BTreeSet<u32>> {
    ACTIVE_ROOTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether a process was reparented to this one and belongs to no active root.
fn is_orphan(process: &ProcessInfo, active: &BTreeSet<u32>) -> bool {
    let is_adopted = process.parent == raw_pid(getpid()) && process.group != raw_pid(getpgrp());
    is_adopted && !active.contains(&process.id) && !active.contains(&process.group)
}

/// Kills the matching processes with all of their descendants. `reaped_by_owner` lists processes to kill but not to
/// reap.
fn kill_trees(is_root: impl Fn(&ProcessInfo) -> bool, reaped_by_owner: &[u32]) {
    kill_selected(|all| with_descendants(all, &is_root), reaped_by_owner);
}

/// Kills the selected processes, and selects again until all of them are dead.
fn kill_selected(select: impl Fn(&[ProcessInfo]) -> Vec<ProcessInfo>, reaped_by_owner: &[u32]) {
    let own_id = raw_pid(getpid());
    for _ in 0..MAX_SCANS {
        let targets = select(&list_processes());
        for process in &targets {
            let is_ours_to_reap = process.parent == own_id && !reaped_by_owner.contains(&process.id);
            match (process.is_dead, is_ours_to_reap) {
                (false, _) => kill(process.id),
                (true, true) => reap(process.id),
                (true, false) => {}
            }
        }
        if targets.iter().all(|process| process.is_dead) {
            return;
        }
        sleep(SCAN_INTERVAL);
    }
}

fn with_descendants(all: &[ProcessInfo], is_root: impl Fn(&ProcessInfo) -> bool) -> Vec<ProcessInfo> {
    let mut found: BTreeSet<u32> = all.iter().filter(|process| is_root(process)).map(|p| p.id).collect();
    loop {
        let before = found.len();
        let children = all.iter().filter(|process| found.contains(&process.parent)).map(|p| p.id);
        found.extend(children.collect::<Vec<_>>());
        if found.len() == before {
            return all.iter().filter(|process| found.contains(&process.id)).copied().collect();
        }
    }
}

fn kill(id: u32) {
    if let Some(pid) = pid(id) {
        let _already_gone = kill_process(pid, Signal::KILL);
    }
}

fn reap(id: u32) {
    let _not_ours_or_gone = waitpid(pid(id), WaitOptions::NOHANG);
}

fn pid(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

fn raw_pid(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProcessInfo {
    id: u32,
    parent: u32,
    group: u32,
    is_dead: bool,
    /// Clock ticks since boot.
    started_at: u64,
}

/// Identifies a process: ids are reused, so the start time is a part of it.
type ProcessKey = (u32, u64);

impl ProcessInfo {
    fn key(&self) -> ProcessKey {
        (self.id, self.started_at)
    }

    /// Returns whether this is the root process, or in its group.
    fn belongs_to(&self, root: u32) -> bool {
        self.id == root || self.group == root
    }
}

fn list_processes() -> Vec<ProcessInfo> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter_map(|id| parse_stat(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)).collect()
}

/// Parses `/proc/<id>/stat`. The process name is in parentheses and may contain parentheses itself.
fn parse_stat(stat: &str) -> Option<ProcessInfo> {
    let (id, rest) = stat.split_once(" (")?;
    let mut fields = rest.rsplit_once(") ")?.1.split(' ');
    let is_dead = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    // The 22nd field; the group is the 5th.
    let started_at = fields.nth(16)?.parse().ok()?;
    Some(ProcessInfo { id: id.parse().ok()?, parent, group, is_dead, started_at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_name_with_parentheses_is_parsed() {
        let expected = ProcessInfo { id: 12, parent: 1, group: 7, is_dead: true, started_at: 4711 };
        let stat = "12 (a) S 99 (b) Z 1 7 12 0 -1 4194304 11 12 13 14 15 16 17 18 20 0 1 0 4711 2 3";
        assert_eq!(parse_stat(stat), Some(expected));
        assert_eq!(parse_stat("nonsense"), None);
    }

    #[test]
    fn all_descendants_are_found() {
        let process = |id, parent| ProcessInfo { id, parent, group: id, is_dead: false, started_at: 0 };
        let all = [process(5, 4), process(4, 3), process(3, 2), process(9, 1)];
        let found: Vec<_> = with_descendants(&all, |p| p.id == 3).iter().map(|p| p.id).collect();
        assert_eq!(found, [5, 4, 3]);
    }
}
