//! Resource limits of runners.

/// Limits per process. Child processes inherit them; none limits a process tree as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Memory of one process; `None` is unlimited. Agents on Node reserve much more than they use.
    pub memory_bytes: Option<u64>,
    pub open_files: Option<u64>,
    /// Processes of the user, not of one runner: the kernel counts per user. Root is not limited.
    pub processes: Option<u64>,
    /// Nice value, 0 to 19.
    pub nice: u8,
}

impl Limits {
    /// Returns the command prefix that applies the limits before the program starts: the runner's guard starts its
    /// worker process immediately, and limits that are set later would not reach it.
    pub(super) fn command_prefix(&self) -> Vec<String> {
        let limits = [
            ("data", self.memory_bytes),
            ("nofile", self.open_files),
            ("nproc", self.processes),
            // A core dump may contain a credential.
            ("core", Some(0)),
        ];
        let mut prefix = vec!["prlimit".to_owned()];
        prefix.extend(limits.iter().filter_map(|(name, limit)| Some(format!("--{name}={0}:{0}", (*limit)?))));
        prefix.extend(["--", "nice", "-n"].map(str::to_owned));
        prefix.push(self.nice.min(19).to_string());
        prefix
    }
}
