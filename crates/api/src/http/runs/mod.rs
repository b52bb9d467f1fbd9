//! Runs.

mod backends;
mod bundles;
pub(crate) mod commands;
mod diffs;
pub(crate) mod events;
mod results;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::caller::AccessDenied;
use guildhall_domain::access::role::rights::{RunsRead, RunsWrite};
use guildhall_domain::ids::RunId;
use guildhall_domain::journal::Seq;
use guildhall_domain::runs::lease::Lease;
use guildhall_domain::runs::liveness::Liveness;
use guildhall_domain::runs::policy::RunRequest;
use guildhall_domain::runs::{Run, RunFilter, RunState};
use guildhall_protocol::rest::runs::{
    ActionView, CommandActivityView, CreateRun, HeartbeatView, LeaseView, LivenessView, RunView, RunsQuery,
    RunsView,
};
use guildhall_service::ServiceError;
use guildhall_service::runs::error::RunError;
use guildhall_service::runs::results::RunResult;
use guildhall_service::runs::{self, CreateRun as CreateRunRequest};
use jiff::SignedDuration;
use serde_json::{Value, json};

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::edge::caller::PendingAuthorization;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, ValidatedQuery, check_limit, idempotency_key_or, parse, parse_part};
use crate::http::headers::IdempotencyKeyHeader;
use crate::http::responses::CommonErrors;

/// Create a run
///
/// The run waits for a runner to claim it. With an idempotency key, a repeated request returns the same run.
#[utoipa::path(
    post, path = "/api/v1/runs", tag = "runs", operation_id = "createRun", security(("bearer" = [])),
    params(IdempotencyKeyHeader), request_body = CreateRun,
    responses((status = 201, description = "Created", body = RunView), CommonErrors)
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: PendingAuthorization<RunsWrite>,
    headers: HeaderMap,
    Body(body): Body<CreateRun>,
) -> Result<(StatusCode, Json<RunView>), ApiError> {
    let key = idempotency_key_or(&headers, body.idempotency_key.as_deref())?;
    let caller = caller.in_tenant(&app, &body.tenant_id).await.map_err(|error| {
        // The tenant is part of the policy: not being a member is a policy violation, not a 404.
        let is_not_found = matches!(error, ServiceError::Denied(AccessDenied::NotFound));
        if is_not_found { RunError::NotYourTenant.into() } else { error }
    })?;
    let run = app.runs.runs.create(&caller, &run_request(&app, body)?, key.as_ref()).await?;
    Ok((StatusCode::CREATED, Json(view(&run))))
}

/// List the runs of a tenant
#[utoipa::path(
    get, path = "/api/v1/runs", tag = "runs", operation_id = "listRuns", security(("bearer" = [])),
    params(RunsQuery), responses((status = 200, description = "One page, newest first", body = RunsView), CommonErrors)
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: PendingAuthorization<RunsRead>,
    ValidatedQuery(query): ValidatedQuery<RunsQuery>,
) -> Result<Json<RunsView>, ApiError> {
    let caller = caller.in_tenant(&app, &query.tenant_id).await?;
    let before = query.cursor.as_deref().map(|cursor| parse("cursor", cursor)).transpose()?;
    let filter = match query.state.as_deref() {
        None | Some("open") => RunFilter::Open,
        Some("all") => RunFilter::All,
        Some(_) => return Err(ApiError::new(FailureKind::SchemaInvalid, "state: use open or all")),
    };
    let limit = check_limit("limit", query.limit, 100)?;
    let runs = app.runs.runs.list(&caller, before, filter, limit).await?;
    let is_full = u32::try_from(runs.len()).is_ok_and(|count| count >= query.limit);
    let next_cursor = runs.last().filter(|_| is_full).map(|last| last.run.id.to_string());
    Ok(Json(RunsView { runs: runs.iter().map(view).collect(), next_cursor }))
}

/// Get a run
#[utoipa::path(
    get, path = "/api/v1/runs/{run}", tag = "runs", operation_id = "getRun", security(("bearer" = [])),
    params(("run" = String, Path, description = "Run id")),
    responses((status = 200, description = "The run", body = RunView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: Authorized<RunsRead>,
    PathIds(run): PathIds<RunId>,
) -> Result<Json<RunView>, ApiError> {
    Ok(Json(view(&app.runs.runs.get(&caller, run).await?)))
}

/// Close a run
///
/// Ends a run whose work is done as completed; its session can then have the next run. Fails while a command is open.
/// Idempotent.
#[utoipa::path(
    post, path = "/api/v1/runs/{run}/close", tag = "runs", operation_id = "closeRun", security(("bearer" = [])),
    params(("run" = String, Path, description = "Run id")),
    responses((status = 200, description = "The run, with its new status", body = RunView), CommonErrors)
)]
pub(crate) async fn close(
    State(app): State<App>,
    caller: Authorized<RunsWrite>,
    PathIds(run): PathIds<RunId>,
) -> Result<Json<RunView>, ApiError> {
    Ok(Json(view(&app.runs.runs.close(&caller, run).await?)))
}

