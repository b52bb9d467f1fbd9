//! Adds the rate limit headers to responses of counted requests.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

use crate::edge::rates::RateStatusSlot;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

pub(super) async fn add(mut request: Request, next: Next) -> Response {
    let slot = RateStatusSlot::default();
    request.extensions_mut().insert(slot.clone());
    let mut response = next.run(request).await;
    if let Some(status) = slot.get() {
        let headers = response.headers_mut();
        headers.insert(LIMIT, HeaderValue::from(status.limit));
        headers.insert(REMAINING, HeaderValue::from(status.remaining));
        headers.insert(RESET, HeaderValue::from(status.resets_in_seconds()));
    }
    response
}
