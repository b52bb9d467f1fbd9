//! What a runner has to do.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::runs::RunStatus;
use guildhall_domain::runs::command::CommandKind;
use guildhall_protocol::rest::runners::{PollQuery, WorkView};
use guildhall_protocol::rest::runs::commands::CommandView;
use guildhall_service::runners::{PollFrom, Work};

use super::{held, longest_wait};
use crate::App;
use crate::edge::caller::Holding;
use crate::edge::error::ApiError;
use crate::edge::input::{Ids, Words, within};
use crate::http::answers::Usual;
use crate::http::runs::commands::view;
use crate::http::runs::events::seq;

/// Ask for something to do
///
/// With the token of a claim. With `wait` the answer comes when there is something, or when the time is over.
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/commands", tag = "runners", operation_id = "pollCommands",
    security(("bearer" = [])), params(("run" = String, Path, description = "A run's id"), PollQuery),
    responses((status = 200, description = "What there is to do", body = WorkView), Usual)
)]
pub(crate) async fn poll(
    State(app): State<App>,
    Holding(holding): Holding,
    Ids(run): Ids<RunId>,
    Words(query): Words<PollQuery>,
) -> Result<Json<WorkView>, ApiError> {
    let grant = held(&holding, run)?;
    let from = PollFrom {
        after: query.after_seq,
        cancel_seq: seq("cancelSeq", query.cancel_seq)?,
        limit: within("limit", query.limit, 100)?,
        wait: Duration::from_millis(query.wait).min(longest_wait(&app)),
    };
    let work = tokio::select! {
        work = app.runners.poll(grant, from) => work?,
        // The door closes: the runner goes on at another replica.
        () = app.closing.cancelled() => app.runners.poll(grant, PollFrom { wait: Duration::ZERO, ..from }).await?,
    };
    Ok(Json(work_view(&work, query.after_seq)))
}

/// Take a command
///
/// From here on it may have side effects, and no other runner gets it. Taking it again changes nothing.
#[utoipa::path(
    post, path = "/api/v1/commands/{command}/ack", tag = "runners", operation_id = "ackCommand",
    security(("bearer" = [])), params(("command" = String, Path, description = "A command's id")),
    responses((status = 200, description = "Taken", body = CommandView), Usual)
)]
pub(crate) async fn ack(
    State(app): State<App>,
    Holding(holding): Holding,
    Ids(command): Ids<CommandId>,
) -> Result<Json<CommandView>, ApiError> {
    Ok(Json(view(&app.runners.ack(&holding.grant, command).await?)))
}

fn work_view(work: &Work, after: i32) -> WorkView {
    let (steers, commands): (Vec<_>, Vec<_>) =
        work.commands.iter().partition(|command| command.kind == CommandKind::Steer);
    WorkView {
        next_after_seq: work.commands.iter().map(|command| command.ordinal).max().unwrap_or(after),
        commands: commands.into_iter().map(view).collect(),
        steers: steers.into_iter().map(view).collect(),
        cancel_command_ids: work.cancelling.iter().map(|command| command.to_string()).collect(),
        run_status: RunStatus::of(&work.state, true, false).to_string(),
        cancel_seq: work.cancel_seq.get(),
    }
}
