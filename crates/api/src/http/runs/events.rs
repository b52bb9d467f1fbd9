//! Events of runs.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{RunsErase, RunsRead};
use guildhall_domain::ids::RunId;
use guildhall_domain::journal::Entry;
use guildhall_domain::journal::{Gap, Seq};
use guildhall_domain::ops::capability::EVENT_SCHEMA_VERSION;
use guildhall_domain::runs::event::EventBody;
use guildhall_protocol::rest::runs::{ErasedEventView, EventView, EventsQuery, EventsView};
use guildhall_service::ServiceError;
use guildhall_service::runs::events::{EventPage, RunStream};
use serde_json::json;

use crate::App;
use crate::edge::caller::Follower;
use crate::edge::error::ApiError;
use crate::edge::input::{PathIds, ValidatedQuery, check_limit};
use crate::edge::stream::{StreamEvent, StreamSource, StreamTopic};
use crate::edge::stream_request::{client_id, last_event_id};
use crate::http::headers::StreamHeaders;
use crate::http::responses::{CommonErrors, TooManyStreams};

/// The frame name of an event in a stream. The event's own type, which a runner may choose, is in its data.
pub(crate) const EVENT: &str = "event";

/// List the events of a run
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/events", tag = "runs", operation_id = "listEvents", security(("bearer" = [])),
    params(("run" = String, Path, description = "Run id"), EventsQuery),
    responses((status = 200, description = "One page, oldest event first", body = EventsView), CommonErrors)
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Authorized<RunsRead>,
    PathIds(run): PathIds<RunId>,
    ValidatedQuery(query): ValidatedQuery<EventsQuery>,
) -> Result<Json<EventsView>, ApiError> {
    let after = parse_seq("afterSeq", query.after_seq)?;
    let limit = check_limit("limit", query.limit, 1000)?;
    let page = app.runs.events.page(&caller, run, after, limit).await?;
    Ok(Json(page_view(Some(run), after, &page)))
}

/// Follow the events of a run (server-sent events)
///
/// An `event` frame contains an event as in a page. Its id is a cursor: send it as `Last-Event-ID` to continue after
/// it, on any replica. Control frames have no id: `hello` with the client id, `gap` if the cursor is unknown and the
/// log is replayed from the beginning, `replay_complete`, `slow_client_warning`, `client_evicted`, and `closed` with a
/// `failureKind`.
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/events/stream", tag = "runs", operation_id = "followRun",
    security(("bearer" = [])),
    params(
        ("run" = String, Path, description = "Run id"),
        StreamHeaders,
    ),
    responses(
        (status = 200, description = "A stream of events", body = String, content_type = "text/event-stream"),
        CommonErrors,
        TooManyStreams,
    )
)]
pub(crate) async fn follow(
    State(app): State<App>,
    follower: Follower<RunsRead>,
    PathIds(run): PathIds<RunId>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (client, cursor) = (client_id(&headers)?, last_event_id(&headers)?);
    let stream = app.runs.events.follow(&follower.caller, run, cursor).await?;
    app.streams.open(&follower, client, stream)
}

impl StreamSource for RunStream {
    type ReadRight = RunsRead;

    fn topic(&self) -> StreamTopic {
        StreamTopic { kind: "run", tenant: Some(self.tenant), owner: self.run.as_uuid() }
    }

    async fn next(&mut self) -> Result<Option<StreamEvent>, ServiceError> {
        let (entry, cursor) = self.next().await?;
        Ok(Some(StreamEvent {
            name: Some(EVENT),
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

/// Erase the content of an event
///
/// For leaked secrets and erasure requests. The event keeps its sequence number. The erasure is recorded in the audit
/// log.
#[utoipa::path(
    delete, path = "/api/v1/runs/{run}/events/{seq}", tag = "runs", operation_id = "eraseEvent",
    security(("bearer" = [])),
    params(
        ("run" = String, Path, description = "Run id"),
        ("seq" = i64, Path, description = "Sequence number of the event", minimum = 1),
    ),
    responses((status = 200, description = "Erased", body = ErasedEventView), CommonErrors)
)]
pub(crate) async fn erase(
    State(app): State<App>,
    caller: Authorized<RunsErase>,
    PathIds((run, number)): PathIds<(RunId, i64)>,
) -> Result<Json<ErasedEventView>, ApiError> {
    app.runs.events.erase(&caller, run, parse_seq("seq", number)?).await?;
    Ok(Json(ErasedEventView { run_id: run.to_string(), seq: number, erased: true }))
}

pub(crate) fn parse_seq(field: &'static str, number: i64) -> Result<Seq, ApiError> {
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
    versioned_view(EVENT_SCHEMA_VERSION, entry)
}

pub(crate) fn versioned_view(version: u32, entry: &Entry) -> EventView {
    let body = entry.body.as_deref().and_then(|body| serde_json::from_str::<EventBody>(body).ok());
    let late = body.as_ref().is_some_and(|body| body.late);
    let (event_id, command_id, payload) = match body {
        Some(body) => (body.id, body.command_id.map(|command| command.to_string()), Some(body.payload)),
        None => (None, None, None),
    };
    EventView {
        v: version,
        seq: entry.seq.get(),
        r#type: entry.kind.clone(),
        event_id,
        command_id,
        payload,
        erased: entry.body.is_none(),
        late,
        recorded_at: entry.recorded_at,
    }
}
