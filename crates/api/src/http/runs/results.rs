//! Results of commands and runs.

use axum::Json;
use axum::extract::State;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_protocol::rest::runs::commands::{
    ArtifactSummaryView, FinalResponseView, ResultQuery, ResultView, SteerDeliveryView, ToolCallSummaryView,
    ToolCallView,
};
use guildhall_service::runs::{RunResult, Said};
use serde_json::{Value, json};

use super::liveness;
use crate::App;
use crate::edge::caller::Asking;
use crate::edge::error::ApiError;
use crate::edge::input::{Ids, Words, parse};
use crate::http::answers::Usual;

/// Characters shown of a tool's command.
const COMMAND_CHARS: usize = 200;

/// The result of a run: of its newest command, or of the one named
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/result", tag = "runs", operation_id = "showRunResult", security(("bearer" = [])),
    params(("run" = String, Path, description = "A run's id"), ResultQuery),
    responses((status = 200, description = "The result", body = ResultView), Usual)
)]
pub(crate) async fn of_run(
    State(app): State<App>,
    asking: Asking,
    Ids(run): Ids<RunId>,
    Words(query): Words<ResultQuery>,
) -> Result<Json<ResultView>, ApiError> {
    let command = query.command_id.as_deref().map(|id| parse("commandId", id)).transpose()?;
    Ok(Json(view(app.runs.result(&asking.caller, run, command).await?)))
}

/// The result of a command
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/commands/{command}/result", tag = "commands", operation_id = "showCommandResult",
    security(("bearer" = [])),
    params(
        ("run" = String, Path, description = "A run's id"),
        ("command" = String, Path, description = "A command's id"),
    ),
    responses((status = 200, description = "The result", body = ResultView), Usual)
)]
pub(crate) async fn of_command(
    State(app): State<App>,
    asking: Asking,
    Ids((run, command)): Ids<(RunId, CommandId)>,
) -> Result<Json<ResultView>, ApiError> {
    Ok(Json(view(app.runs.command_result(&asking.caller, run, command).await?)))
}

fn view(result: RunResult) -> ResultView {
    let final_response = final_response(&result);
    let reply = result.verdict.completed.then(|| final_response.as_ref()?.text.clone()).flatten();
    let failure = result.verdict.failure.as_ref();
    let lease = result.run.lease.as_ref();
    ResultView {
        run_id: result.run.id.to_string(),
        session_id: result.run.session.to_string(),
        command_id: result.command.as_ref().map(|command| command.id.to_string()),
        attempt_id: lease.map(|lease| format!("{}/{}", lease.runner, lease.epoch)),
        status: result.verdict.status.to_owned(),
        terminal_status: result.verdict.terminal_status.map(|status| status.to_string()),
        completed: result.verdict.completed,
        terminal_source: result.verdict.terminal_source.to_string(),
        reply,
        final_assistant_seq: final_response.as_ref().map(|chosen| chosen.seq),
        final_assistant_source: final_response.as_ref().map(|chosen| chosen.source.clone()),
        final_assistant_text_truncated: final_response.as_ref().is_some_and(|chosen| chosen.text_truncated),
        final_assistant_output_truncated: final_response
            .as_ref()
            .is_some_and(|chosen| chosen.output_truncated),
        final_response,
        failure_kind: failure.map(|failure| failure.kind.to_string()),
        blocker: failure.map(|failure| failure.message.clone()),
        last_seq: result.whole.last_seq.get(),
        event_count: result.whole.events,
        events_capped: false,
        next_after_seq: result.whole.last_seq.get(),
        scoped_last_seq: result.fold.last_seq.get(),
        scoped_event_count: result.fold.events,
        artifact_summary: artifacts(&result),
        tool_call_summary: tools(&result),
        usage: result.fold.cost().into(),
        liveness: liveness(&result.liveness, result.whole.last_seq.get(), result.last_event_age),
        steer_delivery: steer(&result),
    }
}

fn final_response(result: &RunResult) -> Option<FinalResponseView> {
    let (reply, said) = result.reply.as_ref()?;
    let text = said.payload.as_ref().and_then(|payload| payload.get("text")).and_then(Value::as_str);
    Some(FinalResponseView {
        seq: reply.seq.get(),
        source: if reply.authority || reply.is_final { "authority" } else { "fallback" }.to_owned(),
        reply_authority: reply.authority,
        r#final: reply.is_final,
        text_truncated: reply.text_truncated,
        output_truncated: reply.output_truncated,
        text: text.map(str::to_owned),
    })
}

fn artifacts(result: &RunResult) -> ArtifactSummaryView {
    let (artifacts, output) = (&result.fold.artifacts, &result.fold.output);
    let item = |said: &Said| {
        let word = |name: &str| said.payload.as_ref().and_then(|payload| payload.get(name)).cloned();
        json!({ "seq": said.seq.get(), "path": word("path"), "bytes": word("bytes"), "truncated": word("truncated") })
    };
    ArtifactSummaryView {
        count: artifacts.count,
        bytes: artifacts.bytes,
        truncated: artifacts.truncated,
        output_count: output.count,
        output_bytes: output.bytes,
        output_truncated: output.truncated,
        items: result.artifacts.iter().map(item).collect(),
    }
}

fn tools(result: &RunResult) -> ToolCallSummaryView {
    let tools = &result.fold.tools;
    ToolCallSummaryView {
        count: tools.count,
        running: tools.open.len(),
        status_counts: tools.statuses.clone(),
        exit_code_counts: tools.exit_codes.clone(),
        items: result.tools.iter().map(tool).collect(),
    }
}

fn tool(said: &Said) -> ToolCallView {
    let word = |name: &str| {
        let text = said.payload.as_ref()?.get(name)?.as_str()?;
        Some(text.chars().take(COMMAND_CHARS).collect::<String>())
    };
    ToolCallView {
        seq: said.seq.get(),
        method: word("method"),
        tool_name: word("toolName"),
        r#type: word("type"),
        status: word("status"),
        exit_code: said.payload.as_ref().and_then(|payload| payload.get("exitCode")).and_then(Value::as_i64),
        command: word("command"),
    }
}

fn steer(result: &RunResult) -> Option<SteerDeliveryView> {
    let steer = result.steer.as_ref()?;
    Some(SteerDeliveryView {
        target_command_id: steer.target.map(|target| target.to_string()),
        acked_by_runner: steer.acked,
        accepted_by_backend: steer.accepted,
        target_events_observed: steer.target_went_on,
        meaning: "that a steer has completed means that the backend took it into the turn; what the turn says or does after that stands in the result of the turn".to_owned(),
    })
}
