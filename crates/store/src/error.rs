//! Store failures, told apart by what a caller can do.

/// Why the store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The address cannot be read. It is not repeated here: it may hold a password.
    #[error("the PostgreSQL address is not valid: expected postgres://user:password@host:port/database")]
    Address,
    /// PostgreSQL is away, restarting or full. The same call may succeed later.
    #[error("PostgreSQL does not answer")]
    Unavailable(#[source] sqlx::Error),
    /// The store is shutting down and takes nothing more.
    #[error("the store is closed")]
    Closed,
    /// PostgreSQL answered, and refused. A fault of ours.
    #[error("PostgreSQL refused a statement")]
    Refused(#[source] sqlx::Error),
}

/// SQLSTATE classes and codes that mean "not now": connection exceptions, too little of something,
/// shutdown, crash and start-up, a deadlock that we lost, and time limits: of a statement, a lock, an idle transaction.
const NOT_NOW: [&str; 9] = ["08", "53", "57P01", "57P02", "57P03", "57014", "55P03", "40P01", "25P03"];

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error::{Io, PoolClosed, PoolTimedOut, Tls, WorkerCrashed};
        let passing = matches!(error, Io(_) | Tls(_) | PoolTimedOut | PoolClosed | WorkerCrashed)
            || error
                .as_database_error()
                .and_then(|database| database.code())
                .is_some_and(|code| is_not_now(&code));
        if passing { Self::Unavailable(error) } else { Self::Refused(error) }
    }
}

pub(crate) fn is_not_now(code: &str) -> bool {
    NOT_NOW.iter().any(|class| code.starts_with(class))
}

impl StoreError {
    /// Returns whether a statement named an object that does not exist (a foreign key).
    #[must_use]
    pub fn is_missing_reference(&self) -> bool {
        let Self::Refused(error) = self else { return false };
        error.as_database_error().is_some_and(|database| database.is_foreign_key_violation())
    }

    /// Returns whether a statement would have made a second row where there may be one (a unique index).
    #[must_use]
    pub fn is_duplicate(&self) -> bool {
        let Self::Refused(error) = self else { return false };
        error.as_database_error().is_some_and(|database| database.is_unique_violation())
    }
}

/// Returns whether a statement named a table that does not exist.
pub(crate) fn is_undefined_table(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|database| database.code()).is_some_and(|code| code == "42P01")
}
