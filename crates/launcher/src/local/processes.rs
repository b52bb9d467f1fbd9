//! Processes, as the kernel lists them.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

/// Names one process for ever: its number is given again, its time of start on this boot is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) pid: u32,
    started: u64,
    boot: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Alive,
    /// Dead, and not buried by its parent yet.
    Zombie,
    Gone,
}

impl Identity {
    /// Returns the name of a process that is there now.
    pub(super) fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, started: Process::read(pid)?.started, boot: boot() })
    }

    pub(super) fn life(&self) -> Life {
        match Process::read(self.pid) {
            Some(found) if found.started == self.started && self.boot == boot() => {
                if found.is_dead {
                    Life::Zombie
                } else {
                    Life::Alive
                }
            }
            Some(_) | None => Life::Gone,
        }
    }

    /// Sends a signal, if it still is that process.
    pub(super) fn signal(&self, signal: Signal) {
        if self.life() == Life::Alive {
            send(self.pid, signal);
        }
    }
}

pub(super) fn send(id: u32, signal: Signal) {
    if let Some(pid) = pid(id) {
        let _already_gone = kill_process(pid, signal);
    }
}

pub(super) fn pid(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) id: u32,
    pub(super) parent: u32,
    pub(super) is_dead: bool,
    /// Whether it belongs to a terminal, as a person's shell does.
    pub(super) has_terminal: bool,
    started: u64,
}

impl Process {
    fn read(id: u32) -> Option<Self> {
        parse(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
    }

    /// Lists all there are.
    pub(super) fn all() -> Vec<Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        ids.filter_map(Self::read).collect()
    }

    /// Returns whether it stands in a folder, or below it.
    pub(super) fn is_within(&self, folder: &Path) -> bool {
        fs::read_link(format!("/proc/{}/cwd", self.id)).is_ok_and(|cwd| cwd.starts_with(folder))
    }

    /// Returns whether its environment has an entry that pleases, as it was when the process began.
    pub(super) fn has_variable(&self, pleases: impl Fn(&[u8], &[u8]) -> bool) -> bool {
        let environment = fs::read(format!("/proc/{}/environ", self.id)).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| {
            let mut parts = entry.splitn(2, |byte| *byte == b'=');
            matches!((parts.next(), parts.next()), (Some(name), Some(value)) if pleases(name, value))
        })
    }
}

/// Finds the process that has a path among its arguments.
pub(super) fn with_argument(path: &Path) -> Option<Identity> {
    let wanted = path.as_os_str().as_encoded_bytes();
    let named = |process: &Process| {
        let arguments = fs::read(format!("/proc/{}/cmdline", process.id)).unwrap_or_default();
        arguments.split(|byte| *byte == 0).any(|argument| argument == wanted)
    };
    let found = Process::all().into_iter().find(|process| !process.is_dead && named(process))?;
    Identity::of(found.id)
}

/// Reads the kernel's line on a process. Its name stands in brackets and may hold brackets itself.
fn parse(stat: &str) -> Option<Process> {
    let (id, rest) = stat.split_once(" (")?;
    let fields: Vec<&str> = rest.rsplit_once(") ")?.1.split(' ').collect();
    Some(Process {
        id: id.parse().ok()?,
        is_dead: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        has_terminal: *fields.get(4)? != "0",
        // The 22nd of all; two stand before the bracket.
        started: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_start_and_not_by_its_number_alone() {
        let own = Identity::of(std::process::id()).expect("we run");
        assert_eq!(own.life(), Life::Alive);
        assert_eq!(Identity { started: own.started + 1, ..own.clone() }.life(), Life::Gone);
        assert_eq!(Identity { boot: "another".into(), ..own }.life(), Life::Gone);
    }

    #[test]
    fn a_name_with_brackets_does_not_mislead() {
        let stat = "12 (a) S 99 (b) Z 1 7 12 0 -1 4 0 0 0 0 1 2 3 4 20 0 1 0 555 99";
        assert_eq!(
            parse(stat),
            Some(Process { id: 12, parent: 1, is_dead: true, has_terminal: false, started: 555 })
        );
        assert_eq!(parse("nonsense"), None);
    }
}
