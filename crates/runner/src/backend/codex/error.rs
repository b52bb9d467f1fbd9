//! Classifies the errors of Codex.
//!
//! The texts of Codex contain provider addresses and provider responses. So the messages are ours; only the error kind
//! and the HTTP status of Codex are repeated.

use guildhall_domain::FailureKind;
use serde::Deserialize;
use serde_json::Value;

use crate::backend::BackendFailure;
use crate::backend::provider_error::{ProviderError, with_status};

/// The error of a turn. Every field may be missing: an unreadable error is still an error.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CodexError {
    message: String,
    codex_error_info: Value,
}

/// Error kinds that mean that the provider is unavailable.
const PROVIDER_UNAVAILABLE: [&str; 9] = [
    "serverOverloaded",
    "internalServerError",
    "rateLimitExceeded",
    "usageLimitExceeded",
    "flexUnavailable",
    "httpConnectionFailed",
    "responseStreamConnectionFailed",
    "responseStreamDisconnected",
    "responseTooManyFailedAttempts",
];

/// How Codex reports an incomplete response for which it has no kind.
const STREAM_DISCONNECTED: &str = "stream disconnected before completion";

impl CodexError {
    pub(super) fn classify(&self) -> BackendFailure {
        let (kind, status) = self.kind_and_status();
        if kind == "unauthorized" || matches!(status, Some(401 | 403)) {
            return ProviderError::CredentialRejected.into_failure(status);
        }
        if self.message.starts_with(STREAM_DISCONNECTED) {
            return ProviderError::IncompleteResponse.into_failure(None);
        }
        let is_client_error = matches!(status, Some(400..=428 | 430..=499));
        let is_unavailable = PROVIDER_UNAVAILABLE.contains(&kind) || matches!(status, Some(429 | 500..=599));
        if is_unavailable && !is_client_error {
            let error =
                if status == Some(429) { ProviderError::RateLimited } else { ProviderError::Unavailable };
            return error.into_failure(status);
        }
        let message = with_status(&format!("codex reported {kind}"), status);
        BackendFailure::new(FailureKind::BackendFailed, message)
    }

    /// Returns the error kind, which is a string or the key of its details, and the HTTP status.
    fn kind_and_status(&self) -> (&str, Option<u64>) {
        let (kind, status) = match &self.codex_error_info {
            Value::String(kind) => (kind.as_str(), None),
            Value::Object(details) => match details.iter().next() {
                Some((kind, details)) => (kind.as_str(), details["httpStatusCode"].as_u64()),
                None => ("other", None),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => ("other", None),
        };
        let is_plain = kind.len() <= 64 && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
        (if is_plain { kind } else { "an unnamed error" }, status)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn classify(info: Value, message: &str) -> (FailureKind, String) {
        let error: CodexError = serde_json::from_value(json!({ "codexErrorInfo": info, "message": message }))
            .expect("valid error");
        let failure = error.classify();
        assert!(!failure.died);
        (failure.kind, failure.message)
    }

    #[test]
    fn each_error_kind_is_classified() {
        use FailureKind::{BackendFailed, ProviderAuthFailed, ProviderUnavailable};
        let status = |kind: &str, status: Value| json!({ kind: { "httpStatusCode": status } });
        for (info, kind, message) in [
            (
                status("httpConnectionFailed", json!(401)),
                ProviderAuthFailed,
                "the model provider rejected the credential (401)",
            ),
            (json!("unauthorized"), ProviderAuthFailed, "the model provider rejected the credential"),
            (
                status("responseTooManyFailedAttempts", json!(429)),
                ProviderUnavailable,
                "the model provider limits the request rate (429)",
            ),
            (json!("internalServerError"), ProviderUnavailable, "the model provider is unavailable"),
            (
                status("httpConnectionFailed", json!(503)),
                ProviderUnavailable,
                "the model provider is unavailable (503)",
            ),
            (
                status("httpConnectionFailed", Value::Null),
                ProviderUnavailable,
                "the model provider is unavailable",
            ),
            (
                status("httpConnectionFailed", json!(404)),
                BackendFailed,
                "codex reported httpConnectionFailed (404)",
            ),
            (json!("contextWindowExceeded"), BackendFailed, "codex reported contextWindowExceeded"),
            (Value::Null, BackendFailed, "codex reported other"),
        ] {
            assert_eq!(classify(info.clone(), "x"), (kind, message.to_owned()), "{info}");
        }
        let disconnected = "stream disconnected before completion: stream closed before response.completed";
        assert_eq!(
            classify(json!("other"), disconnected),
            (ProviderUnavailable, "the model provider's response was incomplete".to_owned())
        );
    }

    proptest! {
        #[test]
        fn message_never_contains_text_of_codex(kind in "\\PC{0,40}", status in proptest::option::of(0u64..999)) {
            let secret = "http://provider.example/v1?key=canary";
            let with_status = json!({ kind.as_str(): { "httpStatusCode": status } });
            for info in [json!(kind), with_status, json!(secret)] {
                let (_, message) = classify(info, secret);
                prop_assert!(!message.contains("://") && !message.contains("canary"));
            }
        }
    }
}
