//! The API document, and a page to browse it.

use axum::Router;
use utoipa::openapi::OpenApi;
use utoipa_swagger_ui::{Config, SwaggerUi};

pub(super) fn router(document: OpenApi) -> Router {
    // No online validator: the page must work without network access.
    let config = Config::new(["/openapi.json"]).validator_url("none");
    SwaggerUi::new("/docs").config(config).url("/openapi.json", document).into()
}
