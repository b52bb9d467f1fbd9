//! Run claims.

use axum::Json;
use axum::extract::State;
use guildhall_domain::ids::RunId;
use guildhall_protocol::rest::runners::{ClaimNext, ClaimRun, ClaimedView, GrantView};
use guildhall_service::runners::claims::ClaimRetry;

use super::leases::view;
use crate::App;
use crate::edge::caller::{EnrolledRunner, EnrolmentBearer};
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, parse};
use crate::edge::long_poll::LongPoll;
use crate::http::responses::CommonErrors;

/// Claim a run
///
/// Requires an enrolment token. Only one runner gets the run; the others get `runner-lease-conflict` with `owner` and
/// `leaseExpiresAt`. The returned run token is valid for this run and this epoch only.
#[utoipa::path(
    post, path = "/api/v1/runs/{run}/claim", tag = "runners", operation_id = "claimRun", security(("bearer" = [])),
    params(("run" = String, Path, description = "Run id")), request_body = ClaimRun,
    responses((status = 200, description = "Claimed", body = GrantView), CommonErrors)
)]
pub(crate) async fn claim(
    State(app): State<App>,
    EnrolledRunner(enrolment): EnrolledRunner,
    PathIds(run): PathIds<RunId>,
    Body(body): Body<ClaimRun>,
) -> Result<Json<GrantView>, ApiError> {
    let runner = parse("runnerId", &body.runner_id)?;
    let retry = if body.wait { ClaimRetry::WhenLeaseEnds } else { ClaimRetry::No };
    let grant = app.runners.claims.claim(&enrolment, run, runner, retry).await?;
    Ok(Json(view(grant)))
}

/// Claim the next waiting run
///
/// Requires an enrolment token. Claims the oldest waiting run for the profiles that the runner registered with.
/// Long-polls up to `wait` milliseconds.
#[utoipa::path(
    post, path = "/api/v1/runners/claim", tag = "runners", operation_id = "claimNextRun", security(("bearer" = [])),
    request_body = ClaimNext,
    responses((status = 200, description = "The claimed run, or no grant if none is waiting", body = ClaimedView), CommonErrors)
)]
pub(crate) async fn claim_next(
    State(app): State<App>,
    EnrolmentBearer(bearer): EnrolmentBearer,
    long_poll: LongPoll,
    Body(body): Body<ClaimNext>,
) -> Result<Json<ClaimedView>, ApiError> {
    let runner = parse("runnerId", &body.runner_id)?;
    let waiting = long_poll.begin(&app, body.wait)?;
    let claimed = tokio::select! {
        claimed = app.runners.claims.claim_next(&bearer, runner, waiting.wait) => claimed?,
        // The server stops accepting: the runner asks another replica.
        () = app.closing.cancelled() => None,
    };
    let (grant, waited) = claimed.unzip();
    let waited_ms = waited.map_or(0, |waited| u64::try_from(waited.as_millis()).unwrap_or(0));
    Ok(Json(ClaimedView { grant: grant.map(view), waited_ms }))
}
