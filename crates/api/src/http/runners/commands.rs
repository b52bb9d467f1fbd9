//! Commands, for runners.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::runs::RunStatus;
use guildhall_domain::runs::command::CommandKind;
use guildhall_protocol::rest::runners::{PollQuery, WorkView};
use guildhall_protocol::rest::runs::commands::CommandView;
use guildhall_service::ServiceError;
use guildhall_service::runners::commands::{PendingWork, PollCursor};

use crate::App;
use crate::edge::caller::SignedRunHolder;
use crate::edge::error::ApiError;
use crate::edge::input::{PathIds, ValidatedQuery, check_limit};
use crate::edge::long_poll::LongPoll;
use crate::http::responses::CommonErrors;
use crate::http::runs::commands::view;
use crate::http::runs::events::parse_seq;

/// Poll for commands
///
/// Requires a run token. With `wait`, the request long-polls until there is work or the time is over.
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/commands", tag = "runners", operation_id = "pollCommands",
    security(("bearer" = [])), params(("run" = String, Path, description = "Run id"), PollQuery),
    responses((status = 200, description = "The pending commands, steers and cancellations", body = WorkView), CommonErrors)
)]
pub(crate) async fn poll(
    State(app): State<App>,
    SignedRunHolder(token): SignedRunHolder,
    PathIds(run): PathIds<RunId>,
    ValidatedQuery(query): ValidatedQuery<PollQuery>,
    long_poll: LongPoll,
) -> Result<Json<WorkView>, ApiError> {
    if token.run() != run {
        return Err(ServiceError::NOT_FOUND.into());
    }
    let waiting = long_poll.begin(&app, query.wait)?;
    let from = PollCursor {
        after: query.after_seq,
        cancel_seq: parse_seq("cancelSeq", query.cancel_seq)?,
        limit: check_limit("limit", query.limit, 100)?,
        wait: waiting.wait,
    };
    let work = tokio::select! {
        work = app.runners.commands.poll(&token, from) => work?,
        // The server stops accepting: the runner continues at another replica.
        () = app.closing.cancelled() => {
            app.runners.commands.poll(&token, PollCursor { wait: Duration::ZERO, ..from }).await?
        }
    };
    Ok(Json(work_view(&work, query.after_seq)))
}

/// Acknowledge a command
///
/// From then on the command may have side effects and is not given to another runner. Idempotent.
#[utoipa::path(
    post, path = "/api/v1/commands/{command}/ack", tag = "runners", operation_id = "acknowledgeCommand",
    security(("bearer" = [])), params(("command" = String, Path, description = "Command id")),
    responses((status = 200, description = "Acknowledged", body = CommandView), CommonErrors)
)]
pub(crate) async fn acknowledge(
    State(app): State<App>,
    SignedRunHolder(token): SignedRunHolder,
    PathIds(command): PathIds<CommandId>,
) -> Result<Json<CommandView>, ApiError> {
    Ok(Json(view(&app.runners.commands.ack(token.unverified_grant(), command).await?)))
}

fn work_view(work: &PendingWork, after: i32) -> WorkView {
    let (steers, commands): (Vec<_>, Vec<_>) =
        work.commands.iter().partition(|command| command.kind == CommandKind::Steer);
    WorkView {
        next_after_seq: work.commands.iter().map(|command| command.ordinal).max().unwrap_or(after),
        commands: commands.into_iter().map(view).collect(),
        steers: steers.into_iter().map(view).collect(),
        cancel_command_ids: work.cancelling.iter().map(|command| command.to_string()).collect(),
        run_status: RunStatus::from_state(&work.state, true, false).to_string(),
        cancel_seq: work.cancel_seq.get(),
        should_release: work.should_release,
    }
}
