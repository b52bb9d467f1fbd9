//! Registered runners.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::RunnersManage;
use guildhall_domain::ids::RunnerId;
use guildhall_domain::runners::runner::RunnerSummary;
use guildhall_domain::runs::policy::BackendProfile;
use guildhall_protocol::rest::runners::{
    RegisterRunner, RunnerSummaryView, RunnerView, RunnersQuery, RunnersView,
};
use guildhall_service::runners::registrations::RunnerFilter;

use crate::App;
use crate::edge::caller::EnrolledRunner;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, TenantSegment, ValidatedQuery, check_name, parse};
use crate::http::responses::CommonErrors;

/// Profiles of one runner.
const MAX_PROFILES: usize = 32;

/// Runners in one list.
const MAX_RUNNERS: u32 = 200;

/// The size of a placement as JSON.
const MAX_PLACEMENT_BYTES: usize = 4096;

/// Register a runner
///
/// Requires an enrolment token. The runner may then claim runs of the tenant of the token.
#[utoipa::path(
    post, path = "/api/v1/runners/register", tag = "runners", operation_id = "registerRunner",
    security(("bearer" = [])), request_body = RegisterRunner,
    responses((status = 201, description = "Registered", body = RunnerView), CommonErrors)
)]
pub(crate) async fn register(
    State(app): State<App>,
    EnrolledRunner(enrolment): EnrolledRunner,
    Body(body): Body<RegisterRunner>,
) -> Result<(StatusCode, Json<RunnerView>), ApiError> {
    check_name("name", &body.name)?;
    for profile in &body.backend_profiles {
        let _checked: BackendProfile = parse("backendProfiles", profile)?;
    }
    let mut placement = body.placement;
    guildhall_domain::redact::redact_json(&mut placement);
    if body.backend_profiles.len() > MAX_PROFILES || placement.to_string().len() > MAX_PLACEMENT_BYTES {
        return Err(ApiError::new(
            FailureKind::SchemaInvalid,
            "use at most 32 backendProfiles and a placement of at most 4096 bytes",
        ));
    }
    let runner = app
        .runners
        .registrations
        .register(&enrolment, &body.name, &placement, &body.backend_profiles)
        .await?;
    let view = RunnerView {
        runner_id: runner.id.to_string(),
        tenant_id: runner.tenant.map(|tenant| tenant.to_string()),
        name: runner.name,
        backend_profiles: runner.backend_profiles,
    };
    Ok((StatusCode::CREATED, Json(view)))
}

/// List the runners of a tenant
///
/// Newest first, at most 200: those that hold a run or asked for one lately, or all.
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/runners", tag = "enrolments", operation_id = "listRunners",
    security(("bearer" = [])), params(("tenant" = String, Path, description = "Id or slug of the tenant"), RunnersQuery),
    responses((status = 200, description = "The runners", body = RunnersView), CommonErrors)
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Authorized<RunnersManage>,
    ValidatedQuery(query): ValidatedQuery<RunnersQuery>,
) -> Result<Json<RunnersView>, ApiError> {
    let filter = if query.all { RunnerFilter::All } else { RunnerFilter::Active };
    let runners = app.runners.registrations.list(&caller, filter, MAX_RUNNERS).await?;
    Ok(Json(RunnersView { runners: runners.into_iter().map(summary).collect() }))
}

/// Get a runner
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/runners/{runner}", tag = "enrolments", operation_id = "getRunner",
    security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "Id or slug of the tenant"),
        ("runner" = String, Path, description = "Runner id"),
    ),
    responses((status = 200, description = "The runner", body = RunnerSummaryView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: Authorized<RunnersManage>,
    PathIds((_tenant, runner)): PathIds<(TenantSegment, RunnerId)>,
) -> Result<Json<RunnerSummaryView>, ApiError> {
    Ok(Json(summary(app.runners.registrations.get(&caller, runner).await?)))
}

/// Drain a runner
///
/// It finishes its run and gets no other; its program then exits. Idempotent.
#[utoipa::path(
    post, path = "/api/v1/tenants/{tenant}/runners/{runner}/drain", tag = "enrolments", operation_id = "drainRunner",
    security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "Id or slug of the tenant"),
        ("runner" = String, Path, description = "Runner id"),
    ),
    responses((status = 200, description = "The runner", body = RunnerSummaryView), CommonErrors)
)]
pub(crate) async fn drain(
    State(app): State<App>,
    caller: Authorized<RunnersManage>,
    PathIds((_tenant, runner)): PathIds<(TenantSegment, RunnerId)>,
) -> Result<Json<RunnerSummaryView>, ApiError> {
    Ok(Json(summary(app.runners.registrations.drain(&caller, runner).await?)))
}

fn summary(runner: RunnerSummary) -> RunnerSummaryView {
    RunnerSummaryView {
        runner_id: runner.id.to_string(),
        name: runner.name,
        backend_profiles: runner.backend_profiles,
        registered_at: runner.registered_at,
        seen_at: runner.seen_at,
        draining: runner.is_draining,
        run_id: runner.run.map(|run| run.to_string()),
    }
}
