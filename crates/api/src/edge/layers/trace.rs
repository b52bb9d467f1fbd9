//! Adds each request to its caller's trace, and counts it.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
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
    counter!("guildhall_http_requests_total",
        "method" => method, "route" => route.clone(), "status" => status.to_string())
    .increment(1);
    histogram!("guildhall_http_request_seconds", "method" => method, "route" => route)
        .record(began.elapsed().as_secs_f64());
    response
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
