//! Runner jobs: runners started for runs.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{RunsRead, RunsWrite};
use guildhall_domain::ids::{CommandId, RunId, RunnerJobId};
use guildhall_domain::runners::job::Job;
use guildhall_domain::runners::job::{job_name, log_identity};
use guildhall_protocol::rest::runners::jobs::{
    CreateRunnerJob, JobLogView, JobTerminalView, RunnerJobView, RunnerJobsQuery, RunnerJobsView,
};

use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, ValidatedQuery, idempotency_key_or, parse};
use crate::http::headers::IdempotencyKeyHeader;
use crate::http::responses::CommonErrors;

/// Start a runner for a run
///
/// Returns as soon as the job is stored: request the address in `poll` for its phase, and the command for what the
/// agent did. With an idempotency key, a repeated request returns the same job and starts no second process.
#[utoipa::path(
    post, path = "/api/v1/runs/{run}/runner-jobs", tag = "runner jobs", operation_id = "createRunnerJob",
    security(("bearer" = [])), params(("run" = String, Path, description = "Run id"), IdempotencyKeyHeader),
    request_body = CreateRunnerJob,
    responses((status = 201, description = "Created", body = RunnerJobView), CommonErrors)
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: Authorized<RunsWrite>,
    headers: HeaderMap,
    PathIds(run): PathIds<RunId>,
    Body(body): Body<CreateRunnerJob>,
) -> Result<(StatusCode, Json<RunnerJobView>), ApiError> {
    let key = idempotency_key_or(&headers, body.idempotency_key.as_deref())?;
    let command = command(body.command_id.as_deref())?;
    let job = app.runners.jobs.create(&caller, run, command, key.as_ref()).await?;
    Ok((StatusCode::CREATED, Json(view(run, job))))
}

/// List the runner jobs of a run
///
/// Includes a warm runner that claimed the run.
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/runner-jobs", tag = "runner jobs", operation_id = "listRunnerJobs",
    security(("bearer" = [])), params(("run" = String, Path, description = "Run id"), RunnerJobsQuery),
    responses((status = 200, description = "Newest first", body = RunnerJobsView), CommonErrors)
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Authorized<RunsRead>,
    PathIds(run): PathIds<RunId>,
    ValidatedQuery(query): ValidatedQuery<RunnerJobsQuery>,
) -> Result<Json<RunnerJobsView>, ApiError> {
    let command = command(query.command_id.as_deref())?;
    let jobs = app.runners.jobs.list(&caller, run, command).await?;
    Ok(Json(RunnerJobsView { runner_jobs: jobs.into_iter().map(|job| view(run, job)).collect() }))
}

/// Get a runner job
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/runner-jobs/{job}", tag = "runner jobs", operation_id = "getRunnerJob",
    security(("bearer" = [])),
    params(
        ("run" = String, Path, description = "Run id"),
        ("job" = String, Path, description = "Runner job id"),
    ),
    responses((status = 200, description = "The job, with its phase and outcome", body = RunnerJobView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: Authorized<RunsRead>,
    PathIds((run, job)): PathIds<(RunId, RunnerJobId)>,
) -> Result<Json<RunnerJobView>, ApiError> {
    Ok(Json(view(run, app.runners.jobs.get(&caller, run, job).await?)))
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
            identity: job.launcher_id.map(|launcher| log_identity(launcher, job.attempt)),
        },
        terminal,
        command_status: job.command_state,
        poll: format!("/api/v1/runs/{run}/runner-jobs/{}", job.id),
        created_at: job.created_at,
        launched_at: job.launched_at,
        ended_at: job.ended_at,
    }
}
