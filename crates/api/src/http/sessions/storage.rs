//! The storage of sessions: summaries, never contents.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::FailureKind;
use guildhall_domain::ids::SessionId;
use guildhall_domain::sessions::StorageKind;
use guildhall_protocol::rest::sessions::{CreateSession, RefreshStorage, SessionView, StorageView};
use guildhall_service::ServiceError;
use guildhall_service::sessions::storage::{SessionAsk, Storage, Summary};

use crate::App;
use crate::edge::caller::{Asking, Holding};
use crate::edge::error::ApiError;
use crate::edge::input::{Body, Ids, idempotency_key, parse};
use crate::http::answers::Usual;
use crate::http::{runs, sessions};

/// Make a session, without a run yet
///
/// Its storage begins with its first run. With an `Idempotency-Key` the same request gives the same session.
#[utoipa::path(
    post, path = "/api/v1/sessions", tag = "sessions", operation_id = "createSession", security(("bearer" = [])),
    request_body = CreateSession, responses((status = 201, description = "Made", body = SessionView), Usual)
)]
pub(crate) async fn create(
    State(app): State<App>,
    asking: Asking,
    headers: HeaderMap,
    Body(body): Body<CreateSession>,
) -> Result<(StatusCode, Json<SessionView>), ApiError> {
    let key = idempotency_key(&headers)?;
    let tenant = runs::tenant(&app, &body.tenant_id).await.map_err(|_| ServiceError::NOT_FOUND)?;
    let asking = asking.within(&app, tenant).await?;
    let ask = SessionAsk {
        tenant,
        project: parse("projectId", &body.project_id)?,
        profile: parse("backendProfile", &body.backend_profile)?,
        expires_in: body.expires_in_ms.map(Duration::from_millis),
    };
    let made = app.runs.create_session(&asking.caller, &ask, key.as_ref()).await?;
    Ok((StatusCode::CREATED, Json(sessions::view(&made.session))))
}

/// What is known of a session's storage
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/storage", tag = "sessions", operation_id = "showSessionStorage",
    security(("bearer" = [])), params(("session" = String, Path, description = "A session's id")),
    responses((status = 200, description = "A summary, never contents", body = StorageView), Usual)
)]
pub(crate) async fn show(
    State(app): State<App>,
    asking: Asking,
    Ids(session): Ids<SessionId>,
) -> Result<Json<StorageView>, ApiError> {
    Ok(Json(view(session, &app.runs.storage(&asking.caller, session).await?)))
}

/// Give a session's storage up
///
/// Nobody goes on with the session from then on. Its workspace stays. Refused while a run of it is open.
#[utoipa::path(
    delete, path = "/api/v1/sessions/{session}/storage", tag = "sessions", operation_id = "evictSessionStorage",
    security(("bearer" = [])), params(("session" = String, Path, description = "A session's id")),
    responses((status = 200, description = "Given up", body = StorageView), Usual)
)]
pub(crate) async fn evict(
    State(app): State<App>,
    asking: Asking,
    Ids(session): Ids<SessionId>,
) -> Result<Json<StorageView>, ApiError> {
    Ok(Json(view(session, &app.runs.evict_storage(&asking.caller, session).await?)))
}

/// Say what a session's storage holds
///
/// For the runner that holds a run of the session.
#[utoipa::path(
    post, path = "/api/v1/sessions/{session}/storage/refresh", tag = "runners",
    operation_id = "refreshSessionStorage", security(("bearer" = [])),
    params(("session" = String, Path, description = "A session's id")), request_body = RefreshStorage,
    responses((status = 200, description = "As it is known now", body = StorageView), Usual)
)]
pub(crate) async fn refresh(
    State(app): State<App>,
    Holding(holding): Holding,
    Ids(session): Ids<SessionId>,
    Body(body): Body<RefreshStorage>,
) -> Result<Json<StorageView>, ApiError> {
    let invalid = |words: &str| ApiError::new(FailureKind::SchemaInvalid, words);
    let is_digest = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if body.sha256.len() != 64 || !body.sha256.bytes().all(is_digest) {
        return Err(invalid("sha256: use 64 hexadecimal digits"));
    }
    let summary = Summary {
        size_bytes: i64::try_from(body.size_bytes).map_err(|_| invalid("sizeBytes: too large"))?,
        files_count: i64::try_from(body.files_count).map_err(|_| invalid("filesCount: too large"))?,
        sha256: &body.sha256,
    };
    Ok(Json(view(session, &app.runners.refresh_storage(&holding.grant, session, &summary).await?)))
}

fn view(session: SessionId, storage: &Storage) -> StorageView {
    let phase = match (storage.kind, storage.removed_at) {
        (StorageKind::None, _) => "pending",
        (StorageKind::Directory, _) => "bound",
        (StorageKind::Evicted, None) => "removing",
        (StorageKind::Evicted, Some(_)) => "removed",
    };
    StorageView {
        session_id: session.to_string(),
        name: format!("guildhall-session-{}", session.as_uuid().simple()),
        storage_kind: storage.kind.to_string(),
        phase: phase.to_owned(),
        size_bytes: storage.size_bytes,
        files_count: storage.files_count,
        sha256: storage.sha256.clone(),
        updated_at: storage.updated_at,
        evicted_at: storage.evicted_at,
    }
}
