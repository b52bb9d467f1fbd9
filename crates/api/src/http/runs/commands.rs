//! Commands, for their authors.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{RunsRead, RunsWrite};
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::runs::command::Command;
use guildhall_domain::runs::command::{CommandKind, CommandState};
use guildhall_domain::runs::message::message_text;
use guildhall_protocol::rest::runs::commands::{CommandView, CommandsQuery, CommandsView, CreateCommand};
use guildhall_service::runs::commands::CommandRequest;
use serde_json::{Value, json};

use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, ValidatedQuery, check_limit, idempotency_key_or};
use crate::http::headers::IdempotencyKeyHeader;
use crate::http::responses::CommonErrors;
use crate::http::runs::events::parse_seq;

/// Create a command
///
/// A turn starts when the runner acknowledges it; a steer is delivered to the active turn. With an idempotency key, a
/// repeated request returns the same command.
#[utoipa::path(
    post, path = "/api/v1/runs/{run}/commands", tag = "commands", operation_id = "createCommand",
    security(("bearer" = [])), params(("run" = String, Path, description = "Run id"), IdempotencyKeyHeader),
    request_body = CreateCommand, responses((status = 201, description = "Created", body = CommandView), CommonErrors)
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: Authorized<RunsWrite>,
    headers: HeaderMap,
    PathIds(run): PathIds<RunId>,
    Body(body): Body<CreateCommand>,
) -> Result<(StatusCode, Json<CommandView>), ApiError> {
    let key = idempotency_key_or(&headers, body.idempotency_key.as_deref())?;
    let command = app.runs.commands.submit(&caller, run, command_request(body)?, key.as_ref()).await?;
    Ok((StatusCode::CREATED, Json(view(&command))))
}

/// List the commands of a run
///
/// What users sent to the run, in order. Secrets in payloads are redacted.
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/history", tag = "commands", operation_id = "listCommands",
    security(("bearer" = [])), params(("run" = String, Path, description = "Run id"), CommandsQuery),
    responses((status = 200, description = "One page", body = CommandsView), CommonErrors)
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Authorized<RunsRead>,
    PathIds(run): PathIds<RunId>,
    ValidatedQuery(query): ValidatedQuery<CommandsQuery>,
) -> Result<Json<CommandsView>, ApiError> {
    let limit = check_limit("limit", query.limit, 100)?;
    parse_seq("afterSeq", query.after_seq.into())?;
    let commands = app.runs.commands.list(&caller, run, query.after_seq, limit).await?;
    // A short page is the last one.
    let is_full = commands.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
    let next_after_seq = commands.last().filter(|_| is_full).map(|command| command.ordinal);
    Ok(Json(CommandsView { commands: commands.iter().map(view).collect(), next_after_seq }))
}

/// Get a command
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/commands/{command}", tag = "commands", operation_id = "getCommand",
    security(("bearer" = [])),
    params(
        ("run" = String, Path, description = "Run id"),
        ("command" = String, Path, description = "Command id"),
    ),
    responses((status = 200, description = "The command", body = CommandView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: Authorized<RunsRead>,
    PathIds((run, command)): PathIds<(RunId, CommandId)>,
) -> Result<Json<CommandView>, ApiError> {
    Ok(Json(view(&app.runs.commands.get(&caller, run, command).await?)))
}

/// Cancel a command
///
/// The run stays open. A pending command ends at once; a running one is interrupted by its runner.
#[utoipa::path(
    post, path = "/api/v1/commands/{command}/cancel", tag = "commands", operation_id = "cancelCommand",
    security(("bearer" = [])), params(("command" = String, Path, description = "Command id")),
    responses((status = 200, description = "The command, with its new status", body = CommandView), CommonErrors)
)]
pub(crate) async fn cancel(
    State(app): State<App>,
    caller: Authorized<RunsWrite>,
    PathIds(command): PathIds<CommandId>,
) -> Result<Json<CommandView>, ApiError> {
    Ok(Json(view(&app.runs.commands.cancel(&caller, command).await?)))
}

fn command_request(body: CreateCommand) -> Result<CommandRequest, ApiError> {
    let invalid = |message: String| ApiError::new(FailureKind::SchemaInvalid, message);
    let kind = CommandKind::from_name(&body.r#type).map_err(|error| invalid(format!("type: {error}")))?;
    let payload = if body.payload.is_null() { json!({}) } else { body.payload };
    if !payload.is_object() {
        return Err(invalid("payload: must be an object".to_owned()));
    }
    let has_text = message_text(&payload).is_some();
    match kind {
        CommandKind::Turn | CommandKind::Steer if !has_text => {
            Err(invalid(format!("payload: a {kind} needs a non-empty prompt, message or text")))
        }
        CommandKind::Turn | CommandKind::Steer | CommandKind::Interrupt => {
            Ok(CommandRequest { kind, payload })
        }
    }
}

pub(crate) fn view(command: &Command) -> CommandView {
    let (outcome, cancel_requested) = match &command.state {
        CommandState::Pending => (None, false),
        CommandState::Running { cancelling, .. } => (None, *cancelling),
        CommandState::Ended(outcome) => (Some(outcome), false),
    };
    let failure = outcome.and_then(|outcome| outcome.failure.as_ref());
    CommandView {
        command_id: command.id.to_string(),
        run_id: command.run.to_string(),
        seq: command.ordinal,
        r#type: command.kind.to_string(),
        payload: serde_json::from_str(&command.payload).unwrap_or(Value::Null),
        target_command_id: command.target.map(|target| target.to_string()),
        status: command.state.as_str().to_owned(),
        terminal_status: outcome.map(|outcome| outcome.status.to_string()),
        cancel_requested,
        failure_kind: failure.map(|failure| failure.kind.to_string()),
        message: failure.map(|failure| failure.message.clone()),
        created_by: command.created_by.to_string(),
        created_at: command.created_at,
        acked_at: command.acked_at,
        ended_at: command.ended_at,
    }
}
