//! Audit logs: page by page, or as a stream.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use guildhall_domain::FailureKind;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::ids::TenantId;
use guildhall_domain::journal::{Gap, Seq};
use guildhall_domain::ops::capability::EVENT_SCHEMA_VERSION;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::audit::{AuditEntryView, AuditPageView, PageQuery};
use guildhall_service::ServiceError;
use guildhall_service::access::audit::{Audit, AuditEntry, AuditStream, Begin, Of, PAGE_AT_MOST};
use serde_json::{Value, json};

use crate::App;
use crate::edge::caller::Asking;
use crate::edge::error::ApiError;
use crate::edge::input::Ids;
use crate::edge::stream::{About, Fact, Source, client_id, last_event_id};

/// What an entry is among the frames of a stream.
const ENTRY: &str = "entry";

/// A page of a tenant's audit log
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/audit", tag = "audit", operation_id = "listAudit", security(("bearer" = [])),
    params(("tenant" = String, Path, description = "A tenant's id"), PageQuery),
    responses(
        (status = 200, description = "In order", body = AuditPageView),
        (status = 400, description = "Not of this form", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Your role lacks the right", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "More requests than you may send in this time", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn page(
    State(app): State<App>,
    asking: Asking,
    Ids(tenant): Ids<TenantId>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Json<AuditPageView>, ApiError> {
    read(&app, &asking, Of::Tenant(tenant), query).await
}

/// A page of the installation's audit log
///
/// For those who operate the installation: sign-ins, users, and requests that were refused.
#[utoipa::path(
    get, path = "/api/v1/audit", tag = "audit", operation_id = "listInstallationAudit",
    security(("bearer" = []), ("session" = [])), params(PageQuery),
    responses(
        (status = 200, description = "In order", body = AuditPageView),
        (status = 400, description = "Not of this form", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn page_of_installation(
    State(app): State<App>,
    asking: Asking,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Json<AuditPageView>, ApiError> {
    read(&app, &asking, Of::Installation, query).await
}

async fn read(
    app: &App,
    asking: &Asking,
    of: Of,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Json<AuditPageView>, ApiError> {
    let Query(query) = query.map_err(|_| {
        let words = "the query takes afterSeq or fromEnd, and limit; each is a number that is not negative";
        ApiError::new(FailureKind::SchemaInvalid, words)
    })?;
    if !(1..=PAGE_AT_MOST).contains(&query.limit) {
        let words = format!("limit: must be 1 to {PAGE_AT_MOST}");
        return Err(ApiError::new(FailureKind::SchemaInvalid, words));
    }
    let page = app.audit.page(&asking.caller, of, begin(&query)?, query.limit).await?;
    let next_after_seq = page.next_after.get();
    Ok(Json(AuditPageView { entries: page.entries.iter().map(view).collect(), next_after_seq }))
}

fn begin(query: &PageQuery) -> Result<Begin, ApiError> {
    let invalid = |words| ApiError::new(FailureKind::SchemaInvalid, words);
    let after = Seq::new(query.after_seq).ok_or_else(|| invalid("afterSeq: must not be negative"))?;
    let Some(from_end) = query.from_end else { return Ok(Begin::After(after)) };
    let from_end = u32::try_from(from_end).map_err(|_| invalid("fromEnd: must not be negative"))?;
    Ok(Begin::FromEnd { count: from_end, after })
}

/// A tenant's audit log as it grows (server-sent events)
///
/// Each event's id is a cursor: sent back as `Last-Event-ID`, the stream goes on after it, on any replica. Where the
/// database was restored meanwhile, an event `gap` with `recovered: false` comes before all others, and the log begins
/// anew. An entry that arrives as it is recorded has no hashes yet: pages have them some seconds later. Frames about the
/// stream itself are those of a run's stream.
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/audit/stream", tag = "audit", operation_id = "followAudit",
    security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "A tenant's id"),
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that you have"),
        ("X-Guildhall-Client-Id" = Option<String>, Header, description = "Who you are, in your own words", pattern = "^[A-Za-z0-9._:-]{1,128}$"),
    ),
    responses(
        (status = 200, description = "Entries, as they are recorded", body = String, content_type = "text/event-stream"),
        (status = 400, description = "Not of this form", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Your role lacks the right", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "More requests than you may send in this time", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn follow(
    State(app): State<App>,
    asking: Asking,
    Ids(tenant): Ids<TenantId>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (client, cursor) = (client_id(&headers)?, last_event_id(&headers)?);
    let stream = app.audit.follow(&asking.caller, tenant, cursor).await?;
    app.streams.open(asking, client, stream)
}

impl Source for AuditStream {
    fn about(&self) -> About {
        About { kind: "audit", tenant: self.tenant, owner: self.tenant.as_uuid() }
    }

    async fn next(&mut self) -> Result<Fact, ServiceError> {
        let (entry, cursor) = self.next().await?;
        Ok(Fact { name: ENTRY, cursor: cursor.to_string(), data: json!(view(&entry)).to_string() })
    }

    fn gap(&self) -> Option<Gap> {
        self.gap()
    }

    fn replayed(&self) -> Option<(Seq, Option<i32>)> {
        self.replayed().map(|last| (last, None))
    }

    fn may_read(caller: &Caller, tenant: TenantId) -> bool {
        Audit::may_read(caller, tenant)
    }
}

fn view(AuditEntry { entry, seal }: &AuditEntry) -> AuditEntryView {
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
    }
}
