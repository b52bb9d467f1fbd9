//! How a runner says that something has ended.

use axum::Json;
use axum::extract::State;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::redact::redact;
use guildhall_domain::runs::{Blocker, Ending, TerminalStatus};
use guildhall_domain::{Failure, FailureKind};
use guildhall_protocol::rest::runners::EndStatus;
use guildhall_protocol::rest::runs::RunView;
use guildhall_protocol::rest::runs::commands::CommandView;

use super::held;
use crate::App;
use crate::edge::caller::Holding;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, Ids};
use crate::http::answers::Usual;
use crate::http::runs::commands::view as command_view;
use crate::http::runs::view as run_view;

/// Longer messages are cut: the events hold the rest.
const MESSAGE_CHARS: usize = 2000;

/// A backend's name of a thread.
const THREAD_BYTES: usize = 200;

/// End a command
///
/// The run goes on. Saying the same again changes nothing.
#[utoipa::path(
    patch, path = "/api/v1/commands/{command}/status", tag = "runners", operation_id = "setCommandStatus",
    security(("bearer" = [])), params(("command" = String, Path, description = "A command's id")),
    request_body = EndStatus, responses((status = 200, description = "As it stands", body = CommandView), Usual)
)]
pub(crate) async fn end_command(
    State(app): State<App>,
    Holding(holding): Holding,
    Ids(command): Ids<CommandId>,
    Body(body): Body<EndStatus>,
) -> Result<Json<CommandView>, ApiError> {
    if body.status == "running" {
        return Ok(Json(command_view(&app.runners.ack(&holding.grant, command).await?)));
    }
    let thread = body.thread_id.as_deref();
    if thread.is_some_and(|thread| thread.is_empty() || thread.len() > THREAD_BYTES) {
        return Err(invalid("threadId: use 1 to 200 bytes"));
    }
    let ended = app.runners.finish(&holding.grant, command, ending(&body)?, thread).await?;
    Ok(Json(command_view(&ended)))
}

/// End a run, and every open command with it
///
/// For what a runner cannot go on from. A finished turn ends its command, never the run.
#[utoipa::path(
    patch, path = "/api/v1/runs/{run}/status", tag = "runners", operation_id = "setRunStatus",
    security(("bearer" = [])), params(("run" = String, Path, description = "A run's id")),
    request_body = EndStatus, responses((status = 200, description = "As it stands", body = RunView), Usual)
)]
pub(crate) async fn end_run(
    State(app): State<App>,
    Holding(holding): Holding,
    Ids(run): Ids<RunId>,
    Body(body): Body<EndStatus>,
) -> Result<Json<RunView>, ApiError> {
    let grant = held(&holding, run)?;
    Ok(Json(run_view(&app.runners.end(grant, &ending(&body)?).await?)))
}

fn ending(body: &EndStatus) -> Result<Ending, ApiError> {
    let status =
        TerminalStatus::from_name(&body.status).map_err(|error| invalid(format!("status: {error}")))?;
    let words = body.message.as_deref().unwrap_or_default();
    let message: String = redact(words).text.chars().take(MESSAGE_CHARS).collect();
    let kind = match (status, body.failure_kind.as_deref()) {
        (TerminalStatus::Completed, None) => return Ok(Ending::COMPLETED),
        (TerminalStatus::Completed, Some(_)) => return Err(invalid("failureKind: not with completed")),
        (TerminalStatus::Cancelled, None) => FailureKind::Cancelled,
        (TerminalStatus::Failed | TerminalStatus::Blocked, None) => {
            return Err(invalid("failureKind: say why it has failed or is blocked"));
        }
        (_, Some(name)) => FailureKind::from_name(name)
            .ok_or_else(|| invalid("failureKind: not one of the known kinds; docs/errors lists them"))?,
    };
    Ok(Ending { status, failure: Some(Blocker { kind, message }) })
}

fn invalid(words: impl Into<String>) -> ApiError {
    ApiError { failure: Failure::new(FailureKind::SchemaInvalid, words), cause: None }
}
