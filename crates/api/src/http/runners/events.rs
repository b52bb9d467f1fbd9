//! What a runner reports.

use axum::Json;
use axum::extract::State;
use guildhall_domain::FailureKind;
use guildhall_domain::ids::RunId;
use guildhall_domain::journal::Placed;
use guildhall_protocol::rest::runners::{AppendEvents, AppendedView, NewEvent, PlacedView};
use guildhall_service::runners::EventAsk;

use super::held;
use crate::App;
use crate::edge::caller::HoldingLately;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, Ids, parse};
use crate::http::answers::Usual;

/// Events in one append.
const EVENTS_AT_MOST: usize = 500;

/// Append events to a run
///
/// With the token of a claim. All of them are appended, or none; an event sent again under its id keeps its number.
/// What looks like a credential is replaced before anything is kept.
#[utoipa::path(
    post, path = "/api/v1/runs/{run}/events", tag = "runners", operation_id = "appendEvents",
    security(("bearer" = [])), params(("run" = String, Path, description = "A run's id")), request_body = AppendEvents,
    responses((status = 200, description = "Where each stands", body = AppendedView), Usual)
)]
pub(crate) async fn append(
    State(app): State<App>,
    HoldingLately(holding): HoldingLately,
    Ids(run): Ids<RunId>,
    Body(body): Body<AppendEvents>,
) -> Result<Json<AppendedView>, ApiError> {
    let grant = held(&holding, run)?;
    if !(1..=EVENTS_AT_MOST).contains(&body.events.len()) {
        let words = format!("events: send 1 to {EVENTS_AT_MOST} at once");
        return Err(ApiError::new(FailureKind::SchemaInvalid, words));
    }
    let ids: Vec<String> = body.events.iter().map(|event| event.id.clone()).collect();
    let events = body.events.into_iter().map(ask).collect::<Result<Vec<_>, _>>()?;
    let placed = app.runners.append(grant, events).await?;
    let last_seq = placed.iter().map(|placed| placed.seq().get()).max().unwrap_or(0);
    let events = ids.into_iter().zip(placed).map(|(id, placed)| PlacedView {
        id,
        seq: placed.seq().get(),
        replayed: matches!(placed, Placed::Replay(_)),
    });
    Ok(Json(AppendedView { events: events.collect(), last_seq }))
}

fn ask(event: NewEvent) -> Result<EventAsk, ApiError> {
    let command = event.command_id.as_deref().map(|id| parse("commandId", id)).transpose()?;
    Ok(EventAsk { id: event.id, kind: event.r#type, command, payload: event.payload })
}
