//! Backends of runs.

use axum::Json;
use axum::extract::State;
use guildhall_protocol::rest::sessions::{BackendView, BackendsView};

use crate::App;
use crate::edge::caller::AuthenticatedCaller;
use crate::edge::error::ApiError;
use crate::http::responses::CommonErrors;

/// List the available backends
#[utoipa::path(
    get, path = "/api/v1/backends", tag = "runs", operation_id = "listBackends", security(("bearer" = [])),
    responses((status = 200, description = "The backends and their features, by profile", body = BackendsView), CommonErrors)
)]
pub(crate) async fn list(
    State(app): State<App>,
    _: AuthenticatedCaller,
) -> Result<Json<BackendsView>, ApiError> {
    let backends = app.runs.backends.list().into_iter().map(|backend| BackendView {
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
