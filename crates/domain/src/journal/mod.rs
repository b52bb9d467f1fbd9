//! The journal: an append-only list of facts with a strictly increasing, gapless number in each stream.
//!
//! Run events, inbox messages, task events, directory changes and the audit log are all journals. The rules are the
//! same for each: who may append (the fence), which number an entry gets, and what a repeated entry means.

mod admit;
mod cursor;
pub mod follow;

pub use admit::{Admission, Earlier, Fence, Head, Placed, Refusal, admit};
pub use cursor::{Cursor, Gap, Incarnation, InvalidCursor, Place, Position, SessionCursor};

use std::fmt;

use uuid::Uuid;

/// The kinds of journal. The number is stored: it never changes and is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Journal {
    /// Every change of authority, one stream a tenant.
    Audit,
    /// What happens in a run, one stream a run.
    Run,
    /// The runs of a session, in order. Read from the runs themselves: nothing is appended.
    Session,
}

impl Journal {
    pub const ALL: &'static [Self] = &[Self::Audit, Self::Run, Self::Session];

    #[must_use]
    pub const fn number(self) -> i16 {
        match self {
            Self::Audit => 1,
            Self::Run => 2,
            Self::Session => 3,
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
        }
    }
}

/// One list of entries: a journal's, for one owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stream {
    pub journal: Journal,
    /// The object that the stream belongs to.
    pub owner: Uuid,
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.journal.as_str(), self.owner.simple())
    }
}

/// An entry's number in its stream. The first is 1; 0 means "before the first".
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Seq(i64);

impl Seq {
    pub const ZERO: Self = Self(0);

    /// Makes a number, unless it is negative.
    #[must_use]
    pub const fn new(number: i64) -> Option<Self> {
        if number >= 0 { Some(Self(number)) } else { None }
    }

    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Returns the number after this one. At a million entries a second the last is 292,000 years away.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Returns the number so many before this one, and zero where there are not so many.
    #[must_use]
    pub fn back(self, count: u32) -> Self {
        Self(self.0.saturating_sub(i64::from(count)).max(0))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Counts the holders of a stream: each new one gets the next number, and a write under an old one is refused.
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
