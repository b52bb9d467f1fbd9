//! Resource limits of an agent with all of its processes.

use nix::sys::resource::{Resource, setrlimit};
use serde::{Deserialize, Serialize};

const MIB: u64 = 1024 * 1024;

/// Limits of one sandbox. Where no cgroup can be used, a watchdog enforces the memory limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLimits {
    /// Processes and threads.
    pub processes: u64,
    pub memory_bytes: u64,
    /// CPU time of one process.
    pub cpu_seconds: u64,
    pub open_files: u64,
    /// Disk space of the workspace and the private home together.
    pub disk_bytes: u64,
    /// Files and directories in them.
    pub files: u64,
    /// Size of `/tmp` and `/dev/shm`, each, which are in memory.
    pub tmp_bytes: u64,
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            processes: 1024,
            memory_bytes: 4096 * MIB,
            cpu_seconds: 4 * 3600,
            open_files: 4096,
            disk_bytes: 10 * 1024 * MIB,
            files: 1_000_000,
            tmp_bytes: 256 * MIB,
        }
    }
}

impl SandboxLimits {
    /// Applies the limits that the kernel enforces per process. The number of processes is counted in the user
    /// namespace of the sandbox, since Linux 5.14.
    pub(super) fn apply(&self) -> nix::Result<()> {
        let limits = [
            (Resource::RLIMIT_NPROC, self.processes),
            (Resource::RLIMIT_CPU, self.cpu_seconds),
            (Resource::RLIMIT_NOFILE, self.open_files),
            // No file can be larger than all of them together.
            (Resource::RLIMIT_FSIZE, self.disk_bytes),
            (Resource::RLIMIT_CORE, 0),
            (Resource::RLIMIT_MEMLOCK, 64 * 1024),
            (Resource::RLIMIT_MSGQUEUE, 0),
        ];
        for (resource, limit) in limits {
            // A lower limit of this process stays: it cannot be raised.
            let allowed = nix::sys::resource::getrlimit(resource)?.1.min(limit);
            setrlimit(resource, allowed, allowed)?;
        }
        Ok(())
    }
}
