//! The routes of CopilotKit's runtime, so that its front ends need no runtime: AG-UI under other paths.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use guildhall_domain::access::role::rights::{AgentsRead, RunsRead, RunsWrite};
use guildhall_domain::agents::{Agent, AgentKey};
use guildhall_domain::front::copilotkit::agent_of;
use guildhall_domain::journal::follow::ClientId;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::front::agent_runs::{RunAgentInput, StoppedView};
use guildhall_protocol::rest::front::copilotkit::{
    CopilotKitAgent, CopilotKitInfo, CopilotKitQuery, CopilotKitThreadEndpoints, StopCopilotKitRun,
};
use guildhall_service::ServiceError;

use super::agent_names::AgentNames;
use super::agent_runs::read_body;
use super::agui::{self, StreamEnd, ThreadStart};
use super::client_ids::known_id;
use crate::App;
use crate::edge::caller::PendingAuthorization;
use crate::edge::client_address::DirectConnection;
use crate::edge::error::ApiError;
use crate::edge::input::{PathIds, ValidatedQuery, parse_body};
use crate::http::responses::CommonErrors;

/// Describe the agents for CopilotKit
///
/// The first request of a CopilotKit front end whose `runtimeUrl` is `/api/v1/copilotkit`.
#[utoipa::path(
    get, path = "/api/v1/copilotkit/info", tag = "front", operation_id = "getCopilotKitInfo",
    security(("bearer" = [])), params(CopilotKitQuery),
    responses((status = 200, description = "The agents", body = CopilotKitInfo), CommonErrors)
)]
pub(crate) async fn info(
    State(app): State<App>,
    caller: PendingAuthorization<AgentsRead>,
    ValidatedQuery(query): ValidatedQuery<CopilotKitQuery>,
) -> Result<Json<CopilotKitInfo>, ApiError> {
    let caller = caller.thread_owner(&app, query.tenant_id.as_deref()).await?;
    let agents = app.front.copilotkit.agents(&caller).await?;
    Ok(Json(CopilotKitInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        agents: agents.into_iter().map(|(name, agent)| (name, view(agent))).collect(),
        mode: "sse".to_owned(),
        audio_file_transcription_enabled: false,
        thread_endpoints: CopilotKitThreadEndpoints::default(),
        telemetry_disabled: true,
    }))
}

/// Run an agent for CopilotKit
///
/// The same as `POST /api/v1/agents/{agent}/agui`. `agent` is a name in `info`, or an id.
#[utoipa::path(
    post, path = "/api/v1/copilotkit/agent/{agent}/run", tag = "front", operation_id = "runCopilotKitAgent",
    security(("bearer" = [])),
    params(("agent" = String, Path, description = "Name or id of the agent"), CopilotKitQuery),
    request_body = RunAgentInput,
    responses(
        (status = 200, description = "AG-UI events until the run ends", body = String, content_type = "text/event-stream"),
        (status = 422, description = "The input breaks a rule", body = Problem, content_type = CONTENT_TYPE),
        CommonErrors,
    )
)]
pub(crate) async fn run(
    State(app): State<App>,
    caller: PendingAuthorization<RunsWrite>,
    PathIds(agent): PathIds<String>,
    DirectConnection(peer): DirectConnection,
    ValidatedQuery(query): ValidatedQuery<CopilotKitQuery>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let input = agui::parse_input(&read_body(body)?)?;
    let caller = caller.thread_owner(&app, query.tenant_id.as_deref()).await?;
    let agent = find_agent(&agent)?;
    let names = AgentNames { agent: agent.as_ref(), automation: None };
    agui::run(&app, caller, names, peer, input).await
}

/// Connect CopilotKit to a conversation
///
/// All runs of the thread `threadId` from its beginning, then live until no run is open. Empty if the caller has no such
/// thread: a front end connects to new threads too.
#[utoipa::path(
    post, path = "/api/v1/copilotkit/agent/{agent}/connect", tag = "front",
    operation_id = "connectCopilotKitAgent", security(("bearer" = [])),
    params(("agent" = String, Path, description = "Name or id of the agent"), CopilotKitQuery),
    request_body = RunAgentInput,
    responses(
        (status = 200, description = "AG-UI events", body = String, content_type = "text/event-stream"),
        (status = 422, description = "The input breaks a rule", body = Problem, content_type = CONTENT_TYPE),
        CommonErrors,
    )
)]
pub(crate) async fn connect(
    State(app): State<App>,
    caller: PendingAuthorization<RunsRead>,
    PathIds(agent): PathIds<String>,
    ValidatedQuery(query): ValidatedQuery<CopilotKitQuery>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let input = agui::parse_input(&read_body(body)?)?;
    let caller = caller.thread_owner(&app, query.tenant_id.as_deref()).await?;
    let agent = find_agent(&agent)?;
    let Some(session) = app.front.agent_runs.find(&caller, agent.as_ref(), &input.thread_id).await? else {
        return Ok([(header::CONTENT_TYPE, "text/event-stream")].into_response());
    };
    let (thread, version, end) = (&input.thread_id, input.version, StreamEnd::Idle);
    let start = ThreadStart { thread, session, version, after: None, end };
    agui::follow(&app, caller, ClientId::generate(), start).await
}

/// Stop the runs of a conversation for CopilotKit
///
/// Cancels the turns that have not ended, or the one of `runId`. The body is optional. Idempotent.
#[utoipa::path(
    post, path = "/api/v1/copilotkit/agent/{agent}/stop/{thread}", tag = "front",
    operation_id = "stopCopilotKitThread", security(("bearer" = [])),
    params(
        ("agent" = String, Path, description = "Name or id of the agent"),
        ("thread" = String, Path, description = "The client's id of the conversation"), CopilotKitQuery,
    ),
    request_body = Option<StopCopilotKitRun>,
    responses((status = 200, description = "Whether a turn is cancelled now", body = StoppedView), CommonErrors)
)]
pub(crate) async fn stop(
    State(app): State<App>,
    caller: PendingAuthorization<RunsWrite>,
    PathIds((agent, thread)): PathIds<(String, String)>,
    ValidatedQuery(query): ValidatedQuery<CopilotKitQuery>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<StoppedView>, ApiError> {
    let StopCopilotKitRun { run_id } = stopped_run(&read_body(body)?)?;
    let caller = caller.thread_owner(&app, query.tenant_id.as_deref()).await?;
    let (agent, thread) = (find_agent(&agent)?, known_id(&thread)?);
    let client_run = run_id.as_deref().map(known_id).transpose()?;
    let stopped = app.front.agent_runs.stop(&caller, agent.as_ref(), &thread, client_run.as_ref()).await?;
    Ok(Json(StoppedView { stopped }))
}

/// Reads the body of a stop, which CopilotKit leaves out if it knows no run.
fn stopped_run(body: &[u8]) -> Result<StopCopilotKitRun, ApiError> {
    if body.is_empty() {
        return Ok(StopCopilotKitRun::default());
    }
    Ok(parse_body::<Option<StopCopilotKitRun>>(body)?.unwrap_or_default())
}

/// Returns the agent of a name. A text that cannot be a name stands for no agent.
fn find_agent(name: &str) -> Result<Option<AgentKey>, ServiceError> {
    agent_of(name).map_err(|_| ServiceError::NOT_FOUND)
}

fn view(agent: Agent) -> CopilotKitAgent {
    CopilotKitAgent {
        name: agent.name,
        description: agent.settings.description,
        class_name: "HttpAgent".to_owned(),
    }
}
