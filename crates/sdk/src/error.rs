//! Errors of client calls.

use std::error::Error;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_protocol::problem::Problem;
use url::{Host, Url};

/// A failed call.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No response arrived, or the connection broke.
    #[error("cannot reach the server at {url}")]
    Unreachable {
        url: String,
        #[source]
        source: reqwest::Error,
    },
    /// The server responded with a problem.
    #[error("{}", .0.detail)]
    Failed(Box<Problem>),
    /// The response is not one of a Guildhall server.
    #[error("unexpected response from {url}: {reason}")]
    InvalidResponse {
        url: String,
        reason: String,
        /// The status of an error response, for example from a proxy in front of the server.
        status: Option<u16>,
    },
    /// The token source failed.
    #[error(transparent)]
    NoToken(Box<dyn Error + Send + Sync>),
}

impl ClientError {
    /// Returns the failure kind of the server's response, if this client knows it.
    #[must_use]
    pub fn kind(&self) -> Option<FailureKind> {
        match self {
            Self::Failed(problem) => FailureKind::from_name(&problem.failure_kind),
            Self::Unreachable { .. } | Self::InvalidResponse { .. } | Self::NoToken(_) => None,
        }
    }

    /// Returns whether a retry of the same call may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Failed(problem) => problem.retry == "later",
            Self::InvalidResponse { status, .. } => status.is_some_and(|status| status >= 500),
            Self::NoToken(_) => false,
        }
    }

    /// Returns how long the server asks to wait before a retry.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Failed(problem) => problem.retry_after_ms.map(Duration::from_millis),
            Self::Unreachable { .. } | Self::InvalidResponse { .. } | Self::NoToken(_) => None,
        }
    }

    /// Returns a hint for the user what to do next.
    #[must_use]
    pub fn next_step(&self) -> String {
        match self {
            Self::Unreachable { url, .. } if is_loopback(url) => {
                "start a server on this machine with `guildhall dev`, or sign in to another with `guildhall login --url URL`"
                    .to_owned()
            }
            Self::Unreachable { url, .. } => {
                format!("check that a server is running at {url} and that you can reach it")
            }
            Self::Failed(problem) => {
                let step = self.kind().map_or("ask the operator of the server", next_step_for);
                let wait = self.retry_after().map(|wait| format!("wait {}, then ", format_seconds(wait)));
                format!("{}{step} (trace {})", wait.unwrap_or_default(), problem.trace_id)
            }
            Self::InvalidResponse { url, .. } => {
                format!(
                    "check that {url} is a Guildhall server and not a proxy, and that client and server have the same version"
                )
            }
            Self::NoToken(_) => "sign in".to_owned(),
        }
    }
}

fn is_loopback(url: &str) -> bool {
    match Url::parse(url).ok().as_ref().and_then(Url::host) {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Rounds up, so that the displayed time is never too short.
fn format_seconds(wait: Duration) -> String {
    format!("{} s", wait.as_millis().div_ceil(1000).max(1))
}

/// Returns a hint what to do about a failure of a call, a run or a command.
#[must_use]
pub fn next_step_for(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::SchemaInvalid | FailureKind::InvalidInput | FailureKind::PayloadTooLarge => {
            "correct the request and try again"
        }
        FailureKind::MethodNotAllowed => "check that client and server have the same version",
        FailureKind::Unauthenticated => "sign in again",
        FailureKind::SignInFailed => "check the name and the password",
        FailureKind::SignInLocked => "wait a few minutes, then sign in with the correct password",
        FailureKind::RateLimited => "retry the request, and send fewer requests per minute",
        FailureKind::Forbidden => "`guildhall whoami` shows your role in each tenant",
        FailureKind::HostRefused => "use the public URL of the server, or add this host to its configuration",
        FailureKind::OriginRefused => {
            "call from a page of the server itself, or add the origin to its configuration"
        }
        FailureKind::CsrfRefused => "send the session's CSRF token, from a page of the server itself",
        FailureKind::SignInRefused => {
            "start the sign-in again; if you have no account, ask for an invitation"
        }
        FailureKind::Conflict => "check what exists already, then choose another name",
        FailureKind::IdempotencyConflict => "use a new idempotency key for a new request",
        FailureKind::NotFound => "check the name or id, and whether you have access to it",
        FailureKind::InfraFailed => {
            "fix what the message names, then try again; `guildhall doctor` on the server's machine finds the cause"
        }
        FailureKind::NotReady | FailureKind::Overloaded | FailureKind::Timeout => {
            "try again in a moment; if the problem persists, check /health/readiness of the server"
        }
        FailureKind::TenantPolicyDenied => "request less, or ask the operator to extend the tenant's policy",
        FailureKind::SecretUnavailable => {
            "set the missing credential, or ask an owner or operator of the tenant to set it"
        }
        FailureKind::RunnerLeaseConflict => "wait until the lease of the other runner has expired",
        FailureKind::RunnerLost => "check the workspace, then send the next command",
        FailureKind::BackendFailed | FailureKind::ProviderUnavailable => {
            "read the run's events; send the command again when the cause is fixed"
        }
        FailureKind::ProviderAuthFailed => "set a valid key with `guildhall profiles set PROFILE`",
        FailureKind::InvalidSignature => "set the clock of this machine, and sign the call again",
        FailureKind::StaleKeys => "get the keys of the recipient again, and seal the message again",
        FailureKind::RelationRequired => "ask the recipient to consent to the agent, then send it again",
        FailureKind::Cancelled => "create another run in the same session",
        FailureKind::SessionStoreEvicted | FailureKind::ThreadResumeFailed => "create a new session",
        FailureKind::BudgetExceeded => "raise the budget, or wait until it is reset",
        FailureKind::Internal => "report it with the trace id",
    }
}
