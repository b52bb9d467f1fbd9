//! Why a call fails.

use guildhall_domain::Failure;
use guildhall_protocol::rpc::RpcError;
use guildhall_service::ServiceError;

use crate::edge::error::ApiError;

/// An error of a handler: of a service, or of the protocol itself.
pub(super) enum CallError {
    Failed(ApiError),
    Rpc(Box<RpcError>),
}

impl From<RpcError> for CallError {
    fn from(error: RpcError) -> Self {
        Self::Rpc(Box::new(error))
    }
}

impl From<ServiceError> for CallError {
    fn from(error: ServiceError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<ApiError> for CallError {
    fn from(error: ApiError) -> Self {
        Self::Failed(error)
    }
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure.into())
    }
}
