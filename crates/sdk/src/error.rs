//! How a call can fail.

use std::error::Error;

use guildhall_domain::FailureKind;
use guildhall_protocol::problem::Problem;

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No answer came, or it broke off.
    #[error("cannot reach the server at {url}")]
    Unreachable {
        url: String,
        #[source]
        source: reqwest::Error,
    },
    /// The server said no.
    #[error("{}", .0.detail)]
    Failed(Box<Problem>),
    /// Something answered, but not as a Guildhall server does.
    #[error("the answer of {url} is not what this client expects: {fault}")]
    BadAnswer {
        url: String,
        fault: String,
        /// Of an answer that is no success: a proxy's word, where the server itself did not speak.
        status: Option<u16>,
    },
    /// There is no token to send, for a reason of its source.
    #[error(transparent)]
    NoToken(Box<dyn Error + Send + Sync>),
}

impl ClientError {
    /// Returns the kind of a failure that the server answered with, if this client knows it.
    #[must_use]
    pub fn kind(&self) -> Option<FailureKind> {
        match self {
            Self::Failed(problem) => FailureKind::from_name(&problem.failure_kind),
            Self::Unreachable { .. } | Self::BadAnswer { .. } | Self::NoToken(_) => None,
        }
    }

    /// Returns whether the same call may succeed later, with nothing changed by the caller.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Failed(problem) => problem.retry == "later",
            Self::BadAnswer { status, .. } => status.is_some_and(|status| status >= 500),
            Self::NoToken(_) => false,
        }
    }

    /// Says what to do next.
    #[must_use]
    pub fn next_step(&self) -> String {
        match self {
            Self::Unreachable { url, .. } => {
                format!("check that a server runs at {url} and that you can reach it")
            }
            Self::Failed(problem) => {
                let step = self.kind().map_or("ask those who run the server", step_after);
                format!("{step} (trace {})", problem.trace_id)
            }
            Self::BadAnswer { url, .. } => {
                format!(
                    "check that {url} is a Guildhall server and not something in front of it, and compare versions"
                )
            }
            Self::NoToken(_) => "sign in".to_owned(),
        }
    }
}

fn step_after(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::SchemaInvalid | FailureKind::PayloadTooLarge => "change what you send and try again",
        FailureKind::MethodNotAllowed => "compare the versions of client and server",
        FailureKind::Unauthenticated => "sign in again",
        FailureKind::SignInFailed => "check the name and the password",
        FailureKind::SignInLocked => "wait some minutes, then sign in with the right password",
        FailureKind::Forbidden => "ask an owner or operator of the tenant for a role that has the right",
        FailureKind::HostRefused => {
            "use the address that the server is known under, or add this one to its configuration"
        }
        FailureKind::OriginRefused => {
            "call from a page that the server itself serves, or add the origin to its configuration"
        }
        FailureKind::CsrfRefused => "send the session's CSRF token along, from a page of the server itself",
        FailureKind::SignInRefused => {
            "begin the sign-in again; without an account there, ask for an invitation"
        }
        FailureKind::Conflict => "look at what is there already, then choose another",
        FailureKind::IdempotencyConflict => "use a new idempotency key for a new request",
        FailureKind::NotFound => "check the name or id, and whether it is yours to see",
        FailureKind::NotReady | FailureKind::Overloaded | FailureKind::Timeout | FailureKind::InfraFailed => {
            "try again in a moment; if it stays, look at /health/readiness of the server"
        }
        FailureKind::Internal => "report it with the trace",
    }
}
