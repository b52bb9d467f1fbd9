//! Backends of runs.

use axum::Json;
use axum::extract::State;
use guildhall_domain::access::role::rights::TenantRead;
use guildhall_protocol::rest::sessions::{BackendView, BackendsQuery, BackendsView};
use guildhall_service::ServiceError;

use crate::App;
use crate::edge::caller::PendingAuthorization;
use crate::edge::error::ApiError;
use crate::edge::input::ValidatedQuery;
use crate::http::responses::CommonErrors;

/// List the available backends
///
/// The built-in profiles and the stored ones. Without a tenant, the profiles that the operator shares with all tenants.
#[utoipa::path(
    get, path = "/api/v1/backends", tag = "runs", operation_id = "listBackends", security(("bearer" = [])),
    params(BackendsQuery),
    responses((status = 200, description = "The backends and their features, by profile", body = BackendsView), CommonErrors)
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: PendingAuthorization<TenantRead>,
    ValidatedQuery(query): ValidatedQuery<BackendsQuery>,
) -> Result<Json<BackendsView>, ApiError> {
    let caller = match query.tenant_id.as_deref() {
        Some(tenant) => Some(caller.in_tenant(&app, tenant).await?),
        None if caller.is_subject() => return Err(ServiceError::NOT_FOUND.into()),
        // A service key belongs to one tenant; other callers see the shared profiles.
        None => caller.in_tenant_of_key().ok(),
    };
    let backends = app.runs.backends.list(caller.as_ref()).await?.into_iter().map(|backend| BackendView {
        profile: backend.profile.to_string(),
        backend_kind: backend.features.kind.to_owned(),
        protocol: backend.features.protocol.to_owned(),
        transport: backend.features.transport.to_owned(),
        command_types: backend.features.commands.iter().map(|kind| kind.to_string()).collect(),
        required_secret_keys: backend.features.secret_keys.iter().map(|key| (*key).to_owned()).collect(),
        configured: backend.configured,
        unavailable: backend.unavailable.map(str::to_owned),
    });
    Ok(Json(BackendsView { backends: backends.collect() }))
}
