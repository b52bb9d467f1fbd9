use std::any::Any;

use axum::body::Body;
use axum::http::Response;
use axum::response::IntoResponse;
use guildhall_domain::FailureKind;
use metrics::counter;

use crate::edge::error::ApiError;

#[derive(Debug, thiserror::Error)]
#[error("a handler panicked: {0}")]
struct Panicked(String);

/// Answers for a handler that panicked. The words of the panic go to the log, never to the caller.
pub(super) fn answer(panic: Box<dyn Any + Send>) -> Response<Body> {
    let words = panic
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no words");
    counter!("guildhall_http_panics_total").increment(1);
    ApiError::new(FailureKind::Internal, "the server failed; its log says why under the trace id")
        .because(Panicked(words.to_owned()))
        .into_response()
}
