//! Listeners: programs that ask for the events of a webhook.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::KeysManage;
use guildhall_domain::ids::WebhookId;
use guildhall_protocol::rest::webhooks::listeners::{
    ClaimEvents, ClaimedEventView, ClaimedEventsView, ReportEvent, ReportedEventView,
};
use guildhall_service::webhooks::listeners::ListenerReport;

use crate::App;
use crate::edge::caller::WaitingCaller;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, parse};
use crate::edge::long_poll::LongPoll;
use crate::http::responses::CommonErrors;

/// Claim events of a listener
///
/// With `wait`, the request long-polls until there is an event or the time is over. The next event of a conversation comes
/// after the report about the one before.
#[utoipa::path(
    post, path = "/api/v1/webhooks/{webhook}/claim", tag = "webhooks", operation_id = "claimWebhookEvents",
    security(("bearer" = [])), params(("webhook" = String, Path, description = "Webhook id")),
    request_body = ClaimEvents,
    responses((status = 200, description = "The events", body = ClaimedEventsView), CommonErrors)
)]
pub(crate) async fn claim(
    State(app): State<App>,
    waiting: WaitingCaller<KeysManage>,
    PathIds(webhook): PathIds<WebhookId>,
    long_poll: LongPoll,
    Body(body): Body<ClaimEvents>,
) -> Result<Json<ClaimedEventsView>, ApiError> {
    let (listeners, place) = (&app.webhooks.listeners, long_poll.begin(&app, body.wait)?);
    tokio::select! {
        waited = listeners.wait_for_events(&waiting.caller, webhook, place.wait) => waited?,
        // The server stops accepting: the program continues at another replica.
        () = app.closing.cancelled() => {}
    }
    // After the wait: the right may have been taken away.
    let caller = waiting.authorize_again(&app).await?;
    let claimed = listeners.claim(&caller, webhook).await?;
    let events = claimed.into_iter().map(|event| ClaimedEventView {
        event_id: event.event.to_string(),
        claim: event.claim.to_string(),
        attempt: event.attempt,
        body: event.body,
    });
    Ok(Json(ClaimedEventsView { events: events.collect() }))
}

/// Report what the receiver of a listener has answered
///
/// An event that was not accepted is handed out again after a pause.
#[utoipa::path(
    post, path = "/api/v1/webhooks/{webhook}/reports", tag = "webhooks", operation_id = "reportWebhookEvent",
    security(("bearer" = [])), params(("webhook" = String, Path, description = "Webhook id")),
    request_body = ReportEvent,
    responses((status = 200, description = "Stored", body = ReportedEventView), CommonErrors)
)]
pub(crate) async fn report(
    State(app): State<App>,
    caller: Authorized<KeysManage>,
    PathIds(webhook): PathIds<WebhookId>,
    Body(body): Body<ReportEvent>,
) -> Result<Json<ReportedEventView>, ApiError> {
    if body.status.is_some_and(|status| !(100..=999).contains(&status)) {
        return Err(ApiError::new(FailureKind::SchemaInvalid, "status: must be 100 to 999"));
    }
    let report = ListenerReport {
        event: parse("eventId", &body.event_id)?,
        claim: parse("claim", &body.claim)?,
        status: body.status,
        duration: Duration::from_millis(body.duration_ms.min(MAX_DURATION_MS)),
    };
    app.webhooks.listeners.report(&caller, webhook, &report).await?;
    Ok(Json(ReportedEventView { event_id: body.event_id }))
}

/// No receiver is waited for longer: ten minutes.
const MAX_DURATION_MS: u64 = 600_000;
