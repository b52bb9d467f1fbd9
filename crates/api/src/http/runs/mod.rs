//! Runs.

mod backends;
pub(crate) mod commands;
pub(crate) mod events;
mod results;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::FailureKind;
use guildhall_domain::ids::{RunId, TenantId};
use guildhall_domain::runs::RunState;
use guildhall_domain::runs::liveness::Liveness;
use guildhall_domain::runs::policy::{NewRunAsk, PolicyAsk};
use guildhall_protocol::rest::runs::{
    ActionView, CreateRun, LeaseView, LivenessView, RunView, RunsQuery, RunsView,
};
use guildhall_service::ServiceError;
use guildhall_service::runs::{self, RunAsk, RunRefusal, Shown};
use jiff::SignedDuration;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::http::answers::Usual;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::edge::body_error;
use crate::edge::caller::Asking;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, Ids, Words, idempotency_key, parse, within};

/// Make a run
///
/// It waits for a runner from then on. With an `Idempotency-Key` the same request gives the same run.
#[utoipa::path(
    post, path = "/api/v1/runs", tag = "runs", operation_id = "createRun", security(("bearer" = [])),
    request_body = CreateRun, responses((status = 201, description = "Made", body = RunView), Usual)
)]
pub(crate) async fn create(
    State(app): State<App>,
    asking: Asking,
    headers: HeaderMap,
    Body(body): Body<CreateRun>,
) -> Result<(StatusCode, Json<RunView>), ApiError> {
    let key = idempotency_key(&headers)?;
    let tenant = tenant(&app, &body.tenant_id).await?;
    let asking = asking.within(&app, tenant).await?;
    let run = app.runs.create(&asking.caller, &ask(tenant, body)?, key.as_ref()).await?;
    Ok((StatusCode::CREATED, Json(view(&run))))
}

/// The runs of a tenant, newest first
#[utoipa::path(
    get, path = "/api/v1/runs", tag = "runs", operation_id = "listRuns", security(("bearer" = [])),
    params(RunsQuery), responses((status = 200, description = "A page", body = RunsView), Usual)
)]
pub(crate) async fn list(
    State(app): State<App>,
    asking: Asking,
    Words(query): Words<RunsQuery>,
) -> Result<Json<RunsView>, ApiError> {
    let tenant = tenant(&app, &query.tenant_id).await.map_err(|_| ServiceError::NOT_FOUND)?;
    let asking = asking.within(&app, tenant).await?;
    let before = query.cursor.as_deref().map(|cursor| parse("cursor", cursor)).transpose()?;
    let shown = match query.state.as_deref() {
        None | Some("open") => Shown::Open,
        Some("all") => Shown::All,
        Some(_) => return Err(ApiError::new(FailureKind::SchemaInvalid, "state: use open or all")),
    };
    let limit = within("limit", query.limit, 100)?;
    let runs = app.runs.list(&asking.caller, tenant, before, shown, limit).await?;
    let is_full = u32::try_from(runs.len()).is_ok_and(|count| count >= query.limit);
    let next_cursor = runs.last().filter(|_| is_full).map(|last| last.run.id.to_string());
    Ok(Json(RunsView { runs: runs.iter().map(view).collect(), next_cursor }))
}

/// One run
#[utoipa::path(
    get, path = "/api/v1/runs/{run}", tag = "runs", operation_id = "showRun", security(("bearer" = [])),
    params(("run" = String, Path, description = "A run's id")),
    responses((status = 200, description = "The run", body = RunView), Usual)
)]
pub(crate) async fn show(
    State(app): State<App>,
    asking: Asking,
    Ids(run): Ids<RunId>,
) -> Result<Json<RunView>, ApiError> {
    Ok(Json(view(&app.runs.show(&asking.caller, run).await?)))
}

/// Ask a run to end
///
/// What waits ends now; what runs is interrupted by its runner. Asking again changes nothing and says how it ended.
#[utoipa::path(
    post, path = "/api/v1/runs/{run}/cancel", tag = "runs", operation_id = "cancelRun", security(("bearer" = [])),
    params(("run" = String, Path, description = "A run's id")),
    responses((status = 200, description = "Where it stands now", body = RunView), Usual)
)]
pub(crate) async fn cancel(
    State(app): State<App>,
    asking: Asking,
    Ids(run): Ids<RunId>,
) -> Result<Json<RunView>, ApiError> {
    Ok(Json(view(&app.runs.cancel(&asking.caller, run).await?)))
}

