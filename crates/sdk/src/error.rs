//! How a call can fail.

use std::error::Error;
use std::time::Duration;

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

    /// Returns how long the server asks to wait before the same call, if it said so.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Failed(problem) => problem.retry_after_ms.map(Duration::from_millis),
            Self::Unreachable { .. } | Self::BadAnswer { .. } | Self::NoToken(_) => None,
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
                let step = self.kind().map_or("ask those who run the server", next_step_after);
                let wait = self.retry_after().map(|wait| format!("wait {}, then ", in_seconds(wait)));
                format!("{}{step} (trace {})", wait.unwrap_or_default(), problem.trace_id)
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

/// Rounds up: whoever waits that long has waited enough.
fn in_seconds(wait: Duration) -> String {
    format!("{} s", wait.as_millis().div_ceil(1000).max(1))
}

/// Says what to do about a failure of this kind: of a call, or of a run or command that ended with it.
#[must_use]
pub fn next_step_after(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::SchemaInvalid | FailureKind::PayloadTooLarge => "change what you send and try again",
        FailureKind::MethodNotAllowed => "compare the versions of client and server",
        FailureKind::Unauthenticated => "sign in again",
        FailureKind::SignInFailed => "check the name and the password",
        FailureKind::SignInLocked => "wait some minutes, then sign in with the right password",
        FailureKind::RateLimited => "send the same request again, and fewer in the same time",
        FailureKind::Forbidden => "ask an owner or operator of the tenant for a role that has the right",
        FailureKind::HostRefused => {
            "use the address that the server is known under, or add this one to its configuration"
        }
        FailureKind::OriginRefused => {
            "call from a page that the server itself serves, or add the origin to its configuration"
        }
        FailureKind::Conflict => "look at what is there already, then choose another",
        FailureKind::IdempotencyConflict => "use a new idempotency key for a new request",
        FailureKind::NotFound => "check the name or id, and whether it is yours to see",
        FailureKind::NotReady | FailureKind::Overloaded | FailureKind::Timeout | FailureKind::InfraFailed => {
            "try again in a moment; if it stays, look at /health/readiness of the server"
        }
        FailureKind::TenantPolicyDenied => "ask for less, or ask the operator to widen the tenant's boundary",
        FailureKind::SecretUnavailable => "ask the operator to give the profile its credential",
        FailureKind::RunnerLeaseConflict => "wait until the lease of the other runner is over",
        FailureKind::RunnerLost => "look at the workspace, then send the next command",
        FailureKind::BackendFailed | FailureKind::ProviderUnavailable => {
            "read the run's events; send the command again when the reason has passed"
        }
        FailureKind::ProviderAuthFailed => "renew the credential of the profile",
        FailureKind::Cancelled => "create another run in the same session",
        FailureKind::SessionStoreEvicted | FailureKind::ThreadResumeFailed => "create a new session",
        FailureKind::BudgetExceeded => "raise the budget, or wait until it is renewed",
        FailureKind::Internal => "report it with the trace",
    }
}
