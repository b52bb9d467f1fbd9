//! The body of every failure.

use std::collections::BTreeMap;
use std::time::Duration;

use guildhall_domain::Failure;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The media type of a failure body (RFC 9457).
pub const CONTENT_TYPE: &str = "application/problem+json";

/// A failure: RFC 9457 members, and beside them what our clients branch on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// Names the kind's page in the documentation.
    #[schema(example = "urn:guildhall:error:not-found")]
    pub r#type: String,
    /// What this kind of failure means, the same words every time.
    pub title: String,
    pub status: u16,
    /// What happened this time.
    pub detail: String,
    /// The kind, stable: branch on this.
    #[schema(example = "not-found")]
    pub failure_kind: String,
    /// The same sentence as `detail`.
    pub message: String,
    /// Whether the same request may succeed: never, later, after-change.
    #[schema(example = "never")]
    pub retry: String,
    /// How long to wait at least before the same request, in milliseconds; absent where the server does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Finds this request in logs and traces.
    #[schema(example = "4bf92f3577b34da6a3ce929d0e0e4736")]
    pub trace_id: String,
    /// What some kinds tell besides, such as the `owner` and `leaseExpiresAt` of a runner-lease-conflict.
    #[serde(flatten)]
    pub details: BTreeMap<String, String>,
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
            retry_after_ms: failure.retry_after.map(whole_millis),
            trace_id,
            details: failure
                .details
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
        }
    }
}

/// Rounds up: whoever waits that long has waited enough.
fn whole_millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use guildhall_domain::FailureKind;

    use super::*;

    // covers: R3
    #[test]
    fn a_failure_carries_its_kind_its_message_and_its_trace() {
        let failure = Failure::new(FailureKind::NotFound, "no such address: GET /nowhere");
        let problem = Problem::new(&failure, "4bf92f3577b34da6a3ce929d0e0e4736".to_owned());
        insta::assert_json_snapshot!(problem, @r#"
        {
          "type": "urn:guildhall:error:not-found",
          "title": "No such object, or it is not yours to know of",
          "status": 404,
          "detail": "no such address: GET /nowhere",
          "failureKind": "not-found",
          "message": "no such address: GET /nowhere",
          "retry": "never",
          "traceId": "4bf92f3577b34da6a3ce929d0e0e4736"
        }
        "#);
    }

    #[test]
    fn a_failure_that_passes_at_a_known_time_says_how_long_to_wait() {
        let failure =
            Failure::new(FailureKind::RateLimited, "too many").after(Duration::from_micros(1_500_001));
        let problem = Problem::new(&failure, "4bf92f3577b34da6a3ce929d0e0e4736".to_owned());
        insta::assert_json_snapshot!(problem, @r#"
        {
          "type": "urn:guildhall:error:rate-limited",
          "title": "More requests than this caller may send in this time",
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
