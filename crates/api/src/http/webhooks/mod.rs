//! Webhooks.

mod deliveries;
mod listeners;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::KeysManage;
use guildhall_domain::ids::{AgentId, WebhookId};
use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_domain::webhooks::url::WebhookUrl;
use guildhall_domain::webhooks::{MAX_DESCRIPTION_CHARS, Webhook, WebhookSender};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::webhooks::{
    CreateWebhook, DeletedWebhookView, FailedDeliveryView, NewWebhookView, RotatedWebhookView, TriggerEvent,
    UpdateWebhook, WebhookTestView, WebhookView, WebhooksView,
};
use guildhall_service::webhooks::NewWebhook;
use secrecy::ExposeSecret;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, TenantSegment, idempotency_key, parse};
use crate::http::headers::IdempotencyKeyHeader;
use crate::http::responses::CommonErrors;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(delete))
        .routes(routes!(rotate))
        .routes(routes!(send_test))
        .routes(routes!(get, update))
        .routes(routes!(trigger))
        .routes(routes!(deliveries::list))
        .routes(routes!(deliveries::resend))
        .routes(routes!(listeners::claim))
        .routes(routes!(listeners::report))
}

/// Create a webhook
///
/// The server sends the chosen events to the URL, signed as Standard Webhooks defines it. The signing secret is returned
/// only once.
#[utoipa::path(
    post, path = "/api/v1/tenants/{tenant}/webhooks", tag = "webhooks", operation_id = "createWebhook",
    security(("bearer" = [])),
    params(("tenant" = String, Path, description = "Id or slug of the tenant"), IdempotencyKeyHeader),
    request_body = CreateWebhook,
    responses(
        (status = 201, description = "Created", body = NewWebhookView),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission, or an address that the server may not call", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 409, description = "Conflict with the current state", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Request body too large", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: Authorized<KeysManage>,
    headers: HeaderMap,
    Body(body): Body<CreateWebhook>,
) -> Result<(StatusCode, Json<NewWebhookView>), ApiError> {
    let (new, key) = (new_webhook(body)?, idempotency_key(&headers)?);
    let created = app.webhooks.webhooks.create(&caller, &new, key.as_ref()).await?;
    let secret = created.secret.map(|secret| secret.expose_secret().to_owned());
    Ok((StatusCode::CREATED, Json(NewWebhookView { id: created.id.to_string(), secret })))
}

/// List the webhooks of a tenant
///
/// With the last success and the last failure of each.
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/webhooks", tag = "webhooks", operation_id = "listWebhooks",
    security(("bearer" = [])),
    params(("tenant" = String, Path, description = "Id or slug of the tenant")),
    responses(
        (status = 200, description = "The webhooks, without their secrets", body = WebhooksView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Authorized<KeysManage>,
) -> Result<Json<WebhooksView>, ApiError> {
    let webhooks = app.webhooks.webhooks.list(&caller).await?;
    Ok(Json(WebhooksView { webhooks: webhooks.into_iter().map(view).collect() }))
}

/// Delete a webhook
///
/// Events that were not sent yet are dropped.
#[utoipa::path(
    delete, path = "/api/v1/tenants/{tenant}/webhooks/{webhook}", tag = "webhooks", operation_id = "deleteWebhook",
    security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "Id or slug of the tenant"),
        ("webhook" = String, Path, description = "Webhook id"),
    ),
    responses(
        (status = 200, description = "Deleted", body = DeletedWebhookView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn delete(
    State(app): State<App>,
    caller: Authorized<KeysManage>,
    PathIds((_tenant, webhook)): PathIds<(TenantSegment, WebhookId)>,
) -> Result<Json<DeletedWebhookView>, ApiError> {
    app.webhooks.webhooks.delete(&caller, webhook).await?;
    Ok(Json(DeletedWebhookView { id: webhook.to_string(), deleted: true }))
}

/// Replace the signing secret of a webhook
///
/// The new secret is returned only once. The previous one signs too for 24 hours, so each request has two signatures.
#[utoipa::path(
    post, path = "/api/v1/tenants/{tenant}/webhooks/{webhook}/rotate", tag = "webhooks",
    operation_id = "rotateWebhookSecret", security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "Id or slug of the tenant"),
        ("webhook" = String, Path, description = "Webhook id"),
    ),
    responses(
        (status = 200, description = "The new secret", body = RotatedWebhookView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn rotate(
    State(app): State<App>,
    caller: Authorized<KeysManage>,
    PathIds((_tenant, webhook)): PathIds<(TenantSegment, WebhookId)>,
) -> Result<Json<RotatedWebhookView>, ApiError> {
    let rotated = app.webhooks.webhooks.rotate(&caller, webhook).await?;
    Ok(Json(RotatedWebhookView {
        id: webhook.to_string(),
        secret: rotated.secret.expose_secret().to_owned(),
        previous_secret_ends_at: rotated.previous_ends_at,
    }))
}

/// Send a test event to a webhook
///
/// It is sent like any other event, with the type webhook.test. The list of webhooks shows its outcome.
#[utoipa::path(
    post, path = "/api/v1/tenants/{tenant}/webhooks/{webhook}/test", tag = "webhooks",
    operation_id = "testWebhook", security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "Id or slug of the tenant"),
        ("webhook" = String, Path, description = "Webhook id"),
    ),
    responses(
        (status = 202, description = "The event will be sent", body = WebhookTestView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 409, description = "The webhook is disabled", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn send_test(
    State(app): State<App>,
    caller: Authorized<KeysManage>,
    PathIds((_tenant, webhook)): PathIds<(TenantSegment, WebhookId)>,
) -> Result<(StatusCode, Json<WebhookTestView>), ApiError> {
    let event = app.webhooks.webhooks.send_sample(&caller, webhook, WebhookEventType::Test).await?;
    Ok((StatusCode::ACCEPTED, Json(WebhookTestView { event_id: event.to_string() })))
}

/// Get a webhook
///
/// Without its secret.
#[utoipa::path(
    get, path = "/api/v1/webhooks/{webhook}", tag = "webhooks", operation_id = "getWebhook",
    security(("bearer" = [])), params(("webhook" = String, Path, description = "Webhook id")),
    responses((status = 200, description = "The webhook", body = WebhookView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: Authorized<KeysManage>,
    PathIds(webhook): PathIds<WebhookId>,
) -> Result<Json<WebhookView>, ApiError> {
    Ok(Json(view(app.webhooks.webhooks.find(&caller, webhook).await?)))
}

/// Enable or disable a webhook
///
/// A disabled one misses its events. They are kept for 14 days, and sent on request.
#[utoipa::path(
    patch, path = "/api/v1/webhooks/{webhook}", tag = "webhooks", operation_id = "updateWebhook",
    security(("bearer" = [])), params(("webhook" = String, Path, description = "Webhook id")),
    request_body = UpdateWebhook,
    responses((status = 200, description = "The changed webhook", body = WebhookView), CommonErrors)
)]
pub(crate) async fn update(
    State(app): State<App>,
    caller: Authorized<KeysManage>,
    PathIds(webhook): PathIds<WebhookId>,
    Body(body): Body<UpdateWebhook>,
) -> Result<Json<WebhookView>, ApiError> {
    Ok(Json(view(app.webhooks.webhooks.set_enabled(&caller, webhook, body.enabled).await?)))
}

/// Send a sample event to a webhook
///
/// It is signed and sent like any other event of the type, and marked with `test`.
#[utoipa::path(
    post, path = "/api/v1/webhooks/{webhook}/trigger", tag = "webhooks", operation_id = "triggerWebhook",
    security(("bearer" = [])), params(("webhook" = String, Path, description = "Webhook id")),
    request_body = TriggerEvent,
    responses((status = 202, description = "The event will be sent", body = WebhookTestView), CommonErrors)
)]
pub(crate) async fn trigger(
    State(app): State<App>,
    caller: Authorized<KeysManage>,
    PathIds(webhook): PathIds<WebhookId>,
    Body(body): Body<TriggerEvent>,
) -> Result<(StatusCode, Json<WebhookTestView>), ApiError> {
    let event_type = WebhookEventType::from_name(&body.event_type)
        .map_err(|error| ApiError::new(FailureKind::SchemaInvalid, format!("type: {error}")))?;
    let event = app.webhooks.webhooks.send_sample(&caller, webhook, event_type).await?;
    Ok((StatusCode::ACCEPTED, Json(WebhookTestView { event_id: event.to_string() })))
}

