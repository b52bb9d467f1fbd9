//! Responses of the health endpoints.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The process is running and responds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveView {
    #[schema(example = "live")]
    pub status: String,
    #[schema(example = "guildhall")]
    pub service_id: String,
    pub build: BuildView,
}

/// Build of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BuildView {
    #[schema(example = "0.1.0")]
    pub version: String,
    /// Commit of the build; `unknown` if not built from a Git checkout.
    pub commit: String,
}

/// Readiness of a replica.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadinessView {
    /// ready, degraded (serves requests but needs attention) or unready.
    #[schema(example = "ready")]
    pub status: String,
    /// Absent without a token if `access.require_auth` is set.
    #[serde(flatten)]
    pub details: Option<ReadinessDetailsView>,
    /// The failure kind, if unready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_kind: Option<String>,
    /// The first reason, if unready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Trace id of the request in logs and traces, if unready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
}

/// The reasons of a readiness status, and what it was computed from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadinessDetailsView {
    /// The reasons for a status other than ready.
    #[schema(required = false)]
    pub reasons: Vec<String>,
    #[schema(example = "guildhall", required = false)]
    pub service_id: String,
    #[schema(required = false)]
    pub build: BuildView,
    /// The replica that responded.
    #[schema(required = false)]
    pub replica: String,
    #[schema(required = false)]
    pub started_at: Timestamp,
    #[schema(required = false)]
    pub postgres: EngineView,
    #[schema(required = false)]
    pub migrations: MigrationsView,
    #[schema(required = false)]
    pub nats: EngineView,
    /// The secret settings of this server and the secrets of shared provider profiles: whether each is set, without
    /// its value.
    #[schema(required = false)]
    pub secrets: Vec<SecretView>,
    #[schema(required = false)]
    pub housekeeping: Vec<HousekeepingView>,
}

/// Last probe of PostgreSQL or NATS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EngineView {
    pub reachable: bool,
    /// Time of the last probe.
    pub observed_at: Option<Timestamp>,
}

/// Schema version of the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MigrationsView {
    pub ready: bool,
    /// The highest migration known to this server.
    pub known: i64,
}

/// A secret setting or the secret of a provider profile, without its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretView {
    #[schema(example = "postgres.url")]
    pub name: String,
    pub set: bool,
    /// Always `[redacted]`.
    #[schema(example = "[redacted]")]
    pub value: String,
}

/// A background task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HousekeepingView {
    pub name: String,
    pub every_ms: u64,
    pub last_run_at: Option<Timestamp>,
    pub last_success_at: Option<Timestamp>,
    pub next_run_at: Timestamp,
    pub last_error: Option<String>,
    pub late: bool,
}

/// Health of the whole installation, read from PostgreSQL for this response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthView {
    /// ready, degraded or unready: the readiness of the replica that responded.
    #[schema(example = "ready")]
    pub status: String,
    #[schema(example = "guildhall")]
    pub service_id: String,
    pub build: BuildView,
    /// The replica that responded.
    pub replica: String,
    /// The active server processes of this database.
    pub replicas: Vec<ReplicaView>,
}

/// A server process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaView {
    pub id: String,
    pub version: String,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
}
