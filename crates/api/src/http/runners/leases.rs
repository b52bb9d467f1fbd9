//! Lease renewal and release.

use axum::Json;
use axum::extract::State;
use guildhall_domain::ids::RunId;
use guildhall_protocol::rest::access::projects::ProjectSetupView;
use guildhall_protocol::rest::runners::{ChangeLease, GrantView, LeaseChangedView};
use guildhall_service::ServiceError;
use guildhall_service::runners::leases::LeaseGrant;
use secrecy::ExposeSecret;

use crate::App;
use crate::edge::caller::SignedRunHolder;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds};
use crate::http::responses::CommonErrors;
use crate::http::runs::view as run_view;

/// Renew or release a lease
///
/// Requires a run token.
#[utoipa::path(
    patch, path = "/api/v1/runs/{run}/lease", tag = "runners", operation_id = "updateLease",
    security(("bearer" = [])), params(("run" = String, Path, description = "Run id")), request_body = ChangeLease,
    responses((status = 200, description = "Renewed or released", body = LeaseChangedView), CommonErrors)
)]
pub(crate) async fn update(
    State(app): State<App>,
    SignedRunHolder(token): SignedRunHolder,
    PathIds(run): PathIds<RunId>,
    Body(body): Body<ChangeLease>,
) -> Result<Json<LeaseChangedView>, ApiError> {
    if token.run() != run {
        return Err(ServiceError::NOT_FOUND.into());
    }
    if body.release {
        app.runners.leases.release(&token).await?;
        return Ok(Json(LeaseChangedView { released: true, grant: None }));
    }
    let renewed = app.runners.leases.renew(&token).await?;
    Ok(Json(LeaseChangedView { released: false, grant: Some(view(renewed)) }))
}

pub(super) fn view(granted: LeaseGrant) -> GrantView {
    GrantView {
        run_token: granted.token.token.expose_secret().to_owned(),
        token_expires_at: granted.token.expires_at,
        epoch: granted.grant.epoch.get(),
        runner_id: granted.grant.runner.to_string(),
        lease_expires_at: granted.lease_expires_at,
        lease_ms: u64::try_from(granted.hold.as_millis()).unwrap_or(u64::MAX),
        thread_id: granted.thread_id,
        storage_kind: granted.storage.to_string(),
        directories: granted.directories.map(Vec::from),
        setup: granted.setup.map(ProjectSetupView::from),
        instructions: granted.instructions,
        recovered_from: granted.recovered_from.map(|runner| runner.to_string()),
        run: run_view(&granted.run),
    }
}
