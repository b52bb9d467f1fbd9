//! Routes for runners (with enrolment tokens and run tokens) and for their administrators.

mod attachments;
pub(crate) mod bundles;
mod claims;
pub(crate) mod commands;
pub(crate) mod diffs;
mod enrolments;
pub(crate) mod events;
mod jobs;
mod leases;
mod registrations;
pub(crate) mod status;
mod tokens;

use guildhall_domain::ids::RunId;
use guildhall_domain::runners::enrolment::RunGrant;
use guildhall_service::ServiceError;
use guildhall_service::runners::tokens::VerifiedRunToken;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::edge::error::ApiError;

/// Returns the grant of a run token for the run in the path. Other runs do not exist for it.
pub(super) fn grant_for(token: &VerifiedRunToken, run: RunId) -> Result<&RunGrant, ApiError> {
    if token.grant.run == run { Ok(&token.grant) } else { Err(ServiceError::NOT_FOUND.into()) }
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(enrolments::create, enrolments::list))
        .routes(routes!(enrolments::revoke))
        .routes(routes!(tokens::enrolment))
        .routes(routes!(tokens::grant))
        .routes(routes!(jobs::create, jobs::list))
        .routes(routes!(jobs::get))
        .routes(routes!(registrations::register))
        .routes(routes!(registrations::list))
        .routes(routes!(registrations::get))
        .routes(routes!(registrations::drain))
        .routes(routes!(claims::claim))
        .routes(routes!(claims::claim_next))
        .routes(routes!(attachments::get))
        .routes(routes!(leases::update))
        .routes(routes!(status::end_run))
        .routes(routes!(commands::acknowledge))
        .routes(routes!(status::end_command))
}
