//! Writes the body of every error response, and logs the error once.

use std::time::Duration;

use axum::Json;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use guildhall_domain::{FailureKind, Retry};
use guildhall_protocol::problem::{self, Problem};
use guildhall_runtime::telemetry::trace::TraceContext;

use super::trace::{method_label, route};
use crate::edge::error::{ApiError, ErrorPage, status_of};

/// The default of `Retry-After`.
const RETRY_AFTER: Duration = Duration::from_secs(1);

pub(super) async fn write(request: Request, next: Next) -> Response {
    let trace_id = request.extensions().get::<TraceContext>().map(TraceContext::trace_id).unwrap_or_default();
    // The route and not the path, which may contain a secret.
    let request_line = format!("{} {}", method_label(request.method()), route(&request));
    let mut response = next.run(request).await;
    if let Some(ErrorPage(error)) = response.extensions_mut().remove::<ErrorPage>() {
        error.log(&trace_id, &request_line);
        add_retry_after(response.headers_mut(), &error);
        return response;
    }
    let Some(error) = take_error(&mut response, &request_line) else { return response };
    error.log(&trace_id, &request_line);
    let mut written =
        (status_of(error.failure.kind), Json(Problem::new(&error.failure, trace_id))).into_response();
    // Keep the other headers of the inner response, such as `Allow`.
    let headers = written.headers_mut();
    for (name, value) in response.headers() {
        if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
            headers.insert(name, value.clone());
        }
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(problem::CONTENT_TYPE));
    if error.failure.kind == FailureKind::Unauthenticated {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    add_retry_after(headers, &error);
    written
}

fn add_retry_after(headers: &mut HeaderMap, error: &ApiError) {
    if error.failure.kind.row().retry == Retry::Later {
        let wait = error.failure.retry_after.unwrap_or(RETRY_AFTER);
        headers.insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
    }
}

/// Rounds up to whole seconds.
fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// Returns the error of a response: our own, or one for the bare status that a library set.
fn take_error(response: &mut Response, request_line: &str) -> Option<ApiError> {
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        return Some(error);
    }
    let status = response.status();
    let has_json_body = response.headers().get(header::CONTENT_TYPE).is_some_and(is_json);
    if has_json_body || !(status.is_client_error() || status.is_server_error()) {
        return None;
    }
    let (kind, message) = match status {
        StatusCode::METHOD_NOT_ALLOWED => (
            FailureKind::MethodNotAllowed,
            format!("{request_line}: method not allowed; the `Allow` header lists the allowed ones"),
        ),
        StatusCode::PAYLOAD_TOO_LARGE => {
            (FailureKind::PayloadTooLarge, "the request body is larger than this server accepts".to_owned())
        }
        StatusCode::BAD_REQUEST | StatusCode::UNSUPPORTED_MEDIA_TYPE | StatusCode::UNPROCESSABLE_ENTITY => {
            (FailureKind::SchemaInvalid, format!("{request_line}: invalid request"))
        }
        StatusCode::NOT_FOUND => (FailureKind::NotFound, "no such route".to_owned()),
        _ => (FailureKind::Internal, format!("the server returned {status} without a reason")),
    };
    Some(ApiError::new(kind, message))
}

fn is_json(value: &HeaderValue) -> bool {
    value.to_str().is_ok_and(|value| value.starts_with("application/json") || value.contains("+json"))
}
