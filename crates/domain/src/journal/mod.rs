//! Journals: append-only streams of entries with gapless, increasing sequence numbers.
//!
//! Run events, the audit log and the approvals of a tenant are journals. All journals share the same rules: who may append (the fence), which
//! number an entry gets, and how a repeated entry is treated.

mod append;
mod cursor;
mod entry;
pub mod follow;

pub use append::{AppendPlan, AppendRejection, AppendedEntry, ExistingEntry, Fence, Head, plan_append};
pub use cursor::{Cursor, Gap, Incarnation, InvalidCursor, ResumePosition, SessionCursor, SessionPosition};
pub use entry::Entry;

use std::fmt;

use uuid::Uuid;

/// Kinds of journals. The number is stored, so it is never changed or reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Journal {
    /// Changes of authority, one stream per tenant.
    Audit,
    /// Events of a run, one stream per run.
    Run,
    /// The runs of a session in order. Derived from the run streams; nothing is appended to it.
    Session,
    /// Questions of agents and their answers, one stream per tenant.
    Approvals,
}

impl Journal {
    pub const ALL: &'static [Self] = &[Self::Audit, Self::Run, Self::Session, Self::Approvals];

    #[must_use]
    pub const fn number(self) -> i16 {
        match self {
            Self::Audit => 1,
            Self::Run => 2,
            Self::Session => 3,
            Self::Approvals => 4,
        }
    }

    #[must_use]
    pub fn from_number(number: i16) -> Option<Self> {
        Self::ALL.iter().copied().find(|journal| journal.number() == number)
    }

    /// Returns the name used in subjects, metrics and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Run => "run",
            Self::Session => "session",
            Self::Approvals => "approvals",
        }
    }
}

/// Identifies a stream: the journal of one owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stream {
    pub journal: Journal,
    /// The object that owns the stream.
    pub owner: Uuid,
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.journal.as_str(), self.owner.simple())
    }
}

/// Sequence number of an entry in its stream. The first is 1; 0 means "before the first".
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Seq(i64);

impl Seq {
    pub const ZERO: Self = Self(0);

    /// Creates a sequence number; `None` if it is negative.
    #[must_use]
    pub const fn new(number: i64) -> Option<Self> {
        if number >= 0 { Some(Self(number)) } else { None }
    }

    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Returns the next number. At a million entries per second, the range lasts 292,000 years.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Returns this number minus `count`, at least zero.
    #[must_use]
    pub fn saturating_sub(self, count: u32) -> Self {
        Self(self.0.saturating_sub(i64::from(count)).max(0))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Fencing token of a stream: each new holder gets the next number, and writes with an older one are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Epoch(i64);

impl Epoch {
    pub const ZERO: Self = Self(0);

    #[must_use]
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
