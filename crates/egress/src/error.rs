//! Errors of outbound calls, grouped by what can be done about them.
//!
//! Messages contain only the host of a URL: the rest may contain a password or a token.

use std::error::Error;
use std::time::Duration;

use crate::address::BlockedAddress;

/// A failed call.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    #[error(
        "cannot set up the HTTP client; if this machine has no root certificates, install the package \
         ca-certificates or name a bundle in SSL_CERT_FILE"
    )]
    Setup(#[source] Box<dyn Error + Send + Sync>),
    /// The rules block the address. The address itself is not included: it would reveal details of the network.
    #[error(
        "blocked the call to {host}: it is at {reason}; an operator can allow its range with `egress.allow`"
    )]
    Blocked { host: String, reason: BlockedAddress },
    /// Unknown name, connection failure, or invalid certificate.
    #[error("cannot reach {host}; check its name, its port and its certificate from this machine")]
    Unreachable {
        host: String,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    #[error(
        "{host} did not respond within {limit:?}; try again later (`egress.connect_timeout` and \
         `egress.request_timeout` limit every call)"
    )]
    TimedOut { host: String, limit: Duration },
    #[error(
        "the response of {host} is larger than {limit} bytes; raise `egress.max_response_bytes` to accept it"
    )]
    TooLarge { host: String, limit: usize },
    #[error(transparent)]
    InvalidRequest(#[from] RequestError),
}

/// An invalid request. Nothing was called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("invalid URL: expected https://host/path")]
    Url,
    #[error("the URL must start with https:// or http://")]
    Scheme,
    #[error("the URL contains a user name or password; send credentials in a header instead")]
    Credentials,
    #[error("the method {0} is not allowed")]
    Method(String),
    /// An invalid name or value. The value is not included in the message: it may be secret.
    #[error("invalid header `{0}`: check its name, and its value for line breaks")]
    Header(String),
    #[error("the header `{0}` is set by the client and cannot be overridden")]
    ReservedHeader(String),
}

impl EgressError {
    /// Returns the value of the metric label `outcome`.
    pub(crate) fn outcome(&self) -> &'static str {
        match self {
            Self::Setup(_) => "setup",
            Self::Blocked { .. } => "refused",
            Self::Unreachable { .. } => "unreachable",
            Self::TimedOut { .. } => "timed_out",
            Self::TooLarge { .. } => "too_large",
            Self::InvalidRequest(_) => "bad_request",
        }
    }
}
