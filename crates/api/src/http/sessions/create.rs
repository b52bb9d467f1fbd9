//! Session creation.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::FailureKind;
use guildhall_domain::access::role::rights::RunsWrite;
use guildhall_domain::sessions::storage;
use guildhall_protocol::rest::sessions::{CreateSession, SessionView};
use guildhall_service::sessions;

use super::view;
use crate::App;
use crate::edge::caller::PendingAuthorization;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, idempotency_key, parse};
use crate::http::headers::IdempotencyKeyHeader;
use crate::http::responses::CommonErrors;

/// Create a session
///
/// The session has no run yet; its storage is created with the first run. With an `Idempotency-Key`, a repeated request
/// returns the same session.
#[utoipa::path(
    post, path = "/api/v1/sessions", tag = "sessions", operation_id = "createSession", security(("bearer" = [])),
    params(IdempotencyKeyHeader), request_body = CreateSession,
    responses((status = 201, description = "Created", body = SessionView), CommonErrors)
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: PendingAuthorization<RunsWrite>,
    headers: HeaderMap,
    Body(body): Body<CreateSession>,
) -> Result<(StatusCode, Json<SessionView>), ApiError> {
    let key = idempotency_key(&headers)?;
    let caller = caller.in_tenant(&app, &body.tenant_id).await?;
    let request = sessions::CreateSession {
        project: parse("projectId", &body.project_id)?,
        profile: parse("backendProfile", &body.backend_profile)?,
        expires_in: body.expires_in_ms.map(expires_in).transpose()?,
    };
    let created = app.sessions.sessions.create(&caller, &request, key.as_ref()).await?;
    Ok((StatusCode::CREATED, Json(view(&created))))
}

fn expires_in(milliseconds: u64) -> Result<Duration, ApiError> {
    storage::lifetime(milliseconds)
        .map_err(|error| ApiError::new(FailureKind::SchemaInvalid, format!("expiresInMs: {error}")))
}
