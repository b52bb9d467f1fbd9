//! What a runner and all that it starts may use.

use std::io;

use rustix::process::{Pid, Resource, Rlimit, prlimit, setpriority_process};

/// The limits of each process. They are inherited; none of them bounds a tree of processes as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Memory that one process may have; none without it. Agents on Node reserve much more than they use.
    pub memory_bytes: Option<u64>,
    pub open_files: Option<u64>,
    /// Processes of the account, not of this runner alone: the kernel counts by user. Root is not bound.
    pub processes: Option<u64>,
    /// How much they yield to others, 0 to 19.
    pub nice: u8,
}

impl Limits {
    /// Sets the limits of a process that was just started. It has had no time to do anything.
    pub(super) fn apply(&self, pid: Pid) -> io::Result<()> {
        let bounds = [
            (Resource::Data, self.memory_bytes),
            (Resource::Nofile, self.open_files),
            (Resource::Nproc, self.processes),
            // What a runner dumps may hold a credential.
            (Resource::Core, Some(0)),
        ];
        for (resource, bound) in bounds {
            if bound.is_some() {
                prlimit(Some(pid), resource, Rlimit { current: bound, maximum: bound })?;
            }
        }
        setpriority_process(Some(pid), i32::from(self.nice.min(19)))?;
        Ok(())
    }
}
