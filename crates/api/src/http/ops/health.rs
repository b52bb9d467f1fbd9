//! The probes.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use guildhall_domain::FailureKind;
use guildhall_domain::ops::readiness::{BusSeen, Housekeeping, Readiness, StoreSeen};
use guildhall_domain::ops::schema::SchemaVerdict;
use guildhall_protocol::problem::{self, Problem};
use guildhall_protocol::rest::ops::health::{
    BuildView, EngineView, HealthView, HousekeepingView, LiveView, MigrationsView, ReadinessView,
    ReplicaView, SecretView,
};
use guildhall_runtime::telemetry::trace::TraceContext;
use guildhall_service::ops::health::{Health, Identity, Report};

use crate::App;
use crate::edge::error::ApiError;

const SERVICE_ID: &str = "guildhall";

/// The whole installation
///
/// Reads from PostgreSQL which replicas run, so an answer proves that the way to the store is open.
#[utoipa::path(
    get, path = "/health", tag = "health", operation_id = "showHealth",
    responses(
        (status = 200, description = "The store answers", body = HealthView),
        (status = 503, description = "PostgreSQL is away, or the server is at its limit", body = Problem, content_type = problem::CONTENT_TYPE),
        (status = 504, description = "PostgreSQL did not answer in time", body = Problem, content_type = problem::CONTENT_TYPE),
    )
)]
pub(crate) async fn show(State(app): State<App>) -> Result<Json<HealthView>, ApiError> {
    let replicas = app.health.replicas().await?;
    let identity = app.health.identity();
    Ok(Json(HealthView {
        status: app.health.report().readiness.as_str().to_owned(),
        service_id: SERVICE_ID.to_owned(),
        build: build(identity),
        replica: identity.replica.to_string(),
        replicas: replicas
            .into_iter()
            .map(|replica| ReplicaView {
                id: replica.id.to_string(),
                version: replica.version,
                started_at: replica.started_at,
                seen_at: replica.seen_at,
            })
            .collect(),
    }))
}

/// Does the process run?
///
/// Asks nothing of any engine: a restart would not bring PostgreSQL back.
#[utoipa::path(
    get, path = "/health/live", tag = "health", operation_id = "showLive",
    responses((status = 200, description = "The process runs", body = LiveView))
)]
pub(crate) async fn live(State(app): State<App>) -> Json<LiveView> {
    Json(LiveView {
        status: "live".to_owned(),
        service_id: SERVICE_ID.to_owned(),
        build: build(app.health.identity()),
    })
}

/// Should this replica get traffic?
///
/// `ready` and `degraded` are 200: a degraded replica serves. `unready` is 503 with the reasons.
#[utoipa::path(
    get, path = "/health/readiness", tag = "health", operation_id = "showReadiness",
    responses(
        (status = 200, description = "Ready, or degraded and serving", body = ReadinessView),
        (status = 503, description = "Must not get traffic; says why", body = ReadinessView),
    )
)]
pub(crate) async fn readiness(State(app): State<App>, Extension(trace): Extension<TraceContext>) -> Response {
    let report = app.health.report();
    let mut body = view(&app.health, &report);
    if !matches!(report.readiness, Readiness::Unready(_)) {
        return Json(body).into_response();
    }
    body.failure_kind = Some(FailureKind::NotReady.as_str().to_owned());
    body.message = body.reasons.first().cloned();
    body.trace_id = Some(trace.trace_id());
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], Json(body)).into_response()
}

fn view(health: &Health, report: &Report) -> ReadinessView {
    let (identity, observed) = (health.identity(), &report.observed);
    let (store, bus) = (observed.store, observed.bus);
    ReadinessView {
        status: report.readiness.as_str().to_owned(),
        reasons: report.readiness.reasons().iter().map(ToString::to_string).collect(),
        service_id: SERVICE_ID.to_owned(),
        build: build(identity),
        replica: identity.replica.to_string(),
        started_at: identity.started_at,
        postgres: EngineView {
            reachable: store.is_some_and(|o| o.seen != StoreSeen::Unreachable),
            observed_at: store.map(|o| o.at),
        },
        migrations: MigrationsView {
            ready: store.is_some_and(|o| o.seen == StoreSeen::Reachable(SchemaVerdict::Fits)),
            known: identity.known_migration,
        },
        nats: EngineView {
            reachable: bus.is_some_and(|o| o.seen == BusSeen::Reachable),
            observed_at: bus.map(|o| o.at),
        },
        secrets: identity.secrets.iter().map(|(name, set)| secret(name, *set)).collect(),
        housekeeping: observed.housekeeping.iter().map(|task| housekeeping(task, report)).collect(),
        failure_kind: None,
        message: None,
        trace_id: None,
    }
}

fn secret(name: &str, set: bool) -> SecretView {
    SecretView { name: name.to_owned(), set, value: "[redacted]".to_owned() }
}

fn housekeeping(task: &Housekeeping, report: &Report) -> HousekeepingView {
    HousekeepingView {
        name: task.name.to_owned(),
        every_ms: u64::try_from(task.every.as_millis()).unwrap_or(u64::MAX),
        last_run_at: task.last_run_at,
        last_success_at: task.last_success_at,
        next_run_at: task.next_run_at,
        last_error: task.last_error.clone(),
        late: task.is_late(report.observed.started_at, report.at),
    }
}

fn build(identity: &Identity) -> BuildView {
    BuildView { version: identity.version.clone(), commit: identity.commit.clone() }
}
