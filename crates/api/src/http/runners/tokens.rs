//! The token of a runner, for the runner itself.

use axum::Json;
use guildhall_domain::access::principal::Slug;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::runners::whoami::{OwnEnrolmentView, OwnGrantView};
use guildhall_service::runners::tokens::VerifiedRunToken;

use crate::edge::caller::{EnrolledRunner, RunHolder};
use crate::edge::error::ApiError;

/// Get the enrolment of the caller's token
///
/// Requires an enrolment token. Runners call it before they register.
#[utoipa::path(
    get, path = "/api/v1/runner/enrolment", tag = "runner", operation_id = "getOwnEnrolment",
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The enrolment, with what may be claimed", body = OwnEnrolmentView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn enrolment(
    EnrolledRunner(enrolment): EnrolledRunner,
) -> Result<Json<OwnEnrolmentView>, ApiError> {
    Ok(Json(OwnEnrolmentView {
        id: enrolment.id.to_string(),
        tenant: enrolment.tenant.map(|tenant| tenant.to_string()),
        profile: enrolment.profile.map(Slug::into),
        run: enrolment.run.map(|run| run.to_string()),
        expires_at: enrolment.expires_at,
    }))
}

/// Get the grant of the caller's token
///
/// Requires a run token. Does not check whether the lease is still held; the next write does.
#[utoipa::path(
    get, path = "/api/v1/runner/grant", tag = "runner", operation_id = "getOwnGrant", security(("bearer" = [])),
    responses(
        (status = 200, description = "The run and the epoch of its lease", body = OwnGrantView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn grant(RunHolder(token): RunHolder) -> Result<Json<OwnGrantView>, ApiError> {
    let VerifiedRunToken { grant, expires_at } = token;
    Ok(Json(OwnGrantView {
        run: grant.run.to_string(),
        epoch: grant.epoch.get(),
        runner: grant.runner.to_string(),
        tenant: grant.tenant.to_string(),
        expires_at,
    }))
}
