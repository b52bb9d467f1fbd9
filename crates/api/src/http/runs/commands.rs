//! Commands, for those who send them.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::FailureKind;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::runs::command::{CommandKind, CommandState};
use guildhall_protocol::rest::runs::commands::{CommandView, CreateCommand};
use guildhall_service::runs::commands::{Command, CommandAsk};
use serde_json::{Value, json};

use crate::App;
use crate::edge::caller::Asking;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, Ids, idempotency_key};
use crate::http::answers::Usual;

/// Submit a command
///
/// A turn begins when the runner takes it; a steer goes into the turn that runs. With an `Idempotency-Key` the same
/// request gives the same command.
#[utoipa::path(
    post, path = "/api/v1/runs/{run}/commands", tag = "commands", operation_id = "createCommand",
    security(("bearer" = [])), params(("run" = String, Path, description = "A run's id")),
    request_body = CreateCommand, responses((status = 201, description = "Submitted", body = CommandView), Usual)
)]
pub(crate) async fn create(
    State(app): State<App>,
    asking: Asking,
    headers: HeaderMap,
    Ids(run): Ids<RunId>,
    Body(body): Body<CreateCommand>,
) -> Result<(StatusCode, Json<CommandView>), ApiError> {
    let key = idempotency_key(&headers)?;
    let command = app.runs.submit(&asking.caller, run, ask(body)?, key.as_ref()).await?;
    Ok((StatusCode::CREATED, Json(view(&command))))
}

/// One command
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/commands/{command}", tag = "commands", operation_id = "showCommand",
    security(("bearer" = [])),
    params(
        ("run" = String, Path, description = "A run's id"),
        ("command" = String, Path, description = "A command's id"),
    ),
    responses((status = 200, description = "The command", body = CommandView), Usual)
)]
pub(crate) async fn show(
    State(app): State<App>,
    asking: Asking,
    Ids((run, command)): Ids<(RunId, CommandId)>,
) -> Result<Json<CommandView>, ApiError> {
    Ok(Json(view(&app.runs.command(&asking.caller, run, command).await?)))
}

/// Ask a command to end
///
/// The run stays open. One that nobody took ends now; one that runs is interrupted by its runner.
#[utoipa::path(
    post, path = "/api/v1/commands/{command}/cancel", tag = "commands", operation_id = "cancelCommand",
    security(("bearer" = [])), params(("command" = String, Path, description = "A command's id")),
    responses((status = 200, description = "Where it stands now", body = CommandView), Usual)
)]
pub(crate) async fn cancel(
    State(app): State<App>,
    asking: Asking,
    Ids(command): Ids<CommandId>,
) -> Result<Json<CommandView>, ApiError> {
    Ok(Json(view(&app.runs.cancel_command(&asking.caller, command).await?)))
}

fn ask(body: CreateCommand) -> Result<CommandAsk, ApiError> {
    let invalid = |words: String| ApiError::new(FailureKind::SchemaInvalid, words);
    let kind = CommandKind::from_name(&body.r#type).map_err(|error| invalid(format!("type: {error}")))?;
    let payload = if body.payload.is_null() { json!({}) } else { body.payload };
    if !payload.is_object() {
        return Err(invalid("payload: must be an object".to_owned()));
    }
    let has_words = ["prompt", "message", "text"]
        .iter()
        .any(|name| payload.get(name).and_then(Value::as_str).is_some_and(|words| !words.trim().is_empty()));
    match kind {
        CommandKind::Turn | CommandKind::Steer if !has_words => {
            Err(invalid(format!("payload: a {kind} needs a prompt, message or text that is not empty")))
        }
        CommandKind::Turn | CommandKind::Steer | CommandKind::Interrupt => Ok(CommandAsk { kind, payload }),
    }
}

pub(crate) fn view(command: &Command) -> CommandView {
    let (ending, cancel_requested) = match &command.state {
        CommandState::Pending => (None, false),
        CommandState::Running { cancelling, .. } => (None, *cancelling),
        CommandState::Ended(ending) => (Some(ending), false),
    };
    let failure = ending.and_then(|ending| ending.failure.as_ref());
    CommandView {
        command_id: command.id.to_string(),
        run_id: command.run.to_string(),
        seq: command.ordinal,
        r#type: command.kind.to_string(),
        payload: serde_json::from_str(&command.payload).unwrap_or(Value::Null),
        target_command_id: command.target.map(|target| target.to_string()),
        status: command.state.as_str().to_owned(),
        terminal_status: ending.map(|ending| ending.status.to_string()),
        cancel_requested,
        failure_kind: failure.map(|failure| failure.kind.to_string()),
        message: failure.map(|failure| failure.message.clone()),
        created_by: command.created_by.to_string(),
        created_at: command.created_at,
        acked_at: command.acked_at,
        ended_at: command.ended_at,
    }
}
