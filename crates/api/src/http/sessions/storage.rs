//! Session storage: summaries only, no contents.

use axum::Json;
use axum::extract::State;
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{RunsRead, RunsWrite};
use guildhall_domain::ids::SessionId;
use guildhall_domain::sessions::StorageKind;
use guildhall_domain::sessions::storage::{SessionStorage, StorageSummary};
use guildhall_protocol::rest::sessions::{RefreshStorage, StorageView};

use crate::App;
use crate::edge::caller::SignedRunHolder;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds};
use crate::http::responses::CommonErrors;

/// Get the storage of a session
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/storage", tag = "sessions", operation_id = "getSessionStorage",
    security(("bearer" = [])), params(("session" = String, Path, description = "Session id")),
    responses((status = 200, description = "A summary, without contents", body = StorageView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: Authorized<RunsRead>,
    PathIds(session): PathIds<SessionId>,
) -> Result<Json<StorageView>, ApiError> {
    Ok(Json(view(session, &app.sessions.storage.get(&caller, session).await?)))
}

/// Evict the storage of a session
///
/// The session cannot be resumed afterwards. Its workspace stays. Fails while a run of the session is open.
#[utoipa::path(
    delete, path = "/api/v1/sessions/{session}/storage", tag = "sessions", operation_id = "evictSessionStorage",
    security(("bearer" = [])), params(("session" = String, Path, description = "Session id")),
    responses((status = 200, description = "Evicted", body = StorageView), CommonErrors)
)]
pub(crate) async fn evict(
    State(app): State<App>,
    caller: Authorized<RunsWrite>,
    PathIds(session): PathIds<SessionId>,
) -> Result<Json<StorageView>, ApiError> {
    Ok(Json(view(session, &app.sessions.storage.evict(&caller, session).await?)))
}

/// Report the size of a session's storage
///
/// Requires a run token for a run of the session.
#[utoipa::path(
    post, path = "/api/v1/sessions/{session}/storage/refresh", tag = "runners",
    operation_id = "refreshSessionStorage", security(("bearer" = [])),
    params(("session" = String, Path, description = "Session id")), request_body = RefreshStorage,
    responses((status = 200, description = "The updated summary", body = StorageView), CommonErrors)
)]
pub(crate) async fn refresh(
    State(app): State<App>,
    SignedRunHolder(token): SignedRunHolder,
    PathIds(session): PathIds<SessionId>,
    Body(body): Body<RefreshStorage>,
) -> Result<Json<StorageView>, ApiError> {
    let invalid = |message: &str| ApiError::new(FailureKind::SchemaInvalid, message);
    let is_digest = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if body.sha256.len() != 64 || !body.sha256.bytes().all(is_digest) {
        return Err(invalid("sha256: use 64 hexadecimal digits"));
    }
    let summary = StorageSummary {
        size_bytes: i64::try_from(body.size_bytes).map_err(|_| invalid("sizeBytes: too large"))?,
        files_count: i64::try_from(body.files_count).map_err(|_| invalid("filesCount: too large"))?,
        sha256: &body.sha256,
    };
    let refreshed = app.sessions.storage.refresh(token.unverified_grant(), session, &summary).await?;
    Ok(Json(view(session, &refreshed)))
}

fn view(session: SessionId, storage: &SessionStorage) -> StorageView {
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
