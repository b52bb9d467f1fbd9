//! What an agent says went wrong, in the words of the failure table.
//!
//! The protocol has no word for a provider that fails, so the agent's own sentence decides the kind. It may hold the
//! provider's address and whatever the provider answered: the sentences that we tell are ours.

use guildhall_domain::FailureKind;

use super::wire::Fault;
use crate::backend::BackendFailure;

/// The protocol's own code for an agent that is not signed in.
const AUTH_REQUIRED: i64 = -32000;

/// Words by which agents tell that the provider refused the credential.
const REFUSED: [&str; 6] = [
    "invalid_api_key",
    "incorrect api key",
    "invalid api key",
    "unauthorized",
    "authentication",
    "permission_denied",
];

/// Words by which agents tell that the provider does not answer, or not to the end.
const AWAY: [&str; 19] = [
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

pub(super) fn classify(fault: &Fault) -> BackendFailure {
    let words = fault.words.to_lowercase();
    let status = status_in(&words);
    let says = |list: &[&str]| list.iter().any(|word| words.contains(word));
    let with_status = |text: &str| status.map_or(text.to_owned(), |status| format!("{text} ({status})"));
    if fault.code == AUTH_REQUIRED
        || matches!(status, Some(401 | 403))
        || (status.is_none() && says(&REFUSED))
    {
        let message = with_status("the model provider refused the credential");
        return BackendFailure::new(FailureKind::ProviderAuthFailed, message);
    }
    if status == Some(429) {
        let message = with_status("the model provider asks us to wait");
        return BackendFailure::new(FailureKind::ProviderUnavailable, message);
    }
    if matches!(status, Some(500..=599)) || (status.is_none() && says(&AWAY)) {
        let message = with_status("the model provider does not answer");
        return BackendFailure::new(FailureKind::ProviderUnavailable, message);
    }
    let message = format!("the agent reports error {}", fault.code);
    BackendFailure::new(
        FailureKind::BackendFailed,
        status.map_or(message.clone(), |it| format!("{message} ({it})")),
    )
}

/// Finds a failing HTTP status that stands alone in a text.
fn status_in(words: &str) -> Option<u16> {
    let numbers = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != ':');
    numbers
        .filter(|word| word.len() == 3)
        .filter_map(|word| word.parse().ok())
        .find(|status| (400..600).contains(status))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(code: i64, words: &str) -> (FailureKind, String) {
        let failure = classify(&Fault { code, words: words.to_owned() });
        assert!(!failure.died);
        (failure.kind, failure.message)
    }

    #[test]
    fn each_sentence_has_its_place() {
        use FailureKind::{BackendFailed, ProviderAuthFailed, ProviderUnavailable};
        for (code, words, kind, message) in [
            (
                -32603,
                "Internal error 401 the key is wrong",
                ProviderAuthFailed,
                "the model provider refused the credential (401)",
            ),
            (-32603, "Incorrect API key", ProviderAuthFailed, "the model provider refused the credential"),
            (
                -32000,
                "Authentication required",
                ProviderAuthFailed,
                "the model provider refused the credential",
            ),
            (
                -32603,
                "[API Error: 429 slow down]",
                ProviderUnavailable,
                "the model provider asks us to wait (429)",
            ),
            (-32603, "status 503", ProviderUnavailable, "the model provider does not answer (503)"),
            (-32603, "Connection error.", ProviderUnavailable, "the model provider does not answer"),
            (-32603, "http://127.0.0.1:443/v1 is odd", BackendFailed, "the agent reports error -32603"),
            (-32603, "404 no such model", BackendFailed, "the agent reports error -32603 (404)"),
            (-32602, "what?", BackendFailed, "the agent reports error -32602"),
        ] {
            assert_eq!(of(code, words), (kind, message.to_owned()), "{words}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_an_agent_wrote_freely_gets_into_the_message(before in "\\PC{0,40}", code in any::<i64>()) {
            let (_, message) = of(code, &format!("{before} http://provider.example/v1?key=canary"));
            prop_assert!(!message.contains("://") && !message.contains("canary"));
        }
    }
}