/// Cancel a run
///
/// A waiting run ends at once; a claimed run is interrupted by its runner. Idempotent.
#[utoipa::path(
    post, path = "/api/v1/runs/{run}/cancel", tag = "runs", operation_id = "cancelRun", security(("bearer" = [])),
    params(("run" = String, Path, description = "Run id")),
    responses((status = 200, description = "The run, with its new status", body = RunView), CommonErrors)
)]
pub(crate) async fn cancel(
    State(app): State<App>,
    caller: Authorized<RunsWrite>,
    PathIds(run): PathIds<RunId>,
) -> Result<Json<RunView>, ApiError> {
    Ok(Json(view(&app.runs.runs.cancel(&caller, run).await?)))
}

fn run_request(app: &App, body: CreateRun) -> Result<CreateRunRequest, ApiError> {
    let mut policy = body.execution_policy.unwrap_or_else(|| json!({}));
    app.runs.runs.secret_aliases().replace_in(&mut policy);
    let session = body.session_ref.and_then(|session| session.session_id);
    Ok(CreateRunRequest {
        session: session.map(|session| parse("sessionRef.sessionId", &session)).transpose()?,
        run: RunRequest {
            project: parse("projectId", &body.project_id)?,
            workspace: parse_part("workspaceRef", body.workspace_ref)?,
            provider: parse("providerId", &body.provider_id)?,
            profile: parse("backendProfile", &body.backend_profile)?,
            policy: parse_part("executionPolicy", policy)?,
            trace_sink: parse_part("traceSink", body.trace_sink)?,
        },
        agent: None,
    })
}

pub(crate) fn view(found: &runs::RunView) -> RunView {
    let run = &found.run;
    let outcome = match &run.state {
        RunState::Open | RunState::Cancelling => None,
        RunState::Ended(outcome) => Some(outcome),
    };
    let failure = outcome.and_then(|outcome| outcome.failure.as_ref());
    let json = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    RunView {
        run_id: run.id.to_string(),
        tenant_id: run.tenant.to_string(),
        tenant_slug: run.tenant_slug.clone(),
        session_id: run.session.to_string(),
        title: run.title.clone(),
        project_id: run.project.clone(),
        workspace_ref: json(&run.workspace_ref),
        provider_id: run.provider.clone(),
        backend_profile: run.backend_profile.clone(),
        execution_policy: json(&run.execution_policy),
        trace_sink: run.trace_sink.clone(),
        status: found.status.to_string(),
        terminal_status: outcome.map(|outcome| outcome.status.to_string()),
        failure_kind: failure.map(|failure| failure.kind.to_string()),
        message: failure.map(|failure| failure.message.clone()),
        created_by: run.created_by.to_string(),
        created_at: run.created_at,
        ended_at: run.ended_at,
        last_seq: found.last_seq.get(),
        open_command_ids: found.open.iter().map(|command| command.id.to_string()).collect(),
        lease: run.lease.as_ref().map(lease),
        liveness: liveness(&found.liveness, run, found.last_seq),
        usage: run.usage.into(),
    }
}

fn lease(lease: &Lease) -> LeaseView {
    LeaseView {
        runner_id: lease.runner.to_string(),
        attempt_id: lease.attempt.map(|attempt| attempt.to_string()),
        epoch: lease.epoch.get(),
        expires_at: lease.expires_at,
    }
}

/// Returns the liveness of a result, with the ages of its events.
fn result_liveness(result: &RunResult) -> LivenessView {
    let (now, age) = (result.run.now, result.last_event_age);
    LivenessView {
        last_event_age_ms: age.map(milliseconds),
        last_command_activity: result.last_activity.as_ref().map(|activity| CommandActivityView {
            seq: activity.seq.get(),
            r#type: activity.kind.clone(),
            at: activity.at,
            age_ms: milliseconds(now.duration_since(activity.at)),
        }),
        sentence: result.liveness.sentence(age),
        ..liveness(&result.liveness, &result.run, result.whole.last_seq)
    }
}

fn milliseconds(age: SignedDuration) -> i64 {
    i64::try_from(age.as_millis()).unwrap_or(i64::MAX).max(0)
}

fn liveness(liveness: &Liveness, run: &Run, last_seq: Seq) -> LivenessView {
    LivenessView {
        phase: liveness.phase.to_string(),
        active: liveness.active,
        last_seq: last_seq.get(),
        last_event_age_ms: None,
        last_command_activity: None,
        lease: run.lease.as_ref().map(lease),
        heartbeat: run.lease.as_ref().map(|lease| HeartbeatView {
            last_at: lease.renewed_at,
            age_ms: milliseconds(run.now.duration_since(lease.renewed_at)),
            stale: run.now >= lease.expires_at,
        }),
        next_step: liveness.next.description.to_owned(),
        next_step_at: liveness.next.at,
        recovery_actions: liveness
            .actions
            .iter()
            .map(|action| ActionView { action: action.to_string(), about: action.description().to_owned() })
            .collect(),
        sentence: liveness.sentence(None),
    }
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get))
        .routes(routes!(cancel))
        .routes(routes!(close))
        .routes(routes!(events::list, crate::http::runners::events::append))
        .routes(routes!(events::follow))
        .routes(routes!(events::erase))
        .routes(routes!(diffs::get, diffs::delete, crate::http::runners::diffs::put))
        .routes(routes!(bundles::put_part, crate::http::runners::bundles::get_part))
        .routes(routes!(results::get_run_result))
        .routes(routes!(commands::create, crate::http::runners::commands::poll))
        .routes(routes!(commands::get))
        .routes(routes!(commands::list))
        .routes(routes!(results::get_command_result))
        .routes(routes!(commands::cancel))
        .routes(routes!(backends::list))
}
