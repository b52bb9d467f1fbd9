//! Questions of agents, for their runners.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use guildhall_domain::FailureKind;
use guildhall_domain::approvals::state::{ApprovalState, Decision};
use guildhall_domain::ids::{ApprovalId, RunId};
use guildhall_protocol::rest::approvals::{
    AnswerView, AskQuestion, CALL_ID_BYTES, ConfirmAnswer, TakeAnswer,
};
use guildhall_service::approvals::questions::{AnswerForProcess, NewQuestion};

use crate::App;
use crate::edge::caller::RunHolder;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, parse};
use crate::edge::long_poll::LongPoll;
use crate::http::responses::CommonErrors;
use crate::http::runners::grant_for;

/// Length of the ids that a runner gives to processes and requests.
const PROCESS_LENGTH: std::ops::RangeInclusive<usize> = 1..=64;
const REQUEST_LENGTH: std::ops::RangeInclusive<usize> = 1..=128;

/// Ask a question of an agent
///
/// Requires a run token. The same request of the same process is asked once.
#[utoipa::path(
    post, path = "/api/v1/runs/{run}/approvals", tag = "runners", operation_id = "askQuestion",
    security(("bearer" = [])), params(("run" = String, Path, description = "Run id")), request_body = AskQuestion,
    responses((status = 200, description = "The state of the question", body = AnswerView), CommonErrors)
)]
pub(crate) async fn ask(
    State(app): State<App>,
    RunHolder(token): RunHolder,
    PathIds(run): PathIds<RunId>,
    Body(body): Body<AskQuestion>,
) -> Result<Json<AnswerView>, ApiError> {
    let invalid = |message: String| ApiError::new(FailureKind::SchemaInvalid, message);
    if !PROCESS_LENGTH.contains(&body.process.len()) || !REQUEST_LENGTH.contains(&body.request.len()) {
        return Err(invalid("process, request: use 1 to 64 and 1 to 128 bytes".to_owned()));
    }
    if body.call_id.as_ref().is_some_and(|call| !CALL_ID_BYTES.contains(&call.len())) {
        return Err(invalid("callId: use 1 to 256 bytes".to_owned()));
    }
    let asked = NewQuestion {
        command: parse("commandId", &body.command_id)?,
        process: body.process,
        request: body.request,
        call: body.call_id,
        question: body.question.try_into().map_err(|error| invalid(format!("question: {error}")))?,
    };
    let (id, state) = app.approvals.questions.ask(grant_for(&token, run)?, &asked).await?;
    Ok(Json(view(id, AnswerForProcess { state, content: None })))
}

/// Take the answer to a question
///
/// Requires a run token. With `wait`, the request long-polls. A response with the status delivering has the option for
/// the agent's process, which gets it at most once: no other process can take the answer from then on.
#[utoipa::path(
    post, path = "/api/v1/runs/{run}/approvals/{approval}/take", tag = "runners", operation_id = "takeAnswer",
    security(("bearer" = [])),
    params(
        ("run" = String, Path, description = "Run id"),
        ("approval" = String, Path, description = "Approval id"),
    ),
    request_body = TakeAnswer,
    responses((status = 200, description = "The state of the question", body = AnswerView), CommonErrors)
)]
pub(crate) async fn take(
    State(app): State<App>,
    RunHolder(token): RunHolder,
    PathIds((run, approval)): PathIds<(RunId, ApprovalId)>,
    long_poll: LongPoll,
    Body(body): Body<TakeAnswer>,
) -> Result<Json<AnswerView>, ApiError> {
    let (grant, questions) = (grant_for(&token, run)?, &app.approvals.questions);
    let waiting = long_poll.begin(&app, body.wait)?;
    let taken = tokio::select! {
        taken = questions.take(grant, approval, &body.process, waiting.wait) => taken?,
        // The server stops accepting: the runner continues at another replica.
        () = app.closing.cancelled() => questions.take(grant, approval, &body.process, Duration::ZERO).await?,
    };
    Ok(Json(view(approval, taken)))
}

/// Confirm that an agent's process has got the answer
///
/// Requires a run token. Idempotent.
#[utoipa::path(
    post, path = "/api/v1/runs/{run}/approvals/{approval}/confirm", tag = "runners", operation_id = "confirmAnswer",
    security(("bearer" = [])),
    params(
        ("run" = String, Path, description = "Run id"),
        ("approval" = String, Path, description = "Approval id"),
    ),
    request_body = ConfirmAnswer,
    responses((status = 200, description = "The state of the question", body = AnswerView), CommonErrors)
)]
pub(crate) async fn confirm(
    State(app): State<App>,
    RunHolder(token): RunHolder,
    PathIds((run, approval)): PathIds<(RunId, ApprovalId)>,
    Body(body): Body<ConfirmAnswer>,
) -> Result<Json<AnswerView>, ApiError> {
    let state = app.approvals.questions.confirm(grant_for(&token, run)?, approval, &body.process).await?;
    Ok(Json(view(approval, AnswerForProcess { state, content: None })))
}

fn view(id: ApprovalId, AnswerForProcess { state, content }: AnswerForProcess) -> AnswerView {
    // Only a process that the answer was taken for gets it.
    let taken = match &state {
        ApprovalState::Delivering(decision) => Some(decision),
        ApprovalState::Pending { .. }
        | ApprovalState::Decided(_)
        | ApprovalState::Expired(_)
        | ApprovalState::Delivered(_)
        | ApprovalState::Settled(_)
        | ApprovalState::Withdrawn(_)
        | ApprovalState::Void(..)
        | ApprovalState::Reused(_)
        | ApprovalState::Uncertain(_) => None,
    };
    AnswerView {
        approval_id: id.to_string(),
        status: state.status().to_string(),
        option_id: taken.map(Decision::option).map(str::to_owned),
        content,
        parked: state == ApprovalState::Pending { is_parked: true },
    }
}
