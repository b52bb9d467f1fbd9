//! What a runner and all that it starts may use.

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
    /// Returns the words that a program is started with so that it, and all that it starts, is bound from its beginning:
    /// the runner's guard starts the process that works at once, and limits that came later would miss it.
    pub(super) fn words(&self) -> Vec<String> {
        let bounds = [
            ("data", self.memory_bytes),
            ("nofile", self.open_files),
            ("nproc", self.processes),
            // What a runner dumps may hold a credential.
            ("core", Some(0)),
        ];
        let mut words = vec!["prlimit".to_owned()];
        words.extend(bounds.iter().filter_map(|(name, bound)| Some(format!("--{name}={0}:{0}", (*bound)?))));
        words.extend(["--", "nice", "-n"].map(str::to_owned));
        words.push(self.nice.min(19).to_string());
        words
    }
}
