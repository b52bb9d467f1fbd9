//! Audit logs: page by page, or as a stream.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures::Stream;
use futures::stream::unfold;
use guildhall_domain::FailureKind;
use guildhall_domain::ids::TenantId;
use guildhall_domain::journal::Seq;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::audit::{AuditEntryView, AuditPageView, PageQuery};
use guildhall_service::audit::{AuditEntry, AuditStream, Begin, Of, PAGE_AT_MOST};
use serde_json::{Value, json};

use crate::App;
use crate::caller::{Asking, Credential};
use crate::error::ApiError;
use crate::input::{Ids, parse};

/// The caller of an open stream is looked at this often: what was revoked is closed within a second.
const LOOK_AGAIN_EVERY: Duration = Duration::from_millis(400);

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
    match (Seq::new(query.after_seq), query.from_end) {
        (Some(Seq::ZERO), Some(from_end)) => Ok(Begin::FromEnd(from_end)),
        (Some(after), None) => Ok(Begin::After(after)),
        (Some(_), Some(_)) => {
            Err(ApiError::new(FailureKind::SchemaInvalid, "fromEnd: not together with afterSeq"))
        }
        (None, _) => Err(ApiError::new(FailureKind::SchemaInvalid, "afterSeq: must not be negative")),
    }
}

/// A tenant's audit log as it grows (server-sent events)
///
/// Each event's id is a cursor: sent back as `Last-Event-ID`, the stream goes on after it, on any replica. Where the
/// database was restored meanwhile, the first event is `gap` with `recovered: false`, and the log begins anew. An
/// entry that arrives as it is recorded has no hashes yet: pages have them some seconds later.
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/audit/stream", tag = "audit", operation_id = "followAudit",
    security(("bearer" = [])), params(("tenant" = String, Path, description = "A tenant's id")),
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
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let last = headers.get("last-event-id").map(|value| value.to_str().unwrap_or_default());
    let cursor = last.map(|last| parse("Last-Event-ID", last)).transpose()?;
    let stream = app.audit.follow(&asking.caller, tenant, cursor).await?;
    let open = Open { app, credential: asking.credential, tenant, stream, told_gap: false };
    Ok(Sse::new(unfold(Some(open), next)).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))))
}

/// A stream that is open.
struct Open {
    app: App,
    credential: Credential,
    tenant: TenantId,
    stream: AuditStream,
    told_gap: bool,
}

/// Waits for the next event; ends the stream when the caller's authority has ended.
async fn next(open: Option<Open>) -> Option<(Result<Event, Infallible>, Option<Open>)> {
    let mut open = open?;
    if open.stream.lost && !open.told_gap {
        open.told_gap = true;
        return Some((Ok(event("gap", json!({ "v": 1, "recovered": false }))), Some(open)));
    }
    loop {
        tokio::select! {
            entry = open.stream.next() => {
                let Ok((entry, cursor)) = entry else {
                    tokio::time::sleep(LOOK_AGAIN_EVERY).await;
                    continue;
                };
                let event = event("entry", json!(view(&entry))).id(cursor.to_string());
                return Some((Ok(event), Some(open)));
            }
            () = open.app.closing.cancelled() => return Some((Ok(closed("not-ready")), None)),
            () = tokio::time::sleep(LOOK_AGAIN_EVERY) => {}
        }
        let caller = open.credential.caller(&open.app, Some(open.tenant)).await;
        let still_allowed = caller.is_ok_and(|caller| open.app.audit.may_read(&caller, open.tenant));
        if !still_allowed {
            return Some((Ok(closed("unauthenticated")), None));
        }
    }
}

/// The last event of a stream that the server ends, with the reason.
fn closed(failure_kind: &'static str) -> Event {
    event("closed", json!({ "v": 1, "failureKind": failure_kind }))
}

fn event(kind: &'static str, data: Value) -> Event {
    Event::default().event(kind).data(data.to_string())
}

fn view(AuditEntry { entry, seal }: &AuditEntry) -> AuditEntryView {
    let body = entry.body.as_deref().and_then(|body| serde_json::from_str(body).ok()).unwrap_or(Value::Null);
    AuditEntryView {
        v: 1,
        seq: entry.seq.get(),
        id: entry.id.to_string(),
        action: entry.kind.clone(),
        body,
        recorded_at: entry.recorded_at,
        body_hash: seal.map(|seal| seal.body_hash.to_string()),
        hash: seal.map(|seal| seal.hash.to_string()),
    }
}
