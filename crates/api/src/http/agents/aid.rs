//! AIDs of agents.

use axum::Json;
use axum::extract::State;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{AgentsManage, AgentsRead};
use guildhall_domain::agents::aid::AgentAid;
use guildhall_domain::ids::AgentId;
use guildhall_protocol::rest::agents::aid::{AgentAidView, DeletedAgentAidView, PutAgentAid};

use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, parse};
use crate::http::responses::CommonErrors;

/// Get the AID of an agent
#[utoipa::path(
    get, path = "/api/v1/agents/{agent}/aid", tag = "agents", operation_id = "getAgentAid",
    security(("bearer" = [])), params(("agent" = String, Path, description = "Agent id")),
    responses((status = 200, description = "The AID", body = AgentAidView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: Authorized<AgentsRead>,
    PathIds(agent): PathIds<AgentId>,
) -> Result<Json<AgentAidView>, ApiError> {
    Ok(Json(view(&app.agents.aids.get(&caller, agent).await?)))
}

/// Set the AID of an agent that runs elsewhere
///
/// The agent holds the key. Only the owner of the AID sets it, and it stands for the agent as long as they are a member of the agent's
/// tenant. An agent has one AID: one that the server answers for keeps that of its inbox.
#[utoipa::path(
    put, path = "/api/v1/agents/{agent}/aid", tag = "agents", operation_id = "putAgentAid",
    security(("bearer" = [])), params(("agent" = String, Path, description = "Agent id")),
    request_body = PutAgentAid,
    responses((status = 200, description = "The AID", body = AgentAidView), CommonErrors)
)]
pub(crate) async fn put(
    State(app): State<App>,
    caller: Authorized<AgentsManage>,
    PathIds(agent): PathIds<AgentId>,
    Body(body): Body<PutAgentAid>,
) -> Result<Json<AgentAidView>, ApiError> {
    let aid = parse("aid", &body.aid)?;
    Ok(Json(view(&app.agents.aids.set(&caller, agent, &aid).await?)))
}

/// Take the AID from an agent that runs elsewhere
#[utoipa::path(
    delete, path = "/api/v1/agents/{agent}/aid", tag = "agents", operation_id = "deleteAgentAid",
    security(("bearer" = [])), params(("agent" = String, Path, description = "Agent id")),
    responses((status = 200, description = "Deleted", body = DeletedAgentAidView), CommonErrors)
)]
pub(crate) async fn delete(
    State(app): State<App>,
    caller: Authorized<AgentsManage>,
    PathIds(agent): PathIds<AgentId>,
) -> Result<Json<DeletedAgentAidView>, ApiError> {
    app.agents.aids.delete(&caller, agent).await?;
    Ok(Json(DeletedAgentAidView { agent_id: agent.to_string(), deleted: true }))
}

fn view(found: &AgentAid) -> AgentAidView {
    AgentAidView { aid: found.aid.to_string(), hosted: found.is_hosted }
}
