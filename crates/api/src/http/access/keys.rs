//! Service keys.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{KeysManage, KeysRead};
use guildhall_domain::ids::ServiceKeyId;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::RevocationView;
use guildhall_protocol::rest::access::keys::{CreateKey, KeyView, KeysView, NewKeyView};
use secrecy::ExposeSecret;

use super::tenants::parse_role;
use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, TenantSegment, check_name, idempotency_key};
use crate::http::headers::IdempotencyKeyHeader;

/// Create a service key
///
/// The secret is returned only once.
#[utoipa::path(
    post, path = "/api/v1/tenants/{tenant}/keys", tag = "keys", operation_id = "createKey", security(("bearer" = [])),
    params(("tenant" = String, Path, description = "Id or slug of the tenant"), IdempotencyKeyHeader), request_body = CreateKey,
    responses(
        (status = 201, description = "Created", body = NewKeyView),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 409, description = "Conflict with the current state", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Request body too large", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: Authorized<KeysManage>,
    headers: HeaderMap,
    Body(body): Body<CreateKey>,
) -> Result<(StatusCode, Json<NewKeyView>), ApiError> {
    check_name("name", &body.name)?;
    let (role, key) = (parse_role(&body.role)?, idempotency_key(&headers)?);
    let created = app.access.keys.create(&caller, &body.name, role, key.as_ref()).await?;
    let secret = created.secret.map(|secret| secret.expose_secret().to_owned());
    Ok((StatusCode::CREATED, Json(NewKeyView { id: created.id.to_string(), secret })))
}

/// List the service keys of a tenant
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/keys", tag = "keys", operation_id = "listKeys", security(("bearer" = [])),
    params(("tenant" = String, Path, description = "Id or slug of the tenant")),
    responses(
        (status = 200, description = "The keys, without their secrets", body = KeysView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Authorized<KeysRead>,
) -> Result<Json<KeysView>, ApiError> {
    let keys = app.access.keys.list(&caller).await?;
    let keys = keys.into_iter().map(|key| KeyView {
        id: key.id.to_string(),
        name: key.name,
        created_at: key.created_at,
        last_used_at: key.last_used_at,
        revoked_at: key.revoked_at,
    });
    Ok(Json(KeysView { keys: keys.collect() }))
}

/// Revoke a service key
///
/// Takes effect on every replica before the response is sent. Idempotent.
#[utoipa::path(
    delete, path = "/api/v1/tenants/{tenant}/keys/{key}", tag = "keys", operation_id = "revokeKey",
    security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "Id or slug of the tenant"),
        ("key" = String, Path, description = "Key id"),
    ),
    responses(
        (status = 200, description = "Revoked", body = RevocationView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn revoke(
    State(app): State<App>,
    caller: Authorized<KeysManage>,
    PathIds((_tenant, key)): PathIds<(TenantSegment, ServiceKeyId)>,
) -> Result<Json<RevocationView>, ApiError> {
    app.access.keys.revoke(&caller, key).await?;
    Ok(Json(RevocationView { id: key.to_string(), revoked: true }))
}
