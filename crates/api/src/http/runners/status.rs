//! Terminal statuses reported by runners.

use axum::Json;
use axum::extract::State;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::redact::redact;
use guildhall_domain::runs::{FailureReason, TerminalOutcome, TerminalStatus};
use guildhall_domain::{Failure, FailureKind};
use guildhall_protocol::rest::runners::EndStatus;
use guildhall_protocol::rest::runs::RunView;
use guildhall_protocol::rest::runs::commands::CommandView;
use guildhall_service::ServiceError;

use crate::App;
use crate::edge::caller::SignedRunHolder;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds};
use crate::http::responses::CommonErrors;
use crate::http::runs::commands::view as command_view;
use crate::http::runs::view as run_view;

/// Longer messages are truncated; the events contain the rest.
const MAX_MESSAGE_CHARS: usize = 2000;

/// The length of a backend's thread id.
const MAX_THREAD_ID_BYTES: usize = 200;

/// Set the status of a command
///
/// Requires a run token. `running` acknowledges the command, any other status ends it. The run stays open. Idempotent.
#[utoipa::path(
    patch, path = "/api/v1/commands/{command}/status", tag = "runners", operation_id = "setCommandStatus",
    security(("bearer" = [])), params(("command" = String, Path, description = "Command id")),
    request_body = EndStatus, responses((status = 200, description = "The command", body = CommandView), CommonErrors)
)]
pub(crate) async fn end_command(
    State(app): State<App>,
    SignedRunHolder(token): SignedRunHolder,
    PathIds(command): PathIds<CommandId>,
    Body(body): Body<EndStatus>,
) -> Result<Json<CommandView>, ApiError> {
    if body.status == "running" {
        return Ok(Json(command_view(&app.runners.commands.ack(token.unverified_grant(), command).await?)));
    }
    let thread = body.thread_id.as_deref();
    if thread.is_some_and(|thread| thread.is_empty() || thread.len() > MAX_THREAD_ID_BYTES) {
        return Err(invalid("threadId: use 1 to 200 bytes"));
    }
    let ended =
        app.runners.status.end_command(token.unverified_grant(), command, outcome(&body)?, thread).await?;
    Ok(Json(command_view(&ended)))
}

/// Set the status of a run
///
/// Requires a run token. Ends the run and all its open commands, after a failure that the runner cannot recover from. A
/// completed turn ends its command, not the run.
#[utoipa::path(
    patch, path = "/api/v1/runs/{run}/status", tag = "runners", operation_id = "setRunStatus",
    security(("bearer" = [])), params(("run" = String, Path, description = "Run id")),
    request_body = EndStatus, responses((status = 200, description = "The run", body = RunView), CommonErrors)
)]
pub(crate) async fn end_run(
    State(app): State<App>,
    SignedRunHolder(token): SignedRunHolder,
    PathIds(run): PathIds<RunId>,
    Body(body): Body<EndStatus>,
) -> Result<Json<RunView>, ApiError> {
    if token.run() != run {
        return Err(ServiceError::NOT_FOUND.into());
    }
    let outcome = outcome(&body)?;
    Ok(Json(run_view(&app.runners.status.end_run(token.unverified_grant(), &outcome).await?)))
}

fn outcome(body: &EndStatus) -> Result<TerminalOutcome, ApiError> {
    let status =
        TerminalStatus::from_name(&body.status).map_err(|error| invalid(format!("status: {error}")))?;
    let text = body.message.as_deref().unwrap_or_default();
    let message: String = redact(text).text.chars().take(MAX_MESSAGE_CHARS).collect();
    let kind = match (status, body.failure_kind.as_deref()) {
        (TerminalStatus::Completed, None) => return Ok(TerminalOutcome::COMPLETED),
        (TerminalStatus::Completed, Some(_)) => {
            return Err(invalid("failureKind: not allowed with status completed"));
        }
        (TerminalStatus::Cancelled, None) => FailureKind::Cancelled,
        (TerminalStatus::Failed | TerminalStatus::Blocked, None) => {
            return Err(invalid("failureKind: required with status failed or blocked"));
        }
        (_, Some(name)) => FailureKind::from_name(name)
            .ok_or_else(|| invalid("failureKind: unknown kind; see docs/errors for the list"))?,
    };
    Ok(TerminalOutcome { status, failure: Some(FailureReason { kind, message }) })
}

fn invalid(message: impl Into<String>) -> ApiError {
    ApiError { failure: Failure::new(FailureKind::SchemaInvalid, message), cause: None }
}
