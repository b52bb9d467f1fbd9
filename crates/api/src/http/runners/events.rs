//! Events reported by runners.

use axum::Json;
use axum::extract::State;
use guildhall_domain::FailureKind;
use guildhall_domain::ids::RunId;
use guildhall_domain::journal::AppendedEntry;
use guildhall_protocol::rest::runners::{AppendEvents, AppendedEventView, AppendedEventsView, NewEvent};
use guildhall_service::runners::events::ReportedEvent;

use super::grant_for;
use crate::App;
use crate::edge::caller::CachedRunHolder;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, parse};
use crate::http::responses::CommonErrors;

/// Events in one request.
const MAX_EVENTS: usize = 500;

/// Append events to a run
///
/// Requires a run token. Appends all events or none. An event with a known id is not appended again and keeps its
/// sequence number. Text that looks like a credential is redacted before it is stored.
#[utoipa::path(
    post, path = "/api/v1/runs/{run}/events", tag = "runners", operation_id = "appendEvents",
    security(("bearer" = [])), params(("run" = String, Path, description = "Run id")), request_body = AppendEvents,
    responses((status = 200, description = "The sequence number of each event", body = AppendedEventsView), CommonErrors)
)]
pub(crate) async fn append(
    State(app): State<App>,
    CachedRunHolder(token): CachedRunHolder,
    PathIds(run): PathIds<RunId>,
    Body(body): Body<AppendEvents>,
) -> Result<Json<AppendedEventsView>, ApiError> {
    let grant = grant_for(&token, run)?;
    if !(1..=MAX_EVENTS).contains(&body.events.len()) {
        let message = format!("events: must contain 1 to {MAX_EVENTS} events");
        return Err(ApiError::new(FailureKind::SchemaInvalid, message));
    }
    let ids: Vec<String> = body.events.iter().map(|event| event.id.clone()).collect();
    let events = body.events.into_iter().map(reported_event).collect::<Result<Vec<_>, _>>()?;
    let appended = app.runners.events.append(grant, events).await?;
    let last_seq = appended.iter().map(|entry| entry.seq().get()).max().unwrap_or(0);
    let events = ids.into_iter().zip(appended).map(|(id, entry)| AppendedEventView {
        id,
        seq: entry.seq().get(),
        replayed: matches!(entry, AppendedEntry::Replayed(_)),
    });
    Ok(Json(AppendedEventsView { events: events.collect(), last_seq }))
}

fn reported_event(event: NewEvent) -> Result<ReportedEvent, ApiError> {
    let command = event.command_id.as_deref().map(|id| parse("commandId", id)).transpose()?;
    Ok(ReportedEvent { id: event.id, kind: event.r#type, command, payload: event.payload })
}
