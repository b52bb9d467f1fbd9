//! Runner enrolment tokens.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::principal::Slug;
use guildhall_domain::access::role::rights::RunnersManage;
use guildhall_domain::ids::EnrolmentId;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::RevocationView;
use guildhall_protocol::rest::runners::enrolments::{
    CreateEnrolment, EnrolmentView, EnrolmentsView, NewEnrolmentView,
};
use guildhall_service::runners::enrolments::{CreateEnrolment as CreateEnrolmentRequest, DEFAULT_LIFETIME};
use secrecy::ExposeSecret;

use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, TenantSegment, check_name, idempotency_key, parse};
use crate::http::headers::IdempotencyKeyHeader;

/// Create an enrolment token
///
/// Runners use it to register and to claim runs; it permits nothing else. The secret is returned only once.
#[utoipa::path(
    post, path = "/api/v1/tenants/{tenant}/enrolments", tag = "enrolments", operation_id = "createEnrolment",
    security(("bearer" = [])), request_body = CreateEnrolment,
    params(("tenant" = String, Path, description = "Id or slug of the tenant"), IdempotencyKeyHeader),
    responses(
        (status = 201, description = "Created", body = NewEnrolmentView),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 409, description = "Conflict with the current state", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Request body too large", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: Authorized<RunnersManage>,
    headers: HeaderMap,
    Body(body): Body<CreateEnrolment>,
) -> Result<(StatusCode, Json<NewEnrolmentView>), ApiError> {
    check_name("name", &body.name)?;
    let profile = body.profile.as_deref().map(|text| parse::<Slug>("profile", text)).transpose()?;
    let ttl = body.expires_in_ms.map_or(DEFAULT_LIFETIME, Duration::from_millis);
    let request = CreateEnrolmentRequest { name: &body.name, profile: profile.as_ref(), ttl };
    let key = idempotency_key(&headers)?;
    let created = app.runners.enrolments.create(&caller, &request, key.as_ref()).await?;
    let secret = created.secret.map(|secret| secret.expose_secret().to_owned());
    Ok((StatusCode::CREATED, Json(NewEnrolmentView { id: created.id.to_string(), secret })))
}

/// List the enrolment tokens of a tenant
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/enrolments", tag = "enrolments", operation_id = "listEnrolments",
    security(("bearer" = [])), params(("tenant" = String, Path, description = "Id or slug of the tenant")),
    responses(
        (status = 200, description = "The enrolment tokens, without their secrets", body = EnrolmentsView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Authorized<RunnersManage>,
) -> Result<Json<EnrolmentsView>, ApiError> {
    let enrolments = app.runners.enrolments.list(&caller).await?;
    let enrolments = enrolments.into_iter().map(|row| EnrolmentView {
        id: row.id.to_string(),
        name: row.name,
        profile: row.profile,
        created_at: row.created_at,
        expires_at: row.expires_at,
        last_used_at: row.last_used_at,
        revoked_at: row.revoked_at,
    });
    Ok(Json(EnrolmentsView { enrolments: enrolments.collect() }))
}

/// Revoke an enrolment token
///
/// Also revokes the run tokens that were claimed with it. Takes effect on every replica before the response is sent.
/// Idempotent.
#[utoipa::path(
    delete, path = "/api/v1/tenants/{tenant}/enrolments/{enrolment}", tag = "enrolments",
    operation_id = "revokeEnrolment", security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "Id or slug of the tenant"),
        ("enrolment" = String, Path, description = "Enrolment id"),
    ),
    responses(
        (status = 200, description = "Revoked", body = RevocationView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn revoke(
    State(app): State<App>,
    caller: Authorized<RunnersManage>,
    PathIds((_tenant, enrolment)): PathIds<(TenantSegment, EnrolmentId)>,
) -> Result<Json<RevocationView>, ApiError> {
    app.runners.enrolments.revoke(&caller, enrolment).await?;
    Ok(Json(RevocationView { id: enrolment.to_string(), revoked: true }))
}
