//! Service keys.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::ids::{ServiceKeyId, TenantId};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::keys::{CreateKey, KeyView, KeysView, NewKeyView};
use secrecy::ExposeSecret;

use super::tenants::role;
use crate::App;
use crate::edge::caller::Asking;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, Ids, idempotency_key, name};

/// Make a key
///
/// Its secret is shown in this answer and never again.
#[utoipa::path(
    post, path = "/api/v1/tenants/{tenant}/keys", tag = "keys", operation_id = "createKey", security(("bearer" = [])),
    params(("tenant" = String, Path, description = "A tenant's id")), request_body = CreateKey,
    responses(
        (status = 201, description = "Made", body = NewKeyView),
        (status = 400, description = "Not of this form", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Your role lacks the right", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
        (status = 409, description = "Does not go together with what is there", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Too large", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "More requests than you may send in this time", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    asking: Asking,
    Ids(tenant): Ids<TenantId>,
    headers: HeaderMap,
    Body(body): Body<CreateKey>,
) -> Result<(StatusCode, Json<NewKeyView>), ApiError> {
    name("name", &body.name)?;
    let (role, key) = (role(&body.role)?, idempotency_key(&headers)?);
    let made = app.keys.create(&asking.caller, tenant, &body.name, role, key.as_ref()).await?;
    let secret = made.secret.map(|secret| secret.expose_secret().to_owned());
    Ok((StatusCode::CREATED, Json(NewKeyView { id: made.id.to_string(), secret })))
}

/// The keys of a tenant
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/keys", tag = "keys", operation_id = "listKeys", security(("bearer" = [])),
    params(("tenant" = String, Path, description = "A tenant's id")),
    responses(
        (status = 200, description = "Without their secrets", body = KeysView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Your role lacks the right", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "More requests than you may send in this time", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn list(
    State(app): State<App>,
    asking: Asking,
    Ids(tenant): Ids<TenantId>,
) -> Result<Json<KeysView>, ApiError> {
    let keys = app.keys.list(&asking.caller, tenant).await?;
    let keys = keys.into_iter().map(|key| KeyView {
        id: key.id.to_string(),
        name: key.name,
        created_at: key.created_at,
        last_used_at: key.last_used_at,
        revoked_at: key.revoked_at,
    });
    Ok(Json(KeysView { keys: keys.collect() }))
}

/// End a key
///
/// From this answer on it is refused on every replica. Ending it again is no error.
#[utoipa::path(
    delete, path = "/api/v1/tenants/{tenant}/keys/{key}", tag = "keys", operation_id = "revokeKey",
    security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "A tenant's id"),
        ("key" = String, Path, description = "A key's id"),
    ),
    responses(
        (status = 204, description = "Ended"),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Your role lacks the right", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "More requests than you may send in this time", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn revoke(
    State(app): State<App>,
    asking: Asking,
    Ids((tenant, key)): Ids<(TenantId, ServiceKeyId)>,
) -> Result<StatusCode, ApiError> {
    app.keys.revoke(&asking.caller, tenant, key).await?;
    Ok(StatusCode::NO_CONTENT)
}
