//! The backends that runs may name.

use axum::Json;
use axum::extract::State;
use guildhall_protocol::rest::sessions::{BackendView, BackendsView};

use crate::App;
use crate::edge::caller::Asking;
use crate::edge::error::ApiError;
use crate::http::answers::Usual;

/// The backends that runs may name, and what each can do
#[utoipa::path(
    get, path = "/api/v1/backends", tag = "runs", operation_id = "listBackends", security(("bearer" = [])),
    responses((status = 200, description = "By profile", body = BackendsView), Usual)
)]
pub(crate) async fn list(State(app): State<App>, _asking: Asking) -> Result<Json<BackendsView>, ApiError> {
    let backends = app.runs.backends().into_iter().map(|backend| BackendView {
        profile: backend.profile.to_owned(),
        backend_kind: backend.kind.to_owned(),
        protocol: backend.protocol.to_owned(),
        transport: backend.transport.to_owned(),
        command_types: backend.commands.iter().map(|kind| kind.to_string()).collect(),
        required_secret_keys: backend.secret_keys.iter().map(|key| (*key).to_owned()).collect(),
        unavailable: backend.unavailable.map(str::to_owned),
    });
    Ok(Json(BackendsView { backends: backends.collect() }))
}
