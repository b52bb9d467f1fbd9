use std::any::Any;

use axum::body::Body;
use axum::http::Response;
use axum::response::IntoResponse;
use guildhall_domain::FailureKind;
use metrics::counter;

use crate::edge::error::ApiError;

#[derive(Debug, thiserror::Error)]
#[error("a handler panicked: {0}")]
struct HandlerPanic(String);

/// Returns the response for a handler that panicked. The panic message is logged and not sent.
pub(super) fn to_response(panic: Box<dyn Any + Send>) -> Response<Body> {
    let message = panic
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    counter!("guildhall_http_panics_total").increment(1);
    ApiError::new(FailureKind::Internal, "internal server error; search the server's log for the trace id")
        .with_cause(HandlerPanic(message.to_owned()))
        .into_response()
}
