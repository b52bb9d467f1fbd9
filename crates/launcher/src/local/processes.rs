//! Processes in `/proc`.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

/// Identifies one process uniquely: pids are reused, but not with the same start time on the same boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessIdentity {
    pub(super) pid: u32,
    started: u64,
    boot: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessState {
    Alive,
    /// Dead, but not reaped by its parent yet.
    Zombie,
    Gone,
}

impl ProcessIdentity {
    /// Returns the identity of an existing process.
    pub(super) fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, started: Process::read(pid)?.started, boot: boot_id() })
    }

    pub(super) fn state(&self) -> ProcessState {
        match Process::read(self.pid) {
            Some(found) if found.started == self.started && self.boot == boot_id() => {
                if found.is_dead {
                    ProcessState::Zombie
                } else {
                    ProcessState::Alive
                }
            }
            Some(_) | None => ProcessState::Gone,
        }
    }

    /// Sends a signal if the process is still alive.
    pub(super) fn signal(&self, signal: Signal) {
        if self.state() == ProcessState::Alive {
            send_signal(self.pid, signal);
        }
    }
}

pub(super) fn send_signal(id: u32, signal: Signal) {
    if let Some(pid) = pid(id) {
        let _already_gone = kill_process(pid, signal);
    }
}

pub(super) fn pid(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) id: u32,
    pub(super) parent: u32,
    pub(super) is_dead: bool,
    /// Whether it has a controlling terminal, as a user's shell does.
    pub(super) has_terminal: bool,
    started: u64,
}

impl Process {
    fn read(id: u32) -> Option<Self> {
        parse(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
    }

    /// Lists all processes.
    pub(super) fn all() -> Vec<Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        ids.filter_map(Self::read).collect()
    }

    /// Returns whether its working directory is `folder` or below it.
    pub(super) fn is_within(&self, folder: &Path) -> bool {
        fs::read_link(format!("/proc/{}/cwd", self.id)).is_ok_and(|cwd| cwd.starts_with(folder))
    }

    /// Returns whether its initial environment has a variable that matches.
    pub(super) fn has_variable(&self, matches_variable: impl Fn(&[u8], &[u8]) -> bool) -> bool {
        let environment = fs::read(format!("/proc/{}/environ", self.id)).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| {
            let mut parts = entry.splitn(2, |byte| *byte == b'=');
            matches!((parts.next(), parts.next()), (Some(name), Some(value)) if matches_variable(name, value))
        })
    }
}

/// Finds the process that has a path as an argument.
pub(super) fn find_by_argument(path: &Path) -> Option<ProcessIdentity> {
    let wanted = path.as_os_str().as_encoded_bytes();
    let has_argument = |process: &Process| {
        let arguments = fs::read(format!("/proc/{}/cmdline", process.id)).unwrap_or_default();
        arguments.split(|byte| *byte == 0).any(|argument| argument == wanted)
    };
    let found = Process::all().into_iter().find(|process| !process.is_dead && has_argument(process))?;
    ProcessIdentity::of(found.id)
}

/// Parses `/proc/<pid>/stat`. The process name is in parentheses and may contain parentheses itself.
fn parse(stat: &str) -> Option<Process> {
    let (id, rest) = stat.split_once(" (")?;
    let fields: Vec<&str> = rest.rsplit_once(") ")?.1.split(' ').collect();
    Some(Process {
        id: id.parse().ok()?,
        is_dead: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        has_terminal: *fields.get(4)? != "0",
        // Field 22; two fields come before the closing parenthesis.
        started: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_with_another_start_time_or_boot_is_gone() {
        let own = ProcessIdentity::of(std::process::id()).expect("we run");
        assert_eq!(own.state(), ProcessState::Alive);
        assert_eq!(ProcessIdentity { started: own.started + 1, ..own.clone() }.state(), ProcessState::Gone);
        assert_eq!(ProcessIdentity { boot: "another".into(), ..own }.state(), ProcessState::Gone);
    }

    #[test]
    fn process_name_with_parentheses_is_parsed() {
        let stat = "12 (a) S 99 (b) Z 1 7 12 0 -1 4 0 0 0 0 1 2 3 4 20 0 1 0 555 99";
        assert_eq!(
            parse(stat),
            Some(Process { id: 12, parent: 1, is_dead: true, has_terminal: false, started: 555 })
        );
        assert_eq!(parse("nonsense"), None);
    }
}
