//! What a runner's own token says.

use axum::Json;
use guildhall_domain::access::principal::Slug;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::runners::whoami::{OwnEnrolmentView, OwnGrantView};
use guildhall_service::runners::tokens::Held;

use crate::edge::caller::{Enrolled, Holding};
use crate::edge::error::ApiError;

/// The enrolment that a runner came with
///
/// For enrolment tokens. A runner asks before it registers.
#[utoipa::path(
    get, path = "/api/v1/runner/enrolment", tag = "runner", operation_id = "showOwnEnrolment",
    security(("bearer" = [])),
    responses(
        (status = 200, description = "What may be claimed with it", body = OwnEnrolmentView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn enrolment(Enrolled(enrolment): Enrolled) -> Result<Json<OwnEnrolmentView>, ApiError> {
    Ok(Json(OwnEnrolmentView {
        id: enrolment.id.to_string(),
        tenant: enrolment.tenant.map(|tenant| tenant.to_string()),
        profile: enrolment.profile.map(Slug::into),
        pool: enrolment.pool.map(Slug::into),
        run: enrolment.run.map(|run| run.to_string()),
        expires_at: enrolment.expires_at,
    }))
}

/// The run that a runner's token is for
///
/// For run tokens. It says what was granted; whether the lease still holds is said by the next write.
#[utoipa::path(
    get, path = "/api/v1/runner/grant", tag = "runner", operation_id = "showOwnGrant", security(("bearer" = [])),
    responses(
        (status = 200, description = "One run, under one epoch of its lease", body = OwnGrantView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn grant(Holding(held): Holding) -> Result<Json<OwnGrantView>, ApiError> {
    let Held { grant, expires_at } = held;
    Ok(Json(OwnGrantView {
        run: grant.run.to_string(),
        epoch: grant.epoch.get(),
        runner: grant.runner.to_string(),
        tenant: grant.tenant.to_string(),
        expires_at,
    }))
}
