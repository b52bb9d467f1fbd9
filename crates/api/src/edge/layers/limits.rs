//! Bounds on time and on concurrent work.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use guildhall_domain::FailureKind;
use metrics::counter;
use tokio::sync::Semaphore;

use crate::edge::error::ApiError;

/// Probes and metrics pass a full gate: that is when they are needed most.
const ALWAYS_OPEN: [&str; 3] = ["/health/live", "/health/readiness", "/metrics"];

/// Lets so many requests in at once.
#[derive(Debug, Clone)]
pub(super) struct Gate(Arc<Semaphore>);

impl Gate {
    pub(super) fn new(concurrent: usize) -> Self {
        Self(Arc::new(Semaphore::new(concurrent)))
    }
}

/// Refuses what is over the limit at once: a queue would only hide the overload.
pub(super) async fn overload(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    if ALWAYS_OPEN.contains(&request.uri().path()) {
        return next.run(request).await;
    }
    let Ok(_place) = gate.0.try_acquire() else {
        counter!("guildhall_http_overloads_total").increment(1);
        let message = "the server works on as many requests as it can; try again in a moment";
        return ApiError::new(FailureKind::Overloaded, message).into_response();
    };
    next.run(request).await
}

/// Answers for a handler that takes too long. What it began is dropped, and with it its transaction.
pub(super) async fn time(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let message = format!("no answer within {} ms", limit.as_millis());
            ApiError::new(FailureKind::Timeout, message).into_response()
        }
    }
}
