//! Enrolment tokens of runners.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::access::principal::Slug;
use guildhall_domain::ids::{EnrolmentId, TenantId};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::runners::enrolments::{
    CreateEnrolment, EnrolmentView, EnrolmentsView, NewEnrolmentView,
};
use guildhall_service::runners::enrolments::{LIVES_FOR, Wanted};
use secrecy::ExposeSecret;

use crate::App;
use crate::edge::caller::Asking;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, Ids, idempotency_key, name, parse};

/// Make an enrolment token
///
/// With it runners register and claim runs, and do nothing else. Its secret is shown in this answer and never again.
#[utoipa::path(
    post, path = "/api/v1/tenants/{tenant}/enrolments", tag = "enrolments", operation_id = "createEnrolment",
    security(("bearer" = [])), request_body = CreateEnrolment,
    params(("tenant" = String, Path, description = "A tenant's id")),
    responses(
        (status = 201, description = "Made", body = NewEnrolmentView),
        (status = 400, description = "Not of this form", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Your role lacks the right", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
        (status = 409, description = "Does not go together with what is there", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Too large", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    asking: Asking,
    Ids(tenant): Ids<TenantId>,
    headers: HeaderMap,
    Body(body): Body<CreateEnrolment>,
) -> Result<(StatusCode, Json<NewEnrolmentView>), ApiError> {
    name("name", &body.name)?;
    let slug = |field, text: Option<&str>| text.map(|text| parse::<Slug>(field, text)).transpose();
    let profile = slug("profile", body.profile.as_deref())?;
    let pool = slug("pool", body.pool.as_deref())?;
    let lives_for = body.expires_in_ms.map_or(LIVES_FOR, Duration::from_millis);
    let wanted = Wanted { name: &body.name, profile: profile.as_ref(), pool: pool.as_ref(), lives_for };
    let key = idempotency_key(&headers)?;
    let made = app.enrolments.create(&asking.caller, tenant, &wanted, key.as_ref()).await?;
    let secret = made.secret.map(|secret| secret.expose_secret().to_owned());
    Ok((StatusCode::CREATED, Json(NewEnrolmentView { id: made.id.to_string(), secret })))
}

/// The enrolment tokens of a tenant
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/enrolments", tag = "enrolments", operation_id = "listEnrolments",
    security(("bearer" = [])), params(("tenant" = String, Path, description = "A tenant's id")),
    responses(
        (status = 200, description = "Without their secrets", body = EnrolmentsView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Your role lacks the right", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn list(
    State(app): State<App>,
    asking: Asking,
    Ids(tenant): Ids<TenantId>,
) -> Result<Json<EnrolmentsView>, ApiError> {
    let enrolments = app.enrolments.list(&asking.caller, tenant).await?;
    let enrolments = enrolments.into_iter().map(|row| EnrolmentView {
        id: row.id.to_string(),
        name: row.name,
        profile: row.profile,
        pool: row.pool,
        created_at: row.created_at,
        expires_at: row.expires_at,
        last_used_at: row.last_used_at,
        revoked_at: row.revoked_at,
    });
    Ok(Json(EnrolmentsView { enrolments: enrolments.collect() }))
}

/// End an enrolment token
///
/// From this answer on it is refused on every replica, and so are the tokens of runs that were claimed with it. Ending it
/// again is no error.
#[utoipa::path(
    delete, path = "/api/v1/tenants/{tenant}/enrolments/{enrolment}", tag = "enrolments",
    operation_id = "revokeEnrolment", security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "A tenant's id"),
        ("enrolment" = String, Path, description = "An enrolment's id"),
    ),
    responses(
        (status = 204, description = "Ended"),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Your role lacks the right", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn revoke(
    State(app): State<App>,
    asking: Asking,
    Ids((tenant, enrolment)): Ids<(TenantId, EnrolmentId)>,
) -> Result<StatusCode, ApiError> {
    app.enrolments.revoke(&asking.caller, tenant, enrolment).await?;
    Ok(StatusCode::NO_CONTENT)
}
