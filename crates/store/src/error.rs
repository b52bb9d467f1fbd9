//! Store errors, grouped by what the caller can do about them.

/// A failed store operation.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database URL does not parse. It is not included in the message because it may contain a password.
    #[error("invalid PostgreSQL URL: expected postgres://user:password@host:port/database")]
    InvalidUrl,
    /// PostgreSQL is unreachable, restarting or overloaded. A retry may succeed.
    #[error("PostgreSQL does not respond")]
    Unavailable(#[source] sqlx::Error),
    /// The store is shutting down and accepts no more requests.
    #[error("the store is closed")]
    Closed,
    /// PostgreSQL rejected the statement. This is a bug in Guildhall, not a transient failure.
    #[error("PostgreSQL rejected a statement")]
    Rejected(#[source] sqlx::Error),
    /// A stored value cannot be read, perhaps because a newer version wrote it.
    #[error("cannot read a value of the column {column}")]
    Unreadable {
        column: &'static str,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// SQLSTATE classes and codes of transient failures: connection exceptions, insufficient resources, shutdown, crash and
/// start-up, a lost deadlock, and the timeouts of a statement, a lock and an idle transaction.
const TRANSIENT_SQLSTATES: [&str; 9] =
    ["08", "53", "57P01", "57P02", "57P03", "57014", "55P03", "40P01", "25P03"];

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error::{Io, PoolClosed, PoolTimedOut, Tls, WorkerCrashed};
        let transient = matches!(error, Io(_) | Tls(_) | PoolTimedOut | PoolClosed | WorkerCrashed)
            || error
                .as_database_error()
                .and_then(|database| database.code())
                .is_some_and(|code| is_transient(&code));
        if transient { Self::Unavailable(error) } else { Self::Rejected(error) }
    }
}

pub(crate) fn is_transient(code: &str) -> bool {
    TRANSIENT_SQLSTATES.iter().any(|class| code.starts_with(class))
}

impl StoreError {
    /// Returns whether a statement violated a unique index.
    #[must_use]
    pub fn is_duplicate(&self) -> bool {
        let Self::Rejected(error) = self else { return false };
        error.as_database_error().is_some_and(|database| database.is_unique_violation())
    }
}

/// Returns whether a statement named a table that does not exist.
pub(crate) fn is_undefined_table(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|database| database.code()).is_some_and(|code| code == "42P01")
}
