//! Limits on request time, body size and concurrent requests.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_LENGTH;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use guildhall_domain::FailureKind;
use http_body_util::Limited;
use metrics::counter;
use tokio::sync::Semaphore;

use super::trace::route;
use crate::edge::app::Limits;
use crate::edge::error::ApiError;
use crate::edge::long_poll::{RequestDeadline, RequestPlace};

/// Probes and metrics are exempt: they are needed most under overload.
const EXEMPT_PATHS: [&str; 3] = ["/health/live", "/health/readiness", "/metrics"];

/// Limits the number of concurrent requests.
#[derive(Debug, Clone)]
pub(super) struct ConcurrencyLimit(Arc<Semaphore>);

impl ConcurrencyLimit {
    pub(super) fn new(max: usize) -> Self {
        Self(Arc::new(Semaphore::new(max)))
    }
}

/// Rejects requests over the limit at once: a queue would only hide the overload.
pub(super) async fn concurrency(
    State(limit): State<ConcurrencyLimit>,
    mut request: Request,
    next: Next,
) -> Response {
    if EXEMPT_PATHS.contains(&request.uri().path()) {
        return next.run(request).await;
    }
    let Ok(permit) = limit.0.try_acquire_owned() else {
        counter!("guildhall_http_overloads_total").increment(1);
        let message = "too many concurrent requests; try again in a moment";
        return ApiError::new(FailureKind::Overloaded, message).into_response();
    };
    let place = RequestPlace::new(permit);
    request.extensions_mut().insert(place.clone());
    let response = next.run(request).await;
    place.release();
    response
}

/// The route of uploads, which has limits of its own.
const UPLOADS: &str = "/api/v1/agent/attachments";

/// Fails a request that takes too long. Its handler is dropped and its transaction rolled back.
pub(super) async fn timeout(State(limits): State<Limits>, mut request: Request, next: Next) -> Response {
    let limit = if route(&request) == UPLOADS { limits.attachment_timeout } else { limits.request_timeout };
    let deadline = RequestDeadline::new(limit);
    request.extensions_mut().insert(deadline.clone());
    tokio::select! {
        response = next.run(request) => response,
        () = deadline.passed() => {
            let message = format!("the request timed out after {} ms", limit.as_millis());
            ApiError::new(FailureKind::Timeout, message).into_response()
        }
    }
}

/// Refuses a body that is too large: at once if the client says so, else when the limit is reached.
pub(super) async fn body_size(State(limits): State<Limits>, request: Request, next: Next) -> Response {
    let is_upload = route(&request) == UPLOADS;
    let limit = if is_upload { limits.attachment_bytes } else { limits.body_bytes };
    let length = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: usize| length > limit) {
        let message = "the request body is larger than this server accepts";
        return ApiError::new(FailureKind::PayloadTooLarge, message).into_response();
    }
    // The handler of uploads counts while it reads.
    let limited = |body| if is_upload { body } else { Body::new(Limited::new(body, limit)) };
    next.run(request.map(limited)).await
}
