//! The routes of runners. They take enrolment tokens and run tokens, and nobody else's.

pub(super) mod commands;
pub(super) mod events;
pub(super) mod lease;
pub(super) mod register;
pub(super) mod status;
pub(super) mod whoami;

use std::time::Duration;

use guildhall_domain::ids::RunId;
use guildhall_domain::runner::RunGrant;
use guildhall_service::ServiceError;
use guildhall_service::runner_tokens::Held;

use crate::App;
use crate::error::ApiError;

/// Returns the grant of a runner for the run in the path. Another run does not exist for it.
fn held(holding: &Held, run: RunId) -> Result<&RunGrant, ApiError> {
    if holding.grant.run == run { Ok(&holding.grant) } else { Err(ServiceError::NOT_FOUND.into()) }
}

/// An answer leaves this long before the server's own time limit.
const ANSWER_BEFORE: Duration = Duration::from_secs(1);

/// Returns how long a request of a runner may wait.
fn longest_wait(app: &App) -> Duration {
    app.limits.request_timeout.saturating_sub(ANSWER_BEFORE)
}
