//! Ids that clients choose.

use guildhall_domain::FailureKind;
use guildhall_domain::front::external_id::ExternalId;
use guildhall_service::ServiceError;

use crate::edge::error::ApiError;

/// Reads the client's id of something that exists. A text that cannot be an id names nothing.
pub(super) fn known_id(text: &str) -> Result<ExternalId, ServiceError> {
    text.parse().map_err(|_| ServiceError::NOT_FOUND)
}

/// Reads the id that the client chooses for something new.
pub(super) fn new_id(name: &str, text: &str) -> Result<ExternalId, ApiError> {
    text.parse().map_err(|error| ApiError::new(FailureKind::InvalidInput, format!("{name} {error}")))
}
