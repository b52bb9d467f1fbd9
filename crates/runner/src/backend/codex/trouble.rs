//! What Codex says went wrong, in the words of the failure table.
//!
//! Its own sentences hold addresses of the provider and whatever the provider answered. So the sentences are ours; of
//! its own, only the name of the kind and the status go along.

use guildhall_domain::FailureKind;
use serde::Deserialize;
use serde_json::Value;

use crate::backend::BackendFailure;

/// The error of a turn. Everything may be missing: what we cannot read is still an error.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Trouble {
    message: String,
    codex_error_info: Value,
}

/// Kinds in which the provider, or the way to it, is at fault.
const PROVIDER_AWAY: [&str; 9] = [
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

/// How Codex tells of an answer that broke off when it has no kind for it.
const BROKE_OFF: &str = "stream disconnected before completion";

impl Trouble {
    pub(super) fn classify(&self) -> BackendFailure {
        let (kind, status) = self.kind_and_status();
        let with_status = |text: &str| status.map_or(text.to_owned(), |status| format!("{text} ({status})"));
        if kind == "unauthorized" || matches!(status, Some(401 | 403)) {
            let message = with_status("the model provider refused the credential");
            return BackendFailure::new(FailureKind::ProviderAuthFailed, message);
        }
        let is_refused = matches!(status, Some(400..=428 | 430..=499));
        let is_away = PROVIDER_AWAY.contains(&kind) || matches!(status, Some(429 | 500..=599));
        let broke_off = self.message.starts_with(BROKE_OFF);
        if broke_off || (is_away && !is_refused) {
            let message = match (broke_off, status) {
                (true, _) => "the model provider's answer broke off".to_owned(),
                (false, Some(429)) => with_status("the model provider asks us to wait"),
                (false, _) => with_status("the model provider does not answer"),
            };
            return BackendFailure::new(FailureKind::ProviderUnavailable, message);
        }
        BackendFailure::new(FailureKind::BackendFailed, with_status(&format!("codex reports {kind}")))
    }

    /// Returns the name of the kind, which stands alone or as the key of its details.
    fn kind_and_status(&self) -> (&str, Option<u64>) {
        let (kind, status) = match &self.codex_error_info {
            Value::String(kind) => (kind.as_str(), None),
            Value::Object(details) => match details.iter().next() {
                Some((kind, details)) => (kind.as_str(), details["httpStatusCode"].as_u64()),
                None => ("other", None),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => ("other", None),
        };
        let is_name = kind.len() <= 64 && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
        (if is_name { kind } else { "an unnamed error" }, status)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn classify(info: Value, message: &str) -> (FailureKind, String) {
        let trouble: Trouble =
            serde_json::from_value(json!({ "codexErrorInfo": info, "message": message })).expect("readable");
        let failure = trouble.classify();
        assert!(!failure.died);
        (failure.kind, failure.message)
    }

    #[test]
    fn each_kind_has_its_place() {
        use FailureKind::{BackendFailed, ProviderAuthFailed, ProviderUnavailable};
        let status = |kind: &str, status: Value| json!({ kind: { "httpStatusCode": status } });
        for (info, kind, words) in [
            (
                status("httpConnectionFailed", json!(401)),
                ProviderAuthFailed,
                "the model provider refused the credential (401)",
            ),
            (json!("unauthorized"), ProviderAuthFailed, "the model provider refused the credential"),
            (
                status("responseTooManyFailedAttempts", json!(429)),
                ProviderUnavailable,
                "the model provider asks us to wait (429)",
            ),
            (json!("internalServerError"), ProviderUnavailable, "the model provider does not answer"),
            (
                status("httpConnectionFailed", json!(503)),
                ProviderUnavailable,
                "the model provider does not answer (503)",
            ),
            (
                status("httpConnectionFailed", Value::Null),
                ProviderUnavailable,
                "the model provider does not answer",
            ),
            (
                status("httpConnectionFailed", json!(404)),
                BackendFailed,
                "codex reports httpConnectionFailed (404)",
            ),
            (json!("contextWindowExceeded"), BackendFailed, "codex reports contextWindowExceeded"),
            (Value::Null, BackendFailed, "codex reports other"),
        ] {
            assert_eq!(classify(info.clone(), "x"), (kind, words.to_owned()), "{info}");
        }
        let cut = "stream disconnected before completion: stream closed before response.completed";
        assert_eq!(
            classify(json!("other"), cut),
            (ProviderUnavailable, "the model provider's answer broke off".to_owned())
        );
    }

    proptest! {
        #[test]
        fn nothing_that_codex_wrote_freely_gets_into_the_message(kind in "\\PC{0,40}", status in proptest::option::of(0u64..999)) {
            let secret = "http://provider.example/v1?key=canary";
            let with_status = json!({ kind.as_str(): { "httpStatusCode": status } });
            for info in [json!(kind), with_status, json!(secret)] {
                let (_, message) = classify(info, secret);
                prop_assert!(!message.contains("://") && !message.contains("canary"));
            }
        }
    }
}
