//! Store errors, grouped by what the caller can do about them.

use std::io;

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
/// start-up, a lost deadlock, the timeouts of a statement, a lock and an idle transaction, an I/O error, and a server
/// that is still a standby during a failover.
const TRANSIENT_SQLSTATES: [&str; 11] =
    ["08", "53", "57P01", "57P02", "57P03", "57014", "55P03", "40P01", "25P03", "58030", "25006"];

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error::{Io, PoolClosed, PoolTimedOut, Tls, WorkerCrashed};
        let transient = matches!(error, Io(_) | Tls(_) | PoolTimedOut | PoolClosed | WorkerCrashed)
            || is_closed_by_proxy(&error)
            || error
                .as_database_error()
                .and_then(|database| database.code())
                .is_some_and(|code| is_transient(&code));
        if transient { Self::Unavailable(error) } else { Self::Rejected(error) }
    }
}

/// Returns whether a proxy closed the connection while it was opened: sqlx then reads no answer to its request for TLS.
/// Other protocol errors, such as an unknown method of authentication, do not go away.
fn is_closed_by_proxy(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Protocol(text) if text.contains("SSLRequest: 0x00"))
}

pub(crate) fn is_transient(code: &str) -> bool {
    TRANSIENT_SQLSTATES.iter().any(|class| code.starts_with(class))
}

impl StoreError {
    /// A connection is open and does not answer.
    pub(crate) fn silent() -> Self {
        Self::Unavailable(sqlx::Error::Io(io::Error::from(io::ErrorKind::TimedOut)))
    }

    /// A statement was not run, because the one before it has met an outage.
    pub(crate) fn lost_with_group() -> Self {
        Self::Unavailable(sqlx::Error::Io(io::Error::from(io::ErrorKind::NotConnected)))
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_closed_by_a_proxy_is_unavailable() {
        let closed = sqlx::Error::Protocol("unexpected response from SSLRequest: 0x00".to_owned());
        assert!(matches!(StoreError::from(closed), StoreError::Unavailable(_)));
        let permanent = sqlx::Error::Protocol("unsupported authentication method: 7".to_owned());
        assert!(matches!(StoreError::from(permanent), StoreError::Rejected(_)));
    }

    #[test]
    fn write_to_a_standby_and_an_io_error_are_transient() {
        for code in ["25006", "58030", "53100"] {
            assert!(is_transient(code), "{code}");
        }
        for code in ["23505", "25001", "42P01", "22P02"] {
            assert!(!is_transient(code), "{code}");
        }
    }
}
