//! Agents.

mod aid;
mod automations;
mod end_users;
mod manifests;
mod pipeline;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{AgentsManage, AgentsRead};
use guildhall_domain::agents::end_users::EndUserSettings;
use guildhall_domain::agents::instructions::{Instructions, InvalidInstructions};
use guildhall_domain::agents::settings::{AgentSettings, AgentSettingsChange};
use guildhall_domain::agents::{Agent, AgentChange};
use guildhall_domain::ids::AgentId;
use guildhall_domain::runs::policy::PolicyRequest;
use guildhall_protocol::rest::agents::{AgentView, AgentsQuery, AgentsView, CreateAgent, UpdateAgent};
use guildhall_service::agents;
use guildhall_service::idempotency::IdempotencyKey;
use serde_json::{Value, json};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::edge::caller::PendingAuthorization;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, ValidatedQuery, check_name, idempotency_key, parse, parse_part};
use crate::http::headers::IdempotencyKeyHeader;
use crate::http::responses::CommonErrors;

/// Create an agent
///
/// An agent is a principal that people talk to. Its settings are the template of its runs. With an `Idempotency-Key`, a
/// repeated request returns the same agent. A manifest is its version 1; only a person may send one.
#[utoipa::path(
    post, path = "/api/v1/agents", tag = "agents", operation_id = "createAgent", security(("bearer" = [])),
    params(IdempotencyKeyHeader), request_body = CreateAgent,
    responses((status = 201, description = "Created", body = AgentView), CommonErrors)
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: PendingAuthorization<AgentsManage>,
    headers: HeaderMap,
    Body(body): Body<CreateAgent>,
) -> Result<(StatusCode, Json<AgentView>), ApiError> {
    let key = idempotency_key(&headers)?;
    create_agent(&app, caller, key.as_ref(), body).await
}

async fn create_agent(
    app: &App,
    caller: PendingAuthorization<AgentsManage>,
    key: Option<&IdempotencyKey>,
    body: CreateAgent,
) -> Result<(StatusCode, Json<AgentView>), ApiError> {
    let caller = caller.in_tenant(app, &body.tenant_id).await?;
    check_name("name", &body.name)?;
    let request = agents::CreateAgent {
        slug: parse("slug", &body.slug)?,
        name: body.name,
        is_default: body.default,
        settings: AgentSettings {
            description: body.description.unwrap_or_default(),
            instructions: body.instructions.map(instructions).transpose()?,
            project: parse("projectId", &body.project_id)?,
            provider: parse("providerId", &body.provider_id)?,
            profile: parse("backendProfile", &body.backend_profile)?,
            workspace: parse_part("workspaceRef", body.workspace_ref)?,
            policy: policy(app, body.execution_policy.unwrap_or_else(|| json!({})))?,
            pipeline: pipeline::parse(body.pipeline)?.unwrap_or_default(),
            end_users: end_users::parse(body.end_users)?.apply(EndUserSettings::default()),
        },
        manifest: manifests::parse(body.capability_manifest).await?,
    };
    let agent = app.agents.agents.create(&caller, &request, key).await?;
    Ok((StatusCode::CREATED, Json(view(agent))))
}

/// List the agents of a tenant
#[utoipa::path(
    get, path = "/api/v1/agents", tag = "agents", operation_id = "listAgents", security(("bearer" = [])),
    params(AgentsQuery), responses((status = 200, description = "Sorted by slug", body = AgentsView), CommonErrors)
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: PendingAuthorization<AgentsRead>,
    ValidatedQuery(query): ValidatedQuery<AgentsQuery>,
) -> Result<Json<AgentsView>, ApiError> {
    let caller = caller.in_tenant(&app, &query.tenant_id).await?;
    let agents = app.agents.agents.list(&caller).await?;
    Ok(Json(AgentsView { agents: agents.into_iter().map(view).collect() }))
}

