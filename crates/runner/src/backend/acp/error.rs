//! Classifies the errors of an ACP agent.
//!
//! The protocol has no error codes for provider failures, so the text of the agent decides. It may contain the
//! provider's address and responses, so the messages are ours.

use guildhall_domain::FailureKind;

use crate::backend::BackendFailure;
use crate::backend::jsonl::RpcError;
use crate::backend::provider_error::{ProviderError, with_status};

/// The protocol's error code for an agent that is not signed in.
const AUTH_REQUIRED: i64 = -32000;

/// Texts that mean that the provider rejected the credential.
const CREDENTIAL_REJECTED: [&str; 6] = [
    "invalid_api_key",
    "incorrect api key",
    "invalid api key",
    "unauthorized",
    "authentication",
    "permission_denied",
];

/// Texts that mean that the provider did not respond, or not completely.
const UNAVAILABLE: [&str; 19] = [
    "rate limit",
    "rate_limit",
    "too many requests",
    "overloaded",
    "server_error",
    "internal server error",
    "bad gateway",
    "service unavailable",
    "connection error",
    "econnrefused",
    "econnreset",
    "enotfound",
    "fetch failed",
    "socket hang up",
    "terminated",
    "premature close",
    "timed out",
    "timeout",
    "stream ended",
];

pub(super) fn classify(error: &RpcError) -> BackendFailure {
    let text = format!("{} {}", error.message, error.data).to_lowercase();
    let status = find_status(&text);
    let contains_any = |list: &[&str]| list.iter().any(|entry| text.contains(entry));
    let is_auth_text = status.is_none() && contains_any(&CREDENTIAL_REJECTED);
    if error.code == AUTH_REQUIRED || matches!(status, Some(401 | 403)) || is_auth_text {
        return ProviderError::CredentialRejected.into_failure(status);
    }
    if status == Some(429) {
        return ProviderError::RateLimited.into_failure(status);
    }
    if matches!(status, Some(500..=599)) || (status.is_none() && contains_any(&UNAVAILABLE)) {
        return ProviderError::Unavailable.into_failure(status);
    }
    let message = with_status(&format!("the agent reported error {}", error.code), status);
    BackendFailure::new(FailureKind::BackendFailed, message)
}

/// Finds an HTTP error status that is a word of its own.
fn find_status(text: &str) -> Option<u64> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != ':');
    words
        .filter(|word| word.len() == 3)
        .filter_map(|word| word.parse().ok())
        .find(|status| (400..600).contains(status))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn classified(code: i64, text: &str) -> (FailureKind, String) {
        let failure = classify(&RpcError { code, message: text.to_owned(), data: Value::Null });
        assert!(!failure.died);
        (failure.kind, failure.message)
    }

    #[test]
    fn each_error_text_is_classified() {
        use FailureKind::{BackendFailed, ProviderAuthFailed, ProviderUnavailable};
        for (code, text, kind, message) in [
            (
                -32603,
                "Internal error 401 the key is wrong",
                ProviderAuthFailed,
                "the model provider rejected the credential (401)",
            ),
            (-32603, "Incorrect API key", ProviderAuthFailed, "the model provider rejected the credential"),
            (
                -32000,
                "Authentication required",
                ProviderAuthFailed,
                "the model provider rejected the credential",
            ),
            (
                -32603,
                "[API Error: 429 slow down]",
                ProviderUnavailable,
                "the model provider limits the request rate (429)",
            ),
            (-32603, "status 503", ProviderUnavailable, "the model provider is unavailable (503)"),
            (-32603, "Connection error.", ProviderUnavailable, "the model provider is unavailable"),
            (-32603, "http://127.0.0.1:443/v1 is odd", BackendFailed, "the agent reported error -32603"),
            (-32603, "404 no such model", BackendFailed, "the agent reported error -32603 (404)"),
            (-32602, "what?", BackendFailed, "the agent reported error -32602"),
        ] {
            assert_eq!(classified(code, text), (kind, message.to_owned()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn message_never_contains_text_of_the_agent(before in "\\PC{0,40}", code in any::<i64>()) {
            let (_, message) = classified(code, &format!("{before} http://provider.example/v1?key=canary"));
            prop_assert!(!message.contains("://") && !message.contains("canary"));
        }
    }
}
