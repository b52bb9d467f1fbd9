//! Sessions as a reader sees them: what runs, and what is new.

use crate::access::principal::named;

named! {
    /// Whether something of a session is at work.
    ExecutionState, "execution state";
    /// A run of it is open and has an open command.
    Running = "running",
    /// Nothing is at work.
    Terminal = "terminal",
}

named! {
    /// Where the backend of a session keeps its threads.
    StorageKind, "storage kind";
    /// Nothing was kept yet.
    None = "none",
    /// A folder of the runner's machine.
    Directory = "directory",
    /// It is gone, or to be gone: nobody goes on with such a session.
    Evicted = "evicted",
}

/// Counts what a reader ought to look at: each finished command, and each finished run, is one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Version(i64);

impl Version {
    #[must_use]
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

/// Returns whether a session is new to a reader that has read up to `read`.
#[must_use]
pub fn is_unread(version: Version, read: Version) -> bool {
    version > read
}

/// Returns where a reader stands after it said that it has read up to `read`. It never goes back, and nobody has read
/// what is not there yet.
#[must_use]
pub fn mark_read(before: Version, read: Version, version: Version) -> Version {
    before.max(read.min(version))
}

/// Returns whether a session stands in the default list of a reader: what runs, and what is new.
#[must_use]
pub fn is_listed(state: ExecutionState, version: Version, read: Version) -> bool {
    match state {
        ExecutionState::Running => true,
        ExecutionState::Terminal => is_unread(version, read),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_reader_never_goes_back_and_never_gets_ahead(before in 0i64..50, read in 0i64..100, version in 0i64..50) {
            let (before, version) = (Version(before.min(version)), Version(version));
            let after = mark_read(before, Version(read), version);
            prop_assert!(after >= before && after <= version);
        }

        #[test]
        fn what_finished_after_the_reader_looked_is_new_to_it(seen in 0i64..50, finished in 1i64..50) {
            let read = mark_read(Version(0), Version(seen), Version(seen));
            let version = Version(seen + finished);
            prop_assert!(is_unread(version, read));
            prop_assert!(is_listed(ExecutionState::Terminal, version, read));
            let read = mark_read(read, version, version);
            prop_assert!(!is_listed(ExecutionState::Terminal, version, read));
        }
    }
}
