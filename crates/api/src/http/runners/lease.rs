//! Claiming a run, and holding it.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use guildhall_domain::ids::RunId;
use guildhall_protocol::rest::runners::{
    ChangeLease, ClaimNext, ClaimRun, ClaimedView, GrantView, LeaseChangedView,
};
use guildhall_service::runners::{Grant, Waits};
use secrecy::ExposeSecret;

use super::{held, longest_wait};
use crate::App;
use crate::edge::caller::{Enrolled, Holding};
use crate::edge::error::ApiError;
use crate::edge::input::{Body, Ids, parse};
use crate::http::answers::Usual;
use crate::http::runs::view as run_view;

/// Claim a run
///
/// With an enrolment token. One runner gets it; the others get `runner-lease-conflict` with `owner` and
/// `leaseExpiresAt`. The answer's token is for this run and this epoch alone.
#[utoipa::path(
    post, path = "/api/v1/runs/{run}/claim", tag = "runners", operation_id = "claimRun", security(("bearer" = [])),
    params(("run" = String, Path, description = "A run's id")), request_body = ClaimRun,
    responses((status = 200, description = "Yours", body = GrantView), Usual)
)]
pub(crate) async fn claim(
    State(app): State<App>,
    Enrolled(enrolment): Enrolled,
    Ids(run): Ids<RunId>,
    Body(body): Body<ClaimRun>,
) -> Result<Json<GrantView>, ApiError> {
    let runner = parse("runnerId", &body.runner_id)?;
    let waits = if body.wait { Waits::Yes } else { Waits::No };
    let grant = app.runners.claim(&enrolment, run, runner, waits).await?;
    Ok(Json(view(&app, grant).await?))
}

/// Claim the run that has waited longest
///
/// With an enrolment token. Waits until there is one for the profiles that the runner registered with.
#[utoipa::path(
    post, path = "/api/v1/runners/claim", tag = "runners", operation_id = "claimNextRun", security(("bearer" = [])),
    request_body = ClaimNext,
    responses((status = 200, description = "Yours, or nothing to do yet", body = ClaimedView), Usual)
)]
pub(crate) async fn claim_next(
    State(app): State<App>,
    Enrolled(enrolment): Enrolled,
    Body(body): Body<ClaimNext>,
) -> Result<Json<ClaimedView>, ApiError> {
    let runner = parse("runnerId", &body.runner_id)?;
    let wait = Duration::from_millis(body.wait).min(longest_wait(&app));
    let claimed = tokio::select! {
        claimed = app.runners.claim_next(&enrolment, runner, wait) => claimed?,
        // The door closes: the runner asks another replica.
        () = app.closing.cancelled() => None,
    };
    let grant = match claimed {
        Some(grant) => Some(view(&app, grant).await?),
        None => None,
    };
    Ok(Json(ClaimedView { grant }))
}

/// Renew a lease, or give the run back
#[utoipa::path(
    patch, path = "/api/v1/runs/{run}/lease", tag = "runners", operation_id = "changeLease",
    security(("bearer" = [])), params(("run" = String, Path, description = "A run's id")), request_body = ChangeLease,
    responses((status = 200, description = "Renewed or given back", body = LeaseChangedView), Usual)
)]
pub(crate) async fn change(
    State(app): State<App>,
    Holding(holding): Holding,
    Ids(run): Ids<RunId>,
    Body(body): Body<ChangeLease>,
) -> Result<Json<LeaseChangedView>, ApiError> {
    let grant = held(&holding, run)?;
    if body.release {
        app.runners.release(grant).await?;
        return Ok(Json(LeaseChangedView { released: true, grant: None }));
    }
    let renewed = app.runners.renew(grant).await?;
    Ok(Json(LeaseChangedView { released: false, grant: Some(view(&app, renewed).await?) }))
}

async fn view(app: &App, given: Grant) -> Result<GrantView, ApiError> {
    Ok(GrantView {
        run_token: given.token.token.expose_secret().to_owned(),
        token_expires_at: given.token.expires_at,
        epoch: given.grant.epoch.get(),
        runner_id: given.grant.runner.to_string(),
        lease_expires_at: given.lease_expires_at,
        lease_ms: u64::try_from(given.hold.as_millis()).unwrap_or(u64::MAX),
        thread_id: given.thread_id,
        storage_kind: given.storage.to_string(),
        recovered_from: given.recovered_from.map(|runner| runner.to_string()),
        run: run_view(&app.runners.view(given.run).await?),
    })
}
