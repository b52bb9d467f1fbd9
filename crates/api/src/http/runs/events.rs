//! Events of runs.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use guildhall_domain::FailureKind;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::ids::{RunId, TenantId};
use guildhall_domain::journal::{Gap, Seq};
use guildhall_domain::ops::capability::EVENT_SCHEMA_VERSION;
use guildhall_domain::runs::event::Body as EventBody;
use guildhall_protocol::rest::runs::{EventView, EventsQuery, EventsView};
use guildhall_service::ServiceError;
use guildhall_service::access::audit::Entry;
use guildhall_service::runs::{EventPage, RunStream, Runs};
use serde_json::json;

use crate::App;
use crate::edge::caller::Asking;
use crate::edge::error::ApiError;
use crate::edge::input::{Ids, Words, within};
use crate::edge::stream::{About, Fact, Source, client_id, last_event_id};
use crate::http::answers::{TooMany, Usual};

/// What an event is among the frames of a stream: its own type is in its data, and a runner may choose it.
pub(crate) const EVENT: &str = "event";

/// A page of a run's events, in order
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/events", tag = "runs", operation_id = "listEvents", security(("bearer" = [])),
    params(("run" = String, Path, description = "A run's id"), EventsQuery),
    responses((status = 200, description = "A page", body = EventsView), Usual)
)]
pub(crate) async fn page(
    State(app): State<App>,
    asking: Asking,
    Ids(run): Ids<RunId>,
    Words(query): Words<EventsQuery>,
) -> Result<Json<EventsView>, ApiError> {
    let after = seq("afterSeq", query.after_seq)?;
    let limit = within("limit", query.limit, 1000)?;
    let page = app.runs.events(&asking.caller, run, after, limit).await?;
    Ok(Json(page_view(Some(run), after, &page)))
}

/// A run's events as they come (server-sent events)
///
/// An `event` frame has the same body as an event of a page, and as its id a cursor: sent back as `Last-Event-ID`, the
/// stream goes on after it, on any replica. Frames about the stream itself have no id: `hello` with your client id,
/// `gap` when the cursor leads nowhere and the log begins anew, `replay_complete`, `slow_client_warning`,
/// `client_evicted`, `closed` with a `failureKind`.
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/events/stream", tag = "runs", operation_id = "followRun",
    security(("bearer" = [])),
    params(
        ("run" = String, Path, description = "A run's id"),
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that you have"),
        ("X-Guildhall-Client-Id" = Option<String>, Header, description = "Who you are, in your own words", pattern = "^[A-Za-z0-9._:-]{1,128}$"),
    ),
    responses(
        (status = 200, description = "Events, as they come", body = String, content_type = "text/event-stream"),
        Usual,
        TooMany,
    )
)]
pub(crate) async fn follow(
    State(app): State<App>,
    asking: Asking,
    Ids(run): Ids<RunId>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (client, cursor) = (client_id(&headers)?, last_event_id(&headers)?);
    let stream = app.runs.follow(&asking.caller, run, cursor).await?;
    app.streams.open(asking, client, stream)
}

impl Source for RunStream {
    fn about(&self) -> About {
        About { kind: "run", tenant: self.tenant, owner: self.run.as_uuid() }
    }

    async fn next(&mut self) -> Result<Fact, ServiceError> {
        let (entry, cursor) = self.next().await?;
        Ok(Fact { name: EVENT, cursor: cursor.to_string(), data: json!(view(&entry)).to_string() })
    }

    fn gap(&self) -> Option<Gap> {
        self.gap()
    }

    fn replayed(&self) -> Option<(Seq, Option<i32>)> {
        self.replayed().map(|last| (last, None))
    }

    fn may_read(caller: &Caller, tenant: TenantId) -> bool {
        Runs::may_read(caller, tenant)
    }
}

/// Erase what an event says
///
/// For a secret that got in, or a person's right. Its number stays, and that it was erased is in the audit log.
#[utoipa::path(
    delete, path = "/api/v1/runs/{run}/events/{seq}", tag = "runs", operation_id = "eraseEvent",
    security(("bearer" = [])),
    params(
        ("run" = String, Path, description = "A run's id"),
        ("seq" = i64, Path, description = "The event's number", minimum = 1),
    ),
    responses((status = 204, description = "Erased"), Usual)
)]
pub(crate) async fn erase(
    State(app): State<App>,
    asking: Asking,
    Ids((run, number)): Ids<(RunId, i64)>,
) -> Result<StatusCode, ApiError> {
    app.runs.erase(&asking.caller, run, seq("seq", number)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) fn seq(field: &'static str, number: i64) -> Result<Seq, ApiError> {
    Seq::new(number)
        .ok_or_else(|| ApiError::new(FailureKind::SchemaInvalid, format!("{field}: must not be negative")))
}

pub(crate) fn page_view(run: Option<RunId>, after: Seq, page: &EventPage) -> EventsView {
    let next = page.entries.last().map_or(after, |last| last.seq);
    EventsView {
        run_id: run.map(|run| run.to_string()),
        events: page.entries.iter().map(view).collect(),
        last_seq: page.last_seq.get(),
        next_after_seq: next.get(),
        has_more: next < page.last_seq,
    }
}

pub(crate) fn view(entry: &Entry) -> EventView {
    let body = entry.body.as_deref().and_then(|body| serde_json::from_str::<EventBody>(body).ok());
    let (event_id, command_id, payload) = match body {
        Some(body) => (body.id, body.command_id.map(|command| command.to_string()), Some(body.payload)),
        None => (None, None, None),
    };
    EventView {
        v: EVENT_SCHEMA_VERSION,
        seq: entry.seq.get(),
        r#type: entry.kind.clone(),
        event_id,
        command_id,
        payload,
        erased: entry.body.is_none(),
        recorded_at: entry.recorded_at,
    }
}
