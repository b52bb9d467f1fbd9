//! Runs of agents, as the Agent Run Input Protocol defines them: a run of the protocol is a turn of a session.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use guildhall_domain::FailureKind;
use guildhall_domain::access::role::rights::{RunsRead, RunsWrite};
use guildhall_domain::access::thread_owner::ThreadOwner;
use guildhall_domain::agents::AgentKey;
use guildhall_domain::ids::AgentId;
use guildhall_protocol::agui::event::AguiVersion;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::front::agent_runs::{
    self, AgentRunInput, AgentRunInputError, AgentRunsQuery, NewAgentRunQuery, RunAgentInput,
    StopAgentRunsQuery, StoppedView, TaskAcceptedResponse,
};
use guildhall_service::ServiceError;
use guildhall_service::front::agent_runs::TurnRequest;
use serde_json::{Value, json};

use super::agent_names::AgentNames;
use super::agui::{self, StreamEnd, ThreadStart};
use super::client_ids::{known_id, new_id};
use super::runtime_mode::pipeline_source;
use crate::App;
use crate::edge::caller::PendingAuthorization;
use crate::edge::client_address::DirectConnection;
use crate::edge::error::ApiError;
use crate::edge::input::{PathIds, ValidatedQuery, parse};
use crate::edge::stream_request::{client_id, last_event_id};
use crate::http::headers::StreamHeaders;
use crate::http::responses::CommonErrors;

/// Start a run of an agent
///
/// Starts a turn in the conversation `threadId` with the default agent of the tenant, or with `agentId`. The same `runId`
/// in the same thread is the same run. `tools` are stored, repeated in `RUN_STARTED`, and never registered. With
/// `Accept: text/event-stream` the input is read as AG-UI defines it, and the response is a stream of AG-UI events that ends
/// with the run.
#[utoipa::path(
    post, path = "/api/v1/agent/runs", tag = "front", operation_id = "createAgentRun", security(("bearer" = [])),
    params(NewAgentRunQuery), request_body = RunAgentInput,
    responses(
        (status = 200, description = "The run was accepted", content(
            (TaskAcceptedResponse = "application/json"), (String = "text/event-stream")
        )),
        (status = 422, description = "The input breaks a rule", body = Problem, content_type = CONTENT_TYPE),
        CommonErrors,
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: PendingAuthorization<RunsWrite>,
    DirectConnection(peer): DirectConnection,
    headers: HeaderMap,
    ValidatedQuery(query): ValidatedQuery<NewAgentRunQuery>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let bytes = read_body(body)?;
    let agent = query.agent_id.as_deref().map(|agent| parse("agentId", agent)).transpose()?;
    let automation = query.automation_id.as_deref().map(|name| parse("automationId", name)).transpose()?;
    if accepts_stream(&headers) {
        let input = agui::parse_input(&bytes)?;
        let caller = caller.thread_owner(&app, query.tenant_id.as_deref()).await?;
        let names = AgentNames { agent: agent.as_ref(), automation: automation.as_ref() };
        return agui::run(&app, caller, names, peer, input).await;
    }
    let input = agent_runs::parse(&bytes).map_err(|error| invalid(&error))?;
    let caller = caller.thread_owner(&app, query.tenant_id.as_deref()).await?;
    let thread = new_id("threadId", &input.thread_id.to_string())?;
    let client_run = new_id("runId", &input.run_id)?;
    let message = new_id("messages[0].id", &input.user_message.id)?;
    let source = pipeline_source(input.runtime_mode, automation.as_ref())?;
    let device_zone = input.client_time.as_ref().map(|time| time.device_timezone.clone());
    let images = input.user_message.attachments.iter().map(|image| image.url.clone()).collect();
    let payload = payload(input)?;
    let request = TurnRequest {
        thread: &thread,
        client_run: &client_run,
        message: &message,
        device_zone: device_zone.as_ref(),
        payload,
        images,
    };
    let accepted = app.front.agent_runs.find_or_start_turn(&caller, agent.as_ref(), source, request).await?;
    let response = TaskAcceptedResponse {
        task_id: accepted.turn.command.to_string(),
        thread_id: thread.to_string(),
        run_id: client_run.to_string(),
        created: accepted.is_new_thread,
    };
    Ok(Json(response).into_response())
}

/// Run an agent with AG-UI
///
/// The same as `POST /api/v1/agent/runs` with `Accept: text/event-stream`, for one agent.
#[utoipa::path(
    post, path = "/api/v1/agents/{agent}/agui", tag = "front", operation_id = "runAgentWithAgui",
    security(("bearer" = [])), params(("agent" = String, Path, description = "Agent id")),
    request_body = RunAgentInput,
    responses(
        (status = 200, description = "AG-UI events until the run ends", body = String, content_type = "text/event-stream"),
        (status = 422, description = "The input breaks a rule", body = Problem, content_type = CONTENT_TYPE),
        CommonErrors,
    )
)]
pub(crate) async fn run_with_agui(
    State(app): State<App>,
    caller: ThreadOwner<RunsWrite>,
    PathIds(agent): PathIds<AgentId>,
    DirectConnection(peer): DirectConnection,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let input = agui::parse_input(&read_body(body)?)?;
    let names = AgentNames { agent: Some(&AgentKey::Id(agent)), automation: None };
    agui::run(&app, caller, names, peer, input).await
}

