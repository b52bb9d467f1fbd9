//! Adds each request to its caller's trace, and counts it.

use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use guildhall_runtime::telemetry::trace::TraceContext;
use metrics::{counter, histogram};
use tracing::{Instrument, field, info_span};

const TRACEPARENT: &str = "traceparent";

pub(super) async fn join(mut request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = method_label(request.method());
    let route = route(&request).to_owned();
    let span = info_span!("http", otel.name = %format!("{method} {route}"), otel.kind = "server",
        http.request.method = method, http.route = %route, http.response.status_code = field::Empty,
        trace.id = field::Empty);
    let parent = request.headers().get(TRACEPARENT).and_then(|value| value.to_str().ok());
    let trace = TraceContext::from_traceparent(&span, parent);
    span.record("trace.id", trace.trace_id());
    request.extensions_mut().insert(trace);

    let mut response = next.run(request).instrument(span.clone()).await;

    let status = response.status().as_u16();
    span.record("http.response.status_code", status);
    if let Ok(value) = HeaderValue::from_str(&trace.to_string()) {
        response.headers_mut().insert(TRACEPARENT, value);
    }
    count(method, route, &response, began.elapsed());
    response
}

/// Requests that wait for work: their duration says nothing about the server.
const LONG_POLLS: [(&str, &str); 4] = [
    ("POST", "/api/v1/runs/{run}/approvals/{approval}/take"),
    ("GET", "/api/v1/runs/{run}/commands"),
    ("POST", "/api/v1/runs/{run}/claim"),
    ("POST", "/api/v1/runners/claim"),
];

/// Counts a request. Only one that is answered at once has a latency.
fn count(method: &'static str, route: String, response: &Response, took: Duration) {
    let status = response.status().as_u16().to_string();
    let is_stream = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
    if is_stream || LONG_POLLS.contains(&(method, route.as_str())) {
        counter!("guildhall_http_long_requests_total",
            "method" => method, "route" => route, "status" => status)
        .increment(1);
        return;
    }
    counter!("guildhall_http_requests_total",
        "method" => method, "route" => route.clone(), "status" => status)
    .increment(1);
    histogram!("guildhall_http_request_seconds", "method" => method, "route" => route)
        .record(took.as_secs_f64());
}

/// Returns the route template of a request. It contains no text of the caller.
pub(super) fn route(request: &Request) -> &str {
    request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str)
}

/// Returns a metric label for a method. Unknown methods share one, so that a caller cannot create labels.
pub(super) fn method_label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}
