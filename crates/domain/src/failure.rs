//! The one table of failures: every transport reads its codes from here.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Says what a caller may do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// The same request will fail again.
    Never,
    /// The same request may succeed later; wait first.
    Later,
    /// The request may succeed after the caller changed something.
    AfterChange,
}

impl Retry {
    /// Returns the name used on the wire and in the docs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Later => "later",
            Self::AfterChange => "after-change",
        }
    }
}

/// One line of the failure table.
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
        /// Names every way in which a request can fail.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum FailureKind { $(#[doc = $title] $variant,)+ }

        impl FailureKind {
            /// Every kind, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns this kind's line of the table.
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

// Codes -32050 to -32099 are ours; the numbers of the source protocols keep their meaning elsewhere in the range.
failure_table! {
    MethodNotAllowed: "method-not-allowed", 405, -32601, AfterChange, "The address exists, but not with this method";
    SchemaInvalid: "schema-invalid", 400, -32602, AfterChange, "The request is not of the form that this address takes";
    Unauthenticated: "unauthenticated", 401, -32001, AfterChange, "No valid token came with the request";
    SignInFailed: "sign-in-failed", 401, -32056, AfterChange, "The name or the password is wrong";
    SignInLocked: "sign-in-locked", 429, -32057, Later, "Too many failed sign-ins for this name";
    RateLimited: "rate-limited", 429, -32062, Later, "More requests than this caller may send in this time";
    Forbidden: "forbidden", 403, -32004, AfterChange, "Your role lacks the right to do this";
    HostRefused: "host-refused", 403, -32060, AfterChange, "The server is not reached under this name";
    OriginRefused: "origin-refused", 403, -32061, AfterChange, "Web pages of this origin may not call this server";
    CsrfRefused: "csrf-refused", 403, -32063, AfterChange, "A web page must prove that it is this server's own to change something";
    SignInRefused: "sign-in-refused", 403, -32064, AfterChange, "The sign-in through the identity provider was refused";
    Conflict: "conflict", 409, -32058, AfterChange, "This does not go together with what is there";
    IdempotencyConflict: "idempotency-conflict", 409, -32059, Never, "The idempotency key was used for another request";
    NotFound: "not-found", 404, -32050, Never, "No such object, or it is not yours to know of";
    PayloadTooLarge: "payload-too-large", 413, -32051, AfterChange, "The request body is larger than this server accepts";
    NotReady: "not-ready", 503, -32055, Later, "This server cannot take work now";
    Overloaded: "overloaded", 503, -32052, Later, "The server is at its limit of concurrent work";
    Timeout: "timeout", 504, -32053, Later, "The server could not answer within its time limit";
    TenantPolicyDenied: "tenant-policy-denied", 403, -32070, AfterChange, "The tenant's boundary does not allow this";
    SecretUnavailable: "secret-unavailable", 409, -32071, AfterChange, "A credential that this needs is not there";
    RunnerLeaseConflict: "runner-lease-conflict", 409, -32072, Later, "Another runner holds the run";
    RunnerLost: "runner-lost", 409, -32073, AfterChange, "The runner was lost at work; side effects are unknown";
    BackendFailed: "backend-failed", 502, -32074, Later, "The agent's backend failed";
    ProviderAuthFailed: "provider-auth-failed", 502, -32075, AfterChange, "The model provider refused the credential";
    ProviderUnavailable: "provider-unavailable", 502, -32076, Later, "The model provider does not answer";
    Cancelled: "cancelled", 409, -32077, Never, "It was cancelled";
    SessionStoreEvicted: "session-store-evicted", 409, -32078, Never, "The session's storage is gone";
    ThreadResumeFailed: "thread-resume-failed", 409, -32079, AfterChange, "The backend could not resume its thread";
    BudgetExceeded: "budget-exceeded", 403, -32080, AfterChange, "The budget is spent";
    InfraFailed: "infra-failed", 503, -32054, Later, "An engine that the server needs is away";
    Internal: "internal", 500, -32603, Later, "The server failed in a way it did not foresee";
}

impl FailureKind {
    /// Returns the kind's name: the `failureKind` of every failure body.
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

/// A failure as a caller may see it: its kind and a public sentence. The cause stays in the logs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct Failure {
    pub kind: FailureKind,
    pub message: String,
    /// What a program may want to know besides, by name.
    pub details: BTreeMap<&'static str, String>,
    /// How long to wait at least, where that is known.
    pub retry_after: Option<Duration>,
}

impl Failure {
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), details: BTreeMap::new(), retry_after: None }
    }

    /// Adds something that a program may want to know.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.details.insert(name, value.to_string());
        self
    }

    /// Returns this failure with the time to wait before the same request may succeed.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
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
    fn every_kind_has_a_name_and_an_rpc_code_of_its_own() {
        let names: BTreeSet<_> = FailureKind::ALL.iter().map(|kind| kind.as_str()).collect();
        let codes: BTreeSet<_> = FailureKind::ALL.iter().map(|kind| kind.row().rpc_code).collect();
        assert_eq!((names.len(), codes.len()), (FailureKind::ALL.len(), FailureKind::ALL.len()));
    }

    #[test]
    fn every_kind_is_found_again_by_its_name() {
        for kind in FailureKind::ALL {
            assert_eq!(FailureKind::from_name(kind.as_str()), Some(*kind));
        }
    }

    #[test]
    fn every_kind_answers_with_an_error_status() {
        for kind in FailureKind::ALL {
            assert!((400..600).contains(&kind.row().http_status), "{kind} is not an error status");
        }
    }

    /// A reader who meets a kind must find its page, and the page must agree with the table.
    #[test]
    fn every_kind_has_a_page_that_agrees_with_the_table() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
        let faults: Vec<String> =
            FailureKind::ALL.iter().filter_map(|kind| fault_of_page(&folder, *kind)).collect();
        assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    }

    #[test]
    fn a_missing_page_is_named_with_what_to_write() {
        let empty = std::env::temp_dir().join("guildhall-no-such-folder");
        let fault = fault_of_page(&empty, FailureKind::NotFound).expect("the page is missing");
        assert!(fault.contains("write docs/errors/not-found.md"), "{fault}");
    }

    fn fault_of_page(folder: &Path, kind: FailureKind) -> Option<String> {
        let row = kind.row();
        let facts =
            format!("HTTP {} · JSON-RPC {} · retry: {}", row.http_status, row.rpc_code, row.retry.as_str());
        let page = format!("docs/errors/{kind}.md");
        match std::fs::read_to_string(folder.join(format!("{kind}.md"))) {
            Err(_) => Some(format!(
                "failure kind `{kind}` has no page: write {page} with a title line `# {kind}`, the line `{facts}`, \
                 and the sections `## What happened` and `## What to do`"
            )),
            Ok(text) if !text.starts_with(&format!("# {kind}\n")) => {
                Some(format!("{page} must begin with `# {kind}`"))
            }
            Ok(text) if !text.contains(&facts) => {
                Some(format!("{page} must say `{facts}`: the table in crates/domain/src/failure.rs does"))
            }
            Ok(text) if !text.contains("## What happened") || !text.contains("## What to do") => {
                Some(format!("{page} needs the sections `## What happened` and `## What to do`"))
            }
            Ok(_) => None,
        }
    }
}