fn new_webhook(body: CreateWebhook) -> Result<NewWebhook, ApiError> {
    let invalid = |field: &str, error: &dyn std::fmt::Display| {
        ApiError::new(FailureKind::SchemaInvalid, format!("{field}: {error}"))
    };
    let url = WebhookUrl::parse(&body.url).map_err(|error| invalid("url", &error))?;
    let events = body.events.iter().map(|name| WebhookEventType::from_name(name));
    let events = events.collect::<Result<Vec<_>, _>>().map_err(|error| invalid("events", &error))?;
    let description = body.description;
    if description.chars().count() > MAX_DESCRIPTION_CHARS || description.chars().any(char::is_control) {
        let rule = format!("use at most {MAX_DESCRIPTION_CHARS} characters and no control characters");
        return Err(invalid("description", &rule));
    }
    let sender = body.sender.as_deref().map_or(Ok(WebhookSender::Server), WebhookSender::from_name);
    let sender = sender.map_err(|error| invalid("sender", &error))?;
    let agent: Option<AgentId> = body.agent_id.as_deref().map(|id| parse("agentId", id)).transpose()?;
    if agent.is_none() && sender == WebhookSender::Listener {
        return Err(invalid("sender", &"a listener needs an agent"));
    }
    let agent = agent.map(|agent| (agent, sender));
    Ok(NewWebhook { agent, url, events, description })
}

fn view(webhook: Webhook) -> WebhookView {
    WebhookView {
        id: webhook.id.to_string(),
        agent_id: webhook.agent.map(|agent| agent.to_string()),
        sender: webhook.sender.to_string(),
        url: webhook.url.as_str().to_owned(),
        enabled: webhook.is_enabled(),
        events: webhook.events.iter().map(ToString::to_string).collect(),
        description: webhook.description,
        created_by: webhook.created_by.to_string(),
        created_at: webhook.created_at,
        disabled_at: webhook.disabled.map(|disabled| disabled.at),
        disabled_reason: webhook.disabled.map(|disabled| disabled.reason.to_string()),
        previous_secret_ends_at: webhook.previous_secret_ends_at,
        last_success_at: webhook.last_success_at,
        last_failure: webhook.last_failure.map(|failure| FailedDeliveryView {
            at: failure.at,
            event_id: failure.event.to_string(),
            attempt: failure.attempt,
            message: failure.message,
            is_final: failure.is_final,
        }),
        failing_since: webhook.failing_since,
    }
}
