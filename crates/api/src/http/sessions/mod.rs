//! Sessions.

mod create;
mod storage;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{RunsRead, RunsWrite};
use guildhall_domain::ids::{RunId, SessionId};
use guildhall_domain::journal::{Gap, Seq};
use guildhall_domain::runs::event;
use guildhall_domain::sessions::{Session, SessionFilter};
use guildhall_domain::sessions::{SessionVersion, is_unread};
use guildhall_protocol::rest::runs::{EventsView, RunView};
use guildhall_protocol::rest::sessions::{
    ControlSession, MarkRead, SessionCancellationView, SessionEventsQuery, SessionQuery, SessionView,
    SessionsQuery, SessionsView, SupervisorView,
};
use guildhall_protocol::stream::SessionEventView;
use guildhall_service::ServiceError;
use guildhall_service::sessions::SessionCancellation;
use guildhall_service::sessions::follow::SessionStream;
use serde_json::json;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::edge::caller::{Follower, PendingAuthorization};
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, ValidatedQuery, check_limit, parse};
use crate::edge::stream::{StreamEvent, StreamSource, StreamTopic};
use crate::edge::stream_request::{client_id, last_event_id};
use crate::http::headers::StreamHeaders;
use crate::http::responses::{CommonErrors, TooManyStreams};
use crate::http::runs;
use crate::http::runs::events::{self, EVENT, page_view, parse_seq};

/// List sessions
///
/// By default only sessions that are active or unread; with `state=all` every session.
#[utoipa::path(
    get, path = "/api/v1/sessions", tag = "sessions", operation_id = "listSessions", security(("bearer" = [])),
    params(SessionsQuery), responses((status = 200, description = "One page, newest first", body = SessionsView), CommonErrors)
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: PendingAuthorization<RunsRead>,
    ValidatedQuery(query): ValidatedQuery<SessionsQuery>,
) -> Result<Json<SessionsView>, ApiError> {
    let all = match query.state.as_deref() {
        None | Some("default") => false,
        Some("all") => true,
        Some(_) => return Err(ApiError::new(FailureKind::SchemaInvalid, "state: use default or all")),
    };
    let (caller, tenant) = match &query.tenant_id {
        Some(tenant) => {
            let authorized = caller.in_tenant(&app, tenant).await?;
            let tenant = authorized.tenant();
            (authorized.into_caller(), Some(tenant))
        }
        None => (caller.into_caller(), None),
    };
    let filter = SessionFilter {
        tenant,
        backend_profile: query.backend_profile.as_deref(),
        all,
        before: query.cursor.as_deref().map(|cursor| parse("cursor", cursor)).transpose()?,
    };
    let reader = check_reader_id(&query.reader_id)?;
    let limit = check_limit("limit", query.limit, 200)?;
    let sessions = app.sessions.sessions.list(&caller, reader, &filter, limit).await?;
    let is_full = u32::try_from(sessions.len()).is_ok_and(|count| count >= query.limit);
    let next_cursor = sessions.last().filter(|_| is_full).map(|last| last.id.to_string());
    Ok(Json(SessionsView { sessions: sessions.iter().map(view).collect(), next_cursor }))
}

/// Get a session
///
/// Includes its open run, or else its last one.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}", tag = "sessions", operation_id = "getSession",
    security(("bearer" = [])), params(("session" = String, Path, description = "Session id"), SessionQuery),
    responses((status = 200, description = "The session", body = SessionView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: Authorized<RunsRead>,
    PathIds(session): PathIds<SessionId>,
    ValidatedQuery(query): ValidatedQuery<SessionQuery>,
) -> Result<Json<SessionView>, ApiError> {
    let found = app.sessions.sessions.get(&caller, session, check_reader_id(&query.reader_id)?).await?;
    let run = found.run.as_ref().map(runs::view);
    Ok(Json(SessionView {
        last_event_seq: run.as_ref().map(|run| run.last_seq),
        liveness: run.as_ref().map(|run| run.liveness.clone()),
        supervisor: run.as_ref().map(supervisor),
        run,
        ..view(&found.session)
    }))
}

/// List the events of a session's run
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/trace", tag = "sessions", operation_id = "getSessionTrace",
    security(("bearer" = [])), params(("session" = String, Path, description = "Session id"), SessionEventsQuery),
    responses((status = 200, description = "One page", body = EventsView), CommonErrors)
)]
pub(crate) async fn trace(
    State(app): State<App>,
    caller: Authorized<RunsRead>,
    PathIds(session): PathIds<SessionId>,
    ValidatedQuery(query): ValidatedQuery<SessionEventsQuery>,
) -> Result<Json<EventsView>, ApiError> {
    Ok(Json(event_page(&app, &caller, session, &query).await?))
}

