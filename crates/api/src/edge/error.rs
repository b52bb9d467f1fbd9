//! Errors of handlers.
//!
//! A handler returns [`ApiError`], which is stored as an extension of the response. The outermost layer, which knows
//! the trace id, writes the body and logs the error once.

use std::error::Error;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use guildhall_domain::{Failure, FailureKind};
use guildhall_service::ServiceError;
use tracing::{debug, error, warn};

/// The failure for the response, and its cause for the log. Public because extractors of public types reject with it.
#[derive(Debug, Clone)]
pub struct ApiError {
    pub(crate) failure: Failure,
    pub(crate) cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl ApiError {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { failure: Failure::new(kind, message), cause: None }
    }

    /// Logs the error with its cause. `request` names what was asked for, without what a caller sent.
    pub(crate) fn log(&self, trace_id: &str, request: &str) {
        let (kind, message) = (self.failure.kind, &self.failure.message);
        let cause = self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static));
        match kind.row().http_status {
            500 => error!(failure.kind = %kind, trace.id = trace_id, error = cause, "{request}: {message}"),
            501.. => warn!(failure.kind = %kind, trace.id = trace_id, error = cause, "{request}: {message}"),
            _ => debug!(failure.kind = %kind, trace.id = trace_id, "{request}: {message}"),
        }
    }

    pub(crate) fn with_cause(mut self, cause: impl Error + Send + Sync + 'static) -> Self {
        self.cause = Some(Arc::new(cause));
        self
    }
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        Self { failure, cause: None }
    }
}

impl From<ServiceError> for ApiError {
    fn from(error: ServiceError) -> Self {
        Self { failure: error.failure(), cause: Some(Arc::new(error)) }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = status_of(self.failure.kind).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// An error whose response is an HTML page. The outermost layer logs it and leaves the body.
#[derive(Debug, Clone)]
pub(crate) struct ErrorPage(pub(crate) ApiError);

pub(crate) fn status_of(kind: FailureKind) -> StatusCode {
    StatusCode::from_u16(kind.row().http_status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
