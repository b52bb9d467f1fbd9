//! AIDs, their certificates, and what everybody may read about them.

mod aids;
mod gateways;
mod pki;
mod transparency;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(aids::create, aids::list))
        .routes(routes!(aids::get))
        .routes(routes!(aids::renew))
        .routes(routes!(aids::revoke))
        .routes(routes!(aids::reserve))
        .routes(routes!(gateways::list))
        .routes(routes!(pki::certificate))
        .routes(routes!(pki::chain))
        .routes(routes!(pki::root))
        .routes(routes!(pki::revocation_list))
        .routes(routes!(pki::ocsp))
        .routes(routes!(pki::trusted_roots))
        .routes(routes!(pki::trusted_roots_of_issuer))
        .routes(routes!(pki::trust_authority))
        .routes(routes!(transparency::head))
        .routes(routes!(transparency::entries))
        .routes(routes!(transparency::entry))
        .routes(routes!(transparency::certificate_entry))
        .routes(routes!(transparency::inclusion_proof))
        .routes(routes!(transparency::consistency_proof))
}
