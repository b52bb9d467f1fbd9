//! Sessions, as their readers see them.

mod storage;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use guildhall_domain::FailureKind;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::ids::{RunId, SessionId, TenantId};
use guildhall_domain::journal::{Gap, Seq};
use guildhall_domain::runs::event;
use guildhall_domain::sessions::{Version, is_unread};
use guildhall_protocol::rest::runs::EventsView;
use guildhall_protocol::rest::sessions::{
    ControlSession, ControlledView, MarkRead, SessionEventsQuery, SessionQuery, SessionView, SessionsQuery,
    SessionsView,
};
use guildhall_protocol::stream::SessionEventView;
use guildhall_service::ServiceError;
use guildhall_service::runs::{Runs, SessionStream};
use guildhall_service::sessions::{Controlled, Filter, Session};
use serde_json::json;

use crate::http::answers::{TooMany, Usual};
use crate::http::runs;
use crate::http::runs::events::{self, EVENT, page_view, seq};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::edge::caller::Asking;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, Ids, Words, parse, within};
use crate::edge::stream::{About, Fact, Source, client_id, last_event_id};

/// Sessions: what runs and what is new to you, or all
#[utoipa::path(
    get, path = "/api/v1/sessions", tag = "sessions", operation_id = "listSessions", security(("bearer" = [])),
    params(SessionsQuery), responses((status = 200, description = "Newest first", body = SessionsView), Usual)
)]
pub(crate) async fn list(
    State(app): State<App>,
    asking: Asking,
    Words(query): Words<SessionsQuery>,
) -> Result<Json<SessionsView>, ApiError> {
    let all = match query.state.as_deref() {
        None | Some("default") => false,
        Some("all") => true,
        Some(_) => return Err(ApiError::new(FailureKind::SchemaInvalid, "state: use default or all")),
    };
    let tenant = match &query.tenant_id {
        Some(tenant) => Some(runs::tenant(&app, tenant).await?),
        None => None,
    };
    let filter = Filter {
        tenant,
        backend_profile: query.backend_profile.as_deref(),
        all,
        before: query.cursor.as_deref().map(|cursor| parse("cursor", cursor)).transpose()?,
    };
    let reader = reader(&query.reader_id)?;
    let limit = within("limit", query.limit, 200)?;
    let sessions = app.runs.sessions(&asking.caller, reader, &filter, limit).await?;
    let is_full = u32::try_from(sessions.len()).is_ok_and(|count| count >= query.limit);
    let next_cursor = sessions.last().filter(|_| is_full).map(|last| last.id.to_string());
    Ok(Json(SessionsView { sessions: sessions.iter().map(view).collect(), next_cursor }))
}

/// One session, with the run that is open or was last
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}", tag = "sessions", operation_id = "showSession",
    security(("bearer" = [])), params(("session" = String, Path, description = "A session's id"), SessionQuery),
    responses((status = 200, description = "The session", body = SessionView), Usual)
)]
pub(crate) async fn show(
    State(app): State<App>,
    asking: Asking,
    Ids(session): Ids<SessionId>,
    Words(query): Words<SessionQuery>,
) -> Result<Json<SessionView>, ApiError> {
    let shown = app.runs.session(&asking.caller, session, reader(&query.reader_id)?).await?;
    let run = shown.run.as_ref().map(runs::view);
    Ok(Json(SessionView { run, ..view(&shown.session) }))
}

/// The events of one of a session's runs
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/trace", tag = "sessions", operation_id = "traceSession",
    security(("bearer" = [])), params(("session" = String, Path, description = "A session's id"), SessionEventsQuery),
    responses((status = 200, description = "A page", body = EventsView), Usual)
)]
pub(crate) async fn trace(
    State(app): State<App>,
    asking: Asking,
    Ids(session): Ids<SessionId>,
    Words(query): Words<SessionEventsQuery>,
) -> Result<Json<EventsView>, ApiError> {
    Ok(Json(page(&app, &asking, session, &query).await?))
}

