//! Runs of stored automations.

use axum::Json;
use axum::extract::State;
use guildhall_domain::FailureKind;
use guildhall_domain::access::role::rights::RunsWrite;
use guildhall_domain::access::thread_owner::ThreadOwner;
use guildhall_domain::agents::AutomationKey;
use guildhall_domain::ids::AutomationId;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::agents::automations::StartAutomation;
use guildhall_protocol::rest::front::agent_runs::{MAX_USER_TEXT_CHARS, TaskAcceptedResponse};
use guildhall_service::front::automation_runs::AutomationTurn;
use uuid::Uuid;

use super::client_ids::new_id;
use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds};
use crate::http::responses::CommonErrors;

/// Start a run of an automation
///
/// A turn with the agent of the automation, in a new conversation of the caller or in `threadId`. The same `runId` in the
/// same thread is the same run. The run is followed and stopped as any other run of an agent.
#[utoipa::path(
    post, path = "/api/v1/automations/{automation}/runs", tag = "front", operation_id = "startAutomation",
    security(("bearer" = [])), params(("automation" = String, Path, description = "Automation id")),
    request_body = StartAutomation,
    responses(
        (status = 200, description = "The run was accepted", body = TaskAcceptedResponse),
        (status = 422, description = "A value breaks a rule", body = Problem, content_type = CONTENT_TYPE),
        CommonErrors,
    )
)]
pub(crate) async fn start(
    State(app): State<App>,
    caller: ThreadOwner<RunsWrite>,
    PathIds(automation): PathIds<AutomationId>,
    Body(body): Body<StartAutomation>,
) -> Result<Json<TaskAcceptedResponse>, ApiError> {
    let invalid = |message: &str| ApiError::new(FailureKind::InvalidInput, message);
    let thread: Uuid = match &body.thread_id {
        Some(text) => text.parse().map_err(|_| invalid("threadId must be a valid UUID"))?,
        None => Uuid::now_v7(),
    };
    if body.message.as_ref().is_some_and(|text| !is_valid_message(text)) {
        return Err(invalid("message: use 1 to 10,000 characters, not only white space"));
    }
    let run = body.run_id.unwrap_or_else(|| Uuid::now_v7().to_string());
    let thread = new_id("threadId", &thread.to_string())?;
    let client_run = new_id("runId", &run)?;
    // One message a run: its id needs no name of its own.
    let message = new_id("runId", &Uuid::now_v7().to_string())?;
    let start = AutomationTurn {
        automation: AutomationKey::Id(automation),
        thread: &thread,
        client_run: &client_run,
        message_id: &message,
        message: body.message.as_deref(),
    };
    let accepted = app.front.automation_runs.start(&caller, start).await?;
    Ok(Json(TaskAcceptedResponse {
        task_id: accepted.turn.command.to_string(),
        thread_id: thread.to_string(),
        run_id: client_run.to_string(),
        created: accepted.is_new_thread,
    }))
}

fn is_valid_message(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= MAX_USER_TEXT_CHARS
}
