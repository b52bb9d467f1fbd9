//! The routes of runners. They take enrolment tokens and run tokens, and nobody else's.

pub(super) mod commands;
pub(super) mod events;
pub(super) mod lease;
pub(super) mod register;
pub(super) mod status;
pub(super) mod whoami;

use guildhall_domain::ids::RunId;
use guildhall_domain::runner::RunGrant;
use guildhall_service::ServiceError;
use guildhall_service::runner_tokens::Held;

use crate::error::ApiError;

/// Returns the grant of a runner for the run in the path. Another run does not exist for it.
fn held(holding: &Held, run: RunId) -> Result<&RunGrant, ApiError> {
    if holding.grant.run == run { Ok(&holding.grant) } else { Err(ServiceError::NOT_FOUND.into()) }
}
