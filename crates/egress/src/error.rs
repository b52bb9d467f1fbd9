//! Failures of a call, told apart by what can be done about them.
//!
//! No message repeats more of a URL than its host: the rest may hold a password or a token.

use std::error::Error;
use std::time::Duration;

use crate::Refusal;

/// Why a call brought no answer.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    #[error(
        "cannot prepare outbound calls; if this machine has no root certificates, install the package \
         ca-certificates or name a bundle in SSL_CERT_FILE"
    )]
    Setup(#[source] Box<dyn Error + Send + Sync>),
    /// The rules forbid the address. Which one it was is not said: it would tell a stranger about this network.
    #[error("refused to call {host}: it is at {reason}; an operator can open its range with `egress.allow`")]
    Refused { host: String, reason: Refusal },
    /// No such name, nobody there, a certificate that does not prove the name, or a connection that broke.
    #[error("cannot reach {host}; check its name, its port and its certificate from this machine")]
    Unreachable {
        host: String,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    #[error(
        "{host} did not answer within {limit:?}; try again later (`egress.connect_timeout` and \
         `egress.request_timeout` bound every call)"
    )]
    TimedOut { host: String, limit: Duration },
    #[error(
        "the answer of {host} is larger than {limit} bytes; raise `egress.max_response_bytes` to accept it"
    )]
    TooLarge { host: String, limit: usize },
    #[error(transparent)]
    BadRequest(#[from] RequestFault),
}

/// What is wrong with a request before anything is called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestFault {
    #[error("the address to call is not a URL; expected https://host/path")]
    Url,
    #[error("the address to call must begin with https:// or http://")]
    Scheme,
    #[error("the address to call holds a user name or password; send credentials in a header instead")]
    Credentials,
    #[error("the method {0} cannot be used")]
    Method(String),
    /// A name or a value that HTTP cannot carry. The value is not repeated: it may be secret.
    #[error("the header `{0}` is not valid: check its name, and its value for line breaks")]
    Header(String),
    #[error("the header `{0}` is set by the server itself; leave it out")]
    OwnHeader(String),
}

impl EgressError {
    /// Returns the name under which the failure is counted.
    pub(crate) fn outcome(&self) -> &'static str {
        match self {
            Self::Setup(_) => "setup",
            Self::Refused { .. } => "refused",
            Self::Unreachable { .. } => "unreachable",
            Self::TimedOut { .. } => "timed_out",
            Self::TooLarge { .. } => "too_large",
            Self::BadRequest(_) => "bad_request",
        }
    }
}
