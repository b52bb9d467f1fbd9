//! Health, capabilities and metrics.

mod capabilities;
mod health;
pub(crate) mod metrics;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(health::get))
        .routes(routes!(health::live))
        .routes(routes!(health::readiness))
        .routes(routes!(capabilities::get))
}