/// What an agent said and printed in one of a session's runs
///
/// The same pages as the trace, with only messages, outputs and errors in them: `nextAfterSeq` moves on even where a
/// page has none.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/output", tag = "sessions", operation_id = "outputOfSession",
    security(("bearer" = [])), params(("session" = String, Path, description = "A session's id"), SessionEventsQuery),
    responses((status = 200, description = "A page", body = EventsView), Usual)
)]
pub(crate) async fn output(
    State(app): State<App>,
    asking: Asking,
    Ids(session): Ids<SessionId>,
    Words(query): Words<SessionEventsQuery>,
) -> Result<Json<EventsView>, ApiError> {
    let mut page = page(&app, &asking, session, &query).await?;
    let shown = [event::ASSISTANT_MESSAGE, event::COMMAND_OUTPUT, event::ERROR, event::TERMINAL_STATUS];
    page.events.retain(|event| shown.contains(&event.r#type.as_str()));
    Ok(Json(page))
}

async fn page(
    app: &App,
    asking: &Asking,
    session: SessionId,
    query: &SessionEventsQuery,
) -> Result<EventsView, ApiError> {
    let run: Option<RunId> = query.run_id.as_deref().map(|id| parse("runId", id)).transpose()?;
    let after = seq("afterSeq", query.after_seq)?;
    let limit = within("limit", query.limit, 1000)?;
    let (run, page) = app.runs.session_events(&asking.caller, session, run, after, limit).await?;
    Ok(page_view(run, after, &page))
}

/// The events of all runs of a session, as they come (server-sent events)
///
/// One run after the other, and the next one when it begins. An `event` frame has the body of an event with `runId` and
/// `runOrdinal`; its id is a cursor over the whole session. All else is as in a run's stream.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/stream", tag = "sessions", operation_id = "followSession",
    security(("bearer" = [])),
    params(
        ("session" = String, Path, description = "A session's id"),
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
    Ids(session): Ids<SessionId>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (client, cursor) = (client_id(&headers)?, last_event_id(&headers)?);
    let stream = app.runs.follow_session(&asking.caller, session, cursor).await?;
    app.streams.open(asking, client, stream)
}

impl Source for SessionStream {
    fn about(&self) -> About {
        About { kind: "session", tenant: self.tenant, owner: self.session.as_uuid() }
    }

    async fn next(&mut self) -> Result<Fact, ServiceError> {
        let next = self.next().await?;
        let view = SessionEventView {
            run_id: next.run.to_string(),
            run_ordinal: next.cursor.place.ordinal,
            event: events::view(&next.entry),
        };
        Ok(Fact { name: EVENT, cursor: next.cursor.to_string(), data: json!(view).to_string() })
    }

    fn gap(&self) -> Option<Gap> {
        self.gap()
    }

    fn replayed(&self) -> Option<(Seq, Option<i32>)> {
        self.replayed().map(|last| (last.seq, Some(last.ordinal)))
    }

    fn may_read(caller: &Caller, tenant: TenantId) -> bool {
        Runs::may_read(caller, tenant)
    }
}

/// Say how far you have read a session
#[utoipa::path(
    post, path = "/api/v1/sessions/{session}/read", tag = "sessions", operation_id = "readSession",
    security(("bearer" = [])), params(("session" = String, Path, description = "A session's id")),
    request_body = MarkRead, responses((status = 200, description = "As you see it now", body = SessionView), Usual)
)]
pub(crate) async fn read(
    State(app): State<App>,
    asking: Asking,
    Ids(session): Ids<SessionId>,
    Body(body): Body<MarkRead>,
) -> Result<Json<SessionView>, ApiError> {
    let name = reader(&body.reader_id)?;
    let version = body.version.map(Version::new);
    Ok(Json(view(&app.runs.mark_read(&asking.caller, session, name, version).await?)))
}

/// Cancel what is at work in a session
#[utoipa::path(
    post, path = "/api/v1/sessions/{session}/control", tag = "sessions", operation_id = "controlSession",
    security(("bearer" = [])), params(("session" = String, Path, description = "A session's id")),
    request_body = ControlSession,
    responses((status = 200, description = "What was cancelled", body = ControlledView), Usual)
)]
pub(crate) async fn control(
    State(app): State<App>,
    asking: Asking,
    Ids(session): Ids<SessionId>,
    Body(body): Body<ControlSession>,
) -> Result<Json<ControlledView>, ApiError> {
    if body.action != "cancel" {
        return Err(ApiError::new(FailureKind::SchemaInvalid, "action: use cancel"));
    }
    Ok(Json(match app.runs.cancel_session(&asking.caller, session).await? {
        Controlled::Command(command) => ControlledView {
            cancelled: "command".to_owned(),
            run_id: Some(command.run.to_string()),
            command_id: Some(command.id.to_string()),
            status: Some(command.state.as_str().to_owned()),
        },
        Controlled::Run(shown) => ControlledView {
            cancelled: "run".to_owned(),
            run_id: Some(shown.run.id.to_string()),
            command_id: None,
            status: Some(shown.status.to_string()),
        },
        Controlled::Nothing => {
            ControlledView { cancelled: "nothing".to_owned(), run_id: None, command_id: None, status: None }
        }
    }))
}

/// Checks the name under which somebody reads.
fn reader(name: &str) -> Result<&str, ApiError> {
    if (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(name);
    }
    Err(ApiError::new(FailureKind::SchemaInvalid, "readerId: use 1 to 64 visible ASCII characters"))
}

pub(crate) fn view(session: &Session) -> SessionView {
    SessionView {
        session_id: session.id.to_string(),
        tenant_id: session.tenant.to_string(),
        project_id: session.project.clone(),
        backend_profile: session.backend_profile.clone(),
        created_by: session.created_by.to_string(),
        created_at: session.created_at,
        updated_at: session.updated_at,
        thread_id: session.thread_id.clone(),
        execution_state: session.state.to_string(),
        version: session.version.get(),
        read_version: session.read.get(),
        unread: is_unread(session.version, session.read),
        run_count: session.runs,
        active_run_id: session.active_run.map(|run| run.to_string()),
        active_command_id: session.active_command.map(|command| command.to_string()),
        last_run_id: session.last_run.map(|run| run.to_string()),
        storage_kind: session.storage.to_string(),
        run: None,
    }
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list, storage::create))
        .routes(routes!(show))
        .routes(routes!(trace))
        .routes(routes!(output))
        .routes(routes!(follow))
        .routes(routes!(read))
        .routes(routes!(control))
        .routes(routes!(storage::show, storage::evict))
        .routes(routes!(storage::refresh))
}
