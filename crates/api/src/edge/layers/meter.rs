//! Says in each answer to a counted request where its caller stands.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

use crate::edge::rates::Meter;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

pub(super) async fn show(mut request: Request, next: Next) -> Response {
    let meter = Meter::default();
    request.extensions_mut().insert(meter.clone());
    let mut response = next.run(request).await;
    if let Some(standing) = meter.standing() {
        let headers = response.headers_mut();
        headers.insert(LIMIT, HeaderValue::from(standing.limit));
        headers.insert(REMAINING, HeaderValue::from(standing.remaining));
        headers.insert(RESET, HeaderValue::from(standing.resets_in_seconds()));
    }
    response
}
