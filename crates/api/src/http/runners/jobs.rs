//! Runners that are started for runs.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::ids::{CommandId, RunId, RunnerJobId};
use guildhall_domain::runners::job::{job_name, log_identity};
use guildhall_protocol::rest::runners::jobs::{
    CreateRunnerJob, JobLogView, JobTerminalView, RunnerJobView, RunnerJobsQuery, RunnerJobsView,
};
use guildhall_service::runners::jobs::Job;

use crate::App;
use crate::edge::caller::Asking;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, Ids, Words, idempotency_key, parse};
use crate::http::answers::Usual;

/// Start a runner for a run
///
/// Answers as soon as the job is written down, and waits for nothing: look at `poll` for its phase, and at the command
/// for what the agent did. With an `Idempotency-Key` the same request gives the same job, and never a second process.
#[utoipa::path(
    post, path = "/api/v1/runs/{run}/runner-jobs", tag = "runner jobs", operation_id = "createRunnerJob",
    security(("bearer" = [])), params(("run" = String, Path, description = "A run's id")),
    request_body = CreateRunnerJob,
    responses((status = 201, description = "It is on its way", body = RunnerJobView), Usual)
)]
pub(crate) async fn create(
    State(app): State<App>,
    asking: Asking,
    headers: HeaderMap,
    Ids(run): Ids<RunId>,
    Body(body): Body<CreateRunnerJob>,
) -> Result<(StatusCode, Json<RunnerJobView>), ApiError> {
    let key = idempotency_key(&headers)?;
    let command = command(body.command_id.as_deref())?;
    let job = app.runner_jobs.create(&asking.caller, run, command, key.as_ref()).await?;
    Ok((StatusCode::CREATED, Json(view(run, job))))
}

/// The runners that were started for a run
///
/// A warm runner that took the run is among them.
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/runner-jobs", tag = "runner jobs", operation_id = "listRunnerJobs",
    security(("bearer" = [])), params(("run" = String, Path, description = "A run's id"), RunnerJobsQuery),
    responses((status = 200, description = "The newest first", body = RunnerJobsView), Usual)
)]
pub(crate) async fn list(
    State(app): State<App>,
    asking: Asking,
    Ids(run): Ids<RunId>,
    Words(query): Words<RunnerJobsQuery>,
) -> Result<Json<RunnerJobsView>, ApiError> {
    let command = command(query.command_id.as_deref())?;
    let jobs = app.runner_jobs.list(&asking.caller, run, command).await?;
    Ok(Json(RunnerJobsView { runner_jobs: jobs.into_iter().map(|job| view(run, job)).collect() }))
}

/// One runner that was started
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/runner-jobs/{job}", tag = "runner jobs", operation_id = "showRunnerJob",
    security(("bearer" = [])),
    params(
        ("run" = String, Path, description = "A run's id"),
        ("job" = String, Path, description = "A runner job's id"),
    ),
    responses((status = 200, description = "Its phase, and how it ended", body = RunnerJobView), Usual)
)]
pub(crate) async fn show(
    State(app): State<App>,
    asking: Asking,
    Ids((run, job)): Ids<(RunId, RunnerJobId)>,
) -> Result<Json<RunnerJobView>, ApiError> {
    Ok(Json(view(run, app.runner_jobs.show(&asking.caller, run, job).await?)))
}

fn command(text: Option<&str>) -> Result<Option<CommandId>, ApiError> {
    text.map(|text| parse("commandId", text)).transpose()
}

fn view(run: RunId, job: Job) -> RunnerJobView {
    let terminal = job.phase.is_ended().then(|| JobTerminalView {
        status: job.phase.to_string(),
        exit_code: job.exit_code,
        message: job.message,
    });
    RunnerJobView {
        runner_job_id: job.id.to_string(),
        run_id: job.run.map(|run| run.to_string()),
        command_id: job.command.map(|command| command.to_string()),
        attempt_id: job.attempt.to_string(),
        job_name: job_name(job.attempt),
        namespace: None,
        kind: job.kind.to_string(),
        launcher: job.launcher,
        backend_profile: job.profile,
        phase: job.phase.to_string(),
        runner_id: job.runner.map(|runner| runner.to_string()),
        log: JobLogView {
            kind: "file".to_owned(),
            identity: job.place.map(|place| log_identity(place, job.attempt)),
        },
        terminal,
        command_status: job.command_state,
        poll: format!("/api/v1/runs/{run}/runner-jobs/{}", job.id),
        created_at: job.created_at,
        launched_at: job.launched_at,
        ended_at: job.ended_at,
    }
}