/// List the output of a session's run
///
/// The pages of the trace, filtered to messages, outputs, errors and terminal statuses. `nextAfterSeq` advances even if
/// a page is empty.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/output", tag = "sessions", operation_id = "getSessionOutput",
    security(("bearer" = [])), params(("session" = String, Path, description = "Session id"), SessionEventsQuery),
    responses((status = 200, description = "One page", body = EventsView), CommonErrors)
)]
pub(crate) async fn output(
    State(app): State<App>,
    caller: Authorized<RunsRead>,
    PathIds(session): PathIds<SessionId>,
    ValidatedQuery(query): ValidatedQuery<SessionEventsQuery>,
) -> Result<Json<EventsView>, ApiError> {
    let mut page = event_page(&app, &caller, session, &query).await?;
    let output_kinds =
        [event::ASSISTANT_MESSAGE, event::COMMAND_OUTPUT, event::ERROR, event::TERMINAL_STATUS];
    page.events.retain(|event| output_kinds.contains(&event.r#type.as_str()));
    Ok(Json(page))
}

async fn event_page(
    app: &App,
    caller: &Authorized<RunsRead>,
    session: SessionId,
    query: &SessionEventsQuery,
) -> Result<EventsView, ApiError> {
    let run: Option<RunId> = query.run_id.as_deref().map(|id| parse("runId", id)).transpose()?;
    let after = parse_seq("afterSeq", query.after_seq)?;
    let limit = check_limit("limit", query.limit, 1000)?;
    let (run, page) = app.sessions.sessions.events(caller, session, run, after, limit).await?;
    Ok(page_view(run, after, &page))
}

/// Follow the events of a session (server-sent events)
///
/// Streams the runs of the session one after the other, and continues with the next run when it starts. An `event`
/// frame contains an event with `runId` and `runOrdinal`; its id is a cursor over the whole session. The control
/// frames are those of the stream of a run.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/stream", tag = "sessions", operation_id = "followSession",
    security(("bearer" = [])),
    params(
        ("session" = String, Path, description = "Session id"),
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
    PathIds(session): PathIds<SessionId>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (client, cursor) = (client_id(&headers)?, last_event_id(&headers)?);
    let stream = app.sessions.sessions.follow(&follower.caller, session, cursor).await?;
    app.streams.open(&follower, client, stream)
}

impl StreamSource for SessionStream {
    type ReadRight = RunsRead;

    fn topic(&self) -> StreamTopic {
        StreamTopic { kind: "session", tenant: Some(self.tenant), owner: self.session.as_uuid() }
    }

    async fn next(&mut self) -> Result<Option<StreamEvent>, ServiceError> {
        let next = self.next().await?;
        let view = SessionEventView {
            run_id: next.run.to_string(),
            run_ordinal: next.cursor.position.ordinal,
            event: events::view(&next.entry),
        };
        let event =
            StreamEvent { name: Some(EVENT), cursor: next.cursor.to_string(), data: json!(view).to_string() };
        Ok(Some(event))
    }

    fn gap(&self) -> Option<Gap> {
        self.gap()
    }

    fn replayed(&self) -> Option<(Seq, Option<i32>)> {
        self.replayed().map(|last| (last.seq, Some(last.ordinal)))
    }
}

/// Mark a session as read
#[utoipa::path(
    post, path = "/api/v1/sessions/{session}/read", tag = "sessions", operation_id = "markSessionRead",
    security(("bearer" = [])), params(("session" = String, Path, description = "Session id")),
    request_body = MarkRead, responses((status = 200, description = "The session, with its new read version", body = SessionView), CommonErrors)
)]
pub(crate) async fn mark_read(
    State(app): State<App>,
    caller: Authorized<RunsRead>,
    PathIds(session): PathIds<SessionId>,
    Body(body): Body<MarkRead>,
) -> Result<Json<SessionView>, ApiError> {
    let reader = check_reader_id(&body.reader_id)?;
    let version = body.version.map(SessionVersion::new);
    Ok(Json(view(&app.sessions.sessions.mark_read(&caller, session, reader, version).await?)))
}

