//! Lease renewal and release.

use axum::Json;
use axum::extract::State;
use guildhall_domain::ids::RunId;
use guildhall_protocol::rest::access::projects::ProjectSetupView;
use guildhall_protocol::rest::runners::{ChangeLease, GrantView, LeaseChangedView};
use guildhall_service::runners::leases::LeaseGrant;
use secrecy::ExposeSecret;

use super::grant_for;
use crate::App;
use crate::edge::caller::RunHolder;
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
    RunHolder(token): RunHolder,
    PathIds(run): PathIds<RunId>,
    Body(body): Body<ChangeLease>,
) -> Result<Json<LeaseChangedView>, ApiError> {
    let grant = grant_for(&token, run)?;
    if body.release {
        app.runners.leases.release(grant).await?;
        return Ok(Json(LeaseChangedView { released: true, grant: None }));
    }
    let renewed = app.runners.leases.renew(grant).await?;
    Ok(Json(LeaseChangedView { released: false, grant: Some(view(&app, renewed).await?) }))
}

pub(super) async fn view(app: &App, granted: LeaseGrant) -> Result<GrantView, ApiError> {
    Ok(GrantView {
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
        recovered_from: granted.recovered_from.map(|runner| runner.to_string()),
        run: run_view(&app.runs.runs.view(granted.run).await?),
    })
}
