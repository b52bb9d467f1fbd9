//! Failures that several error enums share.

use guildhall_domain::{Failure, FailureKind};

pub(crate) fn postgres_unavailable() -> Failure {
    Failure::new(
        FailureKind::InfraFailed,
        "PostgreSQL does not respond; try again in a few seconds, with the same idempotency key if there was one",
    )
}

pub(crate) fn server_error() -> Failure {
    Failure::new(FailureKind::Internal, "internal error; the server's log has the cause under the trace id")
}
