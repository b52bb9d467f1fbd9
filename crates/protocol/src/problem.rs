//! The body of failure responses.

use std::collections::BTreeMap;
use std::time::Duration;

use guildhall_domain::Failure;
use guildhall_domain::failure::InvalidPlace;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The media type of a failure body (RFC 9457).
pub const CONTENT_TYPE: &str = "application/problem+json";

/// A failure: the members of RFC 9457, plus additional members for clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// URN of the failure kind.
    #[schema(example = "urn:guildhall:error:not-found")]
    pub r#type: String,
    /// Meaning of the failure kind. The same for every failure of this kind.
    pub title: String,
    pub status: u16,
    /// Description of this failure.
    pub detail: String,
    /// The failure kind. Stable: use it to distinguish failures.
    #[schema(example = "not-found")]
    pub failure_kind: String,
    /// Same as `detail`.
    pub message: String,
    /// Whether the request can be retried: never, later or after-change.
    #[schema(example = "never")]
    pub retry: String,
    /// Minimum time before a retry, in milliseconds. Absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Trace id of the request in logs and traces.
    #[schema(example = "4bf92f3577b34da6a3ce929d0e0e4736")]
    pub trace_id: String,
    /// Everything that is wrong with a document in the body. Absent elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ProblemError>,
    /// Additional members of some kinds, such as `owner` and `leaseExpiresAt` of a runner-lease-conflict.
    #[serde(flatten)]
    pub details: BTreeMap<String, String>,
}

/// One error in a document of the body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProblemError {
    /// JSON pointer (RFC 6901) to the place in the document; empty for the whole.
    #[schema(example = "/tools/0/name")]
    pub pointer: String,
    /// The broken rule. Stable.
    #[schema(example = "tool-name")]
    pub rule: String,
    pub message: String,
}

impl Problem {
    #[must_use]
    pub fn new(failure: &Failure, trace_id: String) -> Self {
        let row = failure.kind.row();
        Self {
            r#type: format!("urn:guildhall:error:{}", row.name),
            title: row.title.to_owned(),
            status: row.http_status,
            detail: failure.message.clone(),
            failure_kind: row.name.to_owned(),
            message: failure.message.clone(),
            retry: row.retry.as_str().to_owned(),
            retry_after_ms: failure.retry_after.map(ceil_millis),
            trace_id,
            errors: failure.errors.iter().map(ProblemError::from).collect(),
            details: failure
                .details
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
        }
    }
}

impl From<&InvalidPlace> for ProblemError {
    fn from(place: &InvalidPlace) -> Self {
        let InvalidPlace { pointer, rule, message } = place.clone();
        Self { pointer, rule: rule.to_owned(), message }
    }
}

/// Rounds up, so that waiting that long is enough.
fn ceil_millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use guildhall_domain::FailureKind;

    use super::*;

    // covers: R3
    #[test]
    fn problem_contains_kind_message_and_trace_id() {
        let failure = Failure::new(FailureKind::NotFound, "no such route: GET /nowhere");
        let problem = Problem::new(&failure, "4bf92f3577b34da6a3ce929d0e0e4736".to_owned());
        insta::assert_json_snapshot!(problem, @r#"
        {
          "type": "urn:guildhall:error:not-found",
          "title": "No such object, or you have no access to it",
          "status": 404,
          "detail": "no such route: GET /nowhere",
          "failureKind": "not-found",
          "message": "no such route: GET /nowhere",
          "retry": "never",
          "traceId": "4bf92f3577b34da6a3ce929d0e0e4736"
        }
        "#);
    }

    #[test]
    fn problem_contains_retry_after_rounded_up_to_milliseconds() {
        let failure = Failure::new(FailureKind::RateLimited, "too many")
            .with_retry_after(Duration::from_micros(1_500_001));
        let problem = Problem::new(&failure, "4bf92f3577b34da6a3ce929d0e0e4736".to_owned());
        insta::assert_json_snapshot!(problem, @r#"
        {
          "type": "urn:guildhall:error:rate-limited",
          "title": "Rate limit exceeded",
          "status": 429,
          "detail": "too many",
          "failureKind": "rate-limited",
          "message": "too many",
          "retry": "later",
          "retryAfterMs": 1501,
          "traceId": "4bf92f3577b34da6a3ce929d0e0e4736"
        }
        "#);
    }
}
