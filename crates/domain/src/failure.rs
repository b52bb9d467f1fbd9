//! The registry of failures: the table of failure kinds, from which every transport takes its codes, and the codes with which devices
//! answer calls of tools.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::named_enum::named_enum;

/// Whether a caller can retry after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// The same request will fail again.
    Never,
    /// The same request may succeed after a wait.
    Later,
    /// The request may succeed after the caller changes something.
    AfterChange,
}

impl Retry {
    /// Returns the name on the wire and in the docs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Later => "later",
            Self::AfterChange => "after-change",
        }
    }
}

/// One row of the failure table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureRow {
    pub name: &'static str,
    pub http_status: u16,
    pub rpc_code: i32,
    pub retry: Retry,
    pub title: &'static str,
}

macro_rules! failure_table {
    ($($variant:ident: $name:literal, $http:literal, $rpc:literal, $retry:ident, $title:literal;)+) => {
        /// The kind of a failure.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum FailureKind { $(#[doc = $title] $variant,)+ }

        impl FailureKind {
            /// All kinds in table order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the table row of this kind.
            #[must_use]
            pub fn row(self) -> FailureRow {
                match self {
                    $(Self::$variant => FailureRow {
                        name: $name, http_status: $http, rpc_code: $rpc, retry: Retry::$retry, title: $title,
                    },)+
                }
            }
        }
    };
}

// JSON-RPC codes -32050 to -32099 are defined here. Codes outside that range keep the meaning of the source protocols.
failure_table! {
    MethodNotAllowed: "method-not-allowed", 405, -32601, AfterChange, "This URL does not support this HTTP method";
    SchemaInvalid: "schema-invalid", 400, -32602, AfterChange, "The request does not match the schema of this endpoint";
    InvalidInput: "invalid-input", 422, -32081, AfterChange, "The input breaks a rule of its protocol";
    Unauthenticated: "unauthenticated", 401, -32001, AfterChange, "The request has no valid token";
    SignInFailed: "sign-in-failed", 401, -32003, AfterChange, "The name or the password is wrong";
    SignInLocked: "sign-in-locked", 429, -32057, Later, "Too many failed sign-ins for this name";
    RateLimited: "rate-limited", 429, -32062, Later, "Rate limit exceeded";
    Forbidden: "forbidden", 403, -32004, AfterChange, "Your role lacks the permission to do this";
    InvalidSignature: "invalid-signature", 403, -32082, AfterChange, "The signature of the call is not accepted";
    HostRefused: "host-refused", 403, -32060, AfterChange, "The server does not accept this host name";
    OriginRefused: "origin-refused", 403, -32061, AfterChange, "Web pages of this origin are not allowed to call this server";
    CsrfRefused: "csrf-refused", 403, -32063, AfterChange, "The request has no valid CSRF token";
    SignInRefused: "sign-in-refused", 403, -32064, AfterChange, "The sign-in through the identity provider was refused";
    Conflict: "conflict", 409, -32058, AfterChange, "The request conflicts with the current state";
    IdempotencyConflict: "idempotency-conflict", 409, -32059, Never, "The idempotency key was used for another request";
    RelationRequired: "relation-required", 403, -32083, AfterChange, "The recipient has no active relation with this agent";
    StaleKeys: "stale-keys", 409, -33011, AfterChange, "The message is not sealed for the present keys of the recipient's devices";
    NotFound: "not-found", 404, -32050, Never, "No such object, or you have no access to it";
    PayloadTooLarge: "payload-too-large", 413, -32051, AfterChange, "The request body is larger than this server accepts";
    NotReady: "not-ready", 503, -32055, Later, "The server is not ready to accept work";
    Overloaded: "overloaded", 503, -32052, Later, "The server has reached its limit of concurrent requests";
    Timeout: "timeout", 504, -32053, Later, "The server did not respond within its time limit";
    TenantPolicyDenied: "tenant-policy-denied", 403, -32070, AfterChange, "The tenant's policy does not allow this";
    SecretUnavailable: "secret-unavailable", 409, -32071, AfterChange, "A required credential is not configured";
    RunnerLeaseConflict: "runner-lease-conflict", 409, -32072, Later, "Another runner holds the lease of the run";
    RunnerLost: "runner-lost", 409, -32073, AfterChange, "The runner was lost while a command was running; side effects are unknown";
    BackendFailed: "backend-failed", 502, -32074, Later, "The agent's backend failed";
    ProviderAuthFailed: "provider-auth-failed", 502, -32075, AfterChange, "The model provider rejected the credential";
    ProviderUnavailable: "provider-unavailable", 502, -32076, Later, "The model provider does not respond";
    Cancelled: "cancelled", 409, -32077, Never, "The run or command was cancelled";
    SessionStoreEvicted: "session-store-evicted", 409, -32078, Never, "The session's storage was deleted";
    ThreadResumeFailed: "thread-resume-failed", 409, -32079, AfterChange, "The backend could not resume its thread";
    BudgetExceeded: "budget-exceeded", 403, -32080, AfterChange, "The budget is exhausted";
    InfraFailed: "infra-failed", 503, -32054, Later, "A service that the server depends on is unavailable";
    Internal: "internal", 500, -32603, Later, "Unexpected server error";
}

impl FailureKind {
    /// Returns the name of the kind: the `failureKind` of failure bodies.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.row().name
    }

    /// Finds a kind by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