/// Get an agent
#[utoipa::path(
    get, path = "/api/v1/agents/{agent}", tag = "agents", operation_id = "getAgent", security(("bearer" = [])),
    params(("agent" = String, Path, description = "Agent id")),
    responses((status = 200, description = "The agent", body = AgentView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: Authorized<AgentsRead>,
    PathIds(agent): PathIds<AgentId>,
) -> Result<Json<AgentView>, ApiError> {
    Ok(Json(view(app.agents.agents.get(&caller, agent).await?)))
}

/// Change an agent
///
/// Omitted values stay as they are. New conversations use the new settings; runs that exist keep theirs. Only a person may
/// change an agent: service keys get 403.
#[utoipa::path(
    patch, path = "/api/v1/agents/{agent}", tag = "agents", operation_id = "updateAgent", security(("bearer" = [])),
    params(("agent" = String, Path, description = "Agent id")), request_body = UpdateAgent,
    responses((status = 200, description = "The changed agent", body = AgentView), CommonErrors)
)]
pub(crate) async fn update(
    State(app): State<App>,
    caller: Authorized<AgentsManage>,
    PathIds(agent): PathIds<AgentId>,
    Body(body): Body<UpdateAgent>,
) -> Result<Json<AgentView>, ApiError> {
    if let Some(name) = &body.name {
        check_name("name", name)?;
    }
    let parse_instructions = |text: Option<String>| text.map(instructions).transpose();
    let change = AgentChange {
        revision: body.revision,
        name: body.name,
        enabled: body.enabled,
        is_default: body.default,
        settings: AgentSettingsChange {
            description: body.description,
            instructions: body.instructions.map(parse_instructions).transpose()?,
            project: body.project_id.map(|text| parse("projectId", &text)).transpose()?,
            provider: body.provider_id.map(|text| parse("providerId", &text)).transpose()?,
            profile: body.backend_profile.map(|text| parse("backendProfile", &text)).transpose()?,
            workspace: body.workspace_ref.map(|value| parse_part("workspaceRef", value)).transpose()?,
            policy: body.execution_policy.map(|value| policy(&app, value)).transpose()?,
            pipeline: pipeline::parse(body.pipeline)?,
            end_users: end_users::parse(body.end_users)?,
        },
        manifest_version: body.capability_manifest_version,
        manifest: manifests::parse(body.capability_manifest).await?,
        published: body.published,
    };
    Ok(Json(view(app.agents.agents.update(&caller, agent, change).await?)))
}

fn instructions(text: String) -> Result<Instructions, ApiError> {
    text.try_into()
        .map_err(|error: InvalidInstructions| ApiError::new(FailureKind::SchemaInvalid, error.to_string()))
}

fn policy(app: &App, mut requested: Value) -> Result<PolicyRequest, ApiError> {
    app.runs.runs.secret_aliases().replace_in(&mut requested);
    parse_part("executionPolicy", requested)
}

fn view(agent: Agent) -> AgentView {
    let settings = agent.settings;
    AgentView {
        id: agent.id.to_string(),
        tenant_id: agent.tenant.to_string(),
        slug: agent.slug,
        name: agent.name,
        description: settings.description,
        instructions: settings.instructions.map(String::from),
        project_id: settings.project.to_string(),
        workspace_ref: json!(settings.workspace),
        provider_id: settings.provider.to_string(),
        backend_profile: settings.profile.to_string(),
        execution_policy: json!(settings.policy),
        pipeline: json!(settings.pipeline),
        end_users: end_users::view(settings.end_users),
        enabled: agent.enabled,
        default: agent.is_default,
        revision: agent.revision,
        capability_manifest_version: agent.manifest.map(|manifest| manifest.version),
        capability_manifest_hash: agent.manifest.map(|manifest| manifest.hash.to_string()),
        published: agent.published,
        created_at: agent.created_at,
        updated_at: agent.updated_at,
    }
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get, update))
        .routes(routes!(aid::get, aid::put, aid::delete))
        .routes(routes!(manifests::list))
        .routes(routes!(manifests::get))
        .routes(routes!(manifests::create_agent))
        .routes(routes!(manifests::get_published, manifests::update_agent))
        .routes(routes!(manifests::get_published_version))
        .routes(routes!(automations::create, automations::list))
        .routes(routes!(automations::get, automations::update))
}
