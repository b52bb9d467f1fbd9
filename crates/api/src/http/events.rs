//! Events of runs.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use guildhall_domain::FailureKind;
use guildhall_domain::ids::RunId;
use guildhall_domain::journal::Seq;
use guildhall_domain::run::event::Body as EventBody;
use guildhall_protocol::rest::runs::{EventView, EventsQuery, EventsView};
use guildhall_service::audit::Entry;
use guildhall_service::runs::EventPage;

use super::answers::Usual;
use crate::App;
use crate::caller::Asking;
use crate::error::ApiError;
use crate::input::{Ids, Words};

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
    let page = app.runs.events(&asking.caller, run, after, query.limit).await?;
    Ok(Json(page_view(Some(run), after, &page)))
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

pub(super) fn seq(field: &'static str, number: i64) -> Result<Seq, ApiError> {
    Seq::new(number)
        .ok_or_else(|| ApiError::new(FailureKind::SchemaInvalid, format!("{field}: must not be negative")))
}

pub(super) fn page_view(run: Option<RunId>, after: Seq, page: &EventPage) -> EventsView {
    let next = page.entries.last().map_or(after, |last| last.seq);
    EventsView {
        run_id: run.map(|run| run.to_string()),
        events: page.entries.iter().map(view).collect(),
        last_seq: page.last_seq.get(),
        next_after_seq: next.get(),
        has_more: next < page.last_seq,
    }
}

pub(super) fn view(entry: &Entry) -> EventView {
    let body = entry.body.as_deref().and_then(|body| serde_json::from_str::<EventBody>(body).ok());
    let (event_id, command_id, payload) = match body {
        Some(body) => (body.id, body.command_id.map(|command| command.to_string()), Some(body.payload)),
        None => (None, None, None),
    };
    EventView {
        v: 1,
        seq: entry.seq.get(),
        r#type: entry.kind.clone(),
        event_id,
        command_id,
        payload,
        erased: entry.body.is_none(),
        recorded_at: entry.recorded_at,
    }
}
