//! Audit logs: pages and streams.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use guildhall_domain::FailureKind;
use guildhall_domain::access::audit_checkpoint::{AuditLog, Checkpoint};
use guildhall_domain::access::authorized::{Authorized, InstallationOperator};
use guildhall_domain::access::role::rights::AuditRead;
use guildhall_domain::journal::{Gap, Seq};
use guildhall_domain::ops::capability::EVENT_SCHEMA_VERSION;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::audit::{
    AuditEntryView, AuditPageView, AuditPublicKeyView, CheckpointView, PageQuery,
};
use guildhall_service::ServiceError;
use guildhall_service::access::audit::{AuditEntry, AuditPage, AuditStream, MAX_PAGE_SIZE, PageStart};
use serde_json::{Value, json};

use crate::App;
use crate::edge::caller::{AuthenticatedCaller, Follower, OperatorFollower};
use crate::edge::error::ApiError;
use crate::edge::stream::{OperatorOnly, StreamEvent, StreamSource, StreamTopic};
use crate::edge::stream_request::{client_id, last_event_id};
use crate::http::headers::StreamHeaders;

/// The frame name of an audit entry in a stream.
const ENTRY: &str = "entry";

/// List the audit log of a tenant
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/audit", tag = "audit", operation_id = "listAuditEntries",
    security(("bearer" = [])),
    params(("tenant" = String, Path, description = "Id or slug of the tenant"), PageQuery),
    responses(
        (status = 200, description = "One page, oldest entry first", body = AuditPageView),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Authorized<AuditRead>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Json<AuditPageView>, ApiError> {
    let (start, limit) = check_query(query)?;
    Ok(Json(page_view(&app.access.audit.page(&caller, start, limit).await?)))
}

/// List the audit log of the installation
///
/// For operators. Contains sign-ins, user changes and denied requests.
#[utoipa::path(
    get, path = "/api/v1/audit", tag = "audit", operation_id = "listInstallationAuditEntries",
    security(("bearer" = []), ("session" = [])), params(PageQuery),
    responses(
        (status = 200, description = "One page, oldest entry first", body = AuditPageView),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn list_installation(
    State(app): State<App>,
    caller: InstallationOperator,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Json<AuditPageView>, ApiError> {
    let (start, limit) = check_query(query)?;
    Ok(Json(page_view(&app.access.audit.installation_page(&caller, start, limit).await?)))
}

/// Get the key that verifies the checkpoints of audit logs
///
/// The key is not in the database. Store it elsewhere, for `guildhall audit verify --public-key`.
#[utoipa::path(
    get, path = "/api/v1/audit/public-key", tag = "audit", operation_id = "getAuditPublicKey",
    security(("bearer" = []), ("session" = [])),
    responses(
        (status = 200, description = "The key", body = AuditPublicKeyView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "This server does not sign audit logs", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn public_key(
    State(app): State<App>,
    _caller: AuthenticatedCaller,
) -> Result<Json<AuditPublicKeyView>, ApiError> {
    let Some(key) = app.access.audit.public_key() else {
        let message = "this server does not sign audit logs: audit.signing_key_file is not set";
        return Err(ApiError::new(FailureKind::NotFound, message));
    };
    Ok(Json(AuditPublicKeyView {
        key_id: key.id().to_string(),
        algorithm: "Ed25519".to_owned(),
        public_key: key.to_string(),
    }))
}

fn check_query(query: Result<Query<PageQuery>, QueryRejection>) -> Result<(PageStart, u32), ApiError> {
    let Query(query) = query.map_err(|_| {
        let message = "invalid query: use afterSeq or fromEnd, and limit, each a number of at least 0";
        ApiError::new(FailureKind::SchemaInvalid, message)
    })?;
    if !(1..=MAX_PAGE_SIZE).contains(&query.limit) {
        let message = format!("limit: must be 1 to {MAX_PAGE_SIZE}");
        return Err(ApiError::new(FailureKind::SchemaInvalid, message));
    }
    Ok((page_start(&query)?, query.limit))
}

fn page_view(page: &AuditPage) -> AuditPageView {
    let next_after_seq = page.next_after.get();
    AuditPageView { entries: page.entries.iter().map(view).collect(), next_after_seq }
}

fn page_start(query: &PageQuery) -> Result<PageStart, ApiError> {
    let invalid = |message| ApiError::new(FailureKind::SchemaInvalid, message);
    let after = Seq::new(query.after_seq).ok_or_else(|| invalid("afterSeq: must not be negative"))?;
    let Some(from_end) = query.from_end else { return Ok(PageStart::After(after)) };
    let from_end = u32::try_from(from_end).map_err(|_| invalid("fromEnd: must not be negative"))?;
    Ok(PageStart::FromEnd { count: from_end, after })
}

/// Follow the audit log of a tenant (server-sent events)
///
/// The id of each event is a cursor: send it as `Last-Event-ID` to continue after it, on any replica. If the database
/// was restored in the meantime, the stream starts with a `gap` event (`recovered: false`) and replays the log from the
/// beginning. A live entry has no hashes yet; pages contain them some seconds later. The control frames are those of
/// the stream of a run.
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/audit/stream", tag = "audit", operation_id = "followAudit",
    security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "Id or slug of the tenant"),
        StreamHeaders,
    ),
    responses(
        (status = 200, description = "A stream of audit entries", body = String, content_type = "text/event-stream"),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn follow(
    State(app): State<App>,
    follower: Follower<AuditRead>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (client, cursor) = (client_id(&headers)?, last_event_id(&headers)?);
    let stream = app.access.audit.follow(&follower.caller, cursor).await?;
    app.streams.open(&follower, client, stream)
}

/// Follow the audit log of the installation (server-sent events)
///
/// For operators. Cursors and frames are those of the stream of a tenant's log.
#[utoipa::path(
    get, path = "/api/v1/audit/stream", tag = "audit", operation_id = "followInstallationAudit",
    security(("bearer" = []), ("session" = [])),
    params(
        StreamHeaders,
    ),
    responses(
        (status = 200, description = "A stream of audit entries", body = String, content_type = "text/event-stream"),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn follow_installation(
    State(app): State<App>,
    follower: OperatorFollower,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (client, cursor) = (client_id(&headers)?, last_event_id(&headers)?);
    let stream = app.access.audit.follow_installation(&follower.operator, cursor).await?;
    app.streams.open(&follower, client, InstallationAuditStream(stream))
}

impl StreamSource for AuditStream {
    type ReadRight = AuditRead;

    fn topic(&self) -> StreamTopic {
        let tenant = match self.log {
            AuditLog::Installation => None,
            AuditLog::Tenant(tenant) => Some(tenant),
        };
        StreamTopic { kind: "audit", tenant, owner: self.log.stream().owner }
    }

    async fn next(&mut self) -> Result<Option<StreamEvent>, ServiceError> {
        let (entry, cursor) = self.next().await?;
        Ok(Some(StreamEvent {
            name: Some(ENTRY),
            cursor: cursor.to_string(),
            data: json!(view(&entry)).to_string(),
        }))
    }

    fn gap(&self) -> Option<Gap> {
        self.gap()
    }

    fn replayed(&self) -> Option<(Seq, Option<i32>)> {
        self.replayed().map(|last| (last, None))
    }
}

/// The stream of the installation's log.
struct InstallationAuditStream(AuditStream);

impl StreamSource for InstallationAuditStream {
    type ReadRight = OperatorOnly;

    fn topic(&self) -> StreamTopic {
        self.0.topic()
    }

    async fn next(&mut self) -> Result<Option<StreamEvent>, ServiceError> {
        StreamSource::next(&mut self.0).await
    }

    fn gap(&self) -> Option<Gap> {
        self.0.gap()
    }

    fn replayed(&self) -> Option<(Seq, Option<i32>)> {
        StreamSource::replayed(&self.0)
    }
}

fn view(AuditEntry { entry, seal, checkpoint }: &AuditEntry) -> AuditEntryView {
    let body = entry.body.as_deref().and_then(|body| serde_json::from_str(body).ok()).unwrap_or(Value::Null);
    AuditEntryView {
        v: EVENT_SCHEMA_VERSION,
        r#type: ENTRY.to_owned(),
        seq: entry.seq.get(),
        id: entry.id.to_string(),
        action: entry.kind.clone(),
        body,
        recorded_at: entry.recorded_at,
        body_hash: seal.map(|seal| seal.body_hash.to_string()),
        hash: seal.map(|seal| seal.hash.to_string()),
        checkpoint: checkpoint.as_ref().map(checkpoint_view),
    }
}

fn checkpoint_view(Checkpoint { statement, key, signature }: &Checkpoint) -> CheckpointView {
    CheckpointView {
        log: statement.log.to_string(),
        signed_at: statement.signed_at,
        key_id: key.to_string(),
        signature: signature.to_string(),
    }
}
