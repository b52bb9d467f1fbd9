//! Errors in responses.

use std::collections::BTreeMap;

use guildhall_domain::{Failure, FailureKind};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The frame is not JSON.
const PARSE_ERROR: i32 = -32700;

/// The frame is JSON, but no request.
const INVALID_REQUEST: i32 = -32600;

/// The client and the server have no protocol version in common.
const VERSION_MISMATCH: i32 = -32000;

/// An error of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RpcError {
    pub code: i32,
    /// Description of this failure.
    pub message: String,
    pub data: ErrorData,
}

/// What a client can act on. Numbers of different protocols clash; the kind does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorData {
    /// The failure kind. Stable: use it to distinguish failures.
    #[serde(rename = "failureKind")]
    #[schema(example = "not-found")]
    pub failure_kind: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// Minimum time before a retry. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Trace id of the request in logs and traces.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trace_id: String,
    /// Additional members of some kinds.
    #[serde(flatten)]
    pub details: BTreeMap<String, String>,
}

impl RpcError {
    /// Returns the error of a failure, with the code of the failure table.
    #[must_use]
    pub fn new(failure: &Failure) -> Self {
        let row = failure.kind.row();
        let details =
            failure.details.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let millis = |wait: std::time::Duration| {
            u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
        };
        Self {
            code: row.rpc_code,
            message: failure.message.clone(),
            data: ErrorData {
                failure_kind: row.name.to_owned(),
                retryable: row.retry == guildhall_domain::Retry::Later,
                retry_after_ms: failure.retry_after.map(millis),
                trace_id: String::new(),
                details,
            },
        }
    }

    /// Returns the error for a frame that is not JSON.
    #[must_use]
    pub fn parse_error(message: impl Into<String>) -> Self {
        Self::with_code(PARSE_ERROR, FailureKind::SchemaInvalid, message)
    }

    /// Returns the error for JSON that is no request.
    #[must_use]
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::with_code(INVALID_REQUEST, FailureKind::SchemaInvalid, message)
    }

    /// Returns the error for parameters that do not fit the method.
    #[must_use]
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(&Failure::new(FailureKind::SchemaInvalid, message))
    }

    /// Returns the error for a method that is not in the table.
    #[must_use]
    pub fn unknown_method() -> Self {
        let message = "no such method; `guildhall openrpc` prints the methods of this server";
        Self::new(&Failure::new(FailureKind::MethodNotAllowed, message))
    }

    /// Returns the error for a client that speaks no version of the server.
    #[must_use]
    pub fn version_mismatch(server: &str, client: &str) -> Self {
        let message = "the client and the server have no protocol version in common";
        let mut error = Self::with_code(VERSION_MISMATCH, FailureKind::InvalidInput, message);
        error.data.details.insert("server_range".to_owned(), server.to_owned());
        error.data.details.insert("client_range".to_owned(), client.to_owned());
        error
    }

    #[must_use]
    pub fn with_trace_id(mut self, trace_id: String) -> Self {
        self.data.trace_id = trace_id;
        self
    }

    fn with_code(code: i32, kind: FailureKind, message: impl Into<String>) -> Self {
        Self { code, ..Self::new(&Failure::new(kind, message)) }
    }
}