/// Finds the tenant that a body names. One that does not exist is refused like one of others.
pub(crate) async fn tenant(app: &App, text: &str) -> Result<TenantId, ApiError> {
    Ok(app.tenants.resolve(text).await?.ok_or(ServiceError::from(RunRefusal::NotYourTenant))?)
}

fn ask(tenant: TenantId, body: CreateRun) -> Result<RunAsk, ApiError> {
    let session = body.session_ref.and_then(|session| session.session_id);
    Ok(RunAsk {
        tenant,
        session: session.map(|session| parse("sessionRef.sessionId", &session)).transpose()?,
        terms: NewRunAsk {
            project: parse("projectId", &body.project_id)?,
            workspace: part("workspaceRef", body.workspace_ref)?,
            provider: parse("providerId", &body.provider_id)?,
            profile: parse("backendProfile", &body.backend_profile)?,
            policy: match body.execution_policy {
                Some(policy) => part("executionPolicy", policy)?,
                None => PolicyAsk::default(),
            },
            trace_sink: part("traceSink", body.trace_sink)?,
        },
    })
}

/// Reads a part of a body, naming it in the failure.
fn part<T: DeserializeOwned>(field: &'static str, value: Value) -> Result<T, ApiError> {
    serde_json::from_value(value).map_err(|error| {
        ApiError::new(FailureKind::SchemaInvalid, format!("{field}: {}", body_error::of_part(&error)))
    })
}

pub(crate) fn view(shown: &runs::RunView) -> RunView {
    let run = &shown.run;
    let ending = match &run.state {
        RunState::Open | RunState::Cancelling => None,
        RunState::Ended(ending) => Some(ending),
    };
    let failure = ending.and_then(|ending| ending.failure.as_ref());
    let json = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    RunView {
        run_id: run.id.to_string(),
        tenant_id: run.tenant.to_string(),
        session_id: run.session.to_string(),
        project_id: run.project.clone(),
        workspace_ref: json(&run.workspace_ref),
        provider_id: run.provider.clone(),
        backend_profile: run.backend_profile.clone(),
        execution_policy: json(&run.execution_policy),
        trace_sink: run.trace_sink.clone(),
        status: shown.status.to_string(),
        terminal_status: ending.map(|ending| ending.status.to_string()),
        failure_kind: failure.map(|failure| failure.kind.to_string()),
        message: failure.map(|failure| failure.message.clone()),
        created_by: run.created_by.to_string(),
        created_at: run.created_at,
        ended_at: run.ended_at,
        last_seq: shown.last_seq.get(),
        open_command_ids: shown.open.iter().map(|command| command.id.to_string()).collect(),
        lease: run.lease.as_ref().map(|lease| LeaseView {
            runner_id: lease.runner.to_string(),
            epoch: lease.epoch.get(),
            expires_at: lease.expires_at,
        }),
        liveness: liveness(&shown.liveness, shown.last_seq.get(), None),
        usage: run.usage.into(),
    }
}

pub(crate) fn liveness(seen: &Liveness, last_seq: i64, age: Option<SignedDuration>) -> LivenessView {
    LivenessView {
        phase: seen.phase.to_string(),
        active: seen.active,
        last_seq,
        last_event_age_ms: age.and_then(|age| i64::try_from(age.as_millis()).ok()),
        next_step: seen.next.what.to_owned(),
        next_step_at: seen.next.at,
        recovery_actions: seen
            .actions
            .iter()
            .map(|action| ActionView { action: action.to_string(), about: action.about().to_owned() })
            .collect(),
        sentence: seen.sentence(age),
    }
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(show))
        .routes(routes!(cancel))
        .routes(routes!(events::page, crate::http::runners::events::append))
        .routes(routes!(events::follow))
        .routes(routes!(events::erase))
        .routes(routes!(results::of_run))
        .routes(routes!(commands::create, crate::http::runners::commands::poll))
        .routes(routes!(commands::show))
        .routes(routes!(results::of_command))
        .routes(routes!(commands::cancel))
        .routes(routes!(backends::list))
}
