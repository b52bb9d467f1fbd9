//! The public keys that verify access tokens.

use axum::Json;
use axum::extract::State;

use crate::App;

/// Get the public keys that verify access tokens (JWKS)
#[utoipa::path(
    get, path = "/.well-known/jwks.json", tag = "auth", operation_id = "getJwks",
    responses((status = 200, description = "The JWK set", body = serde_json::Value))
)]
pub(crate) async fn jwks(State(app): State<App>) -> Json<serde_json::Value> {
    Json(app.access.signing.public_jwks())
}