/// Follow a conversation with AG-UI
///
/// All runs of the thread from its beginning, or after `Last-Event-ID`, then live. The stream ends when no run is open: also
/// when the agent waits for an answer, unless `waitForAnswers` is true.
#[utoipa::path(
    get, path = "/api/v1/agent/runs/{thread}/events", tag = "front", operation_id = "followAgentThread",
    security(("bearer" = [])),
    params(
        ("thread" = String, Path, description = "The client's id of the conversation"), AgentRunsQuery, StreamHeaders,
    ),
    responses((status = 200, description = "AG-UI events", body = String, content_type = "text/event-stream"), CommonErrors)
)]
pub(crate) async fn follow(
    State(app): State<App>,
    caller: PendingAuthorization<RunsRead>,
    PathIds(thread): PathIds<String>,
    headers: HeaderMap,
    ValidatedQuery(query): ValidatedQuery<AgentRunsQuery>,
) -> Result<Response, ApiError> {
    let agent = query.agent_id.as_deref().map(|agent| parse("agentId", agent)).transpose()?;
    let (after, client) = (last_event_id(&headers)?, client_id(&headers)?);
    let caller = caller.thread_owner(&app, query.tenant_id.as_deref()).await?;
    let thread = known_id(&thread)?;
    let found = app.front.agent_runs.find(&caller, agent.as_ref(), &thread).await?;
    let session = found.ok_or(ServiceError::NOT_FOUND)?;
    let end = if query.wait_for_answers { StreamEnd::IdleAndAnswered } else { StreamEnd::Idle };
    let start = ThreadStart { thread: &thread, session, version: AguiVersion::V1, after, end };
    agui::follow(&app, caller, client, start).await
}

/// Stop the runs of a conversation
///
/// Cancels the turns that have not ended, or the one of `runId`. Idempotent.
#[utoipa::path(
    post, path = "/api/v1/agent/runs/{thread}/stop", tag = "front", operation_id = "stopAgentThread",
    security(("bearer" = [])),
    params(("thread" = String, Path, description = "The client's id of the conversation"), StopAgentRunsQuery),
    responses((status = 200, description = "Whether a turn is cancelled now", body = StoppedView), CommonErrors)
)]
pub(crate) async fn stop(
    State(app): State<App>,
    caller: PendingAuthorization<RunsWrite>,
    PathIds(thread): PathIds<String>,
    ValidatedQuery(query): ValidatedQuery<StopAgentRunsQuery>,
) -> Result<Json<StoppedView>, ApiError> {
    let agent = query.agent_id.as_deref().map(|agent| parse("agentId", agent)).transpose()?;
    let caller = caller.thread_owner(&app, query.tenant_id.as_deref()).await?;
    let (thread, client_run) = (known_id(&thread)?, query.run_id.as_deref().map(known_id).transpose()?);
    let stopped = app.front.agent_runs.stop(&caller, agent.as_ref(), &thread, client_run.as_ref()).await?;
    Ok(Json(StoppedView { stopped }))
}

/// Returns whether the client wants a stream. Anything else is answered as JSON.
fn accepts_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut kinds = accepted.flat_map(|value| value.split(','));
    kinds.any(|kind| kind.split(';').next().unwrap_or_default().trim() == "text/event-stream")
}

pub(super) fn read_body(body: Result<Bytes, BytesRejection>) -> Result<Bytes, ApiError> {
    body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => invalid(&AgentRunInputError::PayloadTooLarge),
        _ => ApiError::new(FailureKind::SchemaInvalid, "the body is incomplete"),
    })
}

fn invalid(error: &AgentRunInputError) -> ApiError {
    let is_too_large = error.status() == StatusCode::PAYLOAD_TOO_LARGE;
    let kind = if is_too_large { FailureKind::PayloadTooLarge } else { FailureKind::InvalidInput };
    ApiError::new(kind, error.message())
}

/// Returns the payload of the turn: the user's text as the prompt, and the rest of the input as it came.
fn payload(input: AgentRunInput) -> Result<Value, ApiError> {
    if input.user_message.text.trim().is_empty() && input.user_message.attachments.is_empty() {
        return Err(ApiError::new(FailureKind::InvalidInput, "RunAgentInput user message has no text"));
    }
    let mut payload = json!({
        "prompt": input.user_message.text,
        "clientMessageId": input.user_message.id,
        "runtimeMode": input.runtime_mode,
        "input": {
            "state": input.state, "messages": input.other_messages, "tools": input.tools, "context": input.context,
        },
    });
    if let Some(parent) = input.parent_run_id {
        payload["parentRunId"] = json!(parent);
    }
    if let Some(time) = input.client_time {
        payload["clientTime"] = json!(time.client_now_iso);
    }
    Ok(payload)
}
