//! Limits on request time and concurrent requests.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use guildhall_domain::FailureKind;
use metrics::counter;
use tokio::sync::Semaphore;

use crate::edge::error::ApiError;
use crate::edge::long_poll::RequestPlace;

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

/// Fails a request that takes too long. Its handler is dropped and its transaction rolled back.
pub(super) async fn timeout(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let message = format!("the request timed out after {} ms", limit.as_millis());
            ApiError::new(FailureKind::Timeout, message).into_response()
        }
    }
}
