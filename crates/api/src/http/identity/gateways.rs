//! Where clients of AUN find the socket.

use axum::Json;
use axum::extract::State;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::identity::{GatewayView, GatewaysView};
use guildhall_service::ServiceError;

use crate::App;
use crate::edge::error::ApiError;

/// List the gateways of the issuer
///
/// Clients of AUN ask for it at the host of an AID, or at `gateway.{issuer}`.
#[utoipa::path(
    get, path = "/.well-known/aun-gateway", tag = "pki", operation_id = "listGateways",
    responses(
        (status = 200, description = "The gateways", body = GatewaysView),
        (status = 404, description = "The server is not an issuer", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn list(State(app): State<App>) -> Result<Json<GatewaysView>, ApiError> {
    let url = app.gateway_url.clone().ok_or(ServiceError::NOT_FOUND)?;
    Ok(Json(GatewaysView { gateways: vec![GatewayView { url, priority: 1 }] }))
}
