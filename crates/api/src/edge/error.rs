//! From a failure to an answer.
//!
//! A handler returns [`ApiError`]; it travels inside the response as an extension, and the outermost layer writes
//! the body, because only there the trace id is known and only there it is logged, once.

use std::error::Error;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use guildhall_domain::{Failure, FailureKind};
use guildhall_service::ServiceError;

/// A failure on its way out, with the cause that only the log sees.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    pub(crate) failure: Failure,
    pub(crate) cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl ApiError {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { failure: Failure::new(kind, message), cause: None }
    }

    pub(crate) fn because(mut self, cause: impl Error + Send + Sync + 'static) -> Self {
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

pub(crate) fn status_of(kind: FailureKind) -> StatusCode {
    StatusCode::from_u16(kind.row().http_status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
