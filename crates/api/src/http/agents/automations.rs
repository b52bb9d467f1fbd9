//! Automations.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{AgentsManage, AgentsRead};
use guildhall_domain::agents::automation::{Automation, AutomationChange, AutomationSettings};
use guildhall_domain::ids::AutomationId;
use guildhall_protocol::rest::agents::automations::{
    AutomationView, AutomationsQuery, AutomationsView, CreateAutomation, UpdateAutomation,
};
use guildhall_service::agents::automations;
use serde_json::json;

use super::pipeline;
use crate::App;
use crate::edge::caller::PendingAuthorization;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, ValidatedQuery, check_name, idempotency_key, parse};
use crate::http::headers::IdempotencyKeyHeader;
use crate::http::responses::CommonErrors;

/// Create an automation
///
/// A stored message to an agent, with a pipeline of its own. It has no schedule: a request starts its runs. With an
/// `Idempotency-Key`, a repeated request returns the same automation.
#[utoipa::path(
    post, path = "/api/v1/automations", tag = "agents", operation_id = "createAutomation", security(("bearer" = [])),
    params(IdempotencyKeyHeader), request_body = CreateAutomation,
    responses((status = 201, description = "Created", body = AutomationView), CommonErrors)
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: PendingAuthorization<AgentsManage>,
    headers: HeaderMap,
    Body(body): Body<CreateAutomation>,
) -> Result<(StatusCode, Json<AutomationView>), ApiError> {
    let key = idempotency_key(&headers)?;
    let caller = caller.in_tenant(&app, &body.tenant_id).await?;
    check_name("name", &body.name)?;
    let request = automations::CreateAutomation {
        agent: parse("agentId", &body.agent_id)?,
        slug: parse("slug", &body.slug)?,
        name: body.name,
        settings: AutomationSettings {
            prompt: body.prompt,
            pipeline: pipeline::parse(body.pipeline)?.unwrap_or_default(),
        },
    };
    let automation = app.agents.automations.create(&caller, &request, key.as_ref()).await?;
    Ok((StatusCode::CREATED, Json(view(automation))))
}

/// List the automations of a tenant
#[utoipa::path(
    get, path = "/api/v1/automations", tag = "agents", operation_id = "listAutomations", security(("bearer" = [])),
    params(AutomationsQuery),
    responses((status = 200, description = "Sorted by slug", body = AutomationsView), CommonErrors)
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: PendingAuthorization<AgentsRead>,
    ValidatedQuery(query): ValidatedQuery<AutomationsQuery>,
) -> Result<Json<AutomationsView>, ApiError> {
    let caller = caller.in_tenant(&app, &query.tenant_id).await?;
    let automations = app.agents.automations.list(&caller).await?;
    Ok(Json(AutomationsView { automations: automations.into_iter().map(view).collect() }))
}

/// Get an automation
#[utoipa::path(
    get, path = "/api/v1/automations/{automation}", tag = "agents", operation_id = "getAutomation",
    security(("bearer" = [])), params(("automation" = String, Path, description = "Automation id")),
    responses((status = 200, description = "The automation", body = AutomationView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: Authorized<AgentsRead>,
    PathIds(automation): PathIds<AutomationId>,
) -> Result<Json<AutomationView>, ApiError> {
    Ok(Json(view(app.agents.automations.get(&caller, automation).await?)))
}

/// Change an automation
///
/// Omitted values stay as they are. Runs that were started keep what they were started with.
#[utoipa::path(
    patch, path = "/api/v1/automations/{automation}", tag = "agents", operation_id = "updateAutomation",
    security(("bearer" = [])), params(("automation" = String, Path, description = "Automation id")),
    request_body = UpdateAutomation,
    responses((status = 200, description = "The changed automation", body = AutomationView), CommonErrors)
)]
pub(crate) async fn update(
    State(app): State<App>,
    caller: Authorized<AgentsManage>,
    PathIds(automation): PathIds<AutomationId>,
    Body(body): Body<UpdateAutomation>,
) -> Result<Json<AutomationView>, ApiError> {
    if let Some(name) = &body.name {
        check_name("name", name)?;
    }
    let change = AutomationChange {
        revision: body.revision,
        name: body.name,
        enabled: body.enabled,
        prompt: body.prompt,
        pipeline: pipeline::parse(body.pipeline)?,
    };
    Ok(Json(view(app.agents.automations.update(&caller, automation, change).await?)))
}

fn view(automation: Automation) -> AutomationView {
    AutomationView {
        id: automation.id.to_string(),
        tenant_id: automation.tenant.to_string(),
        agent_id: automation.agent.to_string(),
        slug: automation.slug,
        name: automation.name,
        prompt: automation.settings.prompt,
        pipeline: json!(automation.settings.pipeline),
        enabled: automation.enabled,
        revision: automation.revision,
        created_at: automation.created_at,
        updated_at: automation.updated_at,
    }
}
