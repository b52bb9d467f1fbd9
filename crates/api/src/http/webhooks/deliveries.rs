//! The log of deliveries, and events that are sent again.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::KeysManage;
use guildhall_domain::ids::WebhookId;
use guildhall_domain::webhooks::log::{DeliveryState, ResendSelection, ResendStates, WebhookDelivery};
use guildhall_protocol::rest::webhooks::deliveries::{
    AttemptView, DeliveriesQuery, DeliveriesView, DeliveryView, ResendEvents, ResentView,
};
use guildhall_service::webhooks::deliveries::LogQuery;
use jiff::Timestamp;

use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, ValidatedQuery, check_limit, parse};
use crate::http::responses::CommonErrors;

/// List the deliveries of a webhook
///
/// Its events, newest first, with the attempts to send them. They are kept for 14 days, at most 100,000 of a webhook.
#[utoipa::path(
    get, path = "/api/v1/webhooks/{webhook}/deliveries", tag = "webhooks", operation_id = "listWebhookDeliveries",
    security(("bearer" = [])),
    params(("webhook" = String, Path, description = "Webhook id"), DeliveriesQuery),
    responses((status = 200, description = "One page", body = DeliveriesView), CommonErrors)
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Authorized<KeysManage>,
    PathIds(webhook): PathIds<WebhookId>,
    ValidatedQuery(query): ValidatedQuery<DeliveriesQuery>,
) -> Result<Json<DeliveriesView>, ApiError> {
    let query = LogQuery {
        before: query.cursor.as_deref().map(parse_cursor).transpose()?,
        state: query.state.as_deref().map(parse_state).transpose()?,
        limit: check_limit("limit", query.limit, 100)?,
    };
    let page = app.webhooks.deliveries.list(&caller, webhook, &query).await?;
    let next_cursor = page.next_before.map(|before| before.to_string());
    Ok(Json(DeliveriesView { deliveries: page.deliveries.into_iter().map(view).collect(), next_cursor }))
}

/// Digits of a cursor: fewer than an overflow needs.
const MAX_CURSOR_DIGITS: usize = 18;

fn parse_cursor(cursor: &str) -> Result<i64, ApiError> {
    if cursor.len() > MAX_CURSOR_DIGITS || !cursor.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ApiError::new(FailureKind::SchemaInvalid, "cursor: expected the nextCursor of a page"));
    }
    parse("cursor", cursor)
}

/// Send events of a webhook again
///
/// One event, or those of a window. They are sent in their order, under the ids that they had.
#[utoipa::path(
    post, path = "/api/v1/webhooks/{webhook}/resend", tag = "webhooks", operation_id = "resendWebhookEvents",
    security(("bearer" = [])), params(("webhook" = String, Path, description = "Webhook id")),
    request_body = ResendEvents,
    responses((status = 202, description = "The events will be sent", body = ResentView), CommonErrors)
)]
pub(crate) async fn resend(
    State(app): State<App>,
    caller: Authorized<KeysManage>,
    PathIds(webhook): PathIds<WebhookId>,
    Body(body): Body<ResendEvents>,
) -> Result<(StatusCode, Json<ResentView>), ApiError> {
    let selection = selection(&body)?;
    let events = app.webhooks.deliveries.resend(&caller, webhook, &selection).await?;
    Ok((StatusCode::ACCEPTED, Json(ResentView { events })))
}

fn selection(body: &ResendEvents) -> Result<ResendSelection, ApiError> {
    let invalid = |message: &str| ApiError::new(FailureKind::SchemaInvalid, message.to_owned());
    let ResendEvents { event_id, since, until, only } = body;
    let only = only
        .as_deref()
        .map(|name| ResendStates::from_name(name).map_err(|error| invalid(&format!("only: {error}"))));
    match (event_id, since, until, only.transpose()?) {
        (Some(event), None, None, None) => Ok(ResendSelection::Event(parse("eventId", event)?)),
        (None, Some(since), until, only) => Ok(ResendSelection::Window {
            // Earlier times are no times for PostgreSQL.
            since: (*since).max(Timestamp::UNIX_EPOCH),
            until: until.unwrap_or(Timestamp::MAX).max(Timestamp::UNIX_EPOCH),
            only: only.unwrap_or(ResendStates::Failed),
        }),
        (Some(_), _, _, _) => Err(invalid("eventId: name either one event or a window")),
        (None, None, _, _) => Err(invalid("name eventId or since")),
    }
}

fn parse_state(name: &str) -> Result<DeliveryState, ApiError> {
    DeliveryState::from_name(name)
        .map_err(|error| ApiError::new(FailureKind::SchemaInvalid, format!("state: {error}")))
}

fn view(delivery: WebhookDelivery) -> DeliveryView {
    let attempts = delivery.attempts.into_iter().map(|attempt| AttemptView {
        attempt: attempt.attempt,
        at: attempt.at,
        status: attempt.status,
        duration_ms: attempt.duration_ms,
        error: attempt.error,
    });
    DeliveryView {
        event_id: delivery.event.to_string(),
        event_type: delivery.event_type.map(|event_type| event_type.to_string()),
        state: delivery.state.to_string(),
        created_at: delivery.created_at,
        finished_at: delivery.finished_at,
        next_attempt_at: delivery.next_attempt_at,
        attempts: attempts.collect(),
    }
}
