//! Sessions as seen by readers: execution state and unread changes.

mod session;
pub mod storage;

pub use session::{Session, SessionFilter};

use crate::named_enum::named_enum;

named_enum! {
    /// Whether a session is being processed.
    ExecutionState, "execution state";
    /// It has an open run with an open command.
    Running = "running",
    /// No open command.
    Terminal = "terminal",
}

named_enum! {
    /// Where the backend stores the threads of a session.
    StorageKind, "storage kind";
    /// Nothing is stored yet.
    None = "none",
    /// A directory on the runner's machine.
    Directory = "directory",
    /// Deleted or about to be deleted: the session cannot be continued.
    Evicted = "evicted",
}

/// Version of a session. Every ended command and every ended run increments it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct SessionVersion(i64);

impl SessionVersion {
    #[must_use]
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

/// Returns whether a session has changes that a reader has not read.
#[must_use]
pub fn is_unread(version: SessionVersion, read: SessionVersion) -> bool {
    version > read
}

/// Returns the new read version of a reader that reports `read`. It never decreases and never exceeds `version`.
#[must_use]
pub fn advance_read_version(
    before: SessionVersion,
    read: SessionVersion,
    version: SessionVersion,
) -> SessionVersion {
    before.max(read.min(version))
}

/// Returns whether a session is in the default list of a reader: running or unread.
#[must_use]
pub fn is_listed_by_default(state: ExecutionState, version: SessionVersion, read: SessionVersion) -> bool {
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
        fn read_version_never_decreases_or_exceeds_the_session(before in 0i64..50, read in 0i64..100, version in 0i64..50) {
            let (before, version) = (SessionVersion(before.min(version)), SessionVersion(version));
            let after = advance_read_version(before, SessionVersion(read), version);
            prop_assert!(after >= before && after <= version);
        }

        #[test]
        fn session_is_unread_after_a_change_until_it_is_read(seen in 0i64..50, finished in 1i64..50) {
            let read = advance_read_version(SessionVersion(0), SessionVersion(seen), SessionVersion(seen));
            let version = SessionVersion(seen + finished);
            prop_assert!(is_unread(version, read));
            prop_assert!(is_listed_by_default(ExecutionState::Terminal, version, read));
            let read = advance_read_version(read, version, version);
            prop_assert!(!is_listed_by_default(ExecutionState::Terminal, version, read));
        }
    }
}
