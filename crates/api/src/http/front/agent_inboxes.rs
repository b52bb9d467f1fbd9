//! Inboxes of agents.

use axum::Json;
use axum::extract::State;
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{AgentsManage, AgentsRead};
use guildhall_domain::agents::inbox::AgentInbox;
use guildhall_domain::ids::AgentId;
use guildhall_domain::messages::WorkSenders;
use guildhall_protocol::rest::agents::inbox::{AgentInboxView, PutAgentInbox};
use guildhall_service::front::agent_inboxes::AgentInboxRequest;

use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, parse};
use crate::http::responses::CommonErrors;

/// Get the inbox of an agent
#[utoipa::path(
    get, path = "/api/v1/agents/{agent}/inbox", tag = "agents", operation_id = "getAgentInbox",
    security(("bearer" = [])), params(("agent" = String, Path, description = "Agent id")),
    responses((status = 200, description = "The inbox", body = AgentInboxView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: Authorized<AgentsRead>,
    PathIds(agent): PathIds<AgentId>,
) -> Result<Json<AgentInboxView>, ApiError> {
    Ok(Json(view(&app.front.agent_inboxes.get(&caller, agent).await?)))
}

/// Give an agent an inbox
///
/// The agent gets an AID. A message to it becomes a turn in a conversation of its sender, and the answer is a message. The server
/// holds the key of the AID: such conversations are not encrypted end to end. The same request again changes whose messages
/// start work.
#[utoipa::path(
    put, path = "/api/v1/agents/{agent}/inbox", tag = "agents", operation_id = "putAgentInbox",
    security(("bearer" = [])), params(("agent" = String, Path, description = "Agent id")),
    request_body = PutAgentInbox,
    responses((status = 200, description = "The inbox", body = AgentInboxView), CommonErrors)
)]
pub(crate) async fn put(
    State(app): State<App>,
    caller: Authorized<AgentsManage>,
    PathIds(agent): PathIds<AgentId>,
    Body(body): Body<PutAgentInbox>,
) -> Result<Json<AgentInboxView>, ApiError> {
    let senders = body.senders.as_deref().map(WorkSenders::from_name).transpose();
    let senders =
        senders.map_err(|error| ApiError::new(FailureKind::SchemaInvalid, format!("senders: {error}")))?;
    let request = AgentInboxRequest {
        name: body.name.map(|name| parse("name", &name)).transpose()?,
        senders: senders.unwrap_or(WorkSenders::Members),
    };
    Ok(Json(view(&app.front.agent_inboxes.put(&caller, agent, &request).await?)))
}

fn view(inbox: &AgentInbox) -> AgentInboxView {
    AgentInboxView {
        aid: inbox.aid.to_string(),
        senders: inbox.senders.as_str().to_owned(),
        end_to_end_encrypted: false,
    }
}
