//! The routes of runners. They take enrolment tokens and run tokens, and nobody else's.

pub(crate) mod commands;
mod enrolments;
pub(crate) mod events;
mod jobs;
pub(crate) mod lease;
pub(crate) mod register;
pub(crate) mod status;
pub(crate) mod whoami;

use std::time::Duration;

use guildhall_domain::ids::RunId;
use guildhall_domain::runners::enrolment::RunGrant;
use guildhall_service::ServiceError;
use guildhall_service::runners::tokens::Held;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::edge::error::ApiError;

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

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(enrolments::create, enrolments::list))
        .routes(routes!(enrolments::revoke))
        .routes(routes!(whoami::enrolment))
        .routes(routes!(whoami::grant))
        .routes(routes!(jobs::create, jobs::list))
        .routes(routes!(jobs::show))
        .routes(routes!(register::register))
        .routes(routes!(lease::claim))
        .routes(routes!(lease::claim_next))
        .routes(routes!(lease::change))
        .routes(routes!(status::end_run))
        .routes(routes!(commands::ack))
        .routes(routes!(status::end_command))
}
