//! REST routes, one module per resource.

mod access;
mod agents;
mod approvals;
mod error_page;
mod front;
mod headers;
mod identity;
mod ops;
mod pages;
mod profiles;
mod relations;
mod responses;
mod retention;
mod runners;
mod runs;
mod sessions;
mod stream_frames;
mod webhooks;

use axum::Router;
use utoipa::OpenApi;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;

use crate::App;
use crate::edge::error::ApiError;
use crate::edge::layers::apply;

#[derive(OpenApi)]
#[openapi(info(
    title = "Guildhall",
    description = "The API of Guildhall, a control plane for AI agents.",
    license(name = "Apache-2.0", identifier = "Apache-2.0")
), modifiers(&SecuritySchemes))]
struct Document;

/// Adds the security schemes to the API document.
struct SecuritySchemes;

impl utoipa::Modify for SecuritySchemes {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("bearer", scheme);
        let cookie = ApiKeyValue::new(crate::edge::cookies::SESSION);
        components.add_security_scheme("session", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    }
}

/// Returns all routes with all layers.
pub(crate) fn router(app: App) -> Router {
    let (router, document) = routes_and_document();
    let router = router
        .route("/metrics", axum::routing::get(ops::metrics::get))
        .merge(crate::rpc::routes())
        .merge(access::pages())
        .merge(approvals::pages())
        .merge(relations::pages());
    let router = router.with_state(app.clone());
    let router = router.merge(pages::router(document)).fallback(not_found);
    apply(router, &app)
}

/// Returns the API document, as committed under `schemas/`.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    routes_and_document().1
}

fn routes_and_document() -> (Router<App>, utoipa::openapi::OpenApi) {
    let (router, mut document) = documented().split_for_parts();
    stream_frames::declare(&mut document);
    headers::declare(&mut document);
    (router, document)
}

fn documented() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Document::openapi())
        .merge(ops::routes())
        .merge(access::routes())
        .merge(agents::routes())
        .merge(approvals::routes())
        .merge(front::routes())
        .merge(identity::routes())
        .merge(runs::routes())
        .merge(sessions::routes())
        .merge(profiles::routes())
        .merge(relations::routes())
        .merge(runners::routes())
        .merge(webhooks::routes())
        .merge(retention::routes())
}

/// Does not repeat the address, which may contain a secret: the message is logged.
async fn not_found() -> ApiError {
    ApiError::new(
        guildhall_domain::FailureKind::NotFound,
        "no such route; GET /openapi.json lists the routes",
    )
}
