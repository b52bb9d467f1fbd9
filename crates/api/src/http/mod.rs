//! REST routes, one module a resource.

mod answers;
mod audit;
mod auth;
mod backends;
mod browser_session;
mod capabilities;
mod commands;
mod enrolments;
mod events;
mod health;
mod invitations;
mod keys;
mod metrics;
mod oidc;
mod pages;
mod profiles;
mod projects;
mod results;
mod runner;
mod runner_jobs;
mod runs;
mod session_storage;
mod sessions;
mod subject_tokens;
mod tenants;
mod users;

use axum::Router;
use utoipa::OpenApi;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::layers::apply;
use crate::{App, error::ApiError};

#[derive(OpenApi)]
#[openapi(info(
    title = "Guildhall",
    description = "The control plane for AI agents: find, trust, talk to, work with and run them.",
    license(name = "Apache-2.0", identifier = "Apache-2.0")
), modifiers(&Credentials))]
struct Document;

/// Says how a caller proves who they are.
struct Credentials;

impl utoipa::Modify for Credentials {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("bearer", scheme);
        let cookie = ApiKeyValue::new(crate::cookies::SESSION);
        components.add_security_scheme("session", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    }
}

/// Returns every route, behind every layer.
pub(crate) fn router(app: App) -> Router {
    let (router, document) = documented().split_for_parts();
    let router = router.route("/metrics", axum::routing::get(metrics::show)).with_state(app.clone());
    let router = router.merge(pages::router(document)).fallback(no_such_address);
    apply(router, &app)
}

/// Returns the API document, as committed under `schemas/`.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    documented().split_for_parts().1
}

fn documented() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(health::show))
        .routes(routes!(health::live))
        .routes(routes!(health::readiness))
        .routes(routes!(capabilities::show))
        .routes(routes!(auth::login))
        .routes(routes!(browser_session::create, browser_session::show))
        .routes(routes!(auth::refresh))
        .routes(routes!(auth::logout))
        .routes(routes!(oidc::start))
        .routes(routes!(oidc::callback))
        .routes(routes!(oidc::exchange))
        .routes(routes!(auth::whoami))
        .routes(routes!(auth::jwks))
        .routes(routes!(users::create))
        .routes(routes!(tenants::create, tenants::list))
        .routes(routes!(tenants::show))
        .routes(routes!(tenants::members))
        .routes(routes!(tenants::set_member, tenants::remove_member))
        .routes(routes!(invitations::create, invitations::list))
        .routes(routes!(invitations::revoke))
        .routes(routes!(invitations::accept))
        .routes(routes!(keys::create, keys::list))
        .routes(routes!(keys::revoke))
        .routes(routes!(projects::create, projects::list))
        .routes(routes!(projects::show))
        .routes(routes!(enrolments::create, enrolments::list))
        .routes(routes!(enrolments::revoke))
        .routes(routes!(runner::whoami::enrolment))
        .routes(routes!(runner::whoami::grant))
        .routes(routes!(subject_tokens::mint))
        .routes(routes!(runs::create, runs::list))
        .routes(routes!(runs::show))
        .routes(routes!(runs::cancel))
        .routes(routes!(events::page, runner::events::append))
        .routes(routes!(events::follow))
        .routes(routes!(events::erase))
        .routes(routes!(results::of_run))
        .routes(routes!(commands::create, runner::commands::poll))
        .routes(routes!(commands::show))
        .routes(routes!(results::of_command))
        .routes(routes!(commands::cancel))
        .merge(sessions())
        .routes(routes!(backends::list))
        .routes(routes!(audit::page))
        .routes(routes!(audit::page_of_installation))
        .routes(routes!(audit::follow))
        .merge(profiles())
        .merge(runners())
}

/// What starts runners, and what they come for.
fn runners() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(runner_jobs::create, runner_jobs::list))
        .routes(routes!(runner_jobs::show))
        .routes(routes!(runner::register::register))
        .routes(routes!(runner::lease::claim))
        .routes(routes!(runner::lease::claim_next))
        .routes(routes!(runner::lease::change))
        .routes(routes!(runner::status::end_run))
        .routes(routes!(runner::commands::ack))
        .routes(routes!(runner::status::end_command))
}

fn sessions() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(sessions::list, session_storage::create))
        .routes(routes!(sessions::show))
        .routes(routes!(sessions::trace))
        .routes(routes!(sessions::output))
        .routes(routes!(sessions::follow))
        .routes(routes!(sessions::read))
        .routes(routes!(sessions::control))
        .routes(routes!(session_storage::show, session_storage::evict))
        .routes(routes!(session_storage::refresh))
}

fn profiles() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(profiles::list))
        .routes(routes!(profiles::show, profiles::remove))
        .routes(routes!(profiles::set_credential))
        .routes(routes!(profiles::validate))
        .routes(routes!(profiles::validation))
}

/// The address is not repeated: it may hold what belongs into a header, and these words go to the log too.
async fn no_such_address() -> ApiError {
    ApiError::new(
        guildhall_domain::FailureKind::NotFound,
        "no such address; GET /openapi.json lists what there is",
    )
}