named_enum! {
    /// Why a call of a tool failed that was not denied. A device answers with it to an agent, sealed: no transport of the server has
    /// a code for it.
    ToolErrorCode, "tool error code";
    /// The tool failed, or took too long.
    PlatformError = "TOOL_PLATFORM_ERROR",
    /// The arguments do not match the input schema.
    InvalidArguments = "TOOL_INVALID_ARGUMENTS",
    /// The device has no such tool.
    Unavailable = "TOOL_UNAVAILABLE",
}

impl ToolErrorCode {
    /// Returns the name of its page in the documentation.
    #[must_use]
    pub fn page(self) -> String {
        self.as_str().to_ascii_lowercase().replace('_', "-")
    }
}

/// A wrong place in what a caller sent. It may repeat their words: it is in the response and never in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidPlace {
    /// JSON pointer (RFC 6901).
    pub pointer: String,
    /// The name of the broken rule.
    pub rule: &'static str,
    pub message: String,
}

/// A failure as shown to a caller: its kind and a public message. The cause is only logged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct Failure {
    pub kind: FailureKind,
    pub message: String,
    /// Additional machine-readable values by name.
    pub details: BTreeMap<&'static str, String>,
    /// Everything that is wrong, where there is more than the message says.
    pub errors: Box<[InvalidPlace]>,
    /// Minimum time before a retry, if known.
    pub retry_after: Option<Duration>,
}

impl Failure {
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            details: BTreeMap::new(),
            errors: Box::default(),
            retry_after: None,
        }
    }

    /// Adds a machine-readable detail.
    #[must_use]
    pub fn with_detail(mut self, name: &'static str, value: impl ToString) -> Self {
        self.details.insert(name, value.to_string());
        self
    }

    /// Adds everything that is wrong.
    #[must_use]
    pub fn with_errors(mut self, errors: impl IntoIterator<Item = InvalidPlace>) -> Self {
        self.errors = errors.into_iter().collect();
        self
    }

    /// Sets the minimum time before a retry.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn names_and_rpc_codes_are_unique() {
        let names: BTreeSet<_> = FailureKind::ALL.iter().map(|kind| kind.as_str()).collect();
        let codes: BTreeSet<_> = FailureKind::ALL.iter().map(|kind| kind.row().rpc_code).collect();
        assert_eq!((names.len(), codes.len()), (FailureKind::ALL.len(), FailureKind::ALL.len()));
    }

    #[test]
    fn kind_round_trips_through_its_name() {
        for kind in FailureKind::ALL {
            assert_eq!(FailureKind::from_name(kind.as_str()), Some(*kind));
        }
    }

    #[test]
    fn every_kind_has_an_http_error_status() {
        for kind in FailureKind::ALL {
            assert!((400..600).contains(&kind.row().http_status), "{kind} is not an error status");
        }
    }

    #[test]
    fn every_kind_has_a_docs_page_that_matches_the_table() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
        let errors: Vec<String> =
            FailureKind::ALL.iter().filter_map(|kind| page_error(&folder, *kind)).collect();
        assert!(errors.is_empty(), "\n{}", errors.join("\n"));
    }

    // covers: M27
    #[test]
    fn every_tool_error_code_is_registered_with_a_page_of_its_own() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
        let index = std::fs::read_to_string(folder.join("README.md")).expect("an index");
        for code in ToolErrorCode::ALL {
            let page = format!("{}.md", code.page());
            let text = std::fs::read_to_string(folder.join(&page)).expect(&page);
            assert!(text.starts_with(&format!("# {code}\n")), "{page}");
            assert!(text.contains("## What happened") && text.contains("## What to do"), "{page}");
            assert!(
                index.contains(&format!("[{code}]({page})")),
                "docs/errors/README.md does not link {page}"
            );
            assert_eq!(FailureKind::from_name(&code.page()), None, "{code} is also a failure kind");
        }
        let names: Vec<_> = ToolErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names, ["TOOL_PLATFORM_ERROR", "TOOL_INVALID_ARGUMENTS", "TOOL_UNAVAILABLE"]);
    }

    #[test]
    fn missing_page_error_names_the_file_to_write() {
        let empty = std::env::temp_dir().join("guildhall-no-such-folder");
        let error = page_error(&empty, FailureKind::NotFound).expect("the page is missing");
        assert!(error.contains("write docs/errors/not-found.md"), "{error}");
    }

    fn page_error(folder: &Path, kind: FailureKind) -> Option<String> {
        let row = kind.row();
        let codes =
            format!("HTTP {} · JSON-RPC {} · retry: {}", row.http_status, row.rpc_code, row.retry.as_str());
        let page = format!("docs/errors/{kind}.md");
        match std::fs::read_to_string(folder.join(format!("{kind}.md"))) {
            Err(_) => Some(format!(
                "failure kind `{kind}` has no page: write {page} with a title line `# {kind}`, the line `{codes}`, \
                 and the sections `## What happened` and `## What to do`"
            )),
            Ok(text) if !text.starts_with(&format!("# {kind}\n")) => {
                Some(format!("{page} must start with `# {kind}`"))
            }
            Ok(text) if !text.contains(&codes) => Some(format!(
                "{page} must contain `{codes}`, as in the table of crates/domain/src/failure.rs"
            )),
            Ok(text) if !text.contains("## What happened") || !text.contains("## What to do") => {
                Some(format!("{page} needs the sections `## What happened` and `## What to do`"))
            }
            Ok(_) => None,
        }
    }
}