/// Cancel the active work of a session
///
/// Cancels the active command, or else the open run.
#[utoipa::path(
    post, path = "/api/v1/sessions/{session}/control", tag = "sessions", operation_id = "controlSession",
    security(("bearer" = [])), params(("session" = String, Path, description = "Session id")),
    request_body = ControlSession,
    responses((status = 200, description = "What was cancelled", body = SessionCancellationView), CommonErrors)
)]
pub(crate) async fn control(
    State(app): State<App>,
    caller: Authorized<RunsWrite>,
    PathIds(session): PathIds<SessionId>,
    Body(body): Body<ControlSession>,
) -> Result<Json<SessionCancellationView>, ApiError> {
    if body.action != "cancel" {
        return Err(ApiError::new(FailureKind::SchemaInvalid, "action: use cancel"));
    }
    Ok(Json(match app.sessions.sessions.cancel(&caller, session).await? {
        SessionCancellation::Command(command) => SessionCancellationView {
            cancelled: "command".to_owned(),
            run_id: Some(command.run.to_string()),
            command_id: Some(command.id.to_string()),
            status: Some(command.state.as_str().to_owned()),
        },
        SessionCancellation::Run(run) => SessionCancellationView {
            cancelled: "run".to_owned(),
            run_id: Some(run.run.id.to_string()),
            command_id: None,
            status: Some(run.status.to_string()),
        },
        SessionCancellation::Nothing => SessionCancellationView {
            cancelled: "nothing".to_owned(),
            run_id: None,
            command_id: None,
            status: None,
        },
    }))
}

/// Validates a reader id.
fn check_reader_id(name: &str) -> Result<&str, ApiError> {
    if (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(name);
    }
    Err(ApiError::new(FailureKind::SchemaInvalid, "readerId: use 1 to 64 visible ASCII characters"))
}

pub(crate) fn view(session: &Session) -> SessionView {
    SessionView {
        session_id: session.id.to_string(),
        tenant_id: session.tenant.to_string(),
        title: session.title.clone(),
        project_id: session.project.clone(),
        backend_profile: session.backend_profile.clone(),
        created_by: session.created_by.to_string(),
        created_at: session.created_at,
        updated_at: session.updated_at,
        thread_id: session.thread_id.clone(),
        execution_state: session.state.to_string(),
        version: session.version.get(),
        read_version: session.read_version.get(),
        unread: is_unread(session.version, session.read_version),
        run_count: session.runs,
        active_run_id: session.active_run.map(|run| run.to_string()),
        active_command_id: session.active_command.map(|command| command.to_string()),
        last_run_id: session.last_run.map(|run| run.to_string()),
        storage_kind: session.storage.to_string(),
        run: None,
        last_event_seq: None,
        liveness: None,
        supervisor: None,
    }
}

fn supervisor(run: &RunView) -> SupervisorView {
    SupervisorView {
        run_id: run.run_id.clone(),
        run_status: run.status.clone(),
        phase: run.liveness.phase.clone(),
        active: run.liveness.active,
        runner_id: run.lease.as_ref().map(|lease| lease.runner_id.clone()),
        lease_expires_at: run.lease.as_ref().map(|lease| lease.expires_at),
        open_command_ids: run.open_command_ids.clone(),
    }
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list, create::create))
        .routes(routes!(get))
        .routes(routes!(trace))
        .routes(routes!(output))
        .routes(routes!(follow))
        .routes(routes!(mark_read))
        .routes(routes!(control))
        .routes(routes!(storage::get, storage::evict))
        .routes(routes!(storage::refresh))
}
