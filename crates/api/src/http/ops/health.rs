//! Health and readiness probes.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use guildhall_domain::FailureKind;
use guildhall_domain::ops::readiness::{BusProbe, Housekeeping, Readiness, StoreProbe};
use guildhall_domain::ops::schema::SchemaCompatibility;
use guildhall_protocol::problem::{self, Problem};
use guildhall_protocol::rest::ops::health::{
    BuildView, EngineView, HealthView, HousekeepingView, LiveView, MigrationsView, ReadinessDetailsView,
    ReadinessView, ReplicaView, SecretView,
};
use guildhall_runtime::telemetry::trace::TraceContext;
use guildhall_service::ops::health::{Health, HealthReport, ReplicaIdentity};

use crate::App;
use crate::edge::credential::has_valid_credential;
use crate::edge::error::ApiError;

const SERVICE_ID: &str = "guildhall";

/// Get the health of the installation
///
/// Reads the list of replicas from PostgreSQL: a response proves that the database is reachable.
#[utoipa::path(
    get, path = "/health", tag = "health", operation_id = "getHealth",
    responses(
        (status = 200, description = "The health, with the list of replicas", body = HealthView),
        (status = 503, description = "PostgreSQL is unreachable, or the server is overloaded", body = Problem, content_type = problem::CONTENT_TYPE),
        (status = 504, description = "PostgreSQL did not respond in time", body = Problem, content_type = problem::CONTENT_TYPE),
    )
)]
pub(crate) async fn get(State(app): State<App>) -> Result<Json<HealthView>, ApiError> {
    let replicas = app.ops.health.replicas().await?;
    let identity = app.ops.health.identity();
    Ok(Json(HealthView {
        status: app.ops.health.report().readiness.as_str().to_owned(),
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

/// Check that the process is alive
///
/// Checks no dependency: a restart would not bring PostgreSQL back.
#[utoipa::path(
    get, path = "/health/live", tag = "health", operation_id = "getLiveness",
    responses((status = 200, description = "The process is running", body = LiveView))
)]
pub(crate) async fn live(State(app): State<App>) -> Json<LiveView> {
    Json(LiveView {
        status: "live".to_owned(),
        service_id: SERVICE_ID.to_owned(),
        build: build(app.ops.health.identity()),
    })
}

/// Check whether this replica is ready for traffic
///
/// `ready` and `degraded` return 200: a degraded replica still serves. `unready` returns 503 with the reasons. With
/// `access.require_auth`, a request without a token gets the status without the details.
#[utoipa::path(
    get, path = "/health/readiness", tag = "health", operation_id = "getReadiness",
    responses(
        (status = 200, description = "Ready or degraded", body = ReadinessView),
        (status = 503, description = "Unready, with the reasons", body = ReadinessView),
    )
)]
pub(crate) async fn readiness(
    State(app): State<App>,
    Extension(trace): Extension<TraceContext>,
    headers: HeaderMap,
) -> Response {
    let report = app.ops.health.report();
    let shows_details = !app.access_rules.require_auth || has_valid_credential(&app, &headers).await;
    let mut body = ReadinessView {
        status: report.readiness.as_str().to_owned(),
        details: shows_details.then(|| details(&app.ops.health, &report)),
        failure_kind: None,
        message: None,
        trace_id: None,
    };
    if !matches!(report.readiness, Readiness::Unready(_)) {
        return Json(body).into_response();
    }
    let reason = body.details.as_ref().and_then(|details| details.reasons.first().cloned());
    body.failure_kind = Some(FailureKind::NotReady.as_str().to_owned());
    body.message =
        Some(reason.unwrap_or_else(|| "this replica is not ready: sign in to see the reasons".to_owned()));
    body.trace_id = Some(trace.trace_id());
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], Json(body)).into_response()
}

fn details(health: &Health, report: &HealthReport) -> ReadinessDetailsView {
    let (identity, observed) = (health.identity(), &report.observed);
    let (store, bus) = (observed.store, observed.bus);
    ReadinessDetailsView {
        reasons: report.readiness.reasons().iter().map(ToString::to_string).collect(),
        service_id: SERVICE_ID.to_owned(),
        build: build(identity),
        replica: identity.replica.to_string(),
        started_at: identity.started_at,
        postgres: EngineView {
            reachable: store.is_some_and(|o| o.value != StoreProbe::Unreachable),
            observed_at: store.map(|o| o.at),
        },
        migrations: MigrationsView {
            ready: store.is_some_and(|o| o.value == StoreProbe::Reachable(SchemaCompatibility::Compatible)),
            known: identity.known_migration,
        },
        nats: EngineView {
            reachable: bus.is_some_and(|o| o.value == BusProbe::Reachable),
            observed_at: bus.map(|o| o.at),
        },
        secrets: health.secrets().into_iter().map(|(name, set)| secret(name, set)).collect(),
        housekeeping: observed.housekeeping.iter().map(|task| housekeeping(task, report)).collect(),
    }
}

fn secret(name: String, set: bool) -> SecretView {
    SecretView { name, set, value: "[redacted]".to_owned() }
}

fn housekeeping(task: &Housekeeping, report: &HealthReport) -> HousekeepingView {
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

fn build(identity: &ReplicaIdentity) -> BuildView {
    BuildView { version: identity.version.clone(), commit: identity.commit.clone() }
}
