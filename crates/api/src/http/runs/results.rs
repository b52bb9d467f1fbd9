//! Results of commands and runs.

use axum::Json;
use axum::extract::State;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::RunsRead;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_protocol::rest::runs::commands::{
    ArtifactSummaryView, FinalResponseView, ResultQuery, ResultView, SteerDeliveryView, ToolCallSummaryView,
    ToolCallView,
};
use guildhall_service::runs::results::{EventPayload, RunResult};
use serde_json::{Value, json};

use super::result_liveness;
use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{PathIds, ValidatedQuery, parse};
use crate::http::responses::CommonErrors;

/// Longer commands of tool calls are truncated.
const MAX_COMMAND_CHARS: usize = 200;

/// Get the result of a run
///
/// The result of its newest command, or of the command in `commandId`.
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/result", tag = "runs", operation_id = "getRunResult", security(("bearer" = [])),
    params(("run" = String, Path, description = "Run id"), ResultQuery),
    responses((status = 200, description = "The result", body = ResultView), CommonErrors)
)]
pub(crate) async fn get_run_result(
    State(app): State<App>,
    caller: Authorized<RunsRead>,
    PathIds(run): PathIds<RunId>,
    ValidatedQuery(query): ValidatedQuery<ResultQuery>,
) -> Result<Json<ResultView>, ApiError> {
    let command = query.command_id.as_deref().map(|id| parse("commandId", id)).transpose()?;
    Ok(Json(view(app.runs.results.get(&caller, run, command).await?)))
}

/// Get the result of a command
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/commands/{command}/result", tag = "commands", operation_id = "getCommandResult",
    security(("bearer" = [])),
    params(
        ("run" = String, Path, description = "Run id"),
        ("command" = String, Path, description = "Command id"),
    ),
    responses((status = 200, description = "The result", body = ResultView), CommonErrors)
)]
pub(crate) async fn get_command_result(
    State(app): State<App>,
    caller: Authorized<RunsRead>,
    PathIds((run, command)): PathIds<(RunId, CommandId)>,
) -> Result<Json<ResultView>, ApiError> {
    Ok(Json(view(app.runs.results.get(&caller, run, Some(command)).await?)))
}

fn view(result: RunResult) -> ResultView {
    let final_response = final_response(&result);
    let reply = result.status.completed.then(|| final_response.as_ref()?.text.clone()).flatten();
    let failure = result.status.failure.as_ref();
    let attempt = match &result.command {
        Some(command) => command.attempt,
        None => result.run.lease.as_ref().and_then(|lease| lease.attempt),
    };
    ResultView {
        run_id: result.run.id.to_string(),
        session_id: result.run.session.to_string(),
        command_id: result.command.as_ref().map(|command| command.id.to_string()),
        attempt_id: attempt.map(|attempt| attempt.to_string()),
        status: result.status.status.to_owned(),
        terminal_status: result.status.terminal_status.map(|status| status.to_string()),
        completed: result.status.completed,
        terminal_source: result.status.terminal_source.to_string(),
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
        usage: result.fold.total_usage().into(),
        liveness: result_liveness(&result),
        steer_delivery: steer(&result),
    }
}

fn final_response(result: &RunResult) -> Option<FinalResponseView> {
    let (reply, event) = result.reply.as_ref()?;
    let text = event.payload.as_ref().and_then(|payload| payload.get("text")).and_then(Value::as_str);
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
    let item = |event: &EventPayload| {
        let field = |name: &str| event.payload.as_ref().and_then(|payload| payload.get(name)).cloned();
        json!({ "seq": event.seq.get(), "path": field("path"), "bytes": field("bytes"), "truncated": field("truncated") })
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

fn tool(event: &EventPayload) -> ToolCallView {
    let field = |name: &str| {
        let text = event.payload.as_ref()?.get(name)?.as_str()?;
        Some(text.chars().take(MAX_COMMAND_CHARS).collect::<String>())
    };
    ToolCallView {
        seq: event.seq.get(),
        method: field("method"),
        tool_name: field("toolName"),
        r#type: field("type"),
        status: field("status"),
        exit_code: event.payload.as_ref().and_then(|payload| payload.get("exitCode")).and_then(Value::as_i64),
        command: field("command"),
    }
}

fn steer(result: &RunResult) -> Option<SteerDeliveryView> {
    let steer = result.steer.as_ref()?;
    Some(SteerDeliveryView {
        target_command_id: steer.target.map(|target| target.to_string()),
        acked_by_runner: steer.acked,
        accepted_by_backend: steer.accepted,
        target_events_observed: steer.target_progressed,
        meaning: "a completed steer was accepted by the backend into the turn; the result of the turn shows its effect"
            .to_owned(),
    })
}
